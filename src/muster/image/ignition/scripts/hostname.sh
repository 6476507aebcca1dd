#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Gives this host the name that the site has for any of its cards. MUSTER_ROOT stands for / in tests.
# Only cards have a device; one in a bond has the address of the bond, and remembers its own.
set -u
root=${MUSTER_ROOT:-}
for path in "$root"/sys/class/net/*; do
    [ -e "$path/device" ] || continue
    address=$path/bonding_slave/perm_hwaddr
    [ -r "$address" ] || address=$path/address
    [ -r "$address" ] && read -r mac <"$address" || continue
    file=$root/etc/assisted/hostnames/$(printf '%s' "$mac" | tr 'A-F' 'a-f')
    [ -r "$file" ] || continue
    read -r name <"$file" || continue
    printf '%s\n' "$name" >"$root/etc/hostname"
    printf '%s' "$name" >"$root/proc/sys/kernel/hostname"
    printf 'muster: this host is %s, because it has %s\n' "$name" "$mac" >&2
    exit 0
done
printf 'muster: the site has no name for the cards of this machine\n' >&2
