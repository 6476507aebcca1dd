# SPDX-License-Identifier: Apache-2.0
"""Plays a trial, and sees whether what has to hold for every installation held in it."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass

import msgspec

from muster.lab.sim.conductor import ATTEMPTS
from muster.lab.sim.faults import SimFaultKind, Trouble
from muster.lab.sim.port import ServicePort
from muster.lab.sim.simulation import Simulation
from muster.model.fault import FaultKind
from muster.model.wire.host import (
    HostCreateParams,
    HostProgress,
    HostRegistrationResponse,
    LogsProgressParams,
)
from muster.model.wire.reports import StepReply
from muster.model.wire.steps import Steps
from muster.service.derive.disks import device_path, identify_any
from muster.service.derive.hints import matching_disks
from muster.service.site_order import find_wish
from muster.service.store.memory import MemoryStore
from muster.service.store.port import StoreError
from muster.service.validations.registry import texts
from muster.service.why import why
from tests.sim.chance import RoughStore, Trial, draw_trial

_BEFORE_THE_FIRST_STAGE = frozenset({SimFaultKind.IMAGE, SimFaultKind.SLOW_SYNC, *FaultKind})


class Witness:
    """Stands between hosts and service, and remembers what was acknowledged."""

    def __init__(self, port: ServicePort) -> None:
        self._port = port
        self.install_steps: dict[str, list[str]] = defaultdict(list)
        self.stages: dict[str, list[str]] = defaultdict(list)
        self.inventories: set[str] = set()
        self.registered: set[str] = set()

    def register(self, params: HostCreateParams) -> HostRegistrationResponse:
        found = self._port.register(params)
        self.registered.add(params.host_id)
        return found

    def instructions(self, host_id: str, timestamp: int) -> Steps:
        steps = self._port.instructions(host_id, timestamp)
        for step in steps.instructions or ():
            if step.step_type == "install":
                self.install_steps[host_id].append(step.step_id or "")
        return steps

    def reply(self, host_id: str, reply: StepReply) -> None:
        self._port.reply(host_id, reply)
        if reply.step_type == "inventory" and not reply.exit_code:
            self.inventories.add(host_id)

    def progress(self, host_id: str, progress: HostProgress) -> None:
        self._port.progress(host_id, progress)
        self.stages[host_id].append(progress.current_stage or "")

    def logs_progress(self, host_id: str, state: LogsProgressParams) -> None:
        self._port.logs_progress(host_id, state)

    def logs(self, host_id: str, cluster_id: str, archive: bytes) -> None:
        self._port.logs(host_id, cluster_id, archive)


class Played(Simulation):
    """A simulation that is watched, and whose service is killed now and then."""

    witness: Witness

    def port(self) -> ServicePort:
        self.witness = Witness(self.service)
        return self.witness


@dataclass(frozen=True)
class Result:
    """What came of a trial."""

    seed: int
    outcome: str
    status: str
    seconds: float
    digest: str
    """Of the whole log: the same for the same seed, always."""
    broken: tuple[str, ...]
    """What did not hold."""
    troubles: tuple[str, ...] = ()


def play(seed: int) -> Result:
    """Play the trial of a seed."""
    trial = draw_trial(seed)
    store = trial.course.store
    assert isinstance(store, RoughStore)
    store.is_calm = True
    run = Played(trial.course)
    store.is_calm = False
    for outage in trial.outages:
        run.scheduler.at(run.start + outage.since_s, lambda _: _kill(run))
        run.scheduler.at(run.start + outage.since_s + outage.seconds, lambda _: _restart(run))
    run.run()
    store.is_calm = True
    log = msgspec.json.encode([(each.version, each.event) for each in store.log()])
    digest = hashlib.blake2b(log, digest_size=8).hexdigest()
    troubles = (*map(str, trial.course.around.troubles), *map(str, trial.outages), f"share {store._share}")
    seconds = run.scheduler.now - run.start
    return Result(seed, run.outcome, run.cluster.status, seconds, digest, tuple(check(run, trial)), troubles)


def _kill(run: Simulation) -> None:
    if run.service.is_up:
        run.service.kill()


def _restart(run: Simulation) -> None:
    if run.service.is_up:
        return
    try:
        run.service.restart()
    except StoreError:
        run.scheduler.after(5.0, lambda _: _restart(run))


def check(run: Played, trial: Trial) -> list[str]:
    """What does not hold."""
    return [*_state(run), *_acknowledged(run), *_disks(run), *_twice(run), *_end(run, trial)]


def _state(run: Played) -> list[str]:
    """The state is what the log says."""
    store = run.course.store
    assert isinstance(store, MemoryStore)
    found = []
    for realm in store.load():
        mine = run.service.service.engine.realms.get(realm.id)
        same = mine is not None and (mine.version, mine.cluster, mine.infra_env, mine.hosts) == (
            *(realm.version, realm.cluster, realm.infra_env, realm.hosts),
        )
        if not same:
            found.append(f"realm {realm.id} is not what its log says")
    return found


def _acknowledged(run: Played) -> list[str]:
    """What was acknowledged is in the log."""
    told: dict[str, set[str]] = defaultdict(set)
    inventories, born = set(), set()
    for logged in run.course.store.log():
        event = logged.event
        if event.kind != "host":
            continue
        if event.born:
            born.add(event.id)
        if event.values.get("inventory") is not None:
            inventories.add(event.id)
        if (progress := event.values.get("progress")) is not None:
            told[event.id].add(progress.current_stage or "")
    witness = run.witness
    found = [f"the registration of {id} is lost" for id in witness.registered - born]
    found += [f"the inventory of {id} is lost" for id in witness.inventories - inventories]
    for id, stages in witness.stages.items():
        found += [f"{id}: the stage {stage} is lost" for stage in set(stages) - told[id]]
    return found


def _disks(run: Played) -> list[str]:
    """Only disks are written that the plan names."""
    found = []
    planned: dict[str, set[str]] = defaultdict(set)
    formatted: dict[str, set[str]] = defaultdict(set)
    for logged in run.course.store.log():
        values = logged.event.values
        planned[logged.event.id].add(values.get("installation_disk_path", ""))
        formatted[logged.event.id].update(values.get("disks_to_be_formatted", ()))
    for loop in run.loops:
        host, machine = loop.host, loop.host.body.machine
        wish = find_wish(run.course.wishes, machine.inventory)
        disks = machine.inventory.disks or ()
        meant = (
            {device_path(each) for each in matching_disks(wish.hints, disks)} if wish and wish.hints else None
        )
        allowed = {device_path(each) for each in disks for id in formatted[host.id] if identify_any(each, id)}
        for each in host.written:
            fine = allowed if each.why == "format" else planned[host.id]
            if each.path not in fine or (
                each.why == "image" and meant is not None and each.path not in meant
            ):
                found.append(f"{host.name}: {each.why} wrote {each.path}, which the plan does not name")
    return found


def _twice(run: Played) -> list[str]:
    """No host is told to install twice, unless it booted again before its disk was complete."""
    found = []
    log = [logged.event for logged in run.course.store.log()]
    repeated = Counter(event.id for event in log if event.name == "host_installation_repeated")
    for loop in run.loops:
        steps, most = set(run.witness.install_steps[loop.host.id]), 1 + repeated[loop.host.id]
        if len(steps) > most or loop.host.refused:
            found.append(
                f"{loop.host.name} was told to install {len(steps)} times: {', '.join(sorted(steps))}"
            )
        images = [each for each in loop.host.written if each.why == "image"]
        if len(images) > most or len({each.step_id for each in images}) < len(images):
            found.append(f"{loop.host.name} wrote its disk {len(images)} times")
    return found


def _end(run: Played, trial: Trial) -> list[str]:
    """Every run ends, or waits for something that it can name, with something to do about it."""
    cluster = run.cluster
    if run.outcome == "installed":
        bad = [host.id for host in run.hosts if host.status not in ("installed", "error")]
        return [f"installed, but host {id} is not" for id in bad]
    if run.outcome == "error":
        return [] if cluster.status_info else ["it failed and does not say why"]
    hosts = {host.id: host for host in run.hosts}
    reasons = why(cluster, hosts, run.service.now(), texts()).reasons
    if not reasons:
        return [f"it hangs: {cluster.status}, {cluster.status_info}"]
    mute = [each.id for each in reasons if not each.message or not each.fix]
    found = [f"it waits for {id} and does not say what to do" for id in mute]
    if run.scheduler.now - run.start >= run.course.until_s - 1:
        found.append(f"it does not end: {cluster.status}, {cluster.status_info}")
    return found + _liveness(run, trial)


def _liveness(run: Played, trial: Trial) -> list[str]:
    """When all troubles are over, nothing may stand in the way of beginning."""
    troubles = trial.course.around.troubles
    over = all(each.until_s < run.scheduler.now - run.start for each in troubles)
    if not over or run.cluster.status not in ("insufficient", "pending-for-input", "ready"):
        return []
    if any(loop.phase in ("frozen", "silent") for loop in run.loops):
        return []
    if run.conductor.attempts >= ATTEMPTS and any(_spoils_attempts(each) for each in troubles):
        return []
    said = "; ".join(f"{host.requested_hostname} {host.status}: {host.status_info}" for host in run.hosts)
    return [f"all troubles are over, but it is {run.cluster.status}: {run.cluster.status_info} [{said}]"]


def _spoils_attempts(trouble: Trouble) -> bool:
    """Whether all attempts to begin may fall into it."""
    return trouble.fault.kind in _BEFORE_THE_FIRST_STAGE
