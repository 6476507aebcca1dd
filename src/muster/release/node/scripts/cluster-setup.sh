#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Gives the cluster what no host can give to itself: permissions, the name server, and the roles of its hosts. The
# login for that is removed afterwards.
set -eu
home=${MUSTER_ROOT-}/etc/kubernetes/setup
export KUBECONFIG=$home/kubeconfig

kubectl apply --server-side --force-conflicts --field-manager=muster --filename="$home/manifests"

told=
while :; do
    missing=
    known=$(kubectl get nodes --output=name)
    while read -r node label; do
        if printf '%s\n' "$known" | grep -qxF "node/$node"; then
            kubectl label --overwrite node "$node" "$label=" >/dev/null
        else
            missing="$missing $node"
        fi
    done <"$home/nodes"
    [ -n "$missing" ] || break
    [ "$missing" = "$told" ] || echo "waiting for hosts that have not joined yet:$missing"
    told=$missing
    sleep 10
done

mkdir -p "${MUSTER_ROOT-}/var/lib/muster"
touch "${MUSTER_ROOT-}/var/lib/muster/cluster-setup.done"
rm -f "$KUBECONFIG"
