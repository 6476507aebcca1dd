# SPDX-License-Identifier: Apache-2.0
"""A service of a page: every host that is known is told to install, once all are."""

from __future__ import annotations

from collections import Counter, defaultdict

import msgspec

from muster.lab.sim.port import Refused, Unreachable
from muster.model.wire.enums import HostRole, HostStage, StepType
from muster.model.wire.host import (
    HostCreateParams,
    HostProgress,
    HostRegistrationResponse,
    LogsProgressParams,
    NextStepRunnerCommand,
)
from muster.model.wire.inventory import Inventory
from muster.model.wire.reports import StepReply
from muster.model.wire.steps import (
    ConnectivityCheckHost,
    ConnectivityCheckNic,
    InstallCmdRequest,
    NextStepCmdRequest,
    Step,
    Steps,
)

CLUSTER = "0c1a57e2-0000-4000-8000-000000000001"
INFRA_ENV = "1f4ae5f0-0000-4000-8000-000000000001"


def encode(value: object) -> str:
    return msgspec.json.encode(value).decode()


class SmallService:
    """Enough of a service for hosts to get from nothing to a cluster."""

    def __init__(self, expected: int, *, masters: int = 3) -> None:
        self.inventories: dict[str, Inventory] = {}
        self.replies: dict[str, list[StepReply]] = defaultdict(list)
        self.stages: dict[str, list[HostProgress]] = defaultdict(list)
        self.registrations: Counter[str] = Counter()
        self.timestamps: dict[str, int] = {}
        self.log_states: list[str] = []
        self.archives: list[tuple[str, str]] = []
        self.trouble: list[int] = []
        """Statuses that the next calls are answered with; 0 for no answer at all."""
        self.next_s = 5
        self.exit_once: set[str] = set()
        self.wanted: dict[str, list[Step]] = defaultdict(list)
        """Steps for the next poll of a host."""
        self._expected = expected
        self._masters = masters
        self._told: set[str] = set()
        self._count = 0

    def step(self, kind: StepType, *args: str) -> Step:
        self._count += 1
        return Step(step_type=kind, step_id=f"{kind}-{self._count:08x}", args=args)

    def _stumble(self) -> None:
        if self.trouble:
            status = self.trouble.pop(0)
            if status:
                raise Refused(status, "as the test wants it")
            raise Unreachable

    def register(self, params: HostCreateParams) -> HostRegistrationResponse:
        self._stumble()
        self.registrations[params.host_id] += 1
        command = NextStepCmdRequest(
            infra_env_id=INFRA_ENV, host_id=params.host_id, agent_version=params.discovery_agent_version or ""
        )
        return HostRegistrationResponse(
            kind="Host",
            id=params.host_id,
            href="",
            status="discovering",
            status_info="",
            next_step_runner_command=NextStepRunnerCommand(
                command="", args=(encode(command),), retry_seconds=1
            ),
        )

    def instructions(self, host_id: str, timestamp: int) -> Steps:
        self._stumble()
        self.timestamps[host_id] = timestamp
        if host_id in self.exit_once:
            self.exit_once.discard(host_id)
            return Steps(next_instruction_seconds=0, post_step_action="exit", instructions=())
        wanted = self.wanted.pop(host_id, [])
        return Steps(
            next_instruction_seconds=self.next_s,
            post_step_action="continue",
            instructions=(*wanted, *self._steps(host_id)),
        )

    def _steps(self, host_id: str) -> list[Step]:
        if host_id not in self.inventories:
            return [self.step("inventory", host_id)]
        if len(self.inventories) < self._expected:
            return []
        if not any(reply.step_type == "connectivity-check" for reply in self.replies[host_id]):
            return [self.step("connectivity-check", encode(self.peers_of(host_id)))]
        if host_id not in self._told:
            self._told.add(host_id)
            return [self.step("install", encode(self.install_of(host_id)))]
        return []

    def peers_of(self, host_id: str) -> list[ConnectivityCheckHost]:
        return [
            ConnectivityCheckHost(
                host_id=other,
                nics=tuple(
                    ConnectivityCheckNic(
                        name=card.name,
                        mac=card.mac_address,
                        ip_addresses=(*(card.ipv4_addresses or ()), *(card.ipv6_addresses or ())),
                    )
                    for card in inventory.interfaces or ()
                    if card.ipv4_addresses or card.ipv6_addresses
                ),
            )
            for other, inventory in self.inventories.items()
            if other != host_id
        ]

    def install_of(self, host_id: str) -> InstallCmdRequest:
        place = sorted(self.inventories).index(host_id)
        role: HostRole = "bootstrap" if place == 0 else "master" if place < self._masters else "worker"
        disks = self.inventories[host_id].disks or ()
        disk = next(disk for disk in disks if disk.drive_type in ("SSD", "HDD", "Multipath", "iSCSI"))
        return InstallCmdRequest(
            cluster_id=CLUSTER,
            infra_env_id=INFRA_ENV,
            host_id=host_id,
            role=role,
            boot_device=disk.id or "",
            controller_image="registry.example.com/controller",
            installer_image="registry.example.com/installer",
            control_plane_count=0 if role == "worker" else self._masters,
        )

    def reply(self, host_id: str, reply: StepReply) -> None:
        self._stumble()
        self.replies[host_id].append(reply)
        if reply.step_type == "inventory" and not reply.exit_code:
            self.inventories[host_id] = msgspec.json.decode(reply.output or "", type=Inventory)

    def progress(self, host_id: str, progress: HostProgress) -> None:
        self._stumble()
        self.stages[host_id].append(progress)

    def logs_progress(self, host_id: str, state: LogsProgressParams) -> None:
        self.log_states.append(state.logs_state)

    def logs(self, host_id: str, cluster_id: str, archive: bytes) -> None:
        assert archive
        self.archives.append((host_id, cluster_id))

    def stages_of(self, host_id: str) -> list[HostStage]:
        """Each stage once, in the order in which they came."""
        return list(dict.fromkeys(each.current_stage for each in self.stages[host_id] if each.current_stage))
