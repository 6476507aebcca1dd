# SPDX-License-Identifier: Apache-2.0
"""From where the host has its time; servers that the cluster wants are added."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from muster.agent.steps.outcome import Outcome, read
from muster.frozen import dataclass
from muster.links import parse_addresses
from muster.machine import Machine
from muster.model.wire.enums import SourceState
from muster.model.wire.reports import NtpSource, NtpSynchronizationResponse
from muster.model.wire.steps import NtpSynchronizationRequest
from muster.run import Said

_STATES: Final[dict[str, SourceState]] = {
    "*": "synced",
    "+": "combined",
    "-": "not_combined",
    "?": "unreachable",
    "x": "error",
    "~": "variable",
}
_SERVER: Final = re.compile(r"[A-Za-z0-9_:][A-Za-z0-9_.:%-]*")
_DEADLINE_S: Final = 5.0
_TRIES: Final = 8
"""A server that was just added needs some seconds for its first packets."""
_SOURCE_COLUMNS: Final = 3


class ChronySilent(Exception):
    """chrony does not tell; the text says why."""


@dataclass(frozen=True)
class Source:
    """A line of `chronyc -c sources`."""

    name: str
    state: SourceState


def parse_servers(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Servers that are separated by commas, each once: those that make sense, and what does not."""
    words = dict.fromkeys(word for each in text.split(",") if (word := each.strip()))
    good = tuple(word for word in words if _SERVER.fullmatch(word))
    return good, tuple(word for word in words if word not in good)


def parse_sources(text: str) -> tuple[Source, ...]:
    """Servers, peers and clocks of the host's own, in chrony's order."""
    rows = (row for row in csv.reader(text.splitlines()) if len(row) >= _SOURCE_COLUMNS)
    return tuple(Source(row[2], _STATES.get(row[1], "error")) for row in rows)


def name_sources(named: Sequence[Source], numeric: Sequence[Source]) -> tuple[Source, ...]:
    """Sources as somebody called them; those of a pool, which share its name, by their addresses."""
    if len(named) != len(numeric):
        return tuple(numeric)  # One came or went between two questions.
    counts = Counter(each.name for each in named)
    pairs = zip(named, numeric, strict=True)
    return tuple(Source(name.name if counts[name.name] == 1 else it.name, it.state) for name, it in pairs)


async def run(machine: Machine, args: Sequence[str]) -> Outcome:
    """The step."""
    wanted, wrong = parse_servers(read(args, NtpSynchronizationRequest).ntp_source)
    troubles = [f"{word} is no name of a time server" for word in wrong]
    try:
        sources, known = await _look(machine)
        missing = [server for server in wanted if server not in known]
        if missing:  # The service may name itself; the host that it runs on does not follow itself.
            said = await machine.ask(["ip", "-j", "address"], deadline_s=_DEADLINE_S)
            own = {str(address) for address in parse_addresses(said.out)}
            missing = [server for server in missing if server not in own]
        troubles += [trouble for server in missing if (trouble := await _add(machine, server))]
        if missing or (sources and not _is_synced(sources)):
            # A host that has the time a moment later need not be asked again for it.
            await _ask(machine, "waitsync", str(_TRIES), "0", "0", "1", deadline_s=_TRIES + _DEADLINE_S)
            sources, _ = await _look(machine)
    except ChronySilent as error:
        return Outcome(exit_code=1, error=f"cannot ask chrony for its servers: {error}")
    rows = sorted({(each.name, each.state) for each in sources})
    body = NtpSynchronizationResponse(
        ntp_sources=tuple(NtpSource(source_name=name, source_state=state) for name, state in rows)
    )
    return Outcome(msgspec.json.encode(body).decode(), error="\n".join(troubles))


def _is_synced(sources: Sequence[Source]) -> bool:
    return any(each.state == "synced" for each in sources)


async def _look(machine: Machine) -> tuple[tuple[Source, ...], frozenset[str]]:
    """The sources, and all that they are called, by name and by address."""
    said = [await _ask(machine, how, "-c", "sources") for how in ("-N", "-n")]
    for each in said:
        if not each.is_ok:
            raise ChronySilent(each.trouble)
    named, numeric = (parse_sources(each.out) for each in said)
    return name_sources(named, numeric), frozenset(each.name for each in (*named, *numeric))


async def _add(machine: Machine, server: str) -> str:
    """Add a server; what is to be told if that fails."""
    said = await _ask(machine, "add", "server", server, "iburst")
    return "" if said.is_ok else f"cannot add time server {server}: {said.trouble}"


async def _ask(machine: Machine, *words: str, deadline_s: float = _DEADLINE_S) -> Said:
    return await machine.ask(["chronyc", *words], deadline_s=deadline_s)
