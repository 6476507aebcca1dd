# SPDX-License-Identifier: Apache-2.0
"""An installation at a glance: a few lines that fit on a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from textwrap import wrap
from typing import Final

from muster.client.snapshot import KubernetesSight, ServiceSight, Snapshot, name_of
from muster.frozen import dataclass
from muster.model.wire.host import Host
from muster.redact import printable
from muster.units import render_clock

_LEAST: Final = 3
"""So many hosts are shown on the smallest terminal."""
_MOST: Final = 3
"""So many lines a text may have."""
_ENOUGH_PERCENT: Final = 10
"""Before, nobody can tell how long it takes."""


@dataclass(frozen=True)
class Extent:
    """How much room there is."""

    width: int
    height: int


def render_view(
    head: Sequence[str], known: Snapshot, now: Snapshot, tail: Sequence[str], extent: Extent
) -> list[str]:
    """What it is about, the cluster as last seen, the nodes as they are, and what is waited for."""
    lines = [head[0], *(part for text in head[1:] for part in _wrap(text, extent.width))]
    tail = [part for text in tail for part in _wrap(text, extent.width)]
    if known.service is not None and known.cluster is not None:
        is_old = now.cluster is None
        lines.append(cluster_line(known.service, is_old=is_old))
        room = extent.height - len(lines) - len(tail) - 2
        lines += host_lines(known.hosts, max(_LEAST, room))
    if now.kubernetes is not None:
        lines.append(_api_line(now.kubernetes))
    return [_cut(line, extent.width) for line in (*lines, *tail)]


def _wrap(text: str, width: int) -> list[str]:
    """A long text in a few lines; the last one may be cut."""
    parts = wrap(text, max(20, width - 1), subsequent_indent="  ")
    if len(parts) <= _MOST:
        return parts
    return [*parts[: _MOST - 1], " ".join([parts[_MOST - 1], *(each.strip() for each in parts[_MOST:])])]


def _cut(line: str, width: int) -> str:
    """A line that stays one: a longer one would wrap, and the next picture be drawn too low."""
    text, room = printable(line), max(1, width - 1)
    return text if len(text) <= room else f"{text[: room - 1]}…"


def cluster_line(service: ServiceSight, *, is_old: bool) -> str:
    """How far a cluster is."""
    cluster = service.cluster
    assert cluster is not None
    progress = cluster.progress
    percent = (progress.total_percentage if progress else None) or 0
    parts = [cluster.status, f"{percent} %" if percent else ""]
    parts.append((progress.finalizing_stage if progress else None) or "")
    if (left := _left(service, percent)) is not None:
        parts.append(f"about {render_clock(left.total_seconds())} left")
    if is_old:
        parts.append("as last seen")
    return "cluster  " + ", ".join(part for part in parts if part)


def _left(service: ServiceSight, percent: int) -> timedelta | None:
    """How long it will take, if it goes on as it went so far."""
    cluster = service.cluster
    if cluster is None or service.at is None or not cluster.install_started_at:
        return None
    took = service.at - cluster.install_started_at
    if not _ENOUGH_PERCENT <= percent < 100 or not timedelta(0) < took < timedelta(days=2):
        return None
    return took * (100 - percent) / percent


def host_lines(hosts: Sequence[Host], room: int) -> Iterator[str]:
    """A line for each, those that need somebody first; what does not fit is counted."""
    ordered = sorted(hosts, key=lambda host: (_urgency(host), name_of(host)))
    shown = ordered if len(ordered) <= room else ordered[: room - 1]
    width = max((len(name_of(host)) for host in shown), default=0)
    for host in shown:
        yield f"  {name_of(host):<{width}}  {_host_words(host)}"
    if rest := Counter(host.status for host in ordered[len(shown) :]):
        counts = ", ".join(f"{count} {status}" for status, count in rest.most_common())
        yield f"  and {rest.total()} more: {counts}"


def _urgency(host: Host) -> int:
    if host.status in ("error", "installing-pending-user-action", "disconnected"):
        return 0
    return 2 if host.status == "installed" else 1


def _host_words(host: Host) -> str:
    progress = host.progress
    stage = progress.current_stage if progress else None
    if progress is None or not stage or host.status != "installing-in-progress":
        return f"{host.status}: {host.status_info}" if _urgency(host) == 0 else host.status
    info = f" ({progress.progress_info})" if progress.progress_info else ""
    percent = f", {progress.installation_percentage} %" if progress.installation_percentage else ""
    return f"{stage}{info}{percent}"


def _api_line(sight: KubernetesSight) -> str:
    if not sight.is_ready:
        return f"API      not ready: {sight.words}"
    nodes = sight.nodes or ()
    ready = sum(node.is_ready for node in nodes)
    return f"API      ready; {ready} of {len(nodes)} nodes are Ready"
