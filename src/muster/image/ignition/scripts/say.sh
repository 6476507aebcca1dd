#!/bin/bash
# muster-say TEXT: show a line above the login prompt of every console, and in the journal.
set -u
echo "$*"
issue=${ISSUE_DIR:-/etc/issue.d}
mkdir -p "$issue"
printf '\n%s  %s\n\n' "$(date -u +%H:%M:%SZ)" "$*" > "$issue/70-muster.issue"
agetty --reload 2>/dev/null || true
