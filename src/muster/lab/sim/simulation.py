# SPDX-License-Identifier: Apache-2.0
"""One installation of a site in a model: the real service, modelled hosts, and a clock that jumps.

run = Simulation(course_of(site, plan, Wanted(seed=1)))
run.run()
run.outcome     # installed, error, or what it waits for
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Final, Literal, TypeAlias

import msgspec

from muster.config.derive import release_kind
from muster.frozen import dataclass
from muster.lab.plan import LabPlan
from muster.lab.planning import Wishes, plan_lab
from muster.lab.sim.agent_loop import AgentLoop
from muster.lab.sim.broken import check_troubles
from muster.lab.sim.clock import Scheduler
from muster.lab.sim.conductor import ATTEMPTS, Asker, Conductor, Controller
from muster.lab.sim.crew import make_loops, make_random
from muster.lab.sim.faults import Trouble
from muster.lab.sim.in_process import InProcess, Terms
from muster.lab.sim.machines import Machine
from muster.lab.sim.of_plan import Make, machines_of_plan, surroundings_of_plan, with_hinted_disk
from muster.lab.sim.on_clock import Fleet
from muster.lab.sim.port import ServicePort
from muster.lab.sim.stand_ins import ModelDriver
from muster.lab.sim.widen import widen_machine, widen_plan, wider_networks
from muster.lab.sim.world import Surroundings, World
from muster.model.plan import Plan
from muster.model.site import Site
from muster.model.wire.cluster import ClusterCreateParams, MachineNetwork
from muster.model.wire.infra_env import InfraEnvCreateParams
from muster.service.realm import Event
from muster.service.site_order import Wish, cluster_params, infra_env_params, wishes_of
from muster.service.state import Cluster, Host
from muster.service.store.memory import MemoryStore
from muster.service.store.port import Store
from muster.service.validations.host_hardware import maker_for
from muster.service.validations.of_site import architecture_of, platform_of

Outcome: TypeAlias = Literal["installed", "error", "waits"]
DAY_S: Final = 86400.0
BOOT_S: Final = 120.0
"""Within so long all machines are switched on and have booted."""
_QUIET_BEFORE_S: Final = 1800.0
_QUIET_S: Final = 4 * 3600.0
"""When nothing changed for so long nothing will: every deadline but the last is shorter."""
_LONGEST_BEFORE_S: Final = 2 * 3600.0
_TICK_S: Final = 300.0
_OVER: Final = frozenset({"installed", "error", "cancelled"})
_FIELDS: Final = frozenset({"status", "progress"})
_TURNS: Final = ("_validation_failed", "_validation_fixed")
_BEFORE: Final = frozenset({"insufficient", "pending-for-input", "ready"})
_RUNNING: Final = frozenset({"installing", "installing-pending-user-action", "finalizing"})


@dataclass(frozen=True)
class Wanted:
    """What is asked of a simulation beside the site."""

    seed: int = 0
    hosts: int = 0
    """How many hosts; 0 for as many as the site has."""
    troubles: tuple[Trouble, ...] = ()
    until_s: float = DAY_S + 3600.0


@dataclass(frozen=True)
class Course:
    """Everything that a run is decided by."""

    seed: int
    cluster: ClusterCreateParams
    make_infra_env: Callable[[str], InfraEnvCreateParams]
    wishes: tuple[Wish, ...]
    machines: tuple[Machine, ...]
    around: Surroundings
    image: str
    release_kind: str
    until_s: float = DAY_S + 3600.0
    notes: tuple[str, ...] = ()
    """What is otherwise than the files say."""
    store: Store = field(default_factory=MemoryStore)


def course_of(site: Site, plan: Plan, wanted: Wanted) -> Course:
    """The course of a site's installation."""
    lab = plan_lab(site, plan, Wishes())
    count = wanted.hosts or plan.masters + plan.arbiters + plan.workers
    wider = wider_networks(lab, count)
    lab = widen_plan(lab, wider)
    machines = tuple(widen_machine(each, wider) for each in _machines(site, plan, lab, count))
    check_troubles(wanted.troubles, {machine.name: machine for machine in machines})
    cluster = cluster_params(site, plan)
    if wider:
        networks = tuple(MachineNetwork(cidr=cidr) for cidr in lab.machine_networks)
        cluster = msgspec.structs.replace(cluster, machine_networks=networks)
    return Course(
        seed=wanted.seed,
        cluster=cluster,
        make_infra_env=lambda id: infra_env_params(plan, id),
        wishes=wishes_of(site, plan),
        machines=machines,
        around=surroundings_of_plan(lab, wanted.troubles),
        image=plan.release_image,
        release_kind=release_kind(site),
        until_s=wanted.until_s,
        notes=tuple(f"{old} has no room for {count} hosts: {new} is taken" for old, new in wider.items()),
    )


