# SPDX-License-Identifier: Apache-2.0
"""Virtual addresses: whether anybody answers from them already, by what all hosts say together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from muster.service.derive.phases import is_cluster_open
from muster.service.derive.tallies import recount
from muster.service.realm import Draft
from muster.service.state import Cluster, Host

Word: TypeAlias = tuple[str, str]
"""A virtual address, and what a host says of it."""
_KEY: Final = "vips"
READS: Final = frozenset({"api_vips", "ingress_vips", "status"})


def _words(host: Host) -> Iterable[Word]:
    return (
        (each.vip, each.verification) for each in host.verified_vips or () if each.vip and each.verification
    )


def derive_vips(draft: Draft, ids: Iterable[str], *, asked: bool) -> None:
    """Whether the cluster's virtual addresses are free, after these hosts looked."""
    tally, news = recount(draft, _KEY, _words, ids)
    if (news or asked) and is_cluster_open(draft.cluster):
        draft.change(draft.cluster, **verify(draft.cluster, tally.counts))


def verify(cluster: Cluster, counts: Mapping[Word, int]) -> dict[str, Any]:
    """One host that hears an answer is enough: the address is taken."""
    values: dict[str, Any] = {}
    for name in ("api_vips", "ingress_vips"):
        values[name] = tuple(
            msgspec.structs.replace(vip, verification=_verdict(vip.ip or "", counts))
            for vip in getattr(cluster, name)
        )
    return values


def _verdict(ip: str, counts: Mapping[Word, int]) -> str:
    for verdict in ("failed", "succeeded"):
        if counts.get((ip, verdict)):
            return verdict
    return "unverified"
