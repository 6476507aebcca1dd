# SPDX-License-Identifier: Apache-2.0
"""Host names, by any of a host's MAC addresses."""

from __future__ import annotations

from collections.abc import Iterable

from muster.image.credentials import Credentials
from muster.image.ignition.scripts import load_script
from muster.model.ignition import PROGRAM, PUBLIC, Config, File, Unit
from muster.model.plan import HostPlan, Plan

_UNIT = """\
[Unit]
Description=Take the name that the site gives this host, by MAC address
DefaultDependencies=no
Wants=systemd-udev-settle.service
After=systemd-udev-settle.service local-fs.target systemd-tmpfiles-setup.service
Before=NetworkManager.service network-pre.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/bin/muster-hostname

[Install]
WantedBy=sysinit.target
"""


def names(plan: Plan, _credentials: Credentials) -> Config:
    """The names of a site's hosts."""
    return names_config(plan.hosts)


def names_config(hosts: Iterable[HostPlan]) -> Config:
    """A file per card, and what reads them before the network starts."""
    files = [
        File(f"/etc/assisted/hostnames/{card.mac_address.lower()}", f"{host.hostname}\n".encode(), PUBLIC)
        for host in hosts
        if host.hostname
        for card in host.cards
    ]
    if not files:
        return Config()
    files.append(File("/usr/local/bin/muster-hostname", load_script("hostname"), PROGRAM))
    return Config(tuple(files), (Unit("muster-hostname.service", _UNIT),))
