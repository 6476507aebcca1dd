# SPDX-License-Identifier: Apache-2.0
"""The steps of the wizard."""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from muster.model.wire.enums import ClusterValidationId, HostValidationId
from muster.service.credentials import domain_of
from muster.service.state import Cluster, Host, Verdict
from muster.service.validations.fitness import cluster_members, members
from muster.service.validations.registry import HOST
from muster.service.validations.run import OWN
from muster.service.wizard import _PLACES, STEPS, WizardStep, reasons, step_of, wizard_steps
from tests.unit.service.states.world import make_cluster, make_host

TAKEN = (domain_of(make_cluster()), "kubeadmin-password")


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
    return make_cluster(status=status, verdicts=verdicts(ids, failing), access_taken=TAKEN)


def ask(cluster: Cluster, *hosts: Host) -> dict[str, WizardStep]:
    return {each.id: each for each in wizard_steps(cluster, {each.id: each for each in hosts})}


def test_all_ready() -> None:
    steps = ask(cluster(), host("a"))
    assert tuple(steps) == STEPS
    assert all(each.ready for each in steps.values())


def test_a_step_is_blocked_by_hosts() -> None:
    steps = ask(cluster(status="insufficient"), host("a", "no-skip-missing-disk"), host("b"))
    (block,) = steps["storage"].blocked_by
    assert [(each.id, each.status, each.message) for each in block.hosts] == [
        ("a", "failure", "no-skip-missing-disk!")
    ]
    assert (block.of, block.status) == ("host", "failure")
    assert block.title
    assert block.why
    assert block.fix
    assert steps["host-discovery"].ready
    assert not steps["review"].ready
    assert steps["review"].after == ("storage",)


def test_a_step_is_blocked_by_the_cluster() -> None:
    steps = ask(cluster("api-vips-defined", status="pending-for-input"))
    assert [each.id for each in steps["networking"].blocked_by] == ["api-vips-defined"]
    assert steps["custom-manifests"].after == ("networking",)


def test_every_validation_has_a_step_and_no_place_is_unknown() -> None:
    known = {*get_args(ClusterValidationId), *get_args(HostValidationId)}
    assert {step_of(id) for id in known} == set(STEPS) - {"credentials"}
    assert not frozenset().union(*_PLACES.values()) - known - OWN
    assert step_of("lvm-requirements-satisfied") == "operators"
    assert step_of("hostname-unique") == "host-discovery"


def test_a_cluster_that_is_not_ready_cannot_be_reviewed() -> None:
    assert not ask(cluster(status="insufficient"))["review"].ready


def test_that_hosts_are_not_ready_is_no_reason_to_stay_with_them() -> None:
    steps = ask(cluster("all-hosts-are-ready-to-install", "api-vips-defined", status="pending-for-input"))
    assert steps["host-discovery"].ready
    assert [each.id for each in steps["review"].blocked_by] == ["all-hosts-are-ready-to-install"]
    assert not steps["review"].ready


def test_each_host_says_what_it_lacks_and_the_worst_counts() -> None:
    a = make_host("a", verdicts=(Verdict(id="connected", status="pending", message="a waits"),))
    b = make_host("b", verdicts=(Verdict(id="connected", status="failure", message="b is gone"),))
    blocks = {each.id: each for each in ask(cluster(), a, b)["host-discovery"].blocked_by}
    assert blocks["connected"].status == "failure"
    assert [each.message for each in blocks["connected"].hosts] == ["a waits", "b is gone"]


def test_what_is_only_advice_warns() -> None:
    advice = next(id for id, each in HOST.items() if each.advisory)
    told = host("a")
    verdicts = tuple(each for each in told.verdicts if each.id != advice)
    failing = Verdict(id=advice, status="failure", message="not so good")
    steps = ask(cluster(), msgspec.structs.replace(told, verdicts=(*verdicts, failing)))
    step = steps[step_of(advice)]
    assert step.ready
    assert [each.message for each in step.warnings] == ["not so good"]


def test_credentials_have_to_be_taken_for_the_name_that_the_cluster_has() -> None:
    def blocks(**values: Any) -> list[str]:
        steps = ask(msgspec.structs.replace(cluster(), **values), host("a"))
        assert steps["review"].ready is steps["credentials"].ready
        return [each.message for each in steps["credentials"].blocked_by]

    assert blocks() == []
    assert "were not downloaded" in blocks(access_taken=())[0]
    assert "were not downloaded" in blocks(access_taken=TAKEN[:1])[0]
    assert f"is for {TAKEN[0]}, and the cluster is other." in blocks(name="other")[0]
    assert blocks(access_taken=(), kubeconfig_given=True) == []


def test_nobody_waits_without_a_reason() -> None:
    steps = ask(cluster(status="insufficient"), host("a"))
    assert not steps["review"].ready
    assert [each.id for each in steps["review"].blocked_by] == ["cluster-judged"]


def test_all_reasons_are_known_before_any_of_them_is_met() -> None:
    ids = {id for of, id in reasons() if of == "host"}
    assert ids == members("min_hardware") | members("required_input") | members("sufficient")
    met = ask(cluster("api-vips-defined", status="pending-for-input"), host("a", *ids))
    found = {(each.of, each.id) for step in met.values() for each in step.blocked_by}
    assert found == {("cluster", "api-vips-defined"), *(("host", id) for id in ids)}
    assert found <= reasons()
