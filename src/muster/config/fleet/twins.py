# SPDX-License-Identifier: Apache-2.0
"""Sites that cannot both exist: the same name, host name, MAC address, IP address, id or folder, twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from muster.config.fleet.fault import Fault
from muster.config.fleet.weave import FOLDER
from muster.model.tree import Map, Node, Scalar, find, is_null, walk

NAME: Final = "cluster name"
HOST: Final = "host name"
MAC: Final = "MAC address"
ADDRESS: Final = "IP address"
ID: Final = "cluster id"
INFRA_ID: Final = "infra id"
OUTPUT: Final = "folder"


class Claim(NamedTuple):
    """Something that belongs to one site alone."""

    kind: str
    value: str
    varies: bool
    """Whether the row gives it; if not, all rows have the same."""


def folder_of(trees: Mapping[str, Map], cells: Mapping[str, Node]) -> str:
    """The folder that a site's files go into."""
    given = cells.get(FOLDER)
    return given.text if isinstance(given, Scalar) else _text(trees["install-config"], "metadata", "name")


def claims_of(trees: Mapping[str, Map], cells: Mapping[str, Node], table: str) -> Iterator[Claim]:
    """All that a site claims for itself."""
    install, config = trees["install-config"], trees["image-based-config"]
    name, domain = _text(install, "metadata", "name"), _text(install, "baseDomain")
    yield Claim(NAME, f"{name}.{domain}".lower(), varies=True)
    yield Claim(OUTPUT, folder_of(trees, cells), varies=True)
    hostname = _text(config, "hostname").lower()
    if "." in hostname:
        yield Claim(HOST, hostname, varies=True)
    for key, kind in (("cluster_id", ID), ("infra_id", INFRA_ID)):
        if text := _text(config, key):
            yield Claim(kind, text.lower(), varies=True)
    network = config.items.get("networkConfig")
    for steps, node in walk(network) if network is not None and not is_null(network) else ():
        varies = node.source.name == table
        if steps[-1] == "mac-address":
            yield Claim(MAC, node.text.lower(), varies)
        elif steps[-1] == "ip" and "address" in steps and varies:
            yield Claim(ADDRESS, node.text.lower(), varies)


def _text(tree: Map, *steps: str) -> str:
    node = find(tree, steps)
    return node.text if isinstance(node, Scalar) and not node.is_null else ""


@dataclass
class Twins:
    """Finds claims that two rows make."""

    table: str
    rows: int
    same_addresses: bool = False
    faults: list[Fault] = field(default_factory=list)
    _seen: dict[tuple[str, str], int] = field(default_factory=dict, repr=False)
    _common: set[tuple[str, str]] = field(default_factory=set, repr=False)

    def add(self, line: int, claims: Iterator[Claim]) -> None:
        """Note what the row on a line claims."""
        for claim in dict.fromkeys(claims):
            if claim.kind == ADDRESS and self.same_addresses:
                continue
            key = (claim.kind, claim.value)
            first = self._seen.setdefault(key, line)
            if first == line:
                continue
            if claim.varies:
                self._report(claim, line, first)
            elif key not in self._common:
                self._common.add(key)
                self._report_common(claim)

    def _report(self, claim: Claim, line: int, first: int) -> None:
        hint = "give each site its own"
        if claim.kind == ADDRESS:
            hint += "; if their networks are apart, allow it with --allow-same-addresses"
        message = f"the {claim.kind} {claim.value} is that of line {first}, too"
        self.faults.append(Fault(f"{self.table}:{line}", message, hint))

    def _report_common(self, claim: Claim) -> None:
        message = f"all {self.rows:,} sites have the {claim.kind} {claim.value}, which is in the template"
        hint = "put a placeholder like ${mac} there, and a column of that name into the table"
        self.faults.append(Fault(self.table, message, hint))
