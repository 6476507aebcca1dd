# SPDX-License-Identifier: Apache-2.0
"""The answer to what a cluster waits for."""

from __future__ import annotations

from typing import Any

import msgspec

from muster.service.state import Cluster, Host, Verdict
from muster.service.states.waits import cluster_waiting, host_waiting
from muster.service.states.words import address_of
from muster.service.validations.fitness import cluster_members, members
from muster.service.why import Why, why
from tests.unit.service.states.world import NOW, at_stage, make_cluster, make_host, minutes

TEXTS = {"host": {"has-min-memory": {"why": "It starves.", "fix": "give it memory"}}, "cluster": {}}


def judged(ids: frozenset[str], **failing: str) -> tuple[Verdict, ...]:
    said = {name.replace("_", "-"): message for name, message in failing.items()}
    return tuple(
        Verdict(id=id, status="failure" if id in said else "success", message=said.get(id, ""))
        for id in sorted(ids)
    )


def unfit(id: str, memory: str) -> Host:
    ids = members("min_hardware") | members("required_input") | members("sufficient")
    host = make_host(id, status="insufficient", verdicts=judged(ids, has_min_memory=memory))
    return waiting(host)


def waiting(host: Host) -> Host:
    return msgspec.structs.replace(host, waiting=host_waiting(host, make_cluster()))


def ask(cluster: Cluster, *hosts: Host, late: float = 0) -> Why:
    cluster = msgspec.structs.replace(cluster, waiting=cluster_waiting(cluster))
    return why(
        cluster, {each.id: each for each in hosts}, NOW + minutes(late), TEXTS, "https://s.example.com"
    )


def insufficient(**failing: Any) -> Cluster:
    ids = cluster_members("required_input") | cluster_members("sufficient")
    return make_cluster(status="insufficient", verdicts=judged(ids, **failing))


def test_hosts_with_the_same_trouble_are_told_of_together() -> None:
    cluster = insufficient(all_hosts_are_ready_to_install="two are not")
    answer = ask(cluster, unfit("a", "4 GiB"), unfit("b", "2 GiB"))
    reason = answer.reasons[-1]
    assert [each.id for each in answer.reasons][-1:] == ["has-min-memory"]
    assert [(each.id, each.message) for each in reason.hosts] == [("a", "4 GiB"), ("b", "2 GiB")]
    assert (reason.why, reason.fix, reason.who) == ("It starves.", "give it memory", "user")
    assert reason.proof.startswith("curl -s https://s.example.com/v2/infra-envs/pool/hosts/a")


def test_what_the_cluster_itself_needs_comes_first() -> None:
    answer = ask(insufficient(dns_domain_defined="no domain"), unfit("a", "4 GiB"))
    assert [each.id for each in answer.reasons] == ["dns-domain-defined", "has-min-memory"]
    assert answer.summary == "Waiting for the user: no domain, and 1 more"


def test_a_stage_has_a_deadline_and_may_be_late() -> None:
    progress = at_stage("Writing image to disk", progress_info="40%")
    host = waiting(make_host("a", status="installing-in-progress", progress=progress))
    answer = ask(make_cluster(status="installing", install_started_at=NOW), host, late=31)
    reason = answer.reasons[-1]
    assert (reason.id, reason.overdue) == ("Writing image to disk", True)
    assert "40%" in reason.message
    assert reason.until == NOW + minutes(30)
    assert reason.ignored


def test_nothing_to_wait_for() -> None:
    answer = ask(make_cluster(status="installed"), make_host(status="installed"))
    assert answer.reasons == ()
    assert "nothing" in answer.summary


def test_a_validation_may_have_a_proof_of_its_own() -> None:
    texts = {"host": {"has-min-memory": {"proof": "ssh {address} free"}}, "cluster": {}}
    cluster = insufficient()
    cluster = msgspec.structs.replace(cluster, waiting=cluster_waiting(cluster))
    host = unfit("a", "4 GiB")
    answer = why(cluster, {"a": host}, NOW, texts, "https://s.example.com")
    assert answer.reasons[-1].proof == f"ssh {address_of(host)} free"
