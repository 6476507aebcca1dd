# SPDX-License-Identifier: Apache-2.0
"""An installation as a host plays it: its stages in order, how long each takes, and whom it waits for.

What takes time is a `Pause`, what is reported a `Tell`, and what depends on other hosts a `Wait`, which is
asked every few seconds, as the real installer does. A host whose peers are lost waits for ever; it is for
the service to notice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

import msgspec

from muster.lab.sim.answer import Answer, Progress
from muster.lab.sim.body import MB, Body
from muster.lab.sim.world import Standing
from muster.model.wire.enums import HostStage
from muster.model.wire.inventory import Disk
from muster.model.wire.reports import StepReply
from muster.model.wire.steps import InstallCmdRequest

POLL_S: Final = 5.0
BOOTKUBE_S: Final = 180.0
"""Until the control plane of the bootstrap host answers."""
_PERCENT_STEP: Final = 5
_LAST_WORDS_S: Final = 1.0
"""A host that is lost at a stage has still told of the stage."""
_ON_DISK: Final[frozenset[HostStage]] = frozenset(
    {"Rebooting", "Waiting for ignition", "Configuring", "Joined", "Done"}
)
_JOINED: Final[frozenset[HostStage]] = frozenset({"Joined", "Done"})


class Tell(msgspec.Struct, frozen=True):
    """A stage is reported."""

    stage: HostStage
    info: str = ""


class Pause(msgspec.Struct, frozen=True):
    """Something takes its time."""

    seconds: float


class Wait(msgspec.Struct, frozen=True):
    """Something has to come true."""

    is_true: Callable[[float], bool]


class End(msgspec.Struct, frozen=True):
    """The installer is done with the live system: well, or with an error."""

    error: str = ""


Move: TypeAlias = Tell | Pause | Wait | End


class Installation:
    """One installation of one host."""

    def __init__(self, body: Body, host_id: str, request: InstallCmdRequest, step_id: str) -> None:
        self._body = body
        self._request = request
        self.host_id = host_id
        self.step_id = step_id
        self.stage: HostStage | None = None
        self.is_over = False
        self.has_left = False
        """Whether the host boots from its disk, so that there is no agent any more."""
        self._moves = self._play()
        self._waiting: Wait | None = None
        self._now = 0.0
        self._began = 0.0

    @property
    def role(self) -> str:
        """What the host becomes, and whether it begins."""
        return self._request.role

    @property
    def is_single(self) -> bool:
        """Whether it is the whole cluster."""
        return self._request.control_plane_count == 1 and self.role in ("bootstrap", "master")

    def proceed(self, now: float) -> Answer:
        """What comes next, up to where it has to wait for others."""
        progress: list[Progress] = []
        after = 0.0
        if self._waiting is not None:
            if not self._waiting.is_true(now):
                return Answer(again_s=POLL_S)
            self._waiting = None
        for move in self._moves_from(now):
            if isinstance(move, Tell):
                progress.append(Progress(after, move.stage, move.info))
                if self._is_lost_at(move.stage, self._now):
                    return self._vanish(after, progress)
            elif isinstance(move, Pause):
                after += move.seconds
                self._now = now + after
            elif isinstance(move, Wait):
                self._waiting = move
                return Answer(progress=tuple(progress), again_s=after)
            else:
                return self._end(move, after, progress)
        self.is_over = True
        return Answer(duration_s=after, progress=tuple(progress), leaves=True)

    def _moves_from(self, now: float) -> Iterator[Move]:
        self._now = now
        return self._moves

    def _is_lost_at(self, stage: HostStage, now: float) -> bool:
        return self._body.broken(now).lost.get(self._body.name) == stage

    def _vanish(self, after: float, progress: list[Progress]) -> Answer:
        self.is_over = True
        return Answer(duration_s=after + _LAST_WORDS_S, progress=tuple(progress), then="silence")

    def _end(self, move: End, after: float, progress: list[Progress]) -> Answer:
        """The installer ends; a host that has not failed boots from its disk, and goes on there."""
        code = 1 if move.error else None
        reply = StepReply(step_type="install", step_id=self.step_id, exit_code=code, error=move.error or None)
        self.is_over = bool(move.error)
        self.has_left = not move.error
        return Answer(
            duration_s=after,
            reply=reply,
            progress=tuple(progress),
            again_s=None if move.error else after,
            leaves=not move.error,
        )

    def reach(self, stage: HostStage, now: float, *, lost: bool = False) -> None:
        """A stage was reached: the others of the cluster see it."""
        if self.stage is None:
            self._began = now
        self.stage = stage
        self._body.world.stand(
            self.host_id, Standing(self._request.cluster_id, self.role, stage, self._began, lost)
        )

    def lose(self, now: float) -> None:
        """The host is gone, and with it what others wait for."""
        if self.stage is not None:
            self.reach(self.stage, now, lost=True)

    def resume(self, now: float) -> None:
        """The host is back, with what it has on its disk."""
        if self.stage is not None:
            self.reach(self.stage, now)

    def _play(self) -> Iterator[Move]:
        """The whole installation."""
        body = self._body
        yield Tell("Starting installation", self.role)
        disk = body.find_disk(self._request.boot_device)
        if disk is None:
            yield from self._fail(f"{self._request.boot_device} is not a disk of this host")
            return
        for name in self._request.disks_to_format or ():
            if (other := body.find_disk(name)) is not None:
                body.write(other, "format", self._now, self.step_id)
        yield Pause(4.0 + 8.0 * body.random.random())
        yield Tell("Installing", self.role)
        if self.is_single:
            yield Pause(30.0)
            yield Tell("Waiting for bootkube")
            yield Pause(BOOTKUBE_S + 120.0 * body.random.random())
        else:
            yield Pause(10.0 + 15.0 * body.random.random())
        yield Tell("Writing image to disk")
        yield Wait(_at_once)
        if body.is_full(disk, self._now):
            yield from self._fail(f"{disk.path}: no space left on device")
            return
        yield from self._write(disk)
        yield from self._wait_for_others()
        yield Tell("Rebooting")
        yield Pause(1.0 if self.is_single else 60.0)
        yield Wait(_at_once)
        yield End()
        yield from self._join()

    def _fail(self, reason: str) -> Iterator[Move]:
        yield Tell("Failed", reason)
        yield End(reason)

    def _write(self, disk: Disk) -> Iterator[Move]:
        """The image goes to the disk, and then what a medium with a registry carries."""
        body = self._body
        body.write(disk, "image", self._now, self.step_id)
        rate = body.speed_of(disk, self._now).write_mb_s * MB
        around = body.world.around
        yield from _copy("Writing image to disk", around.os_image_bytes, rate)
        if around.registry_bytes and self.role != "worker":
            yield Tell("Copying registry data to disk")
            yield from _copy("Copying registry data to disk", around.registry_bytes, rate)

    def _wait_for_others(self) -> Iterator[Move]:
        if self.is_single:
            return
        if self.role == "worker":
            yield Tell("Waiting for control plane")
            yield Wait(self._has_control_plane)
        elif self.role == "bootstrap":
            yield Tell("Waiting for control plane", "Waiting for masters to join bootstrap control plane")
            yield Wait(self._have_masters_joined)
            yield Tell("Waiting for bootkube")
            yield Pause(20.0)
            yield Tell("Waiting for controller")
            yield Pause(30.0 + 30.0 * self._body.random.random())

    def _join(self) -> Iterator[Move]:
        """From the disk: power-on self-test, first boot, and into the cluster."""
        random = self._body.random.random
        yield Pause(self._body.boot_s())
        if self.role == "worker":
            yield Tell("Waiting for ignition")
            yield Pause(10.0)
        if not self.is_single:
            yield Wait(self._is_served)
            yield Tell("Configuring")
        yield Pause(60.0 + 60.0 * random())
        yield Tell("Joined")
        yield Pause(20.0 + 40.0 * random())
        yield Tell("Done")

    def _peers(self) -> Sequence[Standing]:
        return self._body.world.control_plane(self._request.cluster_id)

    def _has_control_plane(self, _: float) -> bool:
        """Whether two hosts of the control plane are done; a host that is added later finds them so."""
        peers = self._peers()
        done = sum(each.stage == "Done" for each in peers)
        return not peers or done >= min(2, len(peers))

    def _have_masters_joined(self, _: float) -> bool:
        wanted = min((self._request.control_plane_count or 3) - 1, 2)
        joined = sum(each.stage in _JOINED for each in self._peers() if each.role in ("master", "arbiter"))
        return joined >= wanted

    def _is_served(self, now: float) -> bool:
        """Whether somebody gives out configurations: the bootstrap host, and then the first masters."""
        peers = self._peers()
        first = next((each for each in peers if each.role == "bootstrap"), None)
        if first is None or self.role == "bootstrap":
            return True
        if any(each.stage in _JOINED for each in peers if each.role == "master"):
            return True
        if first.is_lost or first.stage in ("Starting installation", "Failed"):
            return False
        return first.stage in _ON_DISK or now - first.began >= BOOTKUBE_S


def _at_once(_: float) -> bool:
    """Waits for nobody, but only for its own time: what follows can be called off until then."""
    return True


def _copy(stage: HostStage, size_bytes: int, rate: float) -> Iterator[Move]:
    """The percentages of a copy, five apart."""
    piece = size_bytes / rate * _PERCENT_STEP / 100
    for percent in range(_PERCENT_STEP, 101, _PERCENT_STEP):
        yield Pause(piece)
        yield Tell(stage, f"{percent}%")
