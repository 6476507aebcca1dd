# SPDX-License-Identifier: Apache-2.0
"""A control-plane host that is installed again becomes a member of etcd again, without anybody's help.

`settle` runs before etcd starts on an empty disk, and leaves what etcd starts with in a file for its unit;
`promote` runs when etcd is up, and gives a learner its vote. Both can be killed at any moment and run again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from muster.files import remove_file, save_file
from muster.frozen import dataclass
from muster.machine import Machine
from muster.model.voters import VOTERS_FILE, Voters, render_members
from muster.node.membership import (
    Join,
    New,
    Replace,
    View,
    choose_start,
    count_healthy,
    find_own,
    parse_members,
)
from muster.node.noted import load_noted
from muster.run import Said

DATA: Final = "var/lib/etcd/member/wal"
"""It is there as soon as etcd started once."""
SETTINGS: Final = "run/muster/etcd.env"
LEARNER: Final = "var/lib/muster/etcd-learner"
"""It is there while this host's member has no vote yet."""
_PKI: Final = "etc/kubernetes/pki/etcd"
_DEADLINE_S: Final = 30.0
_AGAIN_S: Final = 5.0


@dataclass(frozen=True)
class Etcd:
    """The other members of etcd, and how they are asked."""

    machine: Machine
    voters: Voters
    say: Callable[[str], None]
    sleep: Callable[[float], Awaitable[None]]

    async def ask(self, *words: str, endpoints: tuple[str, ...] = ()) -> Said:
        pki = self.machine.root / _PKI
        places = ",".join(endpoints or self.voters.other_clients)
        access = (f"--cacert={pki}/ca.crt", f"--cert={pki}/member.crt", f"--key={pki}/member.key")
        argv = ("etcdctl", f"--endpoints={places}", *access, "--write-out=json", *words)
        return await self.machine.ask(argv, deadline_s=_DEADLINE_S)

    async def view(self) -> View:
        """What the others say: what a majority of them agreed on, or else what one of them knows."""
        places = self.voters.other_clients
        lists = [self.ask("member", "list", "--consistency=s", endpoints=(place,)) for place in places]
        health, *known = await asyncio.gather(self.ask("endpoint", "health"), *lists)
        healthy = count_healthy(health.out)
        agreed = parse_members((await self.ask("member", "list")).out) if healthy else ()
        each = (parse_members(said.out) for said in known)
        return View(agreed or next(filter(None, each), ()), healthy)


def load_voters(root: Path) -> Voters:
    """Who the members of etcd are."""
    return load_noted(root, VOTERS_FILE, Voters, "who the members of etcd are")


async def settle(etcd: Etcd) -> None:
    """Find out how etcd starts on this host, and do what has to be done before."""
    root = etcd.machine.root
    if (root / DATA).exists():
        return
    told = ""
    while True:
        view = await etcd.view()
        step = choose_start(etcd.voters, view)
        if isinstance(step, New):
            remove_file(root / SETTINGS)
            return
        if isinstance(step, Join):
            _save_settings(root, step.members)
            return
        trouble = await _replace(etcd, step) if isinstance(step, Replace) else f"{step.reason}; {step.fix}"
        if trouble != told:
            etcd.say(trouble)
            told = trouble
        if trouble:
            await etcd.sleep(_AGAIN_S)


async def _replace(etcd: Etcd, step: Replace) -> str:
    """One try; empty when it worked, else what is in the way. The next look finds how far it is."""
    voters = etcd.voters
    if step.old is not None:
        etcd.say(f"this disk is new, and etcd knows {voters.name} already: its old entry is replaced")
        removed = await etcd.ask("member", "remove", step.old.hex_id)
        if not removed.is_ok:
            return f"the old entry of {voters.name} in etcd cannot be removed yet: {removed.trouble}"
    save_file(etcd.machine.root / LEARNER, b"")
    added = await etcd.ask("member", "add", voters.name, "--learner", f"--peer-urls={voters.own_peer}")
    return "" if added.is_ok else f"{voters.name} cannot become a member of etcd yet: {added.trouble}"


def _save_settings(root: Path, members: tuple[tuple[str, str], ...]) -> None:
    lines = f"ETCD_INITIAL_CLUSTER={render_members(members)}\nETCD_INITIAL_CLUSTER_STATE=existing\n"
    save_file(root / LEARNER, b"")
    save_file(root / SETTINGS, lines.encode())


async def promote(etcd: Etcd) -> None:
    """Give this host's member its vote, as soon as it is in step with the others."""
    root, told = etcd.machine.root, ""
    while (root / LEARNER).exists():
        trouble = await _promote(etcd)
        if not trouble:
            remove_file(root / LEARNER)
            etcd.say(f"{etcd.voters.name} is a member of etcd again, with a vote")
            return
        if trouble != told:
            etcd.say(trouble)
            told = trouble
        await etcd.sleep(_AGAIN_S)


async def _promote(etcd: Etcd) -> str:
    members = parse_members((await etcd.ask("member", "list")).out)
    own = find_own(etcd.voters, members)
    if own is None:
        return "the other members of etcd do not answer"
    if not own.is_learner:
        return ""
    said = await etcd.ask("member", "promote", own.hex_id)
    return "" if said.is_ok else f"{etcd.voters.name} has no vote in etcd yet: {said.trouble}"
