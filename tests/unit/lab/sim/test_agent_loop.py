# SPDX-License-Identifier: Apache-2.0
"""The agent's loop: what it sends when all is well, and when it is not."""

from __future__ import annotations

import pytest

from muster.lab.sim.agent_loop import AgentLoop, Settings
from muster.lab.sim.crew import make_random
from muster.lab.sim.host import SimHost
from muster.lab.sim.port import Got, Poll, Register, Reply, Report, Request, SendLogs, TellLogs
from muster.model.wire.host import HostProgress
from muster.model.wire.steps import Step, Steps
from tests.unit.lab.sim.made import START, Run, host_of, machines_of
from tests.unit.lab.sim.small_service import CLUSTER, INFRA_ENV, encode

OK = Got(200)
NOTHING_TO_DO = Steps(next_instruction_seconds=60, post_step_action="continue", instructions=())


class Talk:
    """A loop that the test answers by hand."""

    def __init__(self, host: SimHost | None = None, settings: Settings | None = None) -> None:
        self.loop = AgentLoop(host or host_of("kvm-libvirt"), make_random(3), settings)
        self.loop.start(START)
        self.now = START

    def next(self) -> list[Request]:
        """What is sent at the next moment at which anything is."""
        for _ in range(1000):
            due = self.loop.due()
            assert due is not None
            self.now = max(self.now, due)
            if sent := self.loop.take(self.now):
                return sent
        raise AssertionError("it sends nothing")

    def one(self) -> Request:
        (request,) = self.next()
        return request

    def answer(self, request: Request, got: Got = OK) -> None:
        self.loop.got(request, got, self.now)

    def begin(self, *steps: Step) -> None:
        """Register, and be given steps."""
        self.answer(self.one(), Got(201))
        self.poll(*steps)

    def poll(self, *steps: Step, seconds: int = 60) -> None:
        request = self.one()
        assert isinstance(request, Poll)
        self.answer(request, Got(200, Steps(next_instruction_seconds=seconds, instructions=steps)))


def step(kind: str, number: int = 1, *args: str) -> Step:
    return Step(step_type=kind, step_id=f"{kind}-{number}", args=args)  # type: ignore[arg-type]


def test_it_registers_then_polls_as_often_as_it_is_told() -> None:
    talk = Talk()
    register = talk.one()
    assert isinstance(register, Register)
    assert register.params.host_id == talk.loop.host.id
    assert talk.loop.due() is None, "it waits for the answer"
    talk.answer(register, Got(201))
    moments = []
    for seconds in (7, 0, 60):
        talk.poll(seconds=seconds)
        moments.append(talk.now)
    due = talk.loop.due()
    assert due is not None
    assert [round(after - before, 3) for before, after in zip(moments, [*moments[1:], due], strict=True)] == [
        7,
        0.1,
        60,
    ]


def test_a_service_that_says_nothing_about_the_next_poll() -> None:
    talk = Talk(settings=Settings(waits=0.5))
    talk.answer(talk.one(), Got(201))
    talk.answer(talk.one(), Got(200, Steps()))
    assert talk.loop.due() == talk.now + 30


@pytest.mark.parametrize("status", [0, 500, 503])
def test_a_registration_is_tried_again(status: int) -> None:
    talk = Talk()
    waits = []
    for _ in range(6):
        before = talk.now
        talk.answer(talk.one(), Got(status))
        waits.append(talk.now - before)
    assert waits[0] == 0
    assert 0 < waits[1] < 0.8
    assert waits[5] > waits[1]
    talk.answer(talk.one(), Got(201))
    assert talk.loop.phase == "polling"


def test_it_waits_as_long_as_the_service_wants() -> None:
    talk = Talk()
    talk.answer(talk.one(), Got(503, retry_s=30.0))
    assert (talk.loop.due() or 0) >= talk.now + 30


@pytest.mark.parametrize("status", [401, 403, 404, 409])
def test_a_registration_that_is_refused_for_good(status: int) -> None:
    talk = Talk()
    talk.answer(talk.one(), Got(status))
    assert (talk.loop.phase, talk.loop.due(), talk.loop.is_over) == ("frozen", None, True)


def test_an_unknown_host_freezes() -> None:
    talk = Talk()
    talk.answer(talk.one(), Got(201))
    talk.answer(talk.one(), Got(404))
    assert talk.loop.phase == "frozen"


def test_polls_that_fail_for_long_end_in_a_registration() -> None:
    talk = Talk()
    talk.answer(talk.one(), Got(201))
    begun = talk.now
    while not isinstance(request := talk.one(), Register):
        talk.answer(request, Got(0))
    assert 900 < talk.now - begun < 1100


