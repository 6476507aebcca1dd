#!/bin/bash
# Apply the static network of the live system. NetworkManager may need a moment until all cards are there.
# All tries together end before TimeoutStartSec of network-config.service: the last word is ours.
set -u

say=${SAY:-/usr/local/bin/muster-say}
tries=${TRIES:-15}
pause_s=${PAUSE_S:-4}
apply_s=${APPLY_S:-60}
kill_s=5
for ((try = 1; try <= tries; try++)); do
    if timeout -k "$kill_s" "$apply_s" nmstatectl apply /var/tmp/network-config.yaml; then
        exit 0
    fi
    "$say" "The network configuration does not apply yet (try $try of $tries)"
    sleep "$pause_s"
done
"$say" "The network configuration was NOT applied: compare names and MAC addresses with those of this" \
    "machine (ip link); see: journalctl -u network-config"
exit 1
