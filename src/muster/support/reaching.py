# SPDX-License-Identifier: Apache-2.0
"""Which hosts of a site are asked for their bundles, and how: over ssh, by the program of the host itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from muster.errors import UserError
from muster.frozen import dataclass
from muster.run import Argument, ask

COMMAND: Final = ("sudo", "-n", "muster", "host", "bundle", "--to", "-")
_DEADLINE_S: Final = 300.0
_MOST_BLOCKS: Final = (256 << 20) // 512
_SCRIPT: Final = f'ulimit -f {_MOST_BLOCKS}; exec "$@" >"$0"'
"""What it sends goes to a file, which does not fill the disk."""
_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]*|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(?:%[\w.-]+)?")
_GZIP: Final = b"\x1f\x8b"


@dataclass(frozen=True)
class Known:
    """A host, and where it may be found; the best address first."""

    name: str
    addresses: tuple[str, ...]


Reach: TypeAlias = Callable[[str, str], Sequence[Argument]]
"""The command line that has a host make its bundle, by the name of the host and an address of it."""


def folder_name(name: str) -> str:
    """A name of a host as that of a folder."""
    return re.sub(r"[^\w.:-]", "-", name).lstrip(".") or "host"


def join_known(*lists: Iterable[Known]) -> tuple[Known, ...]:
    """The same hosts by what several say of them: one is known again by its name, or by an address."""
    joined: list[Known] = []
    for each in (known for known_by in lists for known in known_by):
        same = next((at for at, one in enumerate(joined) if _is_same(one, each)), None)
        if same is None:
            joined.append(each)
        else:
            addresses = tuple(dict.fromkeys((*joined[same].addresses, *each.addresses)))
            joined[same] = Known(joined[same].name, addresses)
    return tuple(joined)


def _is_same(one: Known, other: Known) -> bool:
    return one.name == other.name or bool({*one.addresses} & {*other.addresses})


def choose(known: Sequence[Known], wanted: Sequence[str]) -> tuple[Known, ...]:
    """The hosts that are meant, by name or address; all when none is named."""
    if not wanted:
        return tuple(known)
    chosen: list[Known] = []
    for text in wanted:
        found = [each for each in known if text in (each.name, each.name.partition(".")[0], *each.addresses)]
        if not found and not _NAME.fullmatch(text):
            names = ", ".join(each.name for each in known)
            raise UserError(
                f"{text!r} is neither a host of the site nor an address",
                hint=f"the hosts are: {names}" if names else "name an address",
            )
        chosen += found or [Known(text, (text,))]
    return tuple(dict.fromkeys(chosen))


def ssh_argv(
    address: str, user: str, key: Path | None, known_hosts: Path, command: Sequence[str] = COMMAND
) -> list[str]:
    """How a host of a site is asked. Its key is not known before: the first one that it shows is taken."""
    settings = (
        *("BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=15", "LogLevel=ERROR"),
        *("StrictHostKeyChecking=accept-new", f"UserKnownHostsFile={known_hosts}"),
    )
    words = ["ssh", *(word for each in settings for word in ("-o", each))]
    words += ["-i", str(key), "-o", "IdentitiesOnly=yes"] if key else []
    return [*words, "-l", user, "--", address, *command]


async def fetch_bundle(host: Known, reach: Reach, file: Path) -> str:
    """Have a host make its bundle, at the first address where it answers; why there is none, or not all."""
    trouble = "nobody knows an address of it"
    for address in host.addresses or ("",):
        argv = reach(host.name, address)
        said = await ask(("sh", "-c", _SCRIPT, file, *argv), deadline_s=_DEADLINE_S) if argv else None
        if said is None:
            continue
        trouble = "" if said.is_ok else _words(said.trouble)
        if _begins_well(file):
            return trouble
        if said.is_ok:
            return "it sent nothing"
    return trouble


def _begins_well(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(2) == _GZIP
    except OSError:
        return False


def _words(trouble: str) -> str:
    if "command not found" in trouble or trouble.endswith("not found"):
        return f"its system has no `muster host bundle`: {trouble}"
    return trouble
