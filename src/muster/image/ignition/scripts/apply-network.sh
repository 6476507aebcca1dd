#!/bin/bash
# Apply the static network of the live system. NetworkManager may need a moment until all cards are there.
set -u

say=${SAY:-/usr/local/bin/muster-say}
tries=${TRIES:-15}
pause_s=${PAUSE_S:-4}
for ((try = 1; try <= tries; try++)); do
    if nmstatectl apply /var/tmp/network-config.yaml; then
        exit 0
    fi
    "$say" "The network configuration does not apply yet (try $try of $tries)"
    sleep "$pause_s"
done
"$say" "The network configuration was NOT applied: compare names and MAC addresses with those of this" \
    "machine (ip link); see: journalctl -u network-config"
exit 1
