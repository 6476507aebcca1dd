# SPDX-License-Identifier: Apache-2.0
"""Whether somebody has the cluster's virtual addresses already."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from ipaddress import IPv4Address
from typing import Final

from muster.agent.steps.arp import Asker, Pace, find_owners
from muster.agent.steps.nics import Address, Nic, NicsUnknown, find_on_link, load_nics, parse_address
from muster.agent.steps.outcome import Outcome, read, reply
from muster.agent.steps.probes import NotTested, find_macs, is_answering
from muster.agent.steps.wire import RAW, Wire
from muster.frozen import dataclass
from muster.machine import Machine
from muster.model.wire.enums import VipVerification
from muster.model.wire.reports import VerifiedVip
from muster.model.wire.steps import VerifyVip

PACE: Final = Pace(rounds=3, wait_s=0.5)
"""One lost packet must not make an address look free."""


@dataclass(frozen=True)
class Verdict:
    """What is known of an address, and why."""

    verification: VipVerification
    reason: str = ""


FREE: Final = Verdict("succeeded")


async def run(machine: Machine, args: Sequence[str], *, wire: Wire = RAW, pace: Pace = PACE) -> Outcome:
    """The step."""
    vips = [each for each in read(args, tuple[VerifyVip, ...]) if each.vip]
    try:
        check = _Check(machine, wire, await load_nics(machine), pace)
    except NicsUnknown as error:
        return Outcome(exit_code=1, error=str(error))
    verdicts = await asyncio.gather(*(check.judge(each.vip) for each in vips))
    rows = [
        VerifiedVip(vip=each.vip, vip_type=each.vip_type, verification=verdict.verification)
        for each, verdict in zip(vips, verdicts, strict=True)
    ]
    reasons = (f"{each.vip}: {it.reason}" for each, it in zip(vips, verdicts, strict=True) if it.reason)
    return Outcome(reply(rows).output, error="\n".join(dict.fromkeys(reasons)))


@dataclass(frozen=True)
class _Check:
    machine: Machine
    wire: Wire
    nics: Sequence[Nic]
    pace: Pace

    async def judge(self, vip: str | None) -> Verdict:
        """Whether an address is free, or that it cannot be told."""
        address = parse_address(vip)
        if address is None:
            return Verdict("unverified", "it is no address that a host can have")
        if own := next((nic.name for nic in self.nics for it in nic.addresses if it.ip == address), ""):
            return Verdict("failed", f"it is an address of {own} of this host")
        on_link = find_on_link(self.nics, address)
        try:
            if not on_link:
                is_used = await is_answering(self.machine, address)
                return Verdict("failed", "it answers ping") if is_used else FREE
            for nic, source in on_link:
                if macs := await self._find_macs(nic, source, address):
                    return Verdict("failed", f"{' and '.join(macs)} has it, as {nic.name} sees")
        except (NotTested, OSError, ValueError) as error:
            return Verdict("unverified", str(error))
        return FREE

    async def _find_macs(self, nic: Nic, source: Address, address: Address) -> Sequence[str]:
        if not isinstance(address, IPv4Address) or not isinstance(source, IPv4Address):
            return await find_macs(self.machine, nic.name, source, address)
        owners = await find_owners(self.wire, Asker(nic.name, nic.mac, source), [address], self.pace)
        return sorted(owners.get(address, ()))
