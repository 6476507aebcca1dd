#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whether the API at $1 is ready to work; it has $2 seconds to say so.
muster-listens "$1" >/dev/null &&
    exec curl --silent --fail --output /dev/null --max-time "$2" --noproxy '*' \
        --cacert "${MUSTER_ROOT-}/etc/kubernetes/pki/api-ca.crt" "$1/readyz"
