#!/bin/bash
# Fetch the installer that is in the seed image, and let it copy the seed to the disk. Waiting has an end, and
# the console says what goes on.
set -euo pipefail

say=${SAY:-/usr/local/bin/muster-say}
tries=${TRIES:-90}
pause_s=${PAUSE_S:-10}
fetch_s=${FETCH_S:-3600}
all_tries_s=${ALL_TRIES_S:-14400}
lca=${LCA_CLI:-/usr/local/bin/lca-cli}
again="log in and run: systemctl restart install-rhcos-and-restore-seed"

on_exit() {
    local status=$?
    if [ "$status" -ne 0 ]; then
        "$say" "The seed was NOT installed (status $status);" \
            "see: journalctl -u install-rhcos-and-restore-seed; when it is mended, $again"
    fi
}
trap on_exit EXIT

for ((try = 1; ; try++)); do
    podman rm --force --ignore lca-cli > /dev/null
    "$say" "Fetching the seed image $SEED_IMAGE (try $try of $tries)"
    if timeout -k 30 "$fetch_s" \
        podman create --authfile "$PULL_SECRET_FILE" --name lca-cli "$SEED_IMAGE" lca-cli; then
        break
    fi
    if [ "$try" -ge "$tries" ] || [ "$SECONDS" -ge "$all_tries_s" ]; then
        "$say" "The seed image $SEED_IMAGE cannot be fetched:" \
            "check network, DNS, proxy, mirror and pull secret; then $again"
        trap - EXIT
        exit 1
    fi
    sleep "$pause_s"
done
podman cp lca-cli:lca-cli "$lca"
podman rm lca-cli > /dev/null

"$say" "Copying the seed to the disk; progress: journalctl -f -u install-rhcos-and-restore-seed"
"$lca" ibi -f "$IBI_CONFIGURATION_FILE"
"$say" "The seed is on the disk. This machine is ready for its site."
