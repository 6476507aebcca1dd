#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the NetworkManager profiles of this host, which is found by the MAC addresses of its cards.
# Profiles name cards as the site's files do; here they get the names that the cards really have.
# Runs before NetworkManager, in the live system and in its initrd. MUSTER_ROOT stands for / in tests.
set -u
root=${MUSTER_ROOT:-}
sites=$root/etc/assisted/network
target=$root/etc/NetworkManager/system-connections
[ -e "$root/etc/initrd-release" ] && target=$root/run/NetworkManager/system-connections
# The profiles that were installed, also those of the initrd: load-config.sh takes them back.
installed=$root/run/muster/network.installed

# A line for the journal, for the console, and above the login prompt.
say() {
    printf 'muster: %s\n' "$*" >&2
    [ -n "$root" ] || printf 'muster: %s\n' "$*" >/dev/console 2>/dev/null
    mkdir -p "$root/etc/issue.d" && printf '%s\n' "$*" >>"$root/etc/issue.d/50-muster-network.issue"
}

lower() { printf '%s' "$1" | tr 'A-F' 'a-f'; }

# cards: lines "MAC name" of this machine. Bonds, bridges and VLANs have the address of a card, but no device;
# a card in a bond has that of the bond, and remembers its own.
cards=$(
    for path in "$root"/sys/class/net/*; do
        [ -e "$path/device" ] || continue
        address=$path/bonding_slave/perm_hwaddr
        [ -r "$address" ] || address=$path/address
        [ -r "$address" ] && read -r mac <"$address" || continue
        [ "$mac" = 00:00:00:00:00:00 ] || [ -z "$mac" ] || printf '%s %s\n' "$(lower "$mac")" "${path##*/}"
    done
)

# name_of MAC: the card that has it
name_of() {
    printf '%s\n' "$cards" | while read -r mac name; do
        [ "$mac" != "$1" ] || { printf '%s' "$name"; break; }
    done
}

# names_in FOLDER: lines "logical real" for the cards of FOLDER that this machine has
names_in() {
    while IFS='=' read -r mac logical; do
        real=$(name_of "$(lower "$mac")")
        [ -z "$real" ] || printf '%s %s\n' "$logical" "$real"
    done <"$1/mac_interface.ini"
}

# real_name LOGICAL: what the card is called here; any other word stays as it is
real_name() {
    found=$(printf '%s\n' "$names" | while read -r logical real; do
        [ "$logical" != "$1" ] || { printf '%s' "$real"; break; }
    done)
    printf '%s' "${found:-$1}"
}

# install_profile FILE: every line is read once, so cards whose names are swapped come out right
install_profile() {
    printf '%s\n' "${target#"$root"}/${1##*/}" >>"$installed"
    temporary=$target/.${1##*/}
    (umask 077 && while IFS= read -r line || [ -n "$line" ]; do
        case $line in
            *=*) printf '%s=%s\n' "${line%%=*}" "$(real_name "${line#*=}")" ;;
            *) printf '%s\n' "$line" ;;
        esac
    done <"$1" >"$temporary") && mv "$temporary" "$target/${1##*/}"
}

rm -f "$root/etc/issue.d/50-muster-network.issue"
chosen=
for folder in "$sites"/host*; do
    [ -r "$folder/mac_interface.ini" ] || continue
    [ -n "$(names_in "$folder")" ] || continue
    if [ -n "$chosen" ]; then
        say "two hosts of the site have cards of this machine: ${chosen##*/} and ${folder##*/}; the first is used"
        continue
    fi
    chosen=$folder
done

if [ -z "$chosen" ]; then
    macs=$(printf '%s\n' "$cards" | while read -r mac name; do printf ' %s (%s)' "$mac" "$name"; done)
    say "no host of the site has a MAC address of this machine; DHCP is used. Its cards:${macs:- none}"
    exit 0
fi
names=$(names_in "$chosen")
mkdir -p "$target" "${installed%/*}"
for profile in "$chosen"/*.nmconnection; do
    [ -r "$profile" ] || continue
    install_profile "$profile" || say "cannot write the profile ${profile##*/}"
done
printf 'muster: this is %s of the site; its static network is in place\n' "${chosen##*/}" >&2
