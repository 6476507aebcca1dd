# SPDX-License-Identifier: Apache-2.0
"""The story of an installation, as one hears it who waits for its end: snapshots and time in, words out.

Nothing here looks at a clock, a network or a disk. Times are seconds that only ever grow.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from muster.client.presence import UNBELIEVED, Aim, ApiPresence, Goal, ServicePresence, advise
from muster.client.snapshot import REBOOTED, Snapshot, missing_nodes, name_of, pressing, stopping
from muster.client.telling import BEFORE, Line, Steps, Troubles, make_line
from muster.client.view import Extent, render_view
from muster.errors import ExitStatus
from muster.frozen import dataclass
from muster.redact import printable
from muster.units import render_clock

STEADY_S: Final = 30.0
"""So long all nodes have to be ready when no service says that they are done."""
REFUSED_S: Final = 300.0
"""So long a wrong certificate or token is borne with: hosts may be booted from the right medium meanwhile."""
REMIND_S: Final = 300.0
_DONE: Final = frozenset({"installed", "adding-hosts"})
_LOST: Final = frozenset({"error", "cancelled"})


class Outcome(StrEnum):
    """How it ended."""

    COMPLETE = "complete"
    FAILED = "failed"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class End:
    """How the story ended."""

    outcome: Outcome
    status: ExitStatus
    message: str
    hint: str = ""


class Story:
    """What was told so far, and what is to be told next."""

    def __init__(self, aim: Aim, now: float) -> None:
        self._aim, self._began = aim, now
        self._last = self._known = Snapshot()
        """What is seen now, and what was last seen of the cluster: the service may be gone since."""
        self._has_rebooted = False
        """Whether the rendezvous host was told to leave the medium, and the service with it."""
        self._steps, self._troubles = Steps(), Troubles(aim.count)
        self._service, self._api = ServicePresence(aim), ApiPresence(aim)
        self._steady_since: float | None = None
        self._refused_since: float | None = None
        self._told_at = now

    def go_on(self, snapshot: Snapshot, now: float) -> list[Line]:
        """What is to be told now."""
        self._last = snapshot
        lines = [*self._service.tell(snapshot.service, now, is_expected=self._has_rebooted)]
        if snapshot.cluster is not None:
            self._known = snapshot
            self._has_rebooted = _has_rebooted(snapshot)
        lines += [*self._steps.tell(snapshot), *self._troubles.tell(snapshot, now)]
        lines += self._api.tell(snapshot.kubernetes)
        self._count_time(now)
        if not lines and now - self._told_at >= REMIND_S:
            waited = render_clock(now - self._began)
            lines.append(make_line("waiting", f"still waiting after {waited}: {self._waiting()}"))
        self._told_at = now if lines else self._told_at
        return lines

    def _count_time(self, now: float) -> None:
        """How long something is so already that has to be so for a while."""
        service, api = self._last.service, self._last.kubernetes
        trouble = service.trouble if service is not None else None
        are_ready = trouble is not None and api is not None and api.is_set_up and not self._missing()
        self._steady_since = _keep(self._steady_since, now) if are_ready else None
        is_refused = trouble in UNBELIEVED and not self._service.was_seen
        self._refused_since = _keep(self._refused_since, now) if is_refused else None

    def view(self, now: float, extent: Extent) -> list[str]:
        """The picture of now, for a terminal."""
        head = f"{self._aim.name}: {self._aim.goal}, {render_clock(now - self._began)} so far"
        waiting = [f"waiting for {self._waiting()}"]
        if (fix := self._find_fix()) and fix != "Wait":
            waiting.append(f"  fix: {fix}")
        if stopping(self._last):
            return render_view([head, *waiting], self._known, self._last, [], extent)
        return render_view([head], self._known, self._last, waiting, extent)

    def _missing(self) -> tuple[str, ...]:
        """Nodes that are not ready yet; those without a name are counted."""
        nodes = (self._last.kubernetes.nodes if self._last.kubernetes else None) or ()
        named = missing_nodes(nodes, self._aim.nodes)
        lacking = self._aim.count - sum(node.is_ready for node in nodes)
        return named or ((f"{lacking} more",) if lacking > 0 else ())

    def _absent(self) -> tuple[str, ...]:
        """Hosts that are to come, while it matters; those without a name are counted."""
        cluster, hosts = self._last.cluster, self._last.hosts
        lacking = self._aim.count - len(hosts)
        if cluster is None or cluster.status not in BEFORE or lacking <= 0:
            return ()
        here = {name_of(host) for host in hosts}
        named = tuple(name for name in self._aim.nodes if name not in here)
        return named if len(named) == lacking else (f"{lacking} more",)

    def _waiting(self) -> str:
        """What is waited for now."""
        service = self._last.service
        if service is None:
            return f"the first answer of {self._aim.url}"
        if service.trouble is not None:
            what = "to come back" if self._service.was_seen else "to come up"
            text = f"the service at {self._aim.url} {what} ({service.words}), or {self._api_words()}"
        elif service.cluster is None:
            text = "the service to have a cluster"
        elif stops := stopping(self._last):
            more = f", and {len(stops) - 1} more" if len(stops) > 1 else ""
            text = f"you: {stops[0].message}{more}"
        elif absent := self._absent():
            text = f"hosts that have not come yet: {', '.join(absent)}"
        elif reasons := pressing(self._last):
            more = f", and {len(reasons) - 1} more" if len(reasons) > 1 else ""
            text = f"the {reasons[0].who}: {reasons[0].message}{more}"
        else:
            text = f"the cluster, which is {service.cluster.status}: {service.cluster.status_info}"
        return printable(text)

    def _api_words(self) -> str:
        api = self._last.kubernetes
        if api is None or not api.is_ready:
            return f"the Kubernetes API ({api.words if api else 'not asked yet'})"
        if missing := self._missing():
            return f"nodes to be ready ({', '.join(missing)})"
        return "the cluster to stay as it is, complete" if api.is_set_up else "the cluster to be set up"

    def _find_fix(self) -> str:
        """What can be done about what is waited for."""
        service, api = self._last.service, self._last.kubernetes
        if service is None:
            return ""
        if service.trouble is None:
            stops = stopping(self._last)
            if self._absent() and not stops:
                return "boot them from the medium; look at the console of one that did and does not come"
            reasons = stops or pressing(self._last)
            return printable(reasons[0].fix) if reasons else ""
        if not self._has_rebooted:
            return advise(self._aim, service)
        if api is not None and not api.is_resolved and not api.is_ready:
            return f"look at the consoles of the hosts; to know the API here: {self._aim.hosts_line}"
        return "look at the consoles of the hosts that are not ready"

    def find_end(self, now: float) -> End | None:
        """The end, if this is it."""
        if complete := self._complete(now):
            return End(Outcome.COMPLETE, ExitStatus.OK, complete)
        cluster, service = self._last.cluster, self._last.service
        if cluster is not None and cluster.status in _LOST:
            what = "failed" if cluster.status == "error" else "was cancelled"
            text = f"the installation {what}: {cluster.status_info}"
            return self._failed(Outcome.FAILED, "\n".join([text, *self._lost_hosts()]), self._find_fix())
        if self._refused_since is not None and now - self._refused_since >= REFUSED_S:
            assert service is not None
            text = f"the service at {self._aim.url}: {service.words}"
            return self._failed(Outcome.FAILED, text, advise(self._aim, service))
        if now - self._began >= self._aim.patience_s:
            within = render_clock(self._aim.patience_s)
            text = f"not {self._aim.goal} within {within}; waited last for {self._waiting()}"
            fix = self._find_fix()
            again = "the installation goes on by itself: wait again, with a longer --timeout"
            return self._failed(Outcome.TIMEOUT, text, f"{fix}; {again}" if fix else again)
        return None

    def _complete(self, now: float) -> str:
        """How it came true; empty when it did not."""
        cluster, api = self._last.cluster, self._last.kubernetes
        if cluster is not None and cluster.status in _DONE:
            return f"{self._aim.name} is installed"
        if self._aim.goal is Goal.BOOTSTRAP:
            return f"the Kubernetes API of {self._aim.name} is ready" if api and api.is_ready else ""
        if self._steady_since is None or now - self._steady_since < STEADY_S:
            return ""
        count = self._aim.count
        return f"{self._aim.name} is installed: set up, and all of its nodes are ready ({count} of {count})"

    def _lost_hosts(self) -> Iterator[str]:
        for host in self._last.hosts:
            if host.status == "error":
                yield f"{name_of(host)}: {host.status_info}"

    def _failed(self, outcome: Outcome, message: str, hint: str) -> End:
        is_early = self._aim.goal is Goal.BOOTSTRAP
        status = ExitStatus.BOOTSTRAP_FAILED if is_early else ExitStatus.INSTALL_FAILED
        return End(outcome, status, printable(message), hint)


def _keep(since: float | None, now: float) -> float:
    return now if since is None else since


def _has_rebooted(snapshot: Snapshot) -> bool:
    """Whether the host that the service runs on was told to reboot."""
    hosts = [host for host in snapshot.hosts if host.bootstrap or len(snapshot.hosts) == 1]
    return any(host.progress is not None and host.progress.current_stage in REBOOTED for host in hosts)
