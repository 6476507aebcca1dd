# SPDX-License-Identifier: Apache-2.0
"""What hosts reported of their peers, word for word: in pieces as it came, and as a whole when it is shown.

A report is about some peers only. Each is kept as a file as long as it is the last word about any of them;
the host knows which file that is for whom.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

import msgspec

from muster.service.derive.bits import read_bits, write_bits

DOCUMENT: Final = "connectivity"
_MOST: Final = 128
"""Many more than there are as a rule: whoever has more loses what is about the fewest peers."""


def note_report(reports: Mapping[str, str], asked: int) -> tuple[dict[str, str], str, set[str]]:
    """A new report about some peers: who has the last word now, its file, and the files to be removed."""
    kept = {name: bits for name, told in reports.items() if (bits := read_bits(told) & ~asked)}
    while len(kept) >= _MOST:
        del kept[min(kept, key=lambda name: kept[name].bit_count())]
    name = next(each for each in _names() if each not in kept)
    kept[name] = asked
    return {name: write_bits(bits) for name, bits in kept.items()}, name, reports.keys() - kept.keys()


def _names() -> Collection[str]:
    return (DOCUMENT, *(f"{DOCUMENT}-{number}" for number in range(1, _MOST)))


class _Remote(msgspec.Struct):
    host_id: str | None = None


class _Report(msgspec.Struct):
    remote_hosts: list[msgspec.Raw] | None = None


_reports: Final = msgspec.json.Decoder(_Report)
_remotes: Final = msgspec.json.Decoder(_Remote)


def merge_reports(
    reports: Mapping[str, str], numbers: Mapping[str, int], read: Callable[[str], bytes | None]
) -> bytes | None:
    """One report about all peers that are still there; of each the last that was said."""
    if len(reports) < 2:
        return read(next(iter(reports), DOCUMENT))
    found: list[bytes] = []
    for name, told in reports.items():
        bits = read_bits(told)
        for remote in _parts(read(name)):
            number = numbers.get(_id_of(remote), -1)
            if number >= 0 and bits >> number & 1:
                found.append(bytes(remote))
    return b'{"remote_hosts":[%s]}' % b",".join(found)


def _parts(body: bytes | None) -> list[msgspec.Raw]:
    try:
        return [] if body is None else _reports.decode(body).remote_hosts or []
    except msgspec.DecodeError:
        return []


def _id_of(remote: msgspec.Raw) -> str:
    try:
        return _remotes.decode(remote).host_id or ""
    except msgspec.DecodeError:
        return ""
