# SPDX-License-Identifier: Apache-2.0
"""Where Debian's packages come from: the mirror that the machine itself uses, unless the user names one.

MUSTER_DEBIAN_MIRROR              the archive, such as http://mirror.example.com/debian
MUSTER_DEBIAN_SECURITY_MIRROR     the security updates; ``none`` when the site has no mirror of them
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from muster.errors import UserError
from muster.frozen import dataclass

VARIABLE: Final = "MUSTER_DEBIAN_MIRROR"
SECURITY_VARIABLE: Final = "MUSTER_DEBIAN_SECURITY_MIRROR"
NONE: Final = "none"
_EXAMPLE: Final = "http://mirror.example.com/debian"

_ONE_LINE: Final = re.compile(r"deb\s+(?:\[[^]]*]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<components>[^#]+)")


@dataclass(frozen=True)
class Mirror:
    """The two archives that a Debian system is made of."""

    archive: str
    security: str = ""
    """Empty where there is none: packages then come without security updates."""


@dataclass(frozen=True)
class Source:
    """One archive that a machine's apt uses."""

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...]


def find_mirror(env: Mapping[str, str], etc_apt: Path = Path("/etc/apt")) -> Mirror:
    """The mirror that the user names, else that of the machine's apt."""
    own = choose_mirror(_read_sources(etc_apt))
    archive = env.get(VARIABLE, "")
    security = env.get(SECURITY_VARIABLE, "")
    if archive:
        _check_uri(VARIABLE, archive)
    elif not own.archive:
        raise UserError(
            "Debian's packages are needed, and this machine's apt uses no mirror of them",
            hint=f"name one in {VARIABLE}, such as {_EXAMPLE}",
        )
    if security and security != NONE:
        _check_uri(SECURITY_VARIABLE, security)
    return Mirror(
        (archive or own.archive).rstrip("/"),
        "" if security == NONE else (security or own.security).rstrip("/"),
    )


def choose_mirror(sources: Iterable[Source]) -> Mirror:
    """The first Debian archive, and the first of its security updates, that a machine uses; or nothing."""
    archive, security = "", ""
    for source in sources:
        if not source.uri.startswith(("http://", "https://")) or "main" not in source.components:
            continue
        # Others publish packages for Debian; only Debian's own archive is called so, wherever it is mirrored.
        # A dated snapshot of it holds still: it may be older than the release that is asked for.
        name = urlsplit(source.uri).path.rstrip("/").rpartition("/")[2]
        if any(suite.endswith("-security") for suite in source.suites):
            security = security or (source.uri.rstrip("/") if name == "debian-security" else "")
        elif name == "debian":
            archive = archive or source.uri.rstrip("/")
    return Mirror(archive, security)


def parse_sources(text: str) -> Iterator[Source]:
    """What a .sources file (deb822) lists."""
    for block in re.split(r"\n[ \t]*\n", text):
        fields = _parse_fields(block)
        if "deb" not in fields.get("types", ()) or fields.get("enabled") in (("no",), ("false",)):
            continue
        for uri in fields.get("uris", ()):
            yield Source(uri, fields.get("suites", ()), fields.get("components", ()))


def _parse_fields(block: str) -> dict[str, tuple[str, ...]]:
    fields: dict[str, tuple[str, ...]] = {}
    name = ""
    for line in block.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if line[0] in " \t":
            fields[name] = (*fields.get(name, ()), *line.split())
            continue
        name, _, value = line.partition(":")
        name = name.strip().lower()
        fields[name] = tuple(value.split())
    return fields


def parse_list(text: str) -> Iterator[Source]:
    """What a .list file (one line each) lists."""
    for line in text.splitlines():
        if match := _ONE_LINE.match(line.strip()):
            yield Source(match["uri"], (match["suite"],), tuple(match["components"].split()))


def _read_sources(etc_apt: Path) -> Iterator[Source]:
    folder = etc_apt / "sources.list.d"
    lists = [etc_apt / "sources.list", *sorted(folder.glob("*.list"))]
    for paths, parse in ((sorted(folder.glob("*.sources")), parse_sources), (lists, parse_list)):
        for path in paths:
            try:
                text = path.read_text("utf-8", "replace")
            except OSError:
                continue  # What cannot be read names no mirror; there is a default.
            yield from parse(text)


def _check_uri(variable: str, uri: str) -> None:
    parts = urlsplit(uri)
    if parts.scheme not in ("http", "https", "file") or not (parts.netloc or parts.scheme == "file"):
        raise UserError(
            f"{variable} is {uri!r}, which is no address of a mirror",
            hint=f"write it like {_EXAMPLE}, or leave the variable away",
        )
