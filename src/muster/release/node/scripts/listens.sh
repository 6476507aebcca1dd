#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whether somebody listens at the URL $1. Most often there is nobody yet, and this takes far less than a request does.
place=${1#*://}
place=${place%%/*}
host=${place%:*}
host=${host#[}
if ! { : <>"/dev/tcp/${host%]}/${place##*:}"; } 2>/dev/null; then
    echo "nobody listens at $place"
    exit 1
fi
