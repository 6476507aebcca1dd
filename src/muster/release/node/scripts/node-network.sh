#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Waits for the addresses of this host, then leads packets to the pods of the other hosts, and hides its own pods
# behind its address from everybody else. The routes are set again whenever addresses change: they go with a link.
set -eu
home=${MUSTER_ROOT-}/etc/kubernetes/network

missing() {
    while read -r address; do
        ip -oneline address show to "$address" | grep -qv tentative || printf ' %s' "$address"
    done <"$home/addresses"
}

connect() {
    said=$(ip -force -batch "$home/routes" 2>&1) && return
    echo "no way to the pods of all other hosts:" $said
    return 1
}

told=
while lacking=$(missing) && [ -n "$lacking" ]; do
    [ "$lacking" = "$told" ] || echo "waiting for this host's addresses:$lacking"
    told=$lacking
    sleep 1
done
nft --file "$home/masquerade.nft"
# Without these the node would be Ready, and its pods alone: it is tried again, and told meanwhile.
connect
systemd-notify --ready
[ -s "$home/routes" ] || exit 0
ip monitor address | while read -r _; do
    connect || :
done
exit 1
