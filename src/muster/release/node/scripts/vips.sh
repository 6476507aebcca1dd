#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# keepalived wants the names of cards, which nobody knows before the host is up: they are those that have its addresses.
set -eu
home=${MUSTER_ROOT-}/etc/kubernetes/network
conf=${MUSTER_ROOT-}/run/muster-vips/keepalived.conf

cp "${MUSTER_ROOT-}/etc/kubernetes/keepalived.conf" "$conf.new"
while read -r address; do
    card=$(ip -oneline address show to "$address" | awk '{ print $2; exit }')
    if [ -z "$card" ]; then
        echo "no card of this host has its address $address"
        exit 1
    fi
    sed -i "s|interface of-$address\$|interface ${card%@*}|" "$conf.new"
done <"$home/addresses"
mv "$conf.new" "$conf"
