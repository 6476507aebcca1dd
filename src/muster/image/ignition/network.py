# SPDX-License-Identifier: Apache-2.0
"""Static networks: NetworkManager's profiles of all hosts; each host takes its own, by MAC address."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from muster.image.credentials import Credentials
from muster.image.ignition.scripts import load_script
from muster.model.ignition import PROGRAM, PUBLIC, Config, File, Unit
from muster.model.plan import Card, Plan

FOLDER: Final = "/etc/assisted/network"
_STABLE_IDS: Final = "[connection]\nipv6.dhcp-duid=ll\nipv6.dhcp-iaid=mac\n"
"""A host is known to a DHCPv6 server by its card, so that the installed system gets the same address."""
_PROGRAM: Final = "/usr/local/bin/muster-network"
UNIT_NAME: Final = "muster-network.service"
UNIT: Final = f"""\
[Unit]
Description=Give this host the static network of its site, by MAC address
DefaultDependencies=no
Wants=systemd-udev-settle.service network-pre.target
After=systemd-udev-settle.service local-fs.target systemd-tmpfiles-setup.service
Before=NetworkManager.service network-pre.target

[Service]
Type=oneshot
RemainAfterExit=yes
TimeoutStartSec=300
ExecStart={_PROGRAM}

[Install]
WantedBy=sysinit.target
"""


class Networked(Protocol):
    """A host that may have a static network."""

    @property
    def cards(self) -> tuple[Card, ...]: ...
    @property
    def keyfiles(self) -> tuple[tuple[str, str], ...]: ...


def network(plan: Plan, _credentials: Credentials) -> Config:
    """The profiles, and what picks them before NetworkManager starts."""
    return network_config(plan.hosts)


def network_config(hosts: Iterable[Networked]) -> Config:
    """The profiles of hosts, wherever they were described."""
    stable = File("/etc/NetworkManager/conf.d/clientid.conf", _STABLE_IDS.encode(), PUBLIC)
    profiles = network_files(hosts)
    units = (Unit(UNIT_NAME, UNIT),) if profiles else ()
    return Config((stable, *profiles), units)


def network_files(hosts: Iterable[Networked]) -> tuple[File, ...]:
    """A folder per host that has a static network, with its profiles and its cards; and the script."""
    files = []
    for index, host in enumerate(host for host in hosts if host.keyfiles):
        folder = f"{FOLDER}/host{index}"
        cards = sorted(f"{card.mac_address.lower()}={card.name}\n" for card in host.cards)
        files.append(File(f"{folder}/mac_interface.ini", "".join(cards).encode()))
        files += [File(f"{folder}/{name}", _preferred(text).encode()) for name, text in host.keyfiles]
    if files:
        files.append(File(_PROGRAM, load_script("network"), PROGRAM))
    return tuple(files)


def _preferred(keyfile: str) -> str:
    """A profile that NetworkManager prefers to those that it makes up by itself."""
    if "\nautoconnect-priority=" in keyfile:
        return keyfile
    return keyfile.replace("[connection]\n", "[connection]\nautoconnect-priority=1\n", 1)
