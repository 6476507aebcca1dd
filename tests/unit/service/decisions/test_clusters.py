# SPDX-License-Identifier: Apache-2.0
"""What people may ask of clusters, and what they are told when it cannot be."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from muster.model.wire.cluster import ClusterCreateParams, IgnoredValidations, V2ClusterUpdateParams
from muster.service.decisions import checks
from muster.service.decisions import clusters as decide
from muster.service.realm import Draft, Realm
from muster.service.refusals import BadRequest, StateConflict
from muster.service.state import Cluster, InfraEnv
from muster.service.validations import operators, run
from muster.service.validations.operators import Operator
from tests.unit.service.hosts import CLUSTER, INFRA_ENV, NOW, host_id, make_host, make_realm

SECRET = '{"auths": {"registry.example.com": {"auth": "c2VjcmV0"}}}'
NEW: dict[str, Any] = {"name": "alpha", "openshift_version": "1.36.2", "pull_secret": SECRET}


def seal(subject: str, field: str, text: str) -> str:
    return f"sealed {len(text)} for {subject}/{field}"


def create(**values: Any) -> Cluster:
    params = msgspec.convert({**NEW, **values}, ClusterCreateParams)
    return decide.register_cluster(Draft(Realm(CLUSTER), NOW), CLUSTER, params, seal)


def update(status: str = "ready", **values: Any) -> Cluster:
    draft = Draft(make_realm(0, status=status), NOW)
    return decide.update_cluster(draft, msgspec.convert(values, V2ClusterUpdateParams), seal)


def test_a_new_cluster_has_what_most_have() -> None:
    cluster = create()
    assert (cluster.status, cluster.control_plane_count, cluster.network_type) == (
        "insufficient",
        3,
        "OVNKubernetes",
    )
    assert [(each.cidr, each.host_prefix, each.cluster_id) for each in cluster.cluster_networks] == [
        ("10.128.0.0/14", 23, CLUSTER)
    ]
    assert [each.cidr for each in cluster.service_networks] == ["172.30.0.0/16"]
    assert cluster.pull_secret == f"sealed {len(SECRET)} for {CLUSTER}/pull_secret"


@pytest.mark.parametrize("values", [{"high_availability_mode": "None"}, {"control_plane_count": 1}])
def test_a_single_node_manages_its_own_network(values: dict[str, Any]) -> None:
    cluster = create(**values)
    assert (cluster.control_plane_count, cluster.platform.type, cluster.user_managed_networking) == (
        1,
        "none",
        True,
    )


def test_older_names_of_networks_are_understood() -> None:
    cluster = create(
        cluster_network_cidr="10.0.0.0/16", cluster_network_host_prefix=24, service_network_cidr="10.1.0.0/16"
    )
    assert (cluster.cluster_networks[0].cidr, cluster.cluster_networks[0].host_prefix) == ("10.0.0.0/16", 24)
    assert cluster.service_networks[0].cidr == "10.1.0.0/16"


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"name": "Alpha"}, "name: 'Alpha' is no name"),
        ({"name": "a.b"}, "it has dots"),
        ({"base_dns_domain": "exa mple.com"}, "is no domain"),
        ({"pull_secret": "not json"}, "pull_secret: it is not JSON"),
        ({"pull_secret": "{}"}, "it has no auths"),
        ({"cluster_networks": [{"cidr": "10.128.0.1/14"}]}, r"cluster_networks\[0\].cidr: .* has bits"),
        ({"service_networks": [{"cidr": "x"}]}, "is no network"),
        ({"api_vips": [{"ip": "192.0.2.300"}]}, "is no IP address"),
        ({"http_proxy": "ftp://proxy.example.com"}, "no URL of a proxy"),
        ({"additional_ntp_source": "ntp example"}, "is no time server"),
        ({"control_plane_count": 7}, "is not between 1 and 5"),
        ({"control_plane_count": 1, "platform": {"type": "baremetal"}}, "a single node has no VIPs"),
        ({"ssh_public_key": "a\x00b"}, "control characters"),
    ],
)
def test_what_cannot_be_is_refused_with_its_field(values: dict[str, Any], why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        create(**values)


def test_a_secret_is_never_repeated() -> None:
    with pytest.raises(BadRequest) as caught:
        create(pull_secret='{"token": "hush"}')
    assert "hush" not in caught.value.message + caught.value.hint


def test_an_update_changes_what_it_names() -> None:
    cluster = update(name="beta", machine_network_cidr="192.0.2.0/24", platform={"type": "none"})
    assert (cluster.name, cluster.machine_networks[0].cidr) == ("beta", "192.0.2.0/24")
    assert cluster.user_managed_networking
    assert cluster.base_dns_domain == "example.com"


def test_networks_can_be_taken_away_again() -> None:
    cluster = update(machine_networks=[], service_networks=[], cluster_networks=[])
    lists = (cluster.machine_networks, cluster.service_networks, cluster.cluster_networks)
    assert lists == ((), (), ())
    assert cluster.machine_networks_reason == ""


@pytest.mark.parametrize(
    "status", ["installing", "finalizing", "installed", "error", "preparing-for-installation"]
)
def test_a_cluster_under_way_is_left_alone(status: str) -> None:
    with pytest.raises(StateConflict, match=f"is {status} and cannot be changed"):
        update(status, name="beta")


def test_some_validations_cannot_be_ignored() -> None:
    assert run.validations("host")
    draft = Draft(make_realm(0), NOW)
    decide.ignore_validations(draft, IgnoredValidations(host_validation_ids='["ntp-synced"]'))
    assert draft.cluster.ignored_host_validations == ("ntp-synced",)
    decide.ignore_validations(draft, IgnoredValidations(cluster_validation_ids='["all"]'))
    assert draft.cluster.ignored_cluster_validations == ("all",)
    with pytest.raises(BadRequest, match="connected cannot be ignored"):
        decide.ignore_validations(draft, IgnoredValidations(host_validation_ids='["connected"]'))
    with pytest.raises(BadRequest, match="no list of ids"):
        decide.ignore_validations(draft, IgnoredValidations(host_validation_ids="{]"))


def test_a_cluster_goes_with_its_hosts_and_files() -> None:
    draft = Draft(make_realm(2), NOW)
    decide.deregister_cluster(draft, [(CLUSTER, "file/kubeconfig")])
    assert draft.is_gone
    assert not draft.hosts
    assert draft.documents == {(CLUSTER, "file/kubeconfig"): None}


def make_pool(cluster_id: str | None) -> Draft:
    infra_env = InfraEnv(id=INFRA_ENV, name="env", created_at=NOW, updated_at=NOW, cluster_id=cluster_id)
    return Draft(Realm(INFRA_ENV, infra_env=infra_env), NOW)


def test_an_infra_env_outlives_its_cluster() -> None:
    pool = make_pool(CLUSTER)
    draft = Draft(make_realm(2), NOW)
    decide.deregister_cluster(draft, [], pool)
    assert draft.is_gone
    assert pool.infra_env.cluster_id is None
    assert not pool.hosts
    assert [event.name for event in pool.events] == ["infra_env_released"]


@pytest.mark.parametrize(
    ("status", "after"),
    [
        ("known", "unbinding"),
        ("preparing-for-installation", "unbinding"),
        ("installing-in-progress", "unbinding-pending-user-action"),
    ],
)
def test_a_host_that_was_bound_from_a_pool_goes_back(status: str, after: str) -> None:
    pool = make_pool(None)
    realm = make_realm(1)
    realm.put("host", host_id(1), make_host(1, status=status))
    draft = Draft(realm, NOW)
    decide.deregister_cluster(draft, [], pool)
    assert not draft.hosts
    assert (pool.hosts[host_id(1)].status, pool.hosts[host_id(1)].cluster_id) == (after, None)
    assert not pool.infra_env.cluster_id


def test_a_host_that_there_is_no_way_back_for_goes_with_its_cluster() -> None:
    pool = make_pool(None)
    realm = make_realm(1)
    realm.put("host", host_id(1), make_host(1, status="reclaiming"))
    draft = Draft(realm, NOW)
    decide.deregister_cluster(draft, [], pool)
    assert not draft.hosts
    assert not pool.hosts


# Operators


def test_an_operator_that_is_not_known_is_refused() -> None:
    many: tuple[dict[str, Any], ...] = (
        {"olm_operators": [{"name": "lvm"}]},
        {"olm_operators": [{"name": "lvm"}, {}]},
    )
    for params in many:
        with pytest.raises(BadRequest, match="olm_operators: there is no operator lvm") as refused:
            create(**params)
        assert "none yet" in refused.value.hint
        with pytest.raises(BadRequest, match="there is no operator lvm"):
            update(**params)
    with pytest.raises(BadRequest, match="there is no bundle virtualization"):
        create(operator_bundles=[{"id": "virtualization"}])
    nothings: tuple[Any, ...] = ([], None)
    for nothing in nothings:
        assert [each.name for each in create(olm_operators=nothing).monitored_operators] == ["console"]
        update(olm_operators=nothing, operator_bundles=nothing)


def test_an_operator_that_is_known_is_monitored_until_it_is_not_named_any_more() -> None:
    made = Operator("lvm")
    operators.register(made)
    try:
        draft = Draft(Realm(CLUSTER), NOW)
        new = {**NEW, "olm_operators": [{"name": "lvm", "properties": "{}"}]}
        decide.register_cluster(draft, CLUSTER, msgspec.convert(new, ClusterCreateParams), seal)
        found = draft.cluster.monitored_operators
        assert [(each.name, each.operator_type, each.cluster_id) for each in found] == [
            ("console", "builtin", CLUSTER),
            ("lvm", "olm", CLUSTER),
        ]
        same = V2ClusterUpdateParams(name="beta")
        assert decide.update_cluster(draft, same, seal).monitored_operators == found
        none = V2ClusterUpdateParams(olm_operators=())
        assert decide.update_cluster(draft, none, seal).monitored_operators == found[:1]
    finally:
        operators.forget(made)


# What is shown in the place of a secret


@pytest.mark.parametrize("shown", ["(hidden)", " (hidden)\n", '{"auths": {"a": {"auth": "••••"}}}'])
def test_what_is_shown_in_the_place_of_a_secret_is_not_taken_for_one(shown: str) -> None:
    for act in (create, update):
        with pytest.raises(BadRequest, match="pull_secret: it is what is shown in the place of a secret"):
            act(pull_secret=shown)
    with pytest.raises(BadRequest, match="http_proxy: it is what is shown"):
        update(http_proxy="http://••••@proxy.example.com:3128")


def test_nor_in_json() -> None:
    for wrong in ('{"pullSecret": "(hidden)"}', '{"a": [{"b": "\\u2022\\u2022\\u2022\\u2022"}]}'):
        with pytest.raises(BadRequest, match="the file: it is what is shown in the place of a secret"):
            checks.json_object("the file", wrong)
    assert checks.json_object("the file", '{"a": "it is (hidden) there"}')
