# SPDX-License-Identifier: Apache-2.0
"""What can be chosen on top of a cluster, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from muster.model.wire.cluster import V2ClusterUpdateParams
from muster.model.wire.inventory import Cpu, Inventory, Memory
from muster.model.wire.operators import BundleCreateParams, MonitoredOperator
from muster.service.add_ons import catalogue_of
from muster.service.decisions.operators import asked_operators, chosen_add_ons
from muster.service.refusals import BadRequest
from muster.service.state import Cluster, Host
from tests.clusters import RELEASE
from tests.realms import make_cluster, make_host


def with_chosen(*names: str) -> Cluster:
    chosen = tuple(MonitoredOperator(name=name, operator_type="olm") for name in names)
    return msgspec.structs.replace(make_cluster(), openshift_version="v1.36.0", monitored_operators=chosen)


def ask(**values: Any) -> list[str]:
    params = msgspec.convert(values, V2ClusterUpdateParams)
    found = asked_operators(params, RELEASE.add_ons)
    assert found is not None
    return [each.name or "" for each in found]


def small(memory_mib: int, cores: int = 8) -> Host:
    inventory = Inventory(cpu=Cpu(count=cores), memory=Memory(physical_bytes=memory_mib << 20))
    return msgspec.structs.replace(make_host(), inventory=inventory, role="master")


def test_everything_of_the_release_is_offered_with_what_it_takes() -> None:
    found = catalogue_of(RELEASE)
    assert [each.id for each in found.add_ons] == [each.id for each in RELEASE.add_ons]
    assert all(each.choosable and not each.chosen for each in found.add_ons)
    assert {id for bundle in found.bundles for id in bundle.add_ons} == {each.id for each in found.add_ons}


def test_what_excludes_something_that_is_chosen_cannot_be_chosen() -> None:
    found = {each.id: each for each in catalogue_of(RELEASE, with_chosen("storage")).add_ons}
    assert found["storage"].chosen
    assert not found["other"].choosable
    assert "storage" in found["other"].reason
    assert found["other"].fix
    assert found["backup"].choosable


def test_a_host_that_is_small_is_a_reason_to_think_again() -> None:
    cluster = with_chosen()
    large = catalogue_of(RELEASE, cluster, [small(1 << 20)]).add_ons[0]
    assert (large.choosable, large.reason) == (True, "")
    tight = catalogue_of(RELEASE, cluster, [small(64)]).add_ons[0]
    assert tight.choosable
    assert "64 MiB of memory" in tight.reason
    assert catalogue_of(RELEASE, cluster, [make_host()]).add_ons[0].reason == ""


def test_add_ons_are_asked_for_by_name_or_by_bundle() -> None:
    assert ask(olm_operators=[{"name": "storage"}, {"name": "backup"}]) == ["storage", "backup"]
    assert ask(olm_operators=[]) == []
    bundled = [replace(each, bundle="data" if each.id != "other" else "else") for each in RELEASE.add_ons]
    params = V2ClusterUpdateParams(operator_bundles=(BundleCreateParams(id="data"),))
    found = asked_operators(params, bundled) or ()
    assert [each.name for each in found] == ["storage", "backup"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"olm_operators": [{"name": "nonsense"}]}, "there is no operator nonsense"),
        ({"olm_operators": [{}]}, "there is no operator"),
        ({"olm_operators": [{"name": "backup"}]}, "needs storage"),
        ({"olm_operators": [{"name": "storage"}, {"name": "other"}]}, "exclude each other"),
        ({"operator_bundles": [{"id": "nonsense"}]}, "there is no bundle nonsense"),
    ],
)
def test_what_cannot_be_chosen_is_refused(values: dict[str, Any], words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        ask(**values)


def test_only_add_ons_of_the_release_are_chosen() -> None:
    assert chosen_add_ons(with_chosen("manifests", "storage"), RELEASE.add_ons) == ("storage",)
    builtin = msgspec.structs.replace(
        make_cluster(), monitored_operators=(MonitoredOperator(name="storage", operator_type="builtin"),)
    )
    assert chosen_add_ons(builtin, RELEASE.add_ons) == ()
