# SPDX-License-Identifier: Apache-2.0
"""Hosts: their number, names and disks, and what agent-config.yaml says for all of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from muster.config import derive
from muster.config.document import edit
from muster.config.links import server_ip
from muster.config.networks import InnerNetwork, find_inner_network
from muster.config.rules import cards, management, rendezvous
from muster.config.rules.documents import documents
from muster.config.rules.machines import are_roles_known, is_agent_based, is_bare_disk
from muster.config.rules.versions import check_version
from muster.model.host import Role
from muster.model.manifests.infra_env import ImageType
from muster.model.problem import Edit, Place, Problem, problem
from muster.model.schema import Items
from muster.model.site import Site, SiteHost
from muster.model.tree import Map, Node, is_null
from muster.redact import redact

_VERSIONS: Final = ("v1beta1", "v1alpha1")
_LONGEST_NAME: Final = 63
_POOLS: Final = {
    Role.MASTER: "controlPlane.replicas",
    Role.ARBITER: "arbiter.replicas",
    Role.WORKER: "compute[].replicas",
}
_AGENTS: Final = {
    Role.MASTER: "provisionRequirements.controlPlaneAgents",
    Role.ARBITER: "provisionRequirements.arbiterAgents",
    Role.WORKER: "provisionRequirements.workerAgents",
}
"""Where manifests say how many hosts of a role there are."""
_HCTL: Final = re.compile(r"[0-9]+:[0-9]+:[0-9]+:[0-9]+\Z")
_MOST_SHOWN: Final = 5
_BY_PATH: Final = "/dev/disk/by-path/"


def check_api_version(site: Site) -> Iterator[Problem]:
    """agent-config.yaml says which version of the format it has."""
    if site.agent is not None:
        yield from check_version(site.agent, _VERSIONS, "AgentConfig", optional=True)


def check_host_count(site: Site) -> Iterator[Problem]:
    """There are as many hosts of each role as the cluster has places for."""
    if not is_agent_based(site) or not are_roles_known(site):
        return
    counts = derive.host_counts(site.install)
    wanted = {Role.MASTER: counts.masters, Role.ARBITER: counts.arbiters, Role.WORKER: counts.workers}
    given = derive.roles(site.hosts, counts)
    for role, most in wanted.items():
        of_role = [host for host, its_role in zip(site.hosts, given, strict=True) if its_role is role]
        if len(of_role) > most:
            extra = of_role[most]
            at = extra.host.at("role") if extra.host.role is not None else Place.start_of(extra.host.node)
            count, field = _count(len(of_role), role), (_AGENTS if site.is_lifted else _POOLS)[role]
            yield problem("too-many-hosts", at, count=count, field=field, most=most, host=extra.label)
    missing = {role: most - given.count(role) for role, most in wanted.items()}
    hosts = _hosts_node(site)
    if hosts is not None and all(count >= 0 for count in missing.values()):
        words = [f"{count} {role}{'s' * (count > 1)}" for role, count in missing.items() if count > 0]
        if words:
            listed = _count(len(site.hosts), "host")
            yield problem("too-few-hosts", Place.of_key(hosts), missing=" and ".join(words), listed=listed)


def _count(number: int, word: str) -> str:
    return f"{number} {word} is" if number == 1 else f"{number} {word}s are"


def _hosts_node(site: Site) -> Node | None:
    """The list of hosts, if there is one; nmstateconfig.yaml holds only those with a static network."""
    if site.agent is not None and site.agent.hosts:
        return site.agent.at("hosts")
    platform = site.install.platform if site.install else None
    if platform and platform.baremetal and platform.baremetal.hosts:
        return platform.baremetal.at("hosts")
    return None


def check_hostnames(site: Site) -> Iterator[Problem]:
    """Every host has a name of its own, which a node can have."""
    first: dict[str, SiteHost] = {}
    for host in site.hosts:
        name = host.host.hostname
        if name is None:
            continue
        at = host.host.at("hostname")
        if len(name) > _LONGEST_NAME:
            yield problem("hostname-too-long", at, value=name, length=len(name), most=_LONGEST_NAME)
        if name in first:
            yield problem(
                "duplicate-hostname", at, value=name, line=Place.of(first[name].host.at("hostname")).line
            )
        first.setdefault(name, host)


def check_disks(site: Site) -> Iterator[Problem]:
    """What chooses a disk can match one."""
    for host in site.hosts:
        node = host.host.places.get("root_device_hints")
        if node is not None and _says_nothing(node):
            yield problem("empty-hints", Place.of_key(node), host=host.label)
        hints = host.host.root_device_hints
        if hints is None:
            continue
        if hints.hctl and not _HCTL.match(hints.hctl):
            yield problem("bad-hctl", hints.at("hctl"), value=hints.hctl)
        if hints.device_name:
            yield from _device_name(hints.device_name, hints.at("device_name"))


def _says_nothing(node: Node) -> bool:
    return is_null(node) or (isinstance(node, Map) and all(map(is_null, node.items.values())))


def _device_name(value: str, at: Node) -> Iterator[Problem]:
    advice = f"write a path like /dev/sda, or better one below {_BY_PATH}, which stays when disks are added"
    edits: tuple[Edit, ...] = ()
    if not value.startswith("/dev/") or value == "/dev/":
        reason = "it is not below /dev/"
        if is_bare_disk(value):
            edits = edit.replace_scalar(at, f"/dev/{value}")
    elif "/" in value.removeprefix("/dev/") and not value.startswith(_BY_PATH):
        reason = f"it is neither directly below /dev/ nor below {_BY_PATH}"
        if value.startswith("/dev/disk/by-id/"):
            advice = "use the hint wwn or serialNumber for this disk, or its path below " + _BY_PATH
    elif "/" in value.removeprefix(_BY_PATH).removeprefix("/dev/") or value == _BY_PATH:
        reason = f"it names no entry of {_BY_PATH}"
    else:
        return
    yield problem("device-name", at, value=value, reason=reason, advice=advice, edits=edits)


def check_time_servers(site: Site) -> Iterator[Problem]:
    """Every time server is named once."""
    for servers in _time_servers(site):
        first: dict[str, Node] = {}
        for server, node in servers.located():
            before = first.setdefault(server.lower().rstrip("."), node)
            if before is not node:
                yield problem(
                    "ntp-twice", node, value=server, line=Place.of(before).line, edits=edit.remove_item(node)
                )


def _time_servers(site: Site) -> Iterator[Items[str]]:
    """The lists of time servers, one per file."""
    for config in (site.agent, site.image_based):
        if config is not None:
            yield config.additional_ntp_sources
    if site.infra_env_spec is not None:
        yield site.infra_env_spec.additional_ntp_sources
    platform = site.install.platform if site.install else None
    if platform is not None and platform.baremetal is not None:
        yield platform.baremetal.additional_ntp_servers


def check_servers_outside(site: Site) -> Iterator[Problem]:
    """Name servers and time servers are outside of the networks that exist only within the cluster."""
    found: dict[InnerNetwork, dict[str, Node]] = {}
    for what, server, node in _servers(site):
        ip = server_ip(server)
        inner = find_inner_network(ip, site) if ip else None
        if inner is not None:
            found.setdefault(inner, {}).setdefault(f"{what} {server}", node)
    for inner, servers in found.items():
        first, *others = servers
        shown = ", ".join(f"{each} ({Place.of(servers[each]).where})" for each in others[:_MOST_SHOWN])
        further = f" and {len(others) - _MOST_SHOWN} more" if len(others) > _MOST_SHOWN else ""
        yield problem(
            "server-in-cluster-network",
            servers[first],
            server=first,
            more=f"; also inside: {shown}{further}" if others else "",
            name=inner.name,
            network=inner.cidr,
            choice=inner.choice,
        )


def _servers(site: Site) -> Iterator[tuple[str, str, Node]]:
    for servers in _time_servers(site):
        yield from (("time server", server, node) for server, node in servers.located())
    for document in documents(site):
        found = document.network.name_servers()
        yield from (("name server", server, node) for server, node in found.located())


def check_boot_artifacts(site: Site) -> Iterator[Problem]:
    """Hosts can download the files that the image leaves out."""
    agent = site.agent
    if agent is not None and agent.boot_artifacts_base_url:
        parts = urlsplit(agent.boot_artifacts_base_url)
        host = parts.hostname or ""
        what = ""
        if parts.query or parts.fragment:
            what = "ends with a query or fragment, and file names are appended to it"
        elif host in ("localhost", "::1") or host.startswith("127."):
            what = "means each host itself"
        if what:
            value = redact(agent.boot_artifacts_base_url)
            yield problem("boot-artifacts-url", agent.at("boot_artifacts_base_url"), value=value, what=what)
    elif is_agent_based(site):
        yield from _check_minimal_iso(site)


def _check_minimal_iso(site: Site) -> Iterator[Problem]:
    agent, infra = site.agent, site.infra_env_spec
    if agent is not None and agent.has("boot_artifacts_base_url"):
        return
    if agent is not None and agent.minimal_iso:
        at, cause, other = agent.at("minimal_iso"), "minimalISO is true", "set minimalISO: false"
        yield problem("minimal-iso-from-nowhere", at, cause=cause, other=other)
    elif infra is not None and infra.image_type is ImageType.MINIMAL_ISO:
        at, cause, other = infra.at("image_type"), "imageType is minimal-iso", "remove imageType"
        yield problem("minimal-iso-from-nowhere", at, cause=cause, other=other)


RULES: Final = (
    check_api_version,
    *cards.RULES,
    check_host_count,
    check_hostnames,
    check_disks,
    check_time_servers,
    check_servers_outside,
    check_boot_artifacts,
    *rendezvous.RULES,
    *management.RULES,
)
