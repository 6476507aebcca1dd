# SPDX-License-Identifier: Apache-2.0
"""The Ignition config of a medium that makes one machine take the place of a host that was lost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field
from ipaddress import ip_interface
from typing import Any, Final

import msgspec

from muster import __version__
from muster.frozen import dataclass
from muster.image.ignition.access import core_user
from muster.image.ignition.clock import clock_files
from muster.image.ignition.label import PATH
from muster.image.ignition.names import names_config
from muster.image.ignition.network import network_config
from muster.image.ignition.proxy import proxy_file
from muster.model.host import RootDeviceHints
from muster.model.ignition import PUBLIC, Config, File, Unit, join, render_tree
from muster.model.plan import HostPlan, Plan
from muster.model.replacement import CONFIG_FILE, REPLACEMENT_FILE, Replacement
from muster.model.schema import fields_of

_UNIT_NAME: Final = "muster-replace.service"
_UNIT: Final = """\
[Unit]
Description=Install this machine in the place of a host that was lost
After=NetworkManager.service
StartLimitIntervalSec=0

[Service]
SuccessExitStatus=8
ExecStart=/usr/bin/muster host replace
Restart=on-failure
RestartSec=60
UMask=0077
KillMode=mixed
TimeoutStopSec=45

[Install]
WantedBy=multi-user.target
"""


@dataclass(frozen=True)
class Lost:
    """A host that was lost, and what is known of it."""

    host: HostPlan
    config: Mapping[str, Any] = field(repr=False)
    """Its Ignition config, as the others kept it."""
    password_hash: str = field(default="", repr=False)
    """Lets `core` log in at the console of the live system."""
    disk: str = ""
    """The disk that is written, whatever the site's files say."""


def replacement_of(lost: Lost) -> Replacement:
    """What the medium says of it."""
    host = lost.host
    found = Replacement(
        id="",
        hostname=host.hostname,
        role=str(host.role),  # type: ignore[arg-type]  # both are the names of the interface
        macs=tuple(card.mac_address.lower() for card in host.cards),
        addresses=tuple(str(ip_interface(text).ip) for text in host.addresses),
        hints={"device_name": lost.disk} if lost.disk else _hints(host.disk),
    )
    content = msgspec.json.encode(found) + render_tree(lost.config)
    return msgspec.structs.replace(found, id=hashlib.sha256(content).hexdigest()[:32])


def _hints(hints: RootDeviceHints | None) -> dict[str, str | int | bool]:
    names = [entry.name for entry in fields_of(RootDeviceHints).values()]
    found = {name: getattr(hints, name) for name in names} if hints is not None else {}
    return {name: value for name, value in found.items() if value is not None}


def replacement_config(plan: Plan, lost: Lost) -> Config:
    """All that the machine boots with: its network and name, who may log in, and what it becomes."""
    own = Config(
        (
            File(REPLACEMENT_FILE, msgspec.json.encode(replacement_of(lost))),
            File(CONFIG_FILE, render_tree(lost.config)),
            *clock_files(plan.ntp_sources),
            *((proxy_file(plan.proxy),) if plan.proxy else ()),
        ),
        (Unit(_UNIT_NAME, _UNIT),),
        (core_user(plan.ssh_key, lost.password_hash),),
    )
    return join((own, _label(plan, lost), names_config((lost.host,)), network_config((lost.host,))))


def _label(plan: Plan, lost: Lost) -> Config:
    body = {
        "cluster": plan.domain,
        "hosts": [lost.host.label],
        "madeBy": f"muster {__version__}",
        "platform": plan.platform,
        "release": plan.release_image,
        "replaces": lost.host.label,
        "topology": str(plan.topology),
    }
    issue = f"Muster {__version__}: this machine takes the place of {lost.host.label} of {plan.domain}\n"
    return Config(
        (
            File(PATH, (json.dumps(body, indent=2, sort_keys=True) + "\n").encode(), PUBLIC),
            File("/etc/issue.d/10-muster.issue", issue.encode(), PUBLIC),
            File("/etc/motd.d/10-muster", issue.encode(), PUBLIC),
        )
    )
