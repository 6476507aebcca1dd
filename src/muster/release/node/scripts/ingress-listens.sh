#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whether somebody takes requests from outside at this host's address $1, who has $2 seconds to answer. What the answer
# is, is not asked: also one that refuses is one.
set -u
for url in "https://$1:443/" "http://$1:80/"; do
    muster-listens "$url" >/dev/null || continue
    curl --silent --output /dev/null --noproxy '*' --insecure --max-time "$2" "$url"
    case $? in
    # An answer; none that TLS or HTTP can make sense of; the connection was closed again.
    0 | 1 | 35 | 52 | 56) exit 0 ;;
    esac
done
exit 1
