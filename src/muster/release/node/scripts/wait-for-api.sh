#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Waits until the API at $1 says that it is ready, and tells what it still lacks. Whoever is not known may ask that
# only when the API has set up its own permissions, so that an answer means that these are there, too.
set -u
told=
# One curl asks ten times: to start it costs an emulated host more than to ask.
ask() {
    muster-listens "$1" && curl --silent --show-error --fail-with-body --max-time 20 \
        --retry 9 --retry-delay 1 --retry-all-errors \
        --cacert "${MUSTER_ROOT-}/etc/kubernetes/pki/api-ca.crt" "$1/readyz" 2>&1
}
until answer=$(ask "$1"); do
    if [ "$answer" != "$told" ]; then
        told=$answer
        # What failed: the connection, the request, one of the API's own checks, or the permission to ask.
        reason=$(printf '%s\n' "$answer" | grep -E '^(nobody|curl:|\[-\])|"message":' | awk '!told[$0]++' |
            tr -s ' \n' ' ' | cut -c 1-300)
        echo "waiting for the API at $1: $reason"
    fi
    sleep 1
done
