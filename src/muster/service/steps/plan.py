# SPDX-License-Identifier: Apache-2.0
"""What a host is to do next.

    plan = next_steps(Scene(realm, host, infra_env, now, means), sent)
    sent = plan.sent                        # kept in memory, for the next time that the host asks
    sent = note_reply(sent, reply, now)     # and after each answer

Nothing is told twice while it runs, and nothing is done again before its time, unless what is asked for is
another by then.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from msgspec.structs import replace

from muster.model.wire.steps import Step, Steps
from muster.service.derive.directory import directory_of
from muster.service.steps.cadence import deadline_of, repeat_after, seconds_to_next
from muster.service.steps.install import make_install_step
from muster.service.steps.peers import next_check, plan_peers, request_for
from muster.service.steps.scene import Scene
from muster.service.steps.sent import Plan, Running, Sent, expire
from muster.service.steps.table import BUILDERS, EXIT, step_types

_SET_BACK: Final = timedelta(minutes=1)
"""What was told so much later than now was told before the clock was set back, and is told anew."""


def next_steps(scene: Scene, sent: Sent) -> Plan:
    """What a host is to do now, and what is to be remembered of that."""
    if sent.at is not None and sent.at > scene.now + _SET_BACK:
        sent = Sent()
    if _is_as_before(scene, sent):
        return Plan(_answer(scene, sent, ()), sent)
    host, now = scene.host, scene.now
    sent = expire(sent, host, now)
    types = step_types(scene)
    running = dict(sent.running)
    sent = replace(sent, running=running)
    steps: list[Step] = []
    for name in types:
        if name == "connectivity-check":
            sent, peers = plan_peers(scene, sent)
            step = _step(scene, name, (request_for(scene, peers),)) if peers else None
        else:
            peers, step = 0, _due_step(scene, sent, name)
        if step is not None:
            steps.append(step)
            running[name] = Running(step.step_id or "", hash(step.args), now, peers)
    due = _due(scene, sent, types)
    kept = replace(sent, at=now, due=due, host=host, cluster=scene.cluster, infra_env=scene.infra_env)
    return Plan(_answer(scene, sent, tuple(steps)), kept)


def _is_as_before(scene: Scene, sent: Sent) -> bool:
    """Whether nothing changed and nothing came up since a host was last told what to do."""
    return (
        sent.host is scene.host
        and sent.cluster is scene.cluster
        and sent.infra_env is scene.infra_env
        and sent.seen in (0, directory_of(scene.realm).version)
        and sent.due is not None
        and scene.now < sent.due
    )


def _answer(scene: Scene, sent: Sent, steps: tuple[Step, ...]) -> Steps:
    return Steps(
        next_instruction_seconds=_seconds(scene, is_busy=bool(sent.running or sent.todo)),
        post_step_action="exit" if scene.host.status in EXIT else "continue",
        instructions=steps,
    )


def _seconds(scene: Scene, *, is_busy: bool) -> int:
    if scene.host.status in EXIT and scene.host.status != "reclaiming-rebooting":
        return 0
    return seconds_to_next(scene.host, len(scene.realm.hosts), is_busy=is_busy, waits=scene.waits)


def _due_step(scene: Scene, sent: Sent, name: str) -> Step | None:
    """A step, unless it runs or is not due yet."""
    if name == "install":
        return _install(scene, sent)
    args = BUILDERS[name](scene)
    if args is None:
        return None
    digest = hash(args)
    current = sent.running.get(name)
    if current is not None and current.digest == digest:
        return None
    last = sent.done.get(name)
    if last is not None and last.digest == digest:
        wait = repeat_after(name, scene.host, failed=last.failed)
        if scene.now < last.at + wait:
            return None
    return _step(scene, name, args)


def _install(scene: Scene, sent: Sent) -> Step | None:
    """The one step that installs, once it is durable that it was told."""
    host, cluster, images = scene.host, scene.cluster, scene.means.images
    if cluster is None or images is None or not host.install_step or "install" in sent.running:
        return None
    last = sent.done.get("install")
    if not host.installation_disk_path or (last is not None and scene.now < last.at + deadline_of("install")):
        return None
    return make_install_step(host, cluster, scene.infra_env, images)


def _step(scene: Scene, name: Any, args: tuple[str, ...]) -> Step:
    return Step(step_type=name, step_id=f"{name}-{scene.means.chance()}", args=args)


def _due(scene: Scene, sent: Sent, types: tuple[str, ...]) -> datetime:
    """Before then nothing comes up by itself: what was due until now was told, or is not wanted any more."""
    moments = [each.at + deadline_of(name) for name, each in sent.running.items()]
    for name in types:
        last = sent.done.get(name)
        if last is not None and name not in sent.running:
            moments.append(last.at + repeat_after(name, scene.host, failed=last.failed))
    if "connectivity-check" in types:
        moments.append(next_check(scene, sent))
    return min((each for each in moments if each > scene.now), default=scene.now.replace(year=9999))


def has_news(scene: Scene, sent: Sent) -> bool:
    """Whether there is anything to hand out now; it costs next to nothing while nothing changed."""
    steps = next_steps(replace(scene, means=replace(scene.means, chance=str)), sent).steps
    return bool(steps.instructions) or steps.post_step_action == "exit"
