# SPDX-License-Identifier: Apache-2.0
"""Management controllers of hosts: how they are reached, and who switches whom off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from muster.config import derive
from muster.config.rules.machines import are_roles_known, is_agent_based, is_empty
from muster.config.spelling import closest
from muster.model.host import Role
from muster.model.machine_pool import Credential
from muster.model.problem import Place, Problem, problem
from muster.model.site import Site, SiteHost
from muster.model.tree import Node

_PLAIN: Final = ("ipmi", "libvirt", "irmc")
_WITH_HTTP: Final = (
    "redfish", "redfish-virtualmedia", "idrac", "idrac-redfish", "idrac-virtualmedia", "ibmc",
    "ilo5-redfish", "ilo5-virtualmedia",
)  # fmt: skip
_WITH_HTTPS: Final = ("ilo4", "ilo4-virtualmedia", "ilo5")
SCHEMES: Final = (
    *_PLAIN,
    *_WITH_HTTP,
    *_WITH_HTTPS,
    *(f"{name}+http" for name in _WITH_HTTP),
    *(f"{name}+https" for name in (*_WITH_HTTP, *_WITH_HTTPS)),
)
"""Protocols of management controllers that the cluster can talk."""
_LOGIN: Final = {"address": "address", "username": "username", "password": "password"}
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def scheme_of(address: str) -> str:
    """The protocol of a controller's address; without one it is IPMI."""
    found = _SCHEME.match(address)
    return found[1] if found else "ipmi"


def check_logins(site: Site) -> Iterator[Problem]:
    """A controller is described in full, or not at all."""
    described = [host for host in site.hosts if host.host.bmc and host.host.bmc.address]
    in_manifests = site.manifests is not None and bool(site.manifests.nmstate_configs)
    in_install = not in_manifests and (site.agent is None or not site.agent.hosts)
    for host in site.hosts:
        bmc = host.host.bmc
        if bmc is None:
            if described and in_install and not host.host.is_unread("bmc") and is_agent_based(site):
                at = Place.of_key(host.host.at("hostname")) if host.host.has("hostname") else host.host.node
                yield problem("bmc-missing", at, host=host.label, other=described[0].label)
            continue
        missing = [key for name, key in _LOGIN.items() if is_empty(bmc, name)]
        if missing and len(missing) < len(_LOGIN):
            yield problem(
                "bmc-incomplete", Place.of_key(bmc.node), host=host.label, missing=", ".join(missing)
            )


def check_used(site: Site) -> Iterator[Problem]:
    """Controllers are used where the cluster can manage machines."""
    platform = derive.platform_name(site.install)
    if not is_agent_based(site) or platform in (None, "baremetal"):
        return
    for host in site.hosts:
        if host.host.bmc is not None:
            reason = f"on platform {platform} the cluster does not manage its machines"
            at = host.host.bmc.node
            key = at.key.text if at.key else "bmc"
            yield problem("ignored-field", Place.of_key(at), key=key, reason=reason)


def check_addresses(site: Site) -> Iterator[Problem]:
    """Every controller has an address of its own that the cluster can use."""
    first: dict[str, tuple[SiteHost, Node]] = {}
    for host in site.hosts:
        bmc = host.host.bmc
        if bmc is None or not bmc.address:
            continue
        at = bmc.at("address")
        if scheme_of(bmc.address) not in SCHEMES:
            yield _unknown_scheme(bmc.address, at)
        if bmc.address in first:
            owner, node = first[bmc.address]
            yield problem("bmc-duplicate", at, host=host.label, owner=owner.label, line=Place.of(node).line)
        first.setdefault(bmc.address, (host, at))


def _unknown_scheme(address: str, at: Node) -> Problem:
    scheme = scheme_of(address)
    # A web address is most often that of a Redfish service.
    right = (
        f"redfish-virtualmedia+{scheme}" if scheme in ("http", "https") else closest(scheme, list(SCHEMES))
    )
    place = Place.of(at)
    written = place.source.text.find(scheme, place.start, place.end)
    if written >= 0:
        place = Place(place.source, written, written + len(scheme))
    hint = f"; did you mean {right}?" if right else ""
    known = ", ".join(sorted((*_PLAIN, *_WITH_HTTP, *_WITH_HTTPS)))
    return problem("bmc-scheme", place, scheme=scheme, hint=hint, known=known)


def check_fencing(site: Site) -> Iterator[Problem]:
    """Credentials for switching hosts off belong to hosts of the control plane."""
    pool = site.install.control_plane if site.install else None
    if pool is None or pool.fencing is None or not is_agent_based(site) or not are_roles_known(site):
        return
    counts = derive.host_counts(site.install)
    roles = derive.roles(site.hosts, counts)
    masters = [host for host, role in zip(site.hosts, roles, strict=True) if role is Role.MASTER]
    if len(masters) < counts.masters:
        return
    for credential in pool.fencing.credentials:
        if credential.host_name:
            yield from _unknown_host(credential, masters)
        elif credential.mac_address:
            yield from _unknown_mac(credential, masters)


def _unknown_host(credential: Credential, masters: list[SiteHost]) -> Iterator[Problem]:
    names = [host.host.hostname for host in masters if host.host.hostname]
    if len(names) < len(masters) or credential.host_name is None or credential.host_name in names:
        return
    right = closest(credential.host_name, names)
    hint = f"; did you mean {right}?" if right else ""
    at = credential.at("host_name")
    yield problem("fencing-unknown-host", at, value=credential.host_name, hint=hint, known=", ".join(names))


def _unknown_mac(credential: Credential, masters: list[SiteHost]) -> Iterator[Problem]:
    macs = [card.mac_address for host in masters for card in host.host.interfaces if card.mac_address]
    if credential.mac_address not in macs:
        at = credential.at("mac_address")
        yield problem("fencing-unknown-mac", at, value=credential.mac_address, known=", ".join(macs))


RULES: Final = (check_logins, check_used, check_addresses, check_fencing)
