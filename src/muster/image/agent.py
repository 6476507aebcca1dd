# SPDX-License-Identifier: Apache-2.0
"""Plan and secrets → what the media of an agent-based installation hold. Pure.

One order makes every kind of medium: a full ISO, a minimal one, files for network boot, a configuration ISO.
They differ in where the same content goes.
"""

from __future__ import annotations

import gzip
import stat
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from muster.frozen import dataclass
from muster.image.coreos.customize import Customization
from muster.image.cpio import Member, render_archive
from muster.image.credentials import credentials_of
from muster.image.ignition.agent import agent_config, agent_tree
from muster.image.ignition.config_image import config_files
from muster.image.ignition.network import UNIT_NAME, Networked, network_files
from muster.image.ignition.unconfigured import CONFIG_LABEL
from muster.image.iso.writer import render_iso
from muster.image.kernel import kernel_arguments
from muster.image.kubeconfig import render_kubeconfig
from muster.image.pki import build_pki
from muster.image.secrets import SiteSecrets
from muster.image.tokens import VALID_FOR
from muster.model.ignition import File, render_tree
from muster.model.plan import Plan

_INITRD_CONTENTS: Final = """\
[Unit]
Description=Give this host the static network of its site, by MAC address
DefaultDependencies=no
ConditionPathExists=/etc/initrd-release
Wants=systemd-udev-settle.service
After=systemd-udev-settle.service
Before=nm-initrd.service dracut-initqueue.service coreos-livepxe-rootfs.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh /usr/local/bin/muster-network
"""
_LINK: Final = stat.S_IFLNK | 0o777


@dataclass(frozen=True)
class Order:
    """What is asked for: everything that decides the content of the media, besides the base image."""

    plan: Plan
    secrets: SiteSecrets
    valid_for: timedelta = VALID_FOR
    override: str = ""
    """An Ignition config (JSON) that the command was given."""


def ignition_of(order: Order) -> tuple[bytes, tuple[str, ...]]:
    """The Ignition config, and the places where what the user adds replaced something of ours."""
    credentials = credentials_of(order.plan, order.secrets, order.valid_for)
    tree, replaced = agent_tree(order.plan, credentials, order.override)
    return render_tree(tree), replaced


def customization_of(order: Order, ignition: bytes, rootfs_url: str = "") -> Customization:
    """What a live image is given. One that fetches its root file system needs the network before that."""
    kernel = kernel_arguments(order.plan)
    fetch = (f"coreos.live.rootfs_url={rootfs_url}",) if rootfs_url else ()
    return Customization(
        ignition=ignition,
        initrd=network_members(order.plan.hosts) if rootfs_url else (),
        kargs_append=(*fetch, *kernel.append),
        kargs_delete=kernel.delete,
        kargs_replace=kernel.replace,
    )


def network_members(hosts: Iterable[Networked]) -> tuple[Member, ...]:
    """The static networks for the initial RAM disk; nothing when all hosts use DHCP."""
    files = network_files(hosts)
    if not files:
        return ()
    wants = "etc/systemd/system/initrd.target.wants"
    return (
        *(_member(file) for file in files),
        Member(f"etc/systemd/system/{UNIT_NAME}", _INITRD_CONTENTS.encode(), stat.S_IFREG | 0o644),
        Member(f"{wants}/{UNIT_NAME}", f"../{UNIT_NAME}".encode(), _LINK),
    )


def config_iso(order: Order) -> bytes:
    """The configuration ISO, which makes a host that booted a generic medium one of the site."""
    credentials = credentials_of(order.plan, order.secrets, order.valid_for)
    files = config_files(agent_config(order.plan, credentials))
    packed = gzip.compress(render_archive(_member(file) for file in files), mtime=0)
    return render_iso({"config.gz": packed}, label=CONFIG_LABEL, when=order.secrets.created)


def login_files(order: Order) -> dict[str, bytes]:
    """What the administrator keeps, by name."""
    plan, secrets = order.plan, order.secrets
    pki = build_pki(secrets)
    kubeconfig = render_kubeconfig(pki, secrets, plan.name, plan.base_domain, pki.api_bundle)
    return {
        "auth/kubeconfig": kubeconfig.encode(),
        "auth/kubeadmin-password": secrets.kubeadmin_password.encode(),
    }


def _member(file: File) -> Member:
    return Member(file.path.lstrip("/"), file.data, stat.S_IFREG | file.mode)
