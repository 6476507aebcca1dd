# SPDX-License-Identifier: Apache-2.0
"""Emptying disks, so that nothing of what was on them is in the way, or comes back."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from muster.errors import ExternalError
from muster.machine import Machine
from muster.node.blocks import Blocks, find_block, on_top_of
from muster.node.cleaning import Disks, is_partition, plan_cleaning
from muster.node.disk import read_blocks, read_groups
from muster.node.plan import Identity

_DEADLINE_S: Final = 120.0


async def clean_disks(machine: Machine, erased: Sequence[Identity]) -> tuple[str, ...]:
    """Empty them. What did not work is returned, unless a disk stays in use for that: then it is an error."""
    if not erased:
        return ()
    blocks = await read_blocks(machine)
    ours = frozenset(_kname(blocks, each) for each in erased)
    troubles = []
    for command in plan_cleaning(Disks(blocks, ours, await read_groups(machine, blocks))):
        said = await machine.ask(command, deadline_s=_DEADLINE_S)
        if not said.is_ok:
            troubles.append(f"{shlex.join(command)}: {said.trouble}")
    after = await read_blocks(machine)
    for each in erased:
        _check_free(after, each, troubles)
    return tuple(troubles)


def _kname(blocks: Blocks, disk: Identity) -> str:
    block = find_block(blocks, disk.path)
    if block is None:
        raise ExternalError(
            f"the disk {disk} is not there any more", hint="check its cable and its power, then try again"
        )
    return block.kname


def _check_free(blocks: Blocks, disk: Identity, troubles: Sequence[str]) -> None:
    kname = _kname(blocks, disk)
    users = [block.path for block in on_top_of(blocks, kname) if not is_partition(block, frozenset((kname,)))]
    if not users:
        return
    because = f"; what did not work: {'; '.join(troubles)}" if troubles else ""
    raise ExternalError(
        f"the disk {disk} stays in use by {', '.join(users)}{because}",
        hint="remove these by hand, or choose another installation disk for this host",
    )
