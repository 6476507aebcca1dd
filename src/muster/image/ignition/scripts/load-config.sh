#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Takes a site's configuration from a medium with the label agent_configimage, whenever one appears.
# $1 is its device. MUSTER_ROOT stands for / in tests, where $1 may be a folder.
set -u
root=${MUSTER_ROOT:-}
device=$1
mount=$root/run/muster/config-image
stage=$root/run/muster/config
waiting=$root/run/muster/rendezvous-host.env
screen=$root/etc/issue.d/60-muster-config-image.issue

say() {
    printf 'muster: %s\n' "$*" >&2
    [ -n "$root" ] || printf 'muster: %s\n' "$*" >/dev/console 2>/dev/null
    mkdir -p "${screen%/*}" && printf '%s\n' "$*" >"$screen"
}

fail() {
    say "$*"
    exit 1
}

# apply PROGRAM ARGUMENT...: lets what was copied take effect, if this system has the program
apply() {
    ! command -v "$1" >/dev/null || "$@" || say "failed: $*"
}

# Takes back the network that a generic medium brought, which network.sh has noted.
forget_network() {
    installed=$root/run/muster/network.installed
    if [ -r "$installed" ]; then
        while IFS= read -r profile; do
            rm -f "$root$profile" || return 1
        done <"$installed"
        rm -f "$installed"
    fi
    rm -rf "$root/etc/assisted/network"
}

if [ -e "$root/etc/assisted/rendezvous-host.env" ]; then
    printf 'muster: this host has its configuration already; %s is left alone\n' "$device" >&2
    exit 0
fi

# Unpack beside, and look at it, before anything takes its place.
umask 077
rm -rf "$stage" && mkdir -p "$stage" "$mount" || fail "cannot make a place for the configuration"
if [ -d "$device" ]; then
    mount=$device
else
    mount -o ro "$device" "$mount" || fail "the configuration medium $device cannot be mounted"
    trap 'umount "$mount"' EXIT
fi
[ -r "$mount/config.gz" ] || fail "the configuration medium $device has no config.gz"
gzip -dc "$mount/config.gz" | (cd "$stage" && cpio -idm --no-absolute-filenames --quiet) ||
    fail "the configuration on $device is damaged; make the medium again"
[ -r "$stage/etc/assisted/rendezvous-host.env" ] || fail "the configuration on $device names no rendezvous host"

# The release that a medium names: by its digest, where it could be looked up when the medium was made.
release_of() {
    sed -n 's/^RELEASE_IMAGE=//p' "$1/etc/assisted/agent-installer.env" 2>/dev/null
}

own=$(release_of "$root") wanted=$(release_of "$stage")
if [ -n "$own" ] && [ -n "$wanted" ] && [ "$own" != "$wanted" ]; then
    fail "the configuration on $device is for another release ($wanted) than this medium ($own);" \
        "make both with the same --release"
fi
key=/etc/assisted/release-key.pem
if [ -e "$root$key" ] && [ -e "$stage$key" ] && ! cmp -s "$root$key" "$stage$key"; then
    fail "the configuration on $device has another key for signatures of releases than this medium;" \
        "make both with the same --release-key"
fi

# A site without a static network leaves the host that of the generic medium.
if [ -d "$stage/etc/assisted/network" ]; then
    forget_network || fail "cannot remove the network of the generic medium"
fi

# The name of the rendezvous host comes last: it releases everything that waits for a configuration.
mv "$stage/etc/assisted/rendezvous-host.env" "$waiting"
(cd "$stage" && find . -type f) | while IFS= read -r file; do
    (umask 022 && mkdir -p "$root/${file%/*}") && cp -p "$stage/$file" "$root/$file" || exit 1
done || fail "cannot put the configuration in place"
if [ -z "$root" ]; then
    if [ -s /etc/assisted/core/password.hash ]; then
        # On stdin: arguments can be seen by everybody. An empty hash would be a login without a password.
        printf 'core:%s\n' "$(cat /etc/assisted/core/password.hash)" | chpasswd -e ||
            say "the password of core cannot be set"
    fi
    if [ -r /etc/assisted/core/authorized_keys ]; then
        install -d -m 700 -o core -g core ~core/.ssh
        install -m 600 -o core -g core /etc/assisted/core/authorized_keys ~core/.ssh/authorized_keys
    fi
    apply update-ca-trust
    apply systemctl daemon-reexec
    apply systemctl try-restart chronyd
    /usr/local/bin/muster-hostname
    if [ -d "$stage/etc/assisted/network" ]; then
        /usr/local/bin/muster-network
        nmcli connection reload
        for profile in /etc/NetworkManager/system-connections/*.nmconnection; do
            [ ! -e "$profile" ] || nmcli connection up filename "$profile" || :
        done
    fi
fi
# Renamed within its folder, so that those who wait for it find all of it.
fresh=$root/etc/assisted/.rendezvous-host.env.part
(umask 022 && mkdir -p "$root/etc/assisted") &&
    cp -p "$waiting" "$fresh" && mv "$fresh" "${fresh%/*}/rendezvous-host.env" ||
    fail "cannot put the configuration in place"
rm -rf "$stage" "$waiting"
say "this host has taken its configuration from $device"
