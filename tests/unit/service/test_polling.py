# SPDX-License-Identifier: Apache-2.0
"""What a host is told when it asks, while other things go on."""

from __future__ import annotations

import msgspec
import pytest

from muster.lab.sim.shell import finish
from muster.lab.sim.simulation import Simulation
from muster.model.wire.reports import StepReply
from muster.service import polling
from muster.service.edge.rate import Allowance, Rate
from muster.service.polling import Poll, answer_poll, asked_of
from muster.service.refusals import Unavailable
from muster.service.service import Service
from muster.service.state import Host
from tests.sites import Shape
from tests.unit.lab.sim.sites import simulation_of

POLL = Poll(0, enrolled=True, waits=True)


@pytest.fixture
def run() -> Simulation:
    """A service and hosts of which one has registered."""
    made = simulation_of(Shape())
    made.service.register(made.loops[0].host.register_params())
    return made


def host_of(run: Simulation) -> tuple[Service, Host]:
    return run.service.service, run.hosts[0]


def test_an_answer_that_comes_while_the_next_steps_are_handed_out_is_not_forgotten(
    run: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, host = host_of(run)
    found = finish(answer_poll(service, host, POLL))
    step = next(each for each in found.steps.instructions or () if each.step_type == "ntp-synchronizer")

    async def settle(_: str) -> None:
        reply = StepReply(step_type=step.step_type, step_id=step.step_id, output="{}")
        service.note_answered(host.id, reply)

    monkeypatch.setattr(service, "settle", settle)
    finish(found.hand_out())
    assert "ntp-synchronizer" not in service.sent[host.id].running
    assert "inventory" in service.sent[host.id].running


def test_what_was_not_handed_out_is_told_again(run: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    service, host = host_of(run)
    found = finish(answer_poll(service, host, POLL))

    async def settle(_: str) -> None:
        raise Unavailable("the store is away", hint="ask again")

    with monkeypatch.context() as patched:
        patched.setattr(service, "settle", settle)
        with pytest.raises(Unavailable):
            finish(found.hand_out())
    again = finish(answer_poll(service, host, POLL))
    assert [each.step_type for each in again.steps.instructions or ()] == [
        each.step_type for each in found.steps.instructions or ()
    ]


def test_who_waits_is_looked_at_when_something_comes_up_by_itself(run: Simulation) -> None:
    service, host = host_of(run)
    found = finish(answer_poll(service, host, POLL))
    finish(found.hand_out())
    held = finish(answer_poll(service, host, POLL))
    assert not held.is_worth_it
    assert 30 < held.seconds_to_look(600.0) <= 60
    assert held.seconds_to_look(5.0) == 5.0


def test_names_that_a_step_is_about(run: Simulation) -> None:
    service, host = host_of(run)
    images = asked_of(service, host, "container-image-availability")
    assert len(images) == 1
    assert next(iter(images)) in next(iter(service.images.values()))
    cluster = service.engine.cluster(host.cluster_id or "")
    names = asked_of(service, host, "domain-resolution")
    assert f"api.{cluster.name}.{cluster.base_dns_domain}" in names
    assert asked_of(service, host, "upgrade-agent") == frozenset(), "nobody asks for that"
    assert asked_of(service, host, "inventory") == frozenset()


def test_a_lease_is_asked_for_in_the_states_that_have_that_step(
    run: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, host = host_of(run)
    monkeypatch.setattr(polling, "dhcp_lease_allocate", lambda _: ("request",))
    for status, wanted in (("known", {"request"}), ("discovering", set()), ("installed", set())):
        there = msgspec.structs.replace(host, status=status)
        assert asked_of(service, there, "dhcp-lease-allocate") == wanted


def test_a_clock_is_not_noted_for_a_host_that_wrote_too_much(run: Simulation) -> None:
    service, host = host_of(run)
    finish(answer_poll(service, host, POLL))
    now = int(service.now().timestamp())
    service.bounds.host_writes = Allowance(Rate(burst=1, per_second=1))
    service.bounds.host_writes.charge(host.id, 100, service.now().timestamp())
    finish(answer_poll(service, service.engine.host(host.id), Poll(now + 5000, enrolled=True, waits=True)))
    assert service.engine.host(host.id).clock_offset_s in (None, 0)
    service.bounds.host_writes = Allowance(Rate(burst=100_000, per_second=1))
    finish(answer_poll(service, service.engine.host(host.id), Poll(now + 5000, enrolled=True, waits=True)))
    assert service.engine.host(host.id).clock_offset_s == 5000
    assert service.bounds.host_writes._sources, "it counts"
