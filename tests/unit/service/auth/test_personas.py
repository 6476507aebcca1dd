# SPDX-License-Identifier: Apache-2.0
"""Who may do what, with every persona and every operation."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.service.api.table import ROUTES
from muster.service.api.table.route import ANYONE, Route
from muster.service.auth.personas import Grant, Persona, Scope, may
from tests.unit.service.auth.ties import Known

BY_NAME = {route.operation_id: route for route in ROUTES}
HOME, AWAY, CLUSTER, OTHER = "env-home", "env-away", "cluster-1", "cluster-2"
TIES = Known({(HOME, "host-1"): CLUSTER, (HOME, "host-2"): CLUSTER, (AWAY, "host-3"): OTHER})
HOST_1 = Scope(infra_env_id=HOME, host_id="host-1")
ONE_HOST = Grant(Persona.AGENT, HOST_1)
ALL_HOSTS = Grant(Persona.AGENT, Scope(infra_env_id=HOME))


def status(grant: Grant | None, operation: str, asked: Scope, ties: Known = TIES) -> int:
    return may(grant, BY_NAME[operation], asked, ties).status


@pytest.mark.parametrize(
    ("route", "persona"),
    [pytest.param(*each, id=f"{each[0].operation_id}-{each[1]}") for each in product(ROUTES, Persona)],
)
def test_the_table_decides_on_the_persona(route: Route, persona: Persona) -> None:
    scope = Scope(infra_env_id=HOME) if persona is Persona.IMAGE else Scope()
    names = set(re.findall(r"{(\w+)}", route.path)) & set(Scope.__struct_fields__)
    asked = Scope(**{name: HOME if name == "infra_env_id" else "some" for name in names})
    grant = None if persona is Persona.ANYONE else Grant(persona, scope)
    verdict = may(grant, route, asked, TIES)
    if persona in route.who or route.who == ANYONE:
        assert verdict.is_allowed, verdict
    else:
        assert verdict.status == (401 if persona is Persona.ANYONE else 403)
        assert verdict.reason


@pytest.mark.parametrize("operation", ["v2GetNextSteps", "v2PostStepReply", "v2UpdateHostInstallProgress"])
def test_a_hosts_token_works_for_that_host_alone(operation: str) -> None:
    assert status(ONE_HOST, operation, HOST_1) == 0
    assert status(ONE_HOST, operation, Scope(infra_env_id=HOME, host_id="host-2")) == 403
    assert status(ONE_HOST, operation, Scope(infra_env_id=AWAY, host_id="host-1")) == 403


def test_a_hosts_token_reaches_the_cluster_that_the_host_is_in_now() -> None:
    assert status(ONE_HOST, "v2GetCluster", Scope(cluster_id=CLUSTER)) == 0
    assert status(ONE_HOST, "v2GetCluster", Scope(cluster_id=OTHER)) == 403
    assert status(ONE_HOST, "v2GetCluster", Scope(cluster_id=CLUSTER), Known()) == 403


def test_a_hosts_token_lists_only_itself() -> None:
    verdict = may(ONE_HOST, BY_NAME["v2ListHosts"], Scope(infra_env_id=HOME), TIES)
    assert verdict.is_allowed
    assert verdict.narrow
    assert ONE_HOST.sees(HOST_1)
    assert not ONE_HOST.sees(Scope(infra_env_id=HOME, host_id="host-2"))


def test_the_token_of_an_infra_env_registers_hosts_there_and_nowhere_else() -> None:
    assert status(ALL_HOSTS, "v2RegisterHost", Scope(infra_env_id=HOME)) == 0
    assert status(ALL_HOSTS, "v2RegisterHost", Scope(infra_env_id=AWAY)) == 403
    in_cluster = Grant(Persona.AGENT, Scope(cluster_id=CLUSTER))
    assert status(in_cluster, "v2RegisterHost", Scope(infra_env_id=HOME)) == 403


def test_the_token_of_an_infra_env_ends_for_a_host_with_its_own_token() -> None:
    enrolled = Known(TIES.clusters, enrolled={(HOME, "host-1")})
    anywhere = Grant(Persona.AGENT)
    for grant in (ALL_HOSTS, anywhere):
        assert status(grant, "v2PostStepReply", HOST_1) == 0
        assert status(grant, "v2PostStepReply", HOST_1, enrolled) == 403
        assert status(grant, "v2PostStepReply", Scope(infra_env_id=HOME, host_id="host-2"), enrolled) == 0
    assert status(ONE_HOST, "v2PostStepReply", HOST_1, enrolled) == 0
    without = Scope(cluster_id=CLUSTER, host_id="host-1")
    assert status(ALL_HOSTS, "V2UploadLogs", without, enrolled) == 403


def test_a_watcher_of_one_cluster_reads_that_cluster_only() -> None:
    watcher = Grant(Persona.WATCHER, Scope(cluster_id=CLUSTER))
    assert status(watcher, "v2GetCluster", Scope(cluster_id=CLUSTER)) == 0
    assert status(watcher, "v2GetCluster", Scope(cluster_id=OTHER)) == 403
    assert status(watcher, "v2ListEvents", Scope(cluster_id=OTHER)) == 403
    assert status(watcher, "v2ListEvents", Scope(infra_env_id=AWAY)) == 403
    assert status(watcher, "v2ListEvents", Scope(infra_env_id=AWAY, host_id="host-3")) == 403
    assert status(watcher, "metrics", Scope()) == 403
    everything = may(watcher, BY_NAME["v2ListClusters"], Scope(), TIES)
    assert everything.is_allowed
    assert everything.narrow
    assert watcher.sees(Scope(cluster_id=CLUSTER, infra_env_id=HOME, host_id="host-2"))
    assert not watcher.sees(Scope(cluster_id=OTHER))
    assert not watcher.sees(Scope(infra_env_id=HOME))


def test_a_controller_reports_for_the_hosts_of_its_cluster() -> None:
    controller = Grant(Persona.AGENT, Scope(cluster_id=CLUSTER))
    assert status(controller, "v2UpdateHostInstallProgress", HOST_1) == 0
    assert (
        status(controller, "v2UpdateHostInstallProgress", Scope(infra_env_id=AWAY, host_id="host-3")) == 403
    )
    assert status(controller, "v2UpdateHostInstallProgress", Scope(infra_env_id=HOME, host_id="none")) == 403


def test_an_image_token_is_for_one_infra_env_until_its_key_is_renewed() -> None:
    image = Grant(Persona.IMAGE, Scope(infra_env_id=HOME))
    assert status(image, "v2DownloadInfraEnvFiles", Scope(infra_env_id=HOME)) == 0
    assert status(image, "v2DownloadInfraEnvFiles", Scope(infra_env_id=AWAY)) == 403
    assert status(image, "v2DownloadInfraEnvFiles", Scope(infra_env_id=HOME), Known(epochs={HOME: 1})) == 403
    assert status(Grant(Persona.IMAGE), "v2DownloadInfraEnvFiles", Scope(infra_env_id=HOME)) == 403


def test_a_link_opens_one_address() -> None:
    route, asked = BY_NAME["V2DownloadClusterFiles"], Scope(cluster_id=CLUSTER)
    link = Grant(Persona.USER, asked, link="/files?file_name=metadata.json")
    assert may(link, route, asked, TIES, "/files?file_name=metadata.json").is_allowed
    assert may(link, route, asked, TIES, "/files?file_name=bootstrap.ign").status == 403
    assert may(link, route, asked, TIES).status == 403


IDS = st.sampled_from([None, "a", "b"])
SCOPES = st.builds(Scope, IDS, IDS, IDS)
KNOWN = st.builds(
    Known, st.dictionaries(st.tuples(st.sampled_from("ab"), st.sampled_from("ab")), st.sampled_from("ab"))
)


@given(st.sampled_from(list(Persona)), SCOPES, st.sampled_from(ROUTES), SCOPES, KNOWN)
def test_no_token_reaches_past_its_scope(
    persona: Persona, mine: Scope, route: Route, asked: Scope, ties: Known
) -> None:
    if not may(Grant(persona, mine), route, asked, ties).is_allowed or route.who == ANYONE:
        return
    assert persona in route.who
    for name in ("infra_env_id", "host_id"):
        own, wanted = getattr(mine, name), getattr(asked, name)
        assert own is None or wanted is None or own == wanted
    if mine.cluster_id and asked.cluster_id:
        assert mine.cluster_id == asked.cluster_id
    if asked.cluster_id and not mine.cluster_id and (mine.infra_env_id or mine.host_id):
        assert asked.cluster_id in ties.clusters.values()


@given(st.sampled_from(ROUTES), SCOPES, KNOWN)
def test_a_user_without_limits_may_do_all_that_users_may(route: Route, asked: Scope, ties: Known) -> None:
    allowed = may(Grant(Persona.USER), route, asked, ties).is_allowed
    assert allowed == (Persona.USER in route.who or route.who == ANYONE)