def _machines(site: Site, plan: Plan, lab: LabPlan, count: int) -> tuple[Machine, ...]:
    """The hosts of the files: their cards, networks and disks, and whatever machines of the platform are."""
    documents = {
        machine.name: host.network
        for machine, host in zip(lab.machines, site.hosts, strict=False)
        if host.network is not None
    }
    make = Make(
        architecture=architecture_of(plan.architecture), maker=maker_for(platform_of(site, plan)) or "Muster"
    )
    machines = machines_of_plan(lab, documents, count=count, make=make)
    written = {each.name for each in (site.lab.machines if site.lab else ()) if each.disks}
    named = [
        machine if machine.name in written else with_hinted_disk(machine, host.disk)
        for machine, host in zip(machines, plan.hosts, strict=False)
    ]
    return (*named, *machines[len(named) :])


class Simulation:
    """A run."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self.world = World(course.around, course.machines)
        self.scheduler = Scheduler(course.around.start)
        seed = course.seed
        terms = Terms(
            self.scheduler,
            make_random(seed, "service"),
            ModelDriver((course.image,), course.release_kind),
            course.store,
        )
        self.service = InProcess(terms)
        self.fleet = Fleet(self.scheduler, self.port(), make_random(seed, "network"))
        self.service.wake = self.fleet.wake
        asker = Asker(self.service, self.scheduler)
        self.conductor = Conductor(asker, course.wishes, len(course.machines))
        self.conductor.create(course.cluster, course.make_infra_env)
        self.controller = Controller(asker, self.conductor.cluster_id, make_random(seed, "controller"))
        self.loops: list[AgentLoop] = make_loops(course.machines, self.world, seed)
        self._changed = self.scheduler.now
        self._calm_s = self._last_trouble_s()
        self.service.watch(self._look)

    def port(self) -> ServicePort:
        """What the hosts talk to."""
        return self.service

    @property
    def start(self) -> float:
        """The moment of the beginning."""
        return self.course.around.start

    @property
    def cluster(self) -> Cluster:
        """The cluster as it is."""
        found = self.conductor.realm.cluster
        assert found is not None
        return found

    @property
    def hosts(self) -> Sequence[Host]:
        """Its hosts as they are."""
        return tuple(self.conductor.realm.hosts.values())

    @property
    def outcome(self) -> Outcome:
        """How it ended."""
        status = self.cluster.status
        return "installed" if status == "installed" else "error" if status in _OVER else "waits"

    def run(self) -> None:
        """Run until it is installed, has failed, or nothing will change any more."""
        self.fleet.start_all(self.loops, within_s=BOOT_S)
        self._tick(self.scheduler.now)
        self.scheduler.run(self.start + self.course.until_s, is_over=self._is_over)
        self.service.close()

    def _tick(self, _: float) -> None:
        """Time passes also when nothing happens."""
        self.scheduler.after(_TICK_S, self._tick)

    def _look(self, events: Sequence[Event]) -> None:
        """Note when something last changed that people would see."""
        if any(_FIELDS & event.values.keys() or event.name.endswith(_TURNS) for event in events):
            self._changed = self.scheduler.now

    def _is_over(self) -> bool:
        if not self.service.is_up:
            return False
        cluster = self.cluster
        if cluster.status in _OVER:
            return True
        settled = self.start + max(self._calm_s, BOOT_S)
        since = max(self._changed, settled)
        quiet = _QUIET_S if cluster.status in _RUNNING else _QUIET_BEFORE_S
        if cluster.status in _BEFORE and self.scheduler.now - settled >= _LONGEST_BEFORE_S:
            return True  # It goes back and forth, and would do so for ever.
        gave_up = self.conductor.attempts >= ATTEMPTS and cluster.status == "ready"
        return self.scheduler.now - since >= (60.0 if gave_up else quiet)

    def _last_trouble_s(self) -> float:
        """When the last trouble begins or ends."""
        limit = self.course.until_s
        moments = [
            each for trouble in self.course.around.troubles for each in (trouble.since_s, trouble.until_s)
        ]
        return max((each for each in moments if each < limit), default=0.0)
