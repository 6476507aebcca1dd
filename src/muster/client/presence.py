# SPDX-License-Identifier: Apache-2.0
"""Who is there: tells when the service and the Kubernetes API come, go, and are not who they should be."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from enum import StrEnum
from typing import Final

from muster.client.snapshot import KubernetesSight, ServiceSight, Trouble
from muster.client.telling import Line, make_line
from muster.clock import render_moment
from muster.frozen import dataclass
from muster.units import render_clock

AWAY_S: Final = 2.0
"""A service that is back sooner was not away."""
_CLOCKS_DIFFER: Final = timedelta(minutes=1)
UNBELIEVED: Final = frozenset({Trouble.CERTIFICATE, Trouble.REFUSED})
_RIGHT_MEDIUM: Final = (
    "boot the hosts from the medium of this directory, or name the directory of their medium with --dir"
)


class Goal(StrEnum):
    """What is waited for."""

    BOOTSTRAP = "bootstrap-complete"
    INSTALL = "install-complete"


@dataclass(frozen=True)
class Aim:
    """What is waited for, where, and how long."""

    goal: Goal
    patience_s: float
    name: str
    """Of the cluster, with its domain."""
    url: str
    """Of the service."""
    address: str
    """Of the rendezvous host."""
    since: str = ""
    """When the wait began, as people say it."""
    nodes: tuple[str, ...] = ()
    """The names of nodes that the plan knows."""
    count: int = 1
    """How many nodes there will be."""
    hosts_line: str = ""
    """What makes the name of the API known, in /etc/hosts."""


def advise(aim: Aim, sight: ServiceSight) -> str:
    """What to look at when the service does not answer as it should."""
    match sight.trouble:
        case Trouble.CERTIFICATE if "does not speak TLS" in sight.words:
            return f"something else listens there: look at the host with the address {aim.address}"
        case Trouble.CERTIFICATE if "valid" in sight.words or "expired" in sight.words:
            return f"compare the clock of this machine with that of the host; if it is right, {_RIGHT_MEDIUM}"
        case Trouble.CERTIFICATE:
            return f"what answers there is not the service of this site: {_RIGHT_MEDIUM}"
        case Trouble.REFUSED:
            return f"it does not accept the token of this site: {_RIGHT_MEDIUM}"
        case Trouble.STRANGE:
            return f"look at the log of the service: ssh core@{aim.address} journalctl -b"
        case _:
            return _advise_on_silence(aim, sight)


def _advise_on_silence(aim: Aim, sight: ServiceSight) -> str:
    if "refused" in sight.words:
        return (
            "a host is up there, and the service is not: it starts when that host has booted the medium; look"
            f" at its console, or ssh core@{aim.address} journalctl -b"
        )
    return (
        "check that the rendezvous host is switched on, has booted the medium and has the address"
        f" {aim.address}, and that this machine reaches it: ping {aim.address}"
    )


def _compare_clocks(sight: ServiceSight) -> str:
    """That clocks differ is nothing bad, but may explain what somebody sees; ours is not for us to set."""
    if sight.at is None or sight.here is None or abs(sight.at - sight.here) < _CLOCKS_DIFFER:
        return ""
    there, here = render_moment(sight.at), render_moment(sight.here)
    return f"the clocks differ: that of the service says {there}, that of this machine {here}"


class ServicePresence:
    """Tells of the service: waited for, there, away for a while, back."""

    def __init__(self, aim: Aim) -> None:
        self._aim = aim
        self.was_seen = False
        self._said = ""
        self._away_since: float | None = None
        self._told_away = self._told_clock = False

    def tell(self, sight: ServiceSight | None, now: float, *, is_expected: bool) -> Iterator[Line]:
        """What changed; whether it is expected that the service goes."""
        if sight is None:
            return
        if sight.trouble is None:
            yield from self._here(sight, now)
        elif self.was_seen:
            yield from self._away(sight, now, is_expected=is_expected)
        elif sight.words != self._said:
            self._said = sight.words
            since = f" since {self._aim.since}" if self._aim.since else ""
            what = f"waiting{since} for the service at {self._aim.url}: {sight.words}"
            yield self._line(f"{what}\n  {advise(self._aim, sight)}", sight, warn=sight.trouble in UNBELIEVED)

    def _here(self, sight: ServiceSight, now: float) -> Iterator[Line]:
        if not self.was_seen:
            more = "" if sight.cluster is not None else "; it has no cluster yet"
            yield self._line(f"the service at {self._aim.url} answers{more}", sight)
        elif self._told_away and self._away_since is not None:
            yield self._line(f"the service answers again after {render_clock(now - self._away_since)}", sight)
        self.was_seen, self._away_since, self._told_away = True, None, False
        if not self._told_clock and (words := _compare_clocks(sight)):
            self._told_clock = True
            yield self._line(words, sight)

    def _away(self, sight: ServiceSight, now: float, *, is_expected: bool) -> Iterator[Line]:
        if self._away_since is None:
            self._away_since = now
        if self._told_away or now - self._away_since < AWAY_S:
            return
        self._told_away = True
        what = f"the service at {self._aim.url} does not answer any more: {sight.words}"
        if is_expected:
            more = "this is expected: its host was told to reboot; the Kubernetes API is asked meanwhile"
        else:
            more = f"its host was not told to reboot: {advise(self._aim, sight)}"
        yield self._line(f"{what}\n  {more}", sight, warn=not is_expected)

    def _line(self, text: str, sight: ServiceSight, *, warn: bool = False) -> Line:
        return make_line("service", text, warn=warn, state=sight.trouble or "answers", info=sight.words)


class ApiPresence:
    """Tells of the Kubernetes API and its nodes."""

    def __init__(self, aim: Aim) -> None:
        self._aim = aim
        self._told_name = self._told_ready = False
        self._said = ""
        self._nodes: dict[str, bool] = {}

    def tell(self, sight: KubernetesSight | None) -> Iterator[Line]:
        """What changed. That it is not there is normal for a long time, and not told."""
        if sight is None:
            return
        if not sight.is_resolved and not self._told_name:
            self._told_name = True
            text = "this machine does not know the name of the Kubernetes API; its addresses are tried"
            fix = f"  for kubectl, add to /etc/hosts or to your DNS: {self._aim.hosts_line}"
            yield make_line("kubernetes", f"{text}\n{fix}", state="unresolved", fix=self._aim.hosts_line)
        if sight.is_ready and not self._told_ready:
            self._told_ready = True
            yield make_line("kubernetes", "the Kubernetes API is ready", state="ready")
        if sight.trouble in UNBELIEVED and sight.words != self._said:
            self._said = sight.words
            text = f"the Kubernetes API: {sight.words}\n  auth/kubeconfig has to be that of the cluster there"
            yield make_line("kubernetes", text, warn=True, state=sight.trouble or "", info=sight.words)
        for node in sight.nodes or ():
            if self._nodes.get(node.name) != node.is_ready:
                self._nodes[node.name] = node.is_ready
                state = "Ready" if node.is_ready else "not Ready"
                yield make_line("node", f"node {node.name}: {state}", node=node.name, state=state)
