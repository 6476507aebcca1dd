#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Gives this host the name that the site has for any of its cards. MUSTER_ROOT stands for / in tests.
set -u
root=${MUSTER_ROOT:-}
for path in "$root"/sys/class/net/*; do
    [ -r "$path/address" ] || continue
    read -r mac <"$path/address" || continue
    file=$root/etc/assisted/hostnames/$(printf '%s' "$mac" | tr 'A-F' 'a-f')
    [ -r "$file" ] || continue
    read -r name <"$file" || continue
    printf '%s\n' "$name" >"$root/etc/hostname"
    printf '%s' "$name" >"$root/proc/sys/kernel/hostname"
    printf 'muster: this host is %s, because it has %s\n' "$name" "$mac" >&2
    exit 0
done
printf 'muster: the site has no name for the cards of this machine\n' >&2
