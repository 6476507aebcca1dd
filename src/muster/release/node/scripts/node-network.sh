#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the bridge of the pods, waits for the addresses of this host, then leads packets to the pods of the other hosts,
# and hides its own pods behind its address from everybody else. The routes are set again whenever addresses change:
# they go with a link.
set -eu
home=${MUSTER_ROOT-}/etc/kubernetes/network

# The plug-in that connects pods (type bridge in /etc/cni/net.d) uses the bridge that is there. Frames between its pods
# go through the packet filter: without that, answers of a pod to another one on this host, which called it by the
# address of a Service, keep the address of the pod. Frames of other bridges do not.
make_bridge() {
    filter='nf_call_iptables 1 nf_call_ip6tables 1'
    ip link add cni0 type bridge $filter 2>/dev/null || ip link set cni0 type bridge $filter
}

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

make_bridge
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
