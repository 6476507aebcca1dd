# SPDX-License-Identifier: Apache-2.0
"""The service refuses or reports every setting that the table calls refused or noted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import pytest

from muster.config.settings_page import PARAMS
from muster.model.release import KUBERNETES
from muster.model.settings_support import Setting, Support, reported
from muster.service.decisions.clusters import override_install_config
from muster.service.decisions.settings import refuse_settings, tell_without_effect
from muster.service.realm import Draft
from muster.service.refusals import BadRequest
from tests.unit.service.hosts import NOW, make_realm

NEEDED: Final[Mapping[str, dict[str, Any]]] = {
    "ClusterCreateParams": {"name": "alpha", "openshift_version": "1.36.2", "pull_secret": "{}"},
    "InfraEnvCreateParams": {"name": "alpha", "pull_secret": "{}"},
}
SAMPLES: Final[Mapping[str, Any]] = {
    "disk_encryption": {"disk_encryption": {"enable_on": "masters,workers", "mode": "tang"}},
    "ocp_release_image": {"ocp_release_image": "registry.example.com/release:v1.36.2"},
    "os_stream": {"os_stream": "rhel-10"},
    "http_proxy": {"http_proxy": "http://proxy.example.com:3128"},
    "https_proxy": {"https_proxy": "http://proxy.example.com:3128"},
    "no_proxy": {"no_proxy": "example.com"},
    "hyperthreading": {"hyperthreading": "none"},
    "network_type": {"network_type": "Calico"},
    "schedulable_masters": {"schedulable_masters": True},
    "platform.external.cloud_controller_manager": {
        "platform": {"type": "external", "external": {"cloud_controller_manager": "External"}}
    },
    "ignition_endpoint": {"ignition_endpoint": {"url": "https://ignition.example.com"}},
    "olm_operators.properties": {"olm_operators": [{"name": "storage", "properties": "{}"}]},
    "operator_bundles.optional_operators": {
        "operator_bundles": [{"id": "base", "optional_operators": ["a"]}]
    },
    "machine_config_pool_name": {"machine_config_pool_name": "infra"},
    "ignition_endpoint_token": {"ignition_endpoint_token": "token"},
    "ignition_endpoint_http_headers": {"ignition_endpoint_http_headers": [{"key": "a", "value": "b"}]},
    "node_labels": {"node_labels": [{"key": "zone", "value": "a"}]},
    "fencing_credentials": {"fencing_credentials": {"address": "a", "username": "u", "password": "p"}},
    "network_discovery_delay_seconds": {"network_discovery_delay_seconds": 30},
}
ROWS: Final = [row for document in PARAMS for row in reported(document, "kubernetes")]


def params_of(document: str, values: Mapping[str, Any]) -> msgspec.Struct:
    return msgspec.convert({**NEEDED.get(document, {}), **values}, PARAMS[document])


def told(given: Any, document: str = "") -> list[str]:
    """The warnings about settings without effect."""
    draft = Draft(make_realm(0), NOW)
    tell_without_effect(draft, draft.cluster, given, KUBERNETES, document)
    return [each.message for each in draft.events if each.name == "setting_without_effect"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.document}-{row.path}")
def test_a_setting_that_is_not_done_is_refused_or_reported(row: Setting) -> None:
    params = params_of(row.document, SAMPLES[row.path])
    if row.support["kubernetes"] is Support.REFUSED:
        with pytest.raises(BadRequest) as refused:
            refuse_settings(params, KUBERNETES)
        assert refused.value.message == f"{row.path}: not done by a release of Kubernetes; {row.reason}"
        assert refused.value.hint == row.fix
    else:
        refuse_settings(params, KUBERNETES)
        assert told(params) == [f"No effect with a release of Kubernetes: {row.path} ({row.reason})"]


@pytest.mark.parametrize(
    ("document", "values"),
    [
        ("V2ClusterUpdateParams", {"disk_encryption": {"enable_on": "none", "mode": "tpmv2"}}),
        ("V2ClusterUpdateParams", {"disk_encryption": {"mode": "tang"}}),
        ("V2ClusterUpdateParams", {"hyperthreading": "all", "network_type": "OVNKubernetes"}),
        ("V2ClusterUpdateParams", {"schedulable_masters": False, "http_proxy": "", "olm_operators": []}),
        ("ClusterCreateParams", {"disk_encryption": {"enable_on": "none"}}),
        ("HostUpdateParams", {"node_labels": [], "ignition_endpoint_token": ""}),
    ],
)
def test_values_that_ask_for_nothing_are_accepted(document: str, values: dict[str, Any]) -> None:
    params = params_of(document, values)
    refuse_settings(params, KUBERNETES)
    assert told(params) == []


def test_one_event_tells_of_all_settings() -> None:
    values = {
        "hyperthreading": "none",
        "http_proxy": "http://p.example.com",
        "https_proxy": "http://p.example.com",
        "no_proxy": "a",
    }
    found = told(params_of("V2ClusterUpdateParams", values))
    assert len(found) == 1
    assert ": http_proxy, https_proxy, no_proxy (only the live system" in found[0]
    assert ", hyperthreading (every host keeps" in found[0]


def test_overrides_of_the_install_config_are_judged_like_the_file() -> None:
    draft = Draft(make_realm(0), NOW)
    with pytest.raises(BadRequest, match="fips: not done by a release of Kubernetes"):
        override_install_config(draft, '{"fips": true}', KUBERNETES)
    with pytest.raises(BadRequest, match=r"compute\.diskSetup: not done"):
        override_install_config(
            draft, '{"compute": [{"name": "worker", "diskSetup": [{"type": "swap"}]}]}', KUBERNETES
        )
    assert draft.cluster.install_config_overrides == ""
    override_install_config(draft, '{"fips": false, "cpuPartitioningMode": "AllNodes"}', KUBERNETES)
    assert "AllNodes" in draft.cluster.install_config_overrides
    assert [each.name for each in draft.events if each.name] == ["setting_without_effect"]
    override_install_config(draft, '{"controlPlane": {"hyperthreading": "Disabled"}}', KUBERNETES)
    assert "controlPlane.hyperthreading (every host" in draft.events[-1].message
    override_install_config(draft, "", KUBERNETES)
    assert draft.cluster.install_config_overrides == ""
