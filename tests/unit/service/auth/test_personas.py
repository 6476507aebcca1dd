# SPDX-License-Identifier: Apache-2.0
"""Who may do what, with every persona and every operation."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.service.api.table import ROUTES
from muster.service.api.table.route import Route
from muster.service.auth.personas import Grant, Persona, Scope, may
from tests.unit.service.auth.ties import Known

BY_NAME = {route.operation_id: route for route in ROUTES}
HOME, AWAY, CLUSTER, OTHER = "env-home", "env-away", "cluster-1", "cluster-2"
TIES = Known(
    {(HOME, "host-1"): CLUSTER, (HOME, "host-2"): CLUSTER, (AWAY, "host-3"): OTHER},
    keyed={(HOME, "host-1"), (HOME, "host-2"), (AWAY, "host-3")},
)
KEYLESS = Known(TIES.clusters)
HOST_1 = Scope(infra_env_id=HOME, host_id="host-1")
ONE_HOST = Grant(Persona.HOST, HOST_1)
ALL_HOSTS = Grant(Persona.MEDIUM, Scope(infra_env_id=HOME))


def status(grant: Grant | None, operation: str, asked: Scope, ties: Known = TIES) -> int:
    return may(grant, BY_NAME[operation], asked, ties).status


@pytest.mark.parametrize(
    ("route", "persona"),
    [pytest.param(*each, id=f"{each[0].operation_id}-{each[1]}") for each in product(ROUTES, Persona)],
)
def test_a_role_that_is_not_in_the_table_is_refused(route: Route, persona: Persona) -> None:
    if persona in route.who or Persona.ANYONE in route.who:
        return
    names = set(re.findall(r"{(\w+)}", route.path)) & set(Scope.__struct_fields__)
    asked = Scope(**{name: HOME if name == "infra_env_id" else "some" for name in names})
    grant = None if persona is Persona.ANYONE else Grant(persona, Scope(infra_env_id=HOME, host_id="host-1"))
    verdict = may(grant, route, asked, TIES)
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


def test_the_token_of_an_infra_env_registers_hosts_there_and_nowhere_else() -> None:
    assert status(ALL_HOSTS, "v2RegisterHost", Scope(infra_env_id=HOME)) == 0
    assert status(ALL_HOSTS, "v2RegisterHost", Scope(infra_env_id=AWAY)) == 403
    in_cluster = Grant(Persona.MEDIUM, Scope(cluster_id=CLUSTER))
    assert status(in_cluster, "v2RegisterHost", Scope(infra_env_id=HOME)) == 403


@pytest.mark.parametrize("operation", ["v2GetNextSteps", "v2PostStepReply", "v2UpdateHostInstallProgress"])
def test_the_token_of_a_medium_does_nothing_for_a_host_that_has_registered_with_a_key(operation: str) -> None:
    for grant in (ALL_HOSTS, Grant(Persona.MEDIUM)):
        assert status(grant, operation, HOST_1) == 403
        assert status(grant, operation, HOST_1, KEYLESS) == 0
        assert status(grant, operation, HOST_1, replace(KEYLESS, admits_keyless=False)) == 403
    without = Scope(cluster_id=CLUSTER, host_id="host-1")
    assert status(ALL_HOSTS, "V2UploadLogs", without) == 403


def test_a_node_that_the_service_does_not_know_says_so_with_the_token_of_its_medium() -> None:
    stranger = Scope(infra_env_id=HOME, host_id="stranger")
    strict = replace(TIES, admits_keyless=False)
    assert status(ALL_HOSTS, "v2UpdateHostInstallProgress", stranger, strict) == 0
    assert status(ALL_HOSTS, "v2UpdateHostInstallProgress", HOST_1, strict) == 403
    assert status(ALL_HOSTS, "v2DownloadHostIgnition", stranger, strict) == 403


def test_a_host_gets_no_credentials_and_no_files_of_its_cluster() -> None:
    for operation in ("V2DownloadClusterCredentials", "V2DownloadClusterFiles", "V2GetCredentials"):
        for grant in (ONE_HOST, ALL_HOSTS, Grant(Persona.MEDIUM)):
            assert status(grant, operation, Scope(cluster_id=CLUSTER)) == 403
    for operation in ("GetInfraEnv", "v2DownloadInfraEnvFiles", "GetInfraEnvDownloadURL", "v2ListHosts"):
        for grant in (ONE_HOST, ALL_HOSTS, Grant(Persona.MEDIUM)):
            assert status(grant, operation, Scope(infra_env_id=HOME)) == 403


def test_a_host_gets_its_own_ignition_while_it_is_installed() -> None:
    for name, wanted in (
        ("known", 403),
        ("installing", 0),
        ("installing-in-progress", 0),
        ("installed", 403),
    ):
        now = replace(TIES, statuses={"host-1": name})
        assert status(ONE_HOST, "v2DownloadHostIgnition", HOST_1, now) == wanted
        assert status(ALL_HOSTS, "v2DownloadHostIgnition", HOST_1, now) == 403
        other = Scope(infra_env_id=HOME, host_id="host-2")
        assert status(ONE_HOST, "v2DownloadHostIgnition", other, now) == 403


@pytest.mark.parametrize("operation", ["v2UploadClusterIngressCert", "v2CompleteInstallation"])
def test_the_end_of_an_installation_is_told_by_the_control_plane_when_it_comes(operation: str) -> None:
    asked = Scope(cluster_id=CLUSTER)
    early = replace(TIES, statuses={CLUSTER: "installing"}, control_plane={(HOME, "host-1")})
    ready = replace(early, statuses={CLUSTER: "finalizing"})
    assert status(ONE_HOST, operation, asked, early) == 403
    assert status(ONE_HOST, operation, asked, ready) == 0
    assert status(Grant(Persona.HOST, Scope(HOME, None, "host-2")), operation, asked, ready) == 403
    assert status(ALL_HOSTS, operation, asked, ready) == 403


@pytest.mark.parametrize(
    "operation", ["v2CompleteInstallation", "v2UpdateClusterLogsProgress", "V2ListOfClusterOperators"]
)
def test_what_the_controller_of_openshift_calls_is_closed_for_clusters_of_kubernetes(operation: str) -> None:
    ready = replace(TIES, statuses={CLUSTER: "finalizing"}, control_plane={(HOME, "host-1")})
    assert status(ONE_HOST, operation, Scope(cluster_id=CLUSTER), ready) == 0
    kubernetes = replace(ready, releases={CLUSTER: "kubernetes"})
    assert status(ONE_HOST, operation, Scope(cluster_id=CLUSTER), kubernetes) == 403


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


def test_an_image_token_opens_one_file_until_the_key_of_its_infra_env_is_renewed() -> None:
    route, asked, link = BY_NAME["v2DownloadInfraEnvFiles"], Scope(infra_env_id=HOME), "/files?file_name=a"
    image = Grant(Persona.IMAGE, asked, link=link)
    assert may(image, route, asked, TIES, link).status == 0
    assert may(image, route, asked, TIES, "/files?file_name=discovery.ign").status == 403
    assert may(image, route, Scope(infra_env_id=AWAY), TIES, link).status == 403
    assert may(image, route, asked, Known(epochs={HOME: 1}), link).status == 403
    assert may(Grant(Persona.IMAGE, asked), route, asked, TIES).status == 403
    assert may(Grant(Persona.IMAGE, link=link), route, asked, TIES, link).status == 403


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
    if not may(Grant(persona, mine), route, asked, ties).is_allowed or Persona.ANYONE in route.who:
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
    assert allowed == (Persona.USER in route.who or Persona.ANYONE in route.who)
