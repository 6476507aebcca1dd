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
    return (
        given.text
        if isinstance(given, Scalar)
        else _text(find(trees["install-config"], ("metadata", "name")))
    )


def claims_of(trees: Mapping[str, Map], cells: Mapping[str, Node], table: str) -> Iterator[Claim]:
    """All that a site claims for itself."""
    install, config = trees["install-config"], trees["image-based-config"]
    name, domain = find(install, ("metadata", "name")), find(install, ("baseDomain",))
    named = _is_from(name, table)
    yield Claim(NAME, f"{_text(name)}.{_text(domain)}".lower(), named or _is_from(domain, table))
    yield Claim(OUTPUT, folder_of(trees, cells), named or FOLDER in cells)
    for key, kind in (("hostname", HOST), ("cluster_id", ID), ("infra_id", INFRA_ID)):
        node = find(config, (key,))
        text = _text(node).lower()
        if text and (kind != HOST or "." in text):  # A short host name is unique within its cluster's domain.
            yield Claim(kind, text, _is_from(node, table))
    network = config.items.get("networkConfig")
    for steps, leaf in walk(network) if network is not None and not is_null(network) else ():
        if steps[-1] == "mac-address":
            yield Claim(MAC, leaf.text.lower(), _is_from(leaf, table))
        elif steps[-1] == "ip" and "address" in steps and _is_from(leaf, table):
            yield Claim(ADDRESS, leaf.text.lower(), varies=True)


def _is_from(node: Node, table: str) -> bool:
    return node.source.name == table


def _text(node: Node) -> str:
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
        hint = "put a placeholder there, like ${mac}, and a column of that name into the table"
        self.faults.append(Fault(self.table, message, hint))