def test_it_registers_anew_when_it_is_told_to_exit() -> None:
    talk = Talk()
    talk.answer(talk.one(), Got(201))
    exit_steps = Steps(next_instruction_seconds=0, post_step_action="exit", instructions=(step("inventory"),))
    talk.answer(talk.one(), Got(200, exit_steps))
    assert isinstance(talk.one(), Register), "and the step is not done any more"


def test_steps_run_beside_each_other() -> None:
    talk = Talk()
    talk.begin(
        step("ntp-synchronizer", 1, '{"ntp_source":"a"}'), step("inventory"), step("verify-vips", 1, "[]")
    )
    kinds: list[str | None] = []
    while len(kinds) < 3:
        for request in talk.next():
            assert isinstance(request, Reply)
            kinds.append(request.reply.step_type)
    assert kinds == ["verify-vips", "ntp-synchronizer", "inventory"]
    assert talk.now - START < 10


def test_only_one_of_a_kind_runs() -> None:
    talk = Talk()
    images = encode({"images": ["a"], "timeout": 100})
    talk.begin(
        step("inventory", 1),
        step("inventory", 2),
        step("container-image-availability", 1, images),
        step("container-image-availability", 2, images),
    )
    replies = []
    while talk.now < START + 30:
        for request in talk.next():
            if isinstance(request, Reply):
                replies.append((request.reply.step_id, bool(request.reply.output)))
    assert replies == [
        ("container-image-availability-2", False),
        ("inventory-1", True),
        ("container-image-availability-1", True),
    ]


def test_the_same_reply_is_not_sent_twice_within_an_hour() -> None:
    talk = Talk()
    talk.begin(step("inventory", 1))
    sent = []
    for number in range(2, 80):
        for request in talk.next():
            if isinstance(request, Reply):
                sent.append(talk.now)
                talk.answer(request, Got(204))
            else:
                todo = Steps(next_instruction_seconds=60, instructions=(step("inventory", number),))
                talk.answer(request, Got(200, todo))
    assert len(sent) == 2
    assert 3600 <= sent[1] - sent[0] < 3700


def test_after_a_failed_poll_everything_is_said_again() -> None:
    talk = Talk()
    talk.begin(step("inventory", 1))
    talk.answer(talk.one(), Got(204))
    talk.answer(talk.one(), Got(500))
    talk.poll(step("inventory", 2))
    assert isinstance(talk.one(), Reply)


@pytest.mark.parametrize(("status", "tries"), [(503, 4), (0, 4), (400, 1)])
def test_a_reply_is_tried_a_few_times(status: int, tries: int) -> None:
    talk = Talk()
    talk.begin(step("inventory"))
    seen = 0
    while talk.now < START + 59:
        for request in talk.next():
            if isinstance(request, Reply):
                seen += 1
                talk.answer(request, Got(status))
    assert seen == tries
    assert talk.loop.counts["dropped"] == 1


def installing(talk: Talk) -> None:
    disks = talk.loop.host.body.machine.inventory.disks or ()
    wish = {
        "cluster_id": CLUSTER, "infra_env_id": INFRA_ENV, "host_id": talk.loop.host.id, "role": "master",
        "boot_device": disks[0].id, "controller_image": "c", "installer_image": "i", "control_plane_count": 3,
    }  # fmt: skip
    talk.begin(step("install", 1, encode(wish)))


def test_stages_do_not_overtake_each_other() -> None:
    talk = Talk()
    installing(talk)
    first = talk.one()
    assert isinstance(first, Report)
    assert first.progress == HostProgress(current_stage="Starting installation", progress_info="master")
    talk.answer(first, Got(503))
    again = talk.one()
    assert isinstance(again, Report)
    assert (again.progress, again.tries) == (first.progress, 1)
    while talk.now < START + 90:
        for request in talk.next():
            assert isinstance(request, Poll), "the next stage waits for the one before"
            talk.answer(request, Got(200, NOTHING_TO_DO))
    talk.answer(again, Got(200))
    after = talk.one()
    assert isinstance(after, Report)
    assert after.progress.current_stage == "Installing"


def test_a_stage_that_is_refused_is_left_out() -> None:
    talk = Talk()
    installing(talk)
    talk.answer(talk.one(), Got(409))
    after = talk.one()
    assert isinstance(after, Report)
    assert after.progress.current_stage == "Installing"
    assert talk.loop.counts["dropped"] == 1


