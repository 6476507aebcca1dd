#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The dracut module of the machine OS: Ignition, and how the root file system comes to be.
# MUSTER_MODULES, the kernel modules, come from the builder.

check() { return 0; }

depends() { echo systemd systemd-initrd udev-rules ignition; }

installkernel() {
    # shellcheck disable=SC2086
    hostonly='' instmods $MUSTER_MODULES
}

install() {
    inst_multiple awk bash blkid cat chroot cp curl flock grep install journalctl ln losetup lsblk mkdir mkfs.ext4 modprobe \
        mount mv partx poweroff rm sed sfdisk sgdisk sh sha256sum systemctl tr udevadm umount
    inst_simple /etc/mke2fs.conf
    inst_rules 60-cdrom_id.rules 60-persistent-storage.rules 64-md-raid-assembly.rules
    inst_simple "$moddir/udev-trigger.conf" "$systemdsystemunitdir/systemd-udev-trigger.service.d/muster.conf"
    # Each rule is asked about each device: those for sound, cameras or seats can wait for the system.
    rm -f "$initdir"/usr/lib/udev/rules.d/*-{alsa,autosuspend,drm,evdev,fido-id,input-id,input,joystick,memory,mouse,probe_mtd}.rules \
        "$initdir"/usr/lib/udev/rules.d/*-{seat,seat-late,sensor,serial,sound-card,touchpad,uaccess,v4l,storage-tape}.rules \
        "$initdir$systemdutildir/system-generators/systemd-gpt-auto-generator"

    # Every initrd unit asserts on this file.
    sed "s/^ID=.*/&\nVARIANT=initrd/" /usr/lib/os-release >"$initdir/usr/lib/initrd-release"
    ln -sf ../usr/lib/initrd-release "$initdir/etc/initrd-release"
    ln -sf initrd-release "$initdir/usr/lib/os-release"
    ln -sf ../usr/lib/initrd-release "$initdir/etc/os-release"
    mkdir -p "$initdir"/{proc,sys,dev,run,tmp,sysroot,root,var,etc/coreos}
    grep -E '^(root|messagebus|systemd)' /etc/passwd >"$initdir/etc/passwd"
    cp /etc/group "$initdir/etc/group"

    # Ignition looks for the user's configuration below /usr, which systemd would keep from changing.
    mkdir -p "$initdir/etc/systemd/system.conf.d" "$initdir/usr/lib/ignition/base.d"
    printf '[Manager]\nProtectSystem=no\n' >"$initdir/etc/systemd/system.conf.d/muster.conf"

    # What coreos-installer looks for before it customizes a live initrd.
    : >"$initdir/etc/coreos-live-initramfs"
    cp "$moddir/features.json" "$initdir/etc/coreos/features.json"

    # Debian's Ignition is built to relabel for SELinux, which is not here.
    mkdir -p "$initdir/etc/selinux"
    inst_script "$moddir/setfiles" /usr/sbin/setfiles

    inst_script "$moddir/is-live-image" /usr/bin/is-live-image
    inst_simple "$moddir/functions" /usr/lib/muster/functions
    inst_simple /usr/lib/systemd/system/emergency.target
    inst_simple "$moddir/emergency.service" "$systemdsystemunitdir/emergency.service"
    inst_script "$moddir/muster-emergency" /usr/lib/muster/emergency
    local step
    for step in prepare sysroot hand-over; do
        inst_script "$moddir/muster-$step" "/usr/lib/muster/$step"
        inst_simple "$moddir/muster-$step.service" "$systemdsystemunitdir/muster-$step.service"
    done
    inst_script "$moddir/muster-network" /usr/lib/muster/network
    inst_simple "$moddir/nm-initrd.service" "$systemdsystemunitdir/nm-initrd.service"
    inst_multiple NetworkManager ip /usr/libexec/nm-initrd-generator
    inst_multiple -o /usr/lib/systemd/system/systemd-udev-settle.service /usr/lib/systemd/system/network.target
    mkdir -p "$initdir/etc/NetworkManager/conf.d" "$initdir/var/lib/NetworkManager"
    printf '[main]\nplugins=keyfile\ndhcp=internal\nrc-manager=file\n' >"$initdir/etc/NetworkManager/conf.d/muster.conf"
    inst_libdir_file 'libnss_dns.so*' 'libnss_files.so*'
    inst_simple /etc/ssl/certs/ca-certificates.crt

    # Each run of Ignition takes its time; a stage that the configuration has nothing for is left out.
    only_if kargs '"kernelArguments":[{]"'
    only_if disks '"(disks|raid|luks|filesystems)":'
    only_if mount '"filesystems":'

    require nm-initrd.service initrd.target
    require muster-prepare.service initrd.target
    require muster-sysroot.service initrd-root-fs.target
    require muster-hand-over.service initrd.target
}

# only_if STAGE PATTERN: what the configuration has to hold
only_if() {
    local folder=$initdir$systemdsystemunitdir/ignition-$1.service.d
    mkdir -p "$folder"
    printf "[Service]\nExecCondition=grep -Eq '%s' /run/ignition.json\n" "$2" >"$folder/muster.conf"
}

# require UNIT TARGET
require() {
    mkdir -p "$initdir$systemdsystemunitdir/$2.requires"
    ln -sf "../$1" "$initdir$systemdsystemunitdir/$2.requires/$1"
}
