# SPDX-License-Identifier: Apache-2.0
"""The steps of the wizard."""

from __future__ import annotations

from typing import get_args

from muster.model.wire.enums import ClusterValidationId, HostValidationId
from muster.service.state import Cluster, Host, Verdict
from muster.service.validations.fitness import cluster_members, members
from muster.service.validations.run import OWN
from muster.service.wizard import _PLACES, STEPS, WizardStep, step_of, wizard_steps
from tests.unit.service.states.world import make_cluster, make_host


def verdicts(ids: frozenset[str], failing: tuple[str, ...]) -> tuple[Verdict, ...]:
    return tuple(
        Verdict(id=id, status="failure" if id in failing else "success", message=f"{id}!")
        for id in sorted(ids)
    )


def host(id: str, *failing: str) -> Host:
    ids = members("min_hardware") | members("required_input") | members("sufficient")
    return make_host(id, verdicts=verdicts(ids, failing))


def cluster(*failing: str, status: str = "ready") -> Cluster:
    ids = cluster_members("required_input") | cluster_members("sufficient")
    return make_cluster(status=status, verdicts=verdicts(ids, failing))


def ask(cluster: Cluster, *hosts: Host) -> dict[str, WizardStep]:
    return {each.id: each for each in wizard_steps(cluster, {each.id: each for each in hosts})}


def test_all_ready() -> None:
    steps = ask(cluster(), host("a"))
    assert tuple(steps) == STEPS
    assert all(each.ready for each in steps.values())


def test_a_step_is_blocked_by_hosts() -> None:
    steps = ask(cluster(status="insufficient"), host("a", "no-skip-missing-disk"), host("b"))
    assert steps["storage"].blocked_by[0].host_ids == ("a",)
    assert steps["host-discovery"].ready
    assert not steps["review"].ready
    assert steps["review"].after == ("storage",)


def test_a_step_is_blocked_by_the_cluster() -> None:
    steps = ask(cluster("api-vips-defined", status="pending-for-input"))
    assert [each.validation_id for each in steps["networking"].blocked_by] == ["api-vips-defined"]
    assert steps["custom-manifests"].after == ("networking",)


def test_every_validation_has_a_step_and_no_place_is_unknown() -> None:
    known = {*get_args(ClusterValidationId), *get_args(HostValidationId)}
    assert {step_of(id) for id in known} == set(STEPS) - {"review"}
    assert not frozenset().union(*_PLACES.values()) - known - OWN
    assert step_of("lvm-requirements-satisfied") == "operators"
    assert step_of("hostname-unique") == "host-discovery"


def test_a_cluster_that_is_not_ready_cannot_be_reviewed() -> None:
    assert not ask(cluster(status="insufficient"))["review"].ready