def test_there_are_no_polls_after_the_reboot() -> None:
    talk = Talk()
    installing(talk)
    seen: list[str] = []
    while not talk.loop.is_over:
        for request in talk.next():
            seen.append(
                (request.progress.current_stage or "")
                if isinstance(request, Report)
                else type(request).__name__
            )
            talk.answer(request, Got(200, NOTHING_TO_DO) if isinstance(request, Poll) else OK)
    after = seen[seen.index("Reply") + 1 :]
    assert seen[seen.index("Reply") - 1] in ("Rebooting", "Poll")
    assert after == ["Configuring", "Joined", "Done"]
    assert talk.loop.phase == "installed"


def test_logs() -> None:
    talk = Talk()
    wish = {"cluster_id": CLUSTER, "infra_env_id": INFRA_ENV, "host_id": talk.loop.host.id}
    talk.begin(step("logs-gather", 1, encode({**wish, "bootstrap": False, "installer_gather": True})))
    assert talk.one() == TellLogs("collecting")
    sent, told, reply = talk.next()
    assert isinstance(sent, SendLogs)
    assert sent.cluster_id == CLUSTER
    assert told == TellLogs("completed")
    assert isinstance(reply, Reply)


def test_an_answer_that_comes_too_late_is_not_heard() -> None:
    talk = Talk()
    talk.answer(talk.one(), Got(201))
    poll = talk.one()
    talk.answer(poll, Got(500))
    talk.answer(poll, Got(200, Steps(instructions=(step("inventory"),))))
    assert isinstance(talk.one(), Poll)


def test_it_can_be_woken() -> None:
    talk = Talk()
    talk.begin()
    talk.now += 5
    talk.loop.wake(talk.now)
    assert talk.loop.due() == talk.now
    talk.poll()
    assert talk.loop.due() == talk.now + 60


def test_a_wrong_clock_is_told_with_each_poll() -> None:
    talk = Talk(host_of("kvm-libvirt", "skew:kvm-libvirt-0=+90m"))
    talk.answer(talk.one(), Got(201))
    assert talk.one() == Poll(5400.0)
    mended = Talk(host_of("kvm-libvirt", "skew:kvm-libvirt-0=+90m", ntp_sets_clocks=True))
    mended.answer(mended.one(), Got(201))
    assert mended.one() == Poll(0.0)


def test_a_link_that_is_down_for_a_while() -> None:
    run = Run(machines_of("kvm-libvirt"), "link:kvm-libvirt-0@0s..60s")
    run.service.next_s = 60
    run.fleet.start_all(run.loops)
    run.clock.run(START + 59)
    assert not run.service.registrations
    run.clock.run(START + 200)
    assert list(run.service.registrations.values()) == [1]


def test_power_that_comes_late_goes_and_comes_again() -> None:
    run = Run(
        machines_of("kvm-libvirt", "openstack"), "power:openstack-1@0s..100s", "power:kvm-libvirt-0@60s..2m"
    )
    kvm, late = (loop.host for loop in run.loops)
    run.fleet.start_all(run.loops)
    run.clock.run(START + 99)
    assert dict(run.service.registrations) == {kvm.id: 1}
    assert run.phases == {"kvm-libvirt-0": "off", "openstack-1": "off"}
    run.clock.run(START + 400)
    assert dict(run.service.registrations) == {kvm.id: 2, late.id: 1}


def test_power_that_is_lost_after_the_reboot_only_delays() -> None:
    kinds = ("kvm-libvirt", "openstack", "hyper-v")
    whole = Run(machines_of(*kinds)).go()
    reached = {loop.host.id: loop.host.name for loop in whole.loops}
    first = next(host_id for host_id in reached if whole.service.install_of(host_id).role == "bootstrap")
    run = Run(machines_of(*kinds))
    run.fleet.start_all(run.loops, within_s=10.0)
    run.clock.run(is_over=lambda: _phase_of(run, first) == "booting")
    moment = run.clock.now - START + 5
    cut = Run(machines_of(*kinds), f"power:{reached[first]}@{moment:.0f}s..{moment + 600:.0f}s").go()
    assert set(cut.phases.values()) == {"installed"}
    assert cut.clock.now - whole.clock.now > 500
    assert cut.service.registrations[first] == 1


def _phase_of(run: Run, host_id: str) -> str:
    return next(loop.phase for loop in run.loops if loop.host.id == host_id)


def test_power_that_is_lost_in_the_middle_begins_anew() -> None:
    talk = Talk(host_of("kvm-libvirt", "power:*@30s..1m"))
    installing(talk)
    talk.answer(talk.one())
    seen: list[Request] = []
    while talk.now < START + 60:
        for request in talk.next():
            seen.append(request)
            talk.answer(request, Got(200, NOTHING_TO_DO) if isinstance(request, Poll) else OK)
    assert isinstance(seen[-1], Register)
    assert talk.loop.host.installation is None
