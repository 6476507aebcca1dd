# SPDX-License-Identifier: Apache-2.0
"""What the site says about each host: role, disk, cards, and how to fence it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from muster.config.manifests import render_yaml
from muster.image.credentials import Credentials
from muster.model.dump import dump
from muster.model.host import RootDeviceHints
from muster.model.ignition import PUBLIC, Config, File
from muster.model.meeting import HINTS_FROM
from muster.model.plan import HostPlan, Plan
from muster.model.problem import Place
from muster.model.tree import Plain

_FOLDER = "/etc/assisted/hostconfig"


def hosts(plan: Plan, _credentials: Credentials) -> Config:
    """A folder per host, named as the host is, and found by its MAC addresses."""
    files = []
    for index, host in enumerate(plan.hosts):
        folder = f"{_FOLDER}/{host.hostname or _nameless(index)}"
        files += [File(f"{folder}/{name}", text.encode(), PUBLIC) for name, text in _describe(host)]
    fencing = _fencing(plan)
    if fencing:
        files.append(File(f"{_FOLDER}/fencing-credentials.yaml", render_yaml(fencing).encode()))
    return Config(tuple(files))


def _nameless(index: int) -> str:
    """A folder that no host's name can take: those have no underscore."""
    return f"_host-{index}"


def _describe(host: HostPlan) -> Iterator[tuple[str, str]]:
    yield "mac_addresses", "".join(f"{card.mac_address.lower()}\n" for card in host.cards)
    yield "role", f"{host.role}\n"
    if host.disk is not None:
        yield "root-device-hints.yaml", f"{_origin(host.disk)}{render_yaml(dump(host.disk))}"


def _origin(hints: RootDeviceHints) -> str:
    """Where the hints are written, for messages about them; what code made is written nowhere."""
    place = Place.of_key(hints.node)
    return f"{HINTS_FROM}{place.where}\n" if place.source.text else ""


def _fencing(plan: Plan) -> Mapping[str, Plain]:
    pool = plan.settings.get("controlPlane")
    fencing = pool.get("fencing") if isinstance(pool, Mapping) else None
    return fencing if isinstance(fencing, Mapping) else {}
