# SPDX-License-Identifier: Apache-2.0
"""Fencing: how two control-plane hosts switch each other off, so that they cannot both go on alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from muster.config.derive import AGENT_PLATFORMS, DEFAULT_CONTROL_PLANE, platform_name
from muster.config.spelling import plural
from muster.model.install_config import InstallConfig
from muster.model.machine_pool import Credential, Fencing
from muster.model.problem import Place, Problem, problem
from muster.model.schema import Items
from muster.model.site import Site
from muster.model.tree import Node, is_null
from muster.redact import redact

PLATFORMS: Final = ("baremetal", "none", "external")
_HOSTS: Final = 2


def check_fencing_pool(site: Site) -> Iterator[Problem]:
    """Only control-plane hosts are fenced."""
    install = site.install
    if install is None:
        return
    others = [("compute", pool) for pool in install.compute]
    if install.arbiter:
        others.append(("arbiter", install.arbiter))
    for field, pool in others:
        if not is_null(pool.places.get("fencing")):
            yield problem("fencing-pool", Place.of_key(pool.at("fencing")), field=field)


def check_fencing(site: Site) -> Iterator[Problem]:
    """Each of two control-plane hosts has one login, on a platform that supports it."""
    install = site.install
    fencing = _fencing(install)
    if install is None or install.control_plane is None or fencing is None:
        return
    platform, at = platform_name(install), Place.of_key(install.control_plane.at("fencing"))
    if platform in AGENT_PLATFORMS and platform not in PLATFORMS:
        yield problem("fencing-platform", at, platform=platform, known="baremetal, none or external")
    masters, found = install.control_plane.replicas, len(fencing.credentials)
    if masters is None and is_null(install.control_plane.places.get("replicas")):
        masters = DEFAULT_CONTROL_PLANE
    if masters is None or fencing.is_unread("credentials"):
        return
    arbiters = install.arbiter.replicas or 0 if install.arbiter else 0
    right = ""
    if masters != _HOSTS and found:
        right = "remove fencing, or use two hosts"
    elif masters == _HOSTS and found != _HOSTS and (found or not arbiters):
        right = "give one entry for each of the two hosts"
    if right:
        hosts, count = plural(masters, "control-plane host"), plural(found, "fencing credential")
        yield problem("fencing-count", at, hosts=hosts, count=count, right=right)


def _fencing(install: InstallConfig | None) -> Fencing | None:
    return install.control_plane.fencing if install and install.control_plane else None


def check_fencing_hosts(site: Site) -> Iterator[Problem]:
    """Every login belongs to a host, and no two of them to the same host or controller."""
    fencing = _fencing(site.install)
    credentials = fencing.credentials if fencing else Items[Credential]()
    seen: dict[tuple[str, str], Node] = {}
    for entry, node in credentials.located():
        if is_null(entry.places.get("host_name")) and is_null(entry.places.get("mac_address")):
            yield problem("fencing-host", Place.start_of(node))
        for field, key in (("host_name", "hostName"), ("mac_address", "macAddress"), ("address", "address")):
            value = getattr(entry, field)
            if not value:
                continue
            first = seen.setdefault((field, value), entry.at(field))
            if first is not entry.at(field):
                line = Place.of(first).line
                yield problem("fencing-duplicate", entry.at(field), key=key, value=redact(value), first=line)


def check_fencing_addresses(site: Site) -> Iterator[Problem]:
    """Controllers are reached with Redfish."""
    fencing = _fencing(site.install)
    for entry in fencing.credentials if fencing else ():
        fault = _address_fault(entry.address) if entry.address else ""
        if fault:
            yield problem(
                "fencing-address", entry.at("address"), value=redact(entry.address or ""), reason=fault
            )


def _address_fault(address: str) -> str:
    """Why an address is not one of a Redfish service, or nothing when it is one."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        return str(error)
    if "redfish" not in address:
        return "only Redfish can be used, not IPMI or others"
    if not port and not any(word in parts.scheme for word in ("http", "redfish")):
        return "it has neither a scheme nor a port"
    return "" if parts.hostname else "it names no host"


RULES: Final = (check_fencing_pool, check_fencing, check_fencing_hosts, check_fencing_addresses)
