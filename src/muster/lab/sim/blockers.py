# SPDX-License-Identifier: Apache-2.0
"""What stands in the way of a modelled installation: why, what to do, and where in the files it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from muster.frozen import dataclass
from muster.lab.sim.faults import ANY, SimFault, SimFaultKind, Trouble
from muster.lab.sim.simulation import Simulation
from muster.model.plan import Plan
from muster.model.problem import Place
from muster.model.site import Site, SiteHost
from muster.service.site_order import find_wish
from muster.service.state import Host
from muster.service.states.words import name_of
from muster.service.validations.of_site import judge_site
from muster.service.validations.places import place_of_cluster, place_of_host
from muster.service.validations.registry import texts
from muster.service.why import Reason, why

_DISK: Final = "has-min-valid-disks"
_NAMED: Final = frozenset({SimFaultKind.VIP_IN_USE, SimFaultKind.IMAGE, SimFaultKind.DNS, SimFaultKind.NTP})
"""Faults that are of no host: a message that names their target is about them."""


@dataclass(frozen=True)
class Blocker:
    """One thing that stands in the way."""

    id: str
    message: str
    why: str
    fix: str
    hosts: tuple[str, ...] = ()
    """The hosts that it is about, by name; none when it is about the cluster."""
    place: Place | None = None
    """Where in the files its cause is."""
    faults: tuple[str, ...] = ()
    """The faults that were asked for and have to do with it."""


def blockers_of(run: Simulation, site: Site, plan: Plan) -> tuple[Blocker, ...]:
    """What stands in the way at the end of a run that did not end well; what the files tell comes first."""
    found = [
        Blocker(
            id=each.id,
            message=each.message,
            why=each.why,
            fix=each.fix,
            hosts=(each.subject,) if each.of == "host" else (),
            place=each.place,
        )
        for each in judge_site(site, plan)
    ]
    seen = {(each.id, each.hosts) for each in found}
    for each in _at_the_end(run, site):
        if (each.id, each.hosts) not in seen:
            found.append(each)
    return tuple(found)


def _at_the_end(run: Simulation, site: Site) -> Iterator[Blocker]:
    yield from _missing(run, site)
    yield from _refused(run, site)
    if run.outcome == "error":
        yield from _failed(run, site)
    elif run.outcome == "waits":
        yield from _waited_for(run, site)


def _described(run: Simulation, host: Host | None) -> SiteHost | None:
    if host is None or host.inventory is None:
        return None
    wish = find_wish(run.course.wishes, host.inventory)
    return None if wish is None else wish.described


def _missing(run: Simulation, site: Site) -> Iterator[Blocker]:
    """Hosts that the service never heard of."""
    there = {host.id for host in run.hosts}
    for machine in run.course.machines:
        if machine.host_id not in there:
            wish = find_wish(run.course.wishes, machine.inventory)
            place = place_of_host(site, wish.described if wish else None, "")
            yield Blocker(
                id="not-registered",
                message=f"{machine.name} has not registered",
                why="The installation starts when all hosts are there.",
                fix="check its power, its cable and the network that the files give it",
                hosts=(machine.name,),
                place=place,
                faults=_faults_of(run, [machine.name], ""),
            )


def _refused(run: Simulation, site: Site) -> Iterator[Blocker]:
    hosts = {host.id: host for host in run.hosts}
    for id, error in run.conductor.refusals.items():
        described = _described(run, hosts.get(id))
        yield Blocker(
            id="disk-hints",
            message=error.message,
            why="Nothing is written to a disk that the files do not mean.",
            fix=error.hint or "change the hints",
            hosts=(name_of(hosts[id]),),
            place=place_of_host(site, described, _DISK),
        )


def _failed(run: Simulation, site: Site) -> Iterator[Blocker]:
    """Hosts that failed by themselves, and the cluster when none did."""
    others = "The installation of the cluster failed"
    found = [host for host in run.hosts if host.status == "error" and host.status_info != others]
    for host in found:
        waiting = host.waiting
        yield Blocker(
            id="failed",
            message=f"{name_of(host)}: {host.status_info}",
            why=run.cluster.status_info,
            fix=waiting.action
            if waiting is not None
            else "look at its logs, mend the cause, then start over",
            hosts=(name_of(host),),
            place=place_of_host(site, _described(run, host), _DISK if "disk" in host.status_info else ""),
            faults=_faults_of(run, [name_of(host)], host.status_info),
        )
    if not found:
        yield Blocker(
            id="failed",
            message=run.cluster.status_info,
            why="The installation has failed.",
            fix="look at the logs, mend the cause, then start over",
            faults=_faults_of(run, [], run.cluster.status_info),
        )


def _waited_for(run: Simulation, site: Site) -> Iterator[Blocker]:
    hosts = {host.id: host for host in run.hosts}
    cluster, now = run.cluster, run.service.now()
    reasons = [
        each for each in why(cluster, hosts, now, texts()).reasons if (each.of, each.id) != ("host", "known")
    ]
    urgent = [each for each in reasons if each.who in ("user", "network")] or reasons
    exact = [each for each in urgent if each.of == "host" or each.id != cluster.status]
    for reason in exact or urgent:  # Who only waits for others is not in the way.
        yield _of_reason(run, site, reason, hosts)


def _of_reason(run: Simulation, site: Site, reason: Reason, hosts: dict[str, Host]) -> Blocker:
    message = reason.message
    if reason.id == "ready":
        message = run.cluster.preparation.reason or run.cluster.status_info
    names = tuple(name_of(hosts[each.id]) for each in reason.hosts)
    if reason.of == "cluster":
        place = place_of_cluster(site, reason.id)
    else:
        place = place_of_host(site, _described(run, hosts.get(reason.hosts[0].id)), reason.id)
    return Blocker(
        id=reason.id,
        message=message,
        why=reason.why or reason.ignored,
        fix=reason.fix,
        hosts=names,
        place=place,
        faults=_faults_of(run, names, message),
    )


def _faults_of(run: Simulation, names: Iterable[str], message: str) -> tuple[str, ...]:
    """The faults that name one of these hosts, or something that the message names."""
    wanted = set(names)
    found = [each for each in run.course.around.troubles if _concerns(each, wanted, message)]
    exact = [each for each in found if isinstance(each.fault, SimFault) and each.fault.kind in _NAMED]
    return tuple(map(str, exact or found))


def _concerns(trouble: Trouble, names: set[str], message: str) -> bool:
    fault = trouble.fault
    if isinstance(fault, SimFault):
        return fault.target == ANY or fault.target in names or fault.target in message
    touched = {fault.machine, *(name for side in fault.sides for name in side)}
    return bool(touched & names) or ANY in touched
