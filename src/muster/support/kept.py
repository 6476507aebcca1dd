# SPDX-License-Identifier: Apache-2.0
"""The configurations that hosts of a control plane keep of each other, fetched from those that are left."""

from __future__ import annotations

import base64
import binascii
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from muster.frozen import dataclass
from muster.model.ignition import find_file
from muster.run import ask
from muster.support.reaching import Known, Reach

Tree: TypeAlias = Mapping[str, Any]
_SCRIPT: Final = 'cd /etc/muster/kept && for f in *.ign; do echo "$f $(base64 -w0 "$f")"; done'
COMMAND: Final = ("sudo", "-n", "sh", "-c", shlex.quote(_SCRIPT))
_LINE: Final = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*)\.ign (?P<data>[A-Za-z0-9+/=]+)")
_DEADLINE_S: Final = 60.0


@dataclass(frozen=True)
class Kept:
    """What was found, and who could not be asked."""

    configs: Mapping[str, Tree]
    """By the names of their hosts."""
    troubles: tuple[str, ...] = ()


def parse_kept(text: str) -> dict[str, Tree]:
    """What a host sent; what is not the configuration of the host that it is named after is left out."""
    found: dict[str, Tree] = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is None:
            continue
        try:
            tree = parse_config(base64.b64decode(match["data"], validate=True))
        except binascii.Error:
            continue
        if tree is not None and name_of(tree) == match["name"]:
            found[match["name"]] = tree
    return found


def parse_config(data: bytes) -> Tree | None:
    """An Ignition config; None when it is something else."""
    try:
        tree = msgspec.json.decode(data, type=dict[str, Any])
        return tree if isinstance(tree["ignition"]["version"], str) else None
    except (msgspec.DecodeError, LookupError, TypeError):
        return None


def name_of(tree: Tree) -> str:
    """The host that a config is for; empty when it does not say."""
    return (find_file(tree, "/etc/hostname") or b"").decode("utf-8", "replace").strip()


async def fetch_kept(hosts: Sequence[Known], reach: Reach) -> Kept:
    """Ask all hosts that are left, one after the other: each has those of all others, but not its own."""
    configs: dict[str, Tree] = {}
    troubles = []
    for host in hosts:
        found, trouble = await _fetch(host, reach)
        configs = {**found, **configs}
        if trouble:
            troubles.append(f"{host.name}: {trouble}")
    return Kept(configs, tuple(troubles))


async def _fetch(host: Known, reach: Reach) -> tuple[dict[str, Tree], str]:
    trouble = "nobody knows an address of it"
    for address in host.addresses or ("",):
        argv = reach(host.name, address)
        if not argv:
            continue
        said = await ask(argv, deadline_s=_DEADLINE_S)
        if said.is_ok:
            found = parse_kept(said.out)
            return found, "" if found else "it keeps no configurations of others"
        trouble = said.trouble
    return {}, trouble
