# SPDX-License-Identifier: Apache-2.0
"""The service refuses or reports every setting that the table calls refused or noted."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import pytest

from muster.config.settings_page import PARAMS, fields_of_document
from muster.model.install_config import InstallConfig
from muster.model.release import KUBERNETES, OPENSHIFT
from muster.model.schema import Model, Object, fields_of
from muster.model.settings_support import (
    INSTALL_CONFIG_OVERRIDES,
    Setting,
    Support,
    find_setting,
    reported,
)
from muster.model.wire.cluster import Platform
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
    "api_vip_dns_name": {"api_vip_dns_name": "api.example.com"},
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


def told(given: msgspec.Struct) -> list[str]:
    """The warnings about settings without effect."""
    draft = Draft(make_realm(0), NOW)
    tell_without_effect(draft, draft.cluster, given, KUBERNETES)
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


def override(text: str, **cluster: Any) -> Draft:
    """A cluster whose install-config was overridden."""
    draft = Draft(make_realm(0, **cluster), NOW)
    override_install_config(draft, text, KUBERNETES)
    return draft


def nested(path: str) -> dict[str, Any]:
    """An override that sets one field, through the first item of each list."""
    return {key: value for key, value in _nested(InstallConfig, path.split(".")).items()}


def _nested(model: type[Model], path: list[str]) -> dict[str, Any]:
    field = fields_of(model)[path[0]]
    if len(path) == 1:
        below: Any = {"name": "canary"} if isinstance(field.kind, Object) else "canary"
    else:
        assert isinstance(field.kind, Object)
        below = _nested(field.kind.model, path[1:])
    return {path[0]: [below] if field.many else {"canary": below} if field.table else below}


def leaves() -> list[str]:
    """The fields of install-config.yaml that hold values; what NMState has is not ours."""
    found = dict(fields_of_document(INSTALL_CONFIG_OVERRIDES))
    return [
        path
        for path, field in found.items()
        if field is not None and not isinstance(field.kind, Object) and ".networkConfig." not in path
    ]


def become(path: str) -> str:
    """What becomes of an override that sets one field, in a cluster of the platform that it is about."""
    platform = path.split(".")[1] if path.startswith("platform.") else "baremetal"
    try:
        draft = override(json.dumps(nested(path)), platform=Platform(type=platform))  # type: ignore[arg-type]
    except BadRequest as refused:
        return f"refused: {refused.message}; {refused.hint}"
    return "".join(each.message for each in draft.events)


@pytest.mark.parametrize("path", leaves())
def test_no_override_of_the_install_config_is_accepted_in_silence(path: str) -> None:
    """Hosts get their Ignition config from the fields of the cluster, and never from the install-config."""
    row = find_setting(INSTALL_CONFIG_OVERRIDES, path)
    if row is not None and row.support[KUBERNETES] is Support.DESCRIPTIVE:
        assert become(path) == ""
    else:
        assert re.match(
            r"refused: \S+: not done by a release of Kubernetes; .*; .+"
            r"|No effect with a release of Kubernetes: \S+ \(",
            become(path),
        )


@pytest.mark.parametrize(
    ("overrides", "path", "fix"),
    [
        (
            {"networking": {"serviceNetwork": ["10.99.0.0/16"]}},
            "networking.serviceNetwork",
            "service_networks",
        ),
        ({"networking": {"serviceCIDR": "10.99.0.0/16"}}, "networking.serviceNetwork", "service_networks"),
        (
            {"networking": {"clusterNetwork": [{"cidr": "10.9.0.0/16"}]}},
            "networking.clusterNetwork",
            "cluster_",
        ),
        ({"sshKey": "ssh-ed25519 AAAA x"}, "sshKey", "set ssh_public_key of the cluster"),
        ({"baseDomain": "override.example"}, "baseDomain", "set base_dns_domain of the cluster"),
        ({"metadata": {"name": "other"}}, "metadata", "set name of the cluster"),
        ({"compute": [{"name": "worker", "replicas": 0}]}, "compute.replicas", "set host_role"),
        (
            {"ImageDigestSources": [{"source": "quay.io/a"}]},
            "imageDigestSources",
            "muster agent create image",
        ),
        ({"additionalTrustBundle": "PEM"}, "additionalTrustBundle", "muster agent create image"),
        ({"BootstrapInPlace": {"InstallationDisk": "/dev/sda"}}, "bootstrapInPlace", "disks_selected_config"),
        (
            {"platform": {"baremetal": {"apiVIPs": ["192.0.2.9"]}}},
            "platform.baremetal.apiVIPs",
            "set api_vips",
        ),
        ({"platform": {"none": {}}}, "platform.none", "set platform of the cluster"),
        ({"compute": [{"diskSetup": [{"type": "swap"}]}]}, "compute.diskSetup", "leave it out"),
        ({"fips": True}, "fips", "leave fips out"),
        ({"FIPS": "true"}, "fips", "leave fips out"),
    ],
)
def test_an_override_that_nothing_does_is_refused_with_a_way_out(
    overrides: dict[str, Any], path: str, fix: str
) -> None:
    with pytest.raises(BadRequest) as refused:
        override(json.dumps(overrides))
    assert refused.value.message.startswith(f"{path}: not done by a release of Kubernetes; ")
    assert fix in refused.value.hint


@pytest.mark.parametrize(
    ("overrides", "path", "fix"),
    [
        ({"nothing_known": {"a": 1}}, "nothing_known: install-config.yaml has no such field", ""),
        ({"controlPlane": {"diskEncryption": True}}, "controlPlane.diskEncryption: install-config", ""),
        ({"featureSets": "a"}, "featureSets: install-config.yaml has no such field", "write featureSet, or"),
        ({"disk_encryption": {"enable_on": "all"}}, "disk_encryption: install-config", "leave it out"),
        ({"a" * 1000: 1}, "a" * 200 + ": ", ""),
        ({"capabilities": ["a"]}, "capabilities: it is not an object", ""),
        ({"compute": {"name": "worker"}}, "compute: it is not a list", ""),
    ],
)
def test_an_override_that_install_config_yaml_cannot_have_is_refused(
    overrides: dict[str, Any], path: str, fix: str
) -> None:
    with pytest.raises(BadRequest) as refused:
        override(json.dumps(overrides))
    assert refused.value.message.startswith(path)
    assert fix in refused.value.hint


def test_an_override_without_effect_is_kept_and_reported() -> None:
    draft = override('{"fips": false, "cpuPartitioningMode": "AllNodes", "pki": null, "sshKey": ""}')
    assert "AllNodes" in draft.cluster.install_config_overrides
    assert [each.name for each in draft.events if each.name] == ["setting_without_effect"]
    assert "cpuPartitioningMode (nodes run" in draft.events[-1].message
    draft = override(
        '{"controlPlane": {"hyperthreading": "Disabled"}, "compute": [{"hyperthreading": "Disabled"}]}'
    )
    assert "controlPlane.hyperthreading, compute.hyperthreading (every host" in draft.events[-1].message
    draft = override('{"credentialsMode": "Manual"}')
    assert "credentialsMode (there is no cloud" in draft.events[-1].message
    for harmless in (
        "",
        "{}",
        '{"controlPlane": {"hyperthreading": "Enabled"}}',
        '{"platform": {"baremetal": {}}}',
    ):
        draft = override(harmless)
        assert draft.cluster.install_config_overrides == harmless
        assert not any(each.message for each in draft.events)


def test_a_refused_override_is_not_kept() -> None:
    draft = Draft(make_realm(0), NOW)
    for text in ('{"fips": true}', '{"nothing": 1}', json.dumps({"featureSet": "a" * 70_000})):
        with pytest.raises(BadRequest):
            override_install_config(draft, text, KUBERNETES)
    assert draft.cluster.install_config_overrides == ""
    assert draft.events == []


def ignition(storage: dict[str, Any]) -> str:
    return json.dumps({"ignition": {"version": "3.2.0"}, "storage": storage})


LUKS: Final = ignition({"luks": [{"name": "data", "device": "/dev/sdb", "clevis": {"tpm2": True}}]})


def carrying(text: str, how: str = "merge", packed: bool = False) -> str:
    """A config that carries another one."""
    data = gzip.compress(text.encode()) if packed else text.encode()
    resource = {"source": f"data:;base64,{base64.b64encode(data).decode()}"}
    if packed:
        resource["compression"] = "gzip"
    config = {how: [resource] if how == "merge" else resource}
    return json.dumps({"ignition": {"version": "3.2.0", "config": config}})


@pytest.mark.parametrize(
    ("config", "part", "why"),
    [
        (LUKS, "storage.luks", "Muster writes disks without LUKS"),
        (carrying(LUKS), "storage.luks", "without LUKS"),
        (carrying(carrying(LUKS, "replace"), packed=True), "storage.luks", "without LUKS"),
        (
            ignition({"raid": [{"name": "d", "level": "raid5", "devices": ["/dev/sdb"]}]}),
            "raid.level",
            "level 1",
        ),
        (
            ignition({"filesystems": [{"device": "/dev/sdb", "format": "btrfs"}]}),
            "filesystems.format",
            "btrfs",
        ),
    ],
)
@pytest.mark.parametrize("document", ["HostIgnitionParams", "InfraEnvCreateParams", "InfraEnvUpdateParams"])
def test_an_ignition_config_that_hosts_cannot_do_is_refused(
    document: str, config: str, part: str, why: str
) -> None:
    field = "config" if document == "HostIgnitionParams" else "ignition_config_override"
    params = params_of(document, {field: config})
    with pytest.raises(BadRequest) as refused:
        refuse_settings(params, KUBERNETES)
    assert refused.value.message.startswith(f"{field}: ")
    assert f"{part}: not done by a release of Kubernetes; " in refused.value.message
    assert why in refused.value.message
    assert refused.value.hint
    refuse_settings(params, OPENSHIFT)


@pytest.mark.parametrize(
    "config",
    [
        "",
        "{",
        "[" * 990,
        ignition({"luks": []}),
        ignition({"raid": [{"name": "d", "level": "raid1", "devices": ["/dev/sdb"]}]}),
        ignition(
            {"filesystems": [{"device": "/dev/sdb", "format": "xfs"}], "disks": [{"device": "/dev/sdb"}]}
        ),
        '{"storage": {"luks": ' + "[" * 900 + "]" * 900 + "}}",
        json.dumps({"ignition": {"config": {"merge": [1, {"source": "https://example.com/a.ign"}]}}}),
    ],
)
def test_an_ignition_config_that_hosts_can_do_is_accepted(config: str) -> None:
    """Whether it is an Ignition config at all is said elsewhere."""
    refuse_settings(params_of("HostIgnitionParams", {"config": config}), KUBERNETES)
