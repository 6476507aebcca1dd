# SPDX-License-Identifier: Apache-2.0
"""Static networks of hosts, judged by the same rules as the files of a site.

Each is judged by itself first; when all can be read, the hosts are judged against each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from itertools import islice
from typing import Annotated, Final

import msgspec

from muster.config.derive import addresses
from muster.config.document.folder import Memory
from muster.config.document.parse import parse_yaml
from muster.config.network import read_network
from muster.model.bounded_yaml import MAX_REQUEST_NODES
from muster.model.problem import in_order
from muster.model.site import Environment, Site
from muster.model.tree import Source
from muster.model.wire.infra_env import HostStaticNetworkConfig
from muster.model.wire.struct import Wire, about
from muster.service.checking.finding import Finding, make_finding

_FILE: Final = "agent-config.yaml"
_BREAK: Final = re.compile(r"\r\n?|[\n\x85\u2028\u2029]")
"""What ends a line for YAML; the lines of `Source` end only at line feeds."""
_INDENT: Final = 6
_MOST_HOSTS: Final = 200
_MOST_BYTES: Final = 64 << 10
"""Of the network of one host."""
_MOST_IN_ALL: Final = 512 << 10
_MOST_FINDINGS: Final = 200
"""Of one host."""


class NetworksToCheck(Wire, frozen=True, kw_only=True):
    """Static networks of hosts."""

    hosts: tuple[HostStaticNetworkConfig, ...]
    rendezvous_ip: Annotated[str | None, about("The address where the hosts meet, if it is known.")] = None


class NetworkFindings(Wire, frozen=True, kw_only=True):
    """What is wrong with the network of one host."""

    problems: tuple[Finding, ...] = ()


class NetworksReport(Wire, frozen=True, kw_only=True):
    """What is wrong with the networks of hosts; warnings do not make them invalid."""

    valid: bool
    hosts: Annotated[tuple[NetworkFindings, ...], about("In the order of the hosts that were sent.")]
    problems: Annotated[tuple[Finding, ...], about("What is of no single host.")] = ()


def check_networks(wanted: NetworksToCheck) -> NetworksReport:
    """Everything that is wrong with the networks of hosts."""
    hosts = wanted.hosts[:_MOST_HOSTS]
    general = [] if len(wanted.hosts) <= _MOST_HOSTS else [_too_many(len(wanted.hosts))]
    sizes = [len(each.network_yaml or "") for each in hosts]
    judged = hosts
    if sum(size for size in sizes if size <= _MOST_BYTES) > _MOST_IN_ALL:
        general.append(_too_long())
        judged = hosts[: _MOST_IN_ALL // _MOST_BYTES]
    found = [list(islice(_alone(host), _MOST_FINDINGS)) for host in judged]
    found += [[] for _ in hosts[len(judged) :]]
    if not general and not any(each.severity == "error" for problems in found for each in problems):
        general += _together(hosts, wanted.rendezvous_ip or "", found)
    problems = [*general, *(each for of_host in found for each in of_host)]
    return NetworksReport(
        valid=all(each.severity != "error" for each in problems),
        hosts=tuple(NetworkFindings(problems=tuple(each)) for each in found),
        problems=tuple(general),
    )


def _too_many(count: int) -> Finding:
    return Finding(
        severity="error", message=f"{count} hosts are more than {_MOST_HOSTS}", fix="check fewer at once"
    )


def _too_long() -> Finding:
    return Finding(
        severity="error",
        message=f"the networks are longer than {_MOST_IN_ALL >> 10} KiB in all",
        fix="check fewer hosts at once",
    )


def _alone(host: HostStaticNetworkConfig) -> Iterator[Finding]:
    """What is wrong with one text; what nmstate says has its place in it."""
    text = host.network_yaml or ""
    if len(text) > _MOST_BYTES:
        yield Finding(severity="error", message=f"the text is longer than {_MOST_BYTES >> 10} KiB")
        return
    documents, problems = parse_yaml(Source("network_yaml", text), MAX_REQUEST_NODES)
    if not problems and len(documents) != 1:
        there = "nothing is written" if not documents else f"there are {len(documents)} documents"
        yield Finding(severity="error", message=there, fix="write one NMState document", line=1, column=1)
    elif documents and len(documents) == 1:
        read_network(documents[0], problems)
    for each in in_order(problems):
        line, column = each.place.position
        yield make_finding(each, line, column)
    if not host.mac_interface_map:
        yield Finding(
            severity="error",
            message="no card is named",
            why="A host finds its network by the MAC addresses of its cards.",
            fix="name at least one card by its MAC address",
        )


def _together(
    hosts: Sequence[HostStaticNetworkConfig], rendezvous_ip: str, found: list[list[Finding]]
) -> list[Finding]:
    """The hosts as one site: the same address or card twice, gateways out of reach, the rendezvous IP."""
    # All rules of a site's files: loaded when somebody asks, as a service has to start quickly on slow hosts.
    from muster.config.check import check_folder

    text, starts = _render(hosts, rendezvous_ip)
    site, problems = check_folder(Memory({_FILE: text.encode()}), Environment())
    general = list(_rendezvous(site, rendezvous_ip))
    for each in problems:
        if each.place.source.name != _FILE:
            continue
        line, column = each.place.position
        owner = max((number for number, (first, _) in enumerate(starts) if first <= line), default=None)
        if owner is None or len(found[owner]) >= _MOST_FINDINGS:
            continue
        first = starts[owner][1]
        inside = first <= line
        finding = (
            make_finding(each, line - first + 1, max(1, column - _INDENT)) if inside else make_finding(each)
        )
        if not any(finding.message == known.message for known in found[owner]):
            found[owner].append(finding)
    return general


def _rendezvous(site: Site, text: str) -> Iterator[Finding]:
    """One of the hosts should have the address where they meet; one whose network is not told of may."""
    if not text:
        return
    try:
        ip = ip_address(text)
    except ValueError:
        yield Finding(severity="error", message=f"{text!r} is no IP address", fix="write it as 192.0.2.10")
        return
    if not any(ip in addresses(host) for host in site.hosts):
        yield Finding(
            severity="warning",
            message=f"none of these hosts has the rendezvous IP {ip}",
            why="The service runs on the host with that address, and all others come to it.",
            fix="give it to the rendezvous host, or leave that host's network as it is",
        )


def _render(
    hosts: Sequence[HostStaticNetworkConfig], rendezvous_ip: str
) -> tuple[str, list[tuple[int, int]]]:
    """The hosts as agent-config.yaml, and for each the lines where it and its network begin."""
    lines, starts = ["apiVersion: v1beta1", "kind: AgentConfig"], []
    if rendezvous_ip:
        lines.append(f"rendezvousIP: {_quoted(rendezvous_ip)}")
    lines.append("hosts:" if hosts else "hosts: []")
    for number, host in enumerate(hosts):
        begin = len(lines) + 1
        lines += [f"  - hostname: host-{number + 1}", "    interfaces:"]
        for card in host.mac_interface_map or ():
            lines.append(f"      - name: {_quoted(card.logical_nic_name or '')}")
            lines.append(f"        macAddress: {_quoted(card.mac_address or '')}")
        lines.append("    networkConfig:")
        starts.append((begin, len(lines) + 1))
        indented = _BREAK.sub(rf"\g<0>{' ' * _INDENT}", (host.network_yaml or "").rstrip("\r\n"))
        lines += (" " * _INDENT + indented).split("\n")
    return "\n".join(lines) + "\n", starts


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()
