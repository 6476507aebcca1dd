# SPDX-License-Identifier: Apache-2.0
"""What the table of settings calls honoured changes what hosts get, and what it calls noted does not.

Every field is set to another value, and everything is rendered that follows from it: the Ignition configs of
live systems and nodes, kernel arguments, disks. Fields that cannot be shown so are listed with the reason.
"""

from __future__ import annotations

import base64
import copy
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml

from muster.config.document.folder import Directory, Memory
from muster.config.kinds import KINDS as FILES
from muster.config.settings_page import DOCUMENTS, OVERRIDES, PARAMS, fields_of_document, is_marked
from muster.model.release import KUBERNETES
from muster.model.settings_support import IGNITION_OVERRIDE, Setting, Support, find_setting, reported
from muster.model.wire.cluster import ClusterCreateParams, V2ClusterUpdateParams
from muster.model.wire.host import HostUpdateParams
from muster.model.wire.infra_env import InfraEnvCreateParams, InfraEnvUpdateParams
from muster.service.decisions.clusters import register_cluster, update_cluster
from muster.service.decisions.hosts import update_ignition, update_installer_args
from muster.service.decisions.infra_envs import update_infra_env
from muster.service.realm import Draft, Realm
from muster.service.state import Cluster, Host
from tests.clusters import RELEASE
from tests.effects import (
    NETWORK,
    OTHER_DISK,
    Asked,
    Effects,
    ask,
    effects_of_cluster,
    effects_of_site,
    make_infra_env,
    seal,
    static_network,
    update,
)
from tests.unit.config.test_settings_rules import SAMPLES as FILE_SAMPLES
from tests.unit.service.decisions.test_settings import SAMPLES as PARAM_SAMPLES
from tests.unit.service.hosts import CLUSTER, NOW

BASES: Final = Path(__file__).parents[2] / "golden" / "base"
CANARY: Final = "canary.example.com"
SECRET: Final = json.dumps({"auths": {CANARY: {"auth": "Y2FuYXJ5OmNhbmFyeQ=="}}})
KEY: Final = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0 canary@example.com"
PEM: Final = "-----BEGIN CERTIFICATE-----\nCANARY\n-----END CERTIFICATE-----\n"
IGNITION: Final = json.dumps(
    {"ignition": {"version": "3.2.0"}, "systemd": {"units": [{"name": "canary.service", "enabled": True}]}}
)
STATIC: Final = {
    "interfaces": [
        {
            "name": "eno1",
            "type": "ethernet",
            "state": "up",
            "mtu": 8999,
            "ipv4": {"enabled": True, "address": [{"ip": "192.0.2.99", "prefix-length": 24}]},
        }
    ]
}
HINTS: Final[Mapping[str, Any]] = {
    "deviceName": "/dev/sdb",
    "hctl": OTHER_DISK["hctl"],
    "model": OTHER_DISK["model"],
    "vendor": OTHER_DISK["vendor"],
    "serialNumber": OTHER_DISK["serial"],
    "minSizeGigabytes": 800,
    "wwn": OTHER_DISK["wwn"],
    "rotational": True,
}
LISTED: Final = {"name": "listed-0", "bootMACAddress": "52:54:00:00:00:30"}
"""A host of install-config.yaml."""
MIRROR: Final = {"source": "quay.io/a", "mirrors": ["canary.example.com/a"]}
NAMED_ONCE: Final = "`muster check` compares the names; there is one object of each kind"

Change = tuple[str, str, Mapping[str, Any]]
"""A base site, a document, and the values of fields by path; None removes a field."""


def hints(prefix: str, document: str, base: str, **with_it: Any) -> dict[tuple[str, str], Change]:
    """Each hint for the disk, of the first host."""
    return {
        (document, f"{prefix}.rootDeviceHints.{name}"): (
            base,
            document,
            {**with_it, f"{prefix}.rootDeviceHints.{name}": value},
        )
        for name, value in HINTS.items()
    }


def vips(document: str, base: str, platform: str) -> dict[tuple[str, str], Change]:
    path = f"platform.{platform}"
    return {
        (document, f"{path}.apiVIPs"): (base, document, {f"{path}.apiVIPs": ["192.0.2.77"]}),
        (document, f"{path}.ingressVIPs"): (base, document, {f"{path}.ingressVIPs": ["192.0.2.77"]}),
    }


def plain(document: str, base: str, values: Mapping[str, Any]) -> dict[tuple[str, str], Change]:
    return {(document, path): (base, document, {path: value}) for path, value in values.items()}


HOSTS: Final = "platform.baremetal.hosts"
FILE_CASES: Final[Mapping[tuple[str, str], Change]] = {
    **plain(
        "install-config",
        "compact",
        {
            "baseDomain": CANARY,
            "networking.machineNetwork.cidr": "192.0.0.0/16",
            "networking.clusterNetwork.cidr": "10.200.0.0/14",
            "networking.serviceNetwork": ["10.99.0.0/16"],
            "controlPlane.replicas": 5,
            "controlPlane.architecture": "arm64",
            "compute.replicas": 2,
            "arbiter.replicas": 1,
            "platform.baremetal.loadBalancer.type": "UserManaged",
            "platform.baremetal.additionalNTPServers": [CANARY],
            "pullSecret": SECRET,
            "sshKey": KEY,
            "additionalTrustBundle": PEM,
        },
    ),
    ("install-config", "platform.none"): ("compact", "install-config", {"platform": {"none": {}}}),
    ("install-config", "networking.clusterNetwork.hostPrefix"): (
        "compact",
        "install-config",
        {"networking.clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 25}]},
    ),
    ("install-config", "imageDigestSources.source"): (
        "compact",
        "install-config",
        {"imageDigestSources": [MIRROR]},
    ),
    ("install-config", "imageDigestSources.mirrors"): (
        "mirror",
        "install-config",
        {"imageDigestSources": [{**MIRROR, "mirrors": ["canary.example.com/b"]}]},
    ),
    ("install-config", "imageDigestSources.sourcePolicy"): (
        "mirror",
        "install-config",
        {"imageDigestSources.sourcePolicy": "NeverContactSource"},
    ),
    **vips("install-config", "compact", "baremetal"),
    **vips("install-config", "vsphere", "vsphere"),
    **vips("install-config", "nutanix", "nutanix"),
    **plain(
        "install-config",
        "listed",
        {
            f"{HOSTS}.name": "canary",
            f"{HOSTS}.bootMACAddress": "52:54:00:00:00:ca",
            f"{HOSTS}.networkConfig": STATIC,
        },
    ),
    ("install-config", f"{HOSTS}.role"): ("listed", "install-config", {f"{HOSTS}.role": "worker"}),
    **hints(HOSTS, "install-config", "listed"),
    **plain(
        "agent-config",
        "compact",
        {
            "rendezvousIP": "192.0.2.11",
            "additionalNTPSources": [CANARY],
            "minimalISO": True,
            "hosts.hostname": "canary",
            "hosts.role": "worker",
            "hosts.interfaces.name": "canary0",
            "hosts.interfaces.macAddress": "52:54:00:00:00:ca",
            "hosts.networkConfig": STATIC,
        },
    ),
    ("agent-config", "bootArtifactsBaseURL"): (
        "minimal",
        "agent-config",
        {"bootArtifactsBaseURL": f"https://{CANARY}/files"},
    ),
    **hints("hosts", "agent-config", "compact"),
    **plain(
        "agent-cluster-install",
        "ztp",
        {
            "spec.provisionRequirements.controlPlaneAgents": 5,
            "spec.provisionRequirements.arbiterAgents": 1,
            "spec.provisionRequirements.workerAgents": 2,
            "spec.networking.machineNetwork.cidr": "192.0.0.0/16",
            "spec.networking.clusterNetwork.cidr": "10.200.0.0/14",
            "spec.networking.clusterNetwork.hostPrefix": 25,
            "spec.networking.serviceNetwork": ["10.99.0.0/16"],
            "spec.apiVIPs": ["192.0.2.77"],
            "spec.ingressVIPs": ["192.0.2.77"],
            "spec.loadBalancer.type": "UserManaged",
            "spec.sshPublicKey": KEY,
        },
    ),
    ("agent-cluster-install", "spec.apiVIP"): (
        "ztp",
        "agent-cluster-install",
        {"spec.apiVIPs": None, "spec.apiVIP": "192.0.2.77"},
    ),
    ("agent-cluster-install", "spec.ingressVIP"): (
        "ztp",
        "agent-cluster-install",
        {"spec.ingressVIPs": None, "spec.ingressVIP": "192.0.2.77"},
    ),
    ("agent-cluster-install", "spec.platformType"): (
        "ztp",
        "agent-cluster-install",
        {"spec.platformType": "None", "spec.apiVIPs": None, "spec.ingressVIPs": None},
    ),
    ("agent-cluster-install", "spec.networking.userManagedNetworking"): (
        "ztp-without-platform",
        "agent-cluster-install",
        {"spec.networking.userManagedNetworking": True},
    ),
    **plain("cluster-deployment", "ztp", {"spec.clusterName": "canary", "spec.baseDomain": CANARY}),
    **plain("cluster-image-set", "ztp", {"spec.releaseImage": f"{CANARY}/release:v1.99.0-amd64"}),
    **plain(
        "infraenv",
        "ztp",
        {
            "spec.cpuArchitecture": "aarch64",
            "spec.proxy.httpProxy": f"http://{CANARY}:3128",
            "spec.proxy.httpsProxy": f"http://{CANARY}:3128",
            "spec.additionalNTPSources": [CANARY],
            "spec.additionalTrustBundle": PEM,
            "spec.ignitionConfigOverride": IGNITION,
            "spec.imageType": "minimal-iso",
        },
    ),
    ("infraenv", "spec.sshAuthorizedKey"): ("ztp-without-key", "infraenv", {"spec.sshAuthorizedKey": KEY}),
    ("infraenv", "spec.proxy.noProxy"): (
        "ztp-proxy",
        "infraenv",
        {"spec.proxy": {"httpProxy": "http://proxy.example.com:3128", "noProxy": CANARY}},
    ),
    **{
        ("infraenv", f"spec.kernelArguments.{name}"): (
            "ztp-kernel-arguments",
            "infraenv",
            {"spec.kernelArguments": [{"operation": "append", "value": "quiet", name: value}]},
        )
        for name, value in (("operation", "delete"), ("value", "canary"))
    },
    **plain(
        "nmstateconfig",
        "ztp",
        {
            "spec.interfaces.name": "canary0",
            "spec.interfaces.macAddress": "52:54:00:00:00:ca",
            "spec.config": STATIC,
        },
    ),
    ("pull-secret", "stringData"): (
        "ztp",
        "pull-secret",
        {"stringData": {".dockerconfigjson": SECRET}, "data": None},
    ),
    ("pull-secret", "data"): (
        "ztp",
        "pull-secret",
        {
            "data": {".dockerconfigjson": base64.b64encode(SECRET.encode()).decode()},
            "stringData": None,
        },
    ),
}
"""Another value for each field of a file."""
WHOLE: Final = (f"{HOSTS}.networkConfig", "hosts.networkConfig", "spec.config")
"""Documents of NMState: what follows from each of their fields is tested with the code that reads them."""
NOT_SHOWN: Final[Mapping[tuple[str, str], str]] = {
    **dict.fromkeys(
        (
            ("agent-cluster-install", "spec.clusterDeploymentRef.name"),
            ("agent-cluster-install", "spec.imageSetRef.name"),
            ("cluster-deployment", "spec.pullSecretRef.name"),
            *(
                ("cluster-deployment", f"spec.clusterInstallRef.{each}")
                for each in ("group", "version", "kind", "name")
            ),
            ("infraenv", "spec.clusterRef.name"),
            ("infraenv", "spec.clusterRef.namespace"),
            ("infraenv", "spec.pullSecretRef.name"),
        ),
        NAMED_ONCE,
    ),
    **dict.fromkeys(
        (("install-config", "arbiter.architecture"), ("install-config", "compute.architecture")),
        "`muster check` refuses another architecture than that of the control plane",
    ),
    ("infraenv", "spec.nmStateConfigLabelSelector.matchLabels"): "`muster check` refuses other labels",
    **dict.fromkeys(
        ((each, "vip_dhcp_allocation") for each in ("ClusterCreateParams", "V2ClusterUpdateParams")),
        "hosts ask the DHCP server at run time: tests/unit/service/steps",
    ),
    (
        "V2ClusterUpdateParams",
        "control_plane_count",
    ): "the installation waits for so many: tests/unit/service/validations",
    ("InfraEnvCreateParams", "cluster_id"): "hosts of the medium join that cluster at run time",
    ("HostUpdateParams", "disks_selected_config.role"): "names the installation disk; `id` is the choice",
    ("HostUpdateParams", "disks_skip_formatting.skip_formatting"): "false takes back what `disk_id` asks for",
}
"""Honoured fields whose effect is not in what is rendered, with the reason."""


def honoured(documents: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The fields without others below them that are honoured for Kubernetes."""
    for document in documents:
        fields = dict(fields_of_document(document))
        above = {path.rpartition(".")[0] for path in fields} - set(WHOLE)
        closed = tuple(f"{path}." for path, each in fields.items() if is_marked(each) or path in WHOLE)
        for path, each in fields.items():
            row = find_setting(document, path)
            if path in above or is_marked(each) or path.startswith(closed) or row is None:
                continue
            if row.support.get(KUBERNETES) is Support.HONOURED:
                yield document, path


class _Loader(yaml.SafeLoader):
    """Reads 52:54:00:00:00:10 as a text, and not as a number of seconds."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:int"]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"[0-9]+$"), list("0123456789"))


def put(body: dict[str, Any], path: str, value: Any) -> None:
    """Write a value into a document, through the first item of every list, or remove it."""
    *above, last = path.split(".")
    here: Any = body
    for step in above:
        missing: Any = [{}] if step in ("compute", "machineNetwork", "clusterNetwork") else {}
        here = here.setdefault(step, missing)
        here = here[0] if isinstance(here, list) else here
    if value is None:
        here.pop(last, None)
    else:
        here[last] = copy.deepcopy(value)


VARIANTS: Final[Mapping[str, Change]] = {
    "listed": ("unlisted", "install-config", {HOSTS: [LISTED]}),
    "minimal": ("compact", "agent-config", {"minimalISO": True, "bootArtifactsBaseURL": "http://192.0.2.1/"}),
    "ztp-without-platform": (
        "ztp",
        "agent-cluster-install",
        {"spec.platformType": None},
    ),
    "ztp-without-key": ("ztp", "agent-cluster-install", {"spec.sshPublicKey": None}),
    "ztp-proxy": ("ztp", "infraenv", {"spec.proxy": {"httpProxy": "http://proxy.example.com:3128"}}),
    "ztp-kernel-arguments": (
        "ztp",
        "infraenv",
        {"spec.kernelArguments": [{"operation": "append", "value": "quiet"}]},
    ),
}
"""Sites that are bases with something else."""


def changed(change: Change) -> Memory:
    """A site with other values in one of its files."""
    base, document, values = change
    folder = changed(VARIANTS[base]) if base in VARIANTS else Memory({}, Directory(BASES / base))
    file = FILES[document][0]
    first, *rest = yaml.load_all((folder.read(file) or b"").decode(), _Loader)
    for path, value in values.items():
        put(first, path, value)
    return Memory({file: yaml.safe_dump_all([first, *rest], sort_keys=False).encode()}, folder)


@cache
def plain_site(base: str) -> Effects:
    """What a base comes to."""
    return effects_of_site(changed(VARIANTS[base]) if base in VARIANTS else Directory(BASES / base))


def differing(one: Effects, other: Effects) -> set[str]:
    return {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}


@pytest.mark.parametrize("field", [*honoured(DOCUMENTS)], ids=":".join)
def test_an_honoured_field_of_a_file_changes_what_hosts_get(field: tuple[str, str]) -> None:
    if field not in NOT_SHOWN:
        change = FILE_CASES[field]
        assert differing(plain_site(change[0]), effects_of_site(changed(change)))


NOTED_BASES: Final = {"vsphere": "vsphere", "nutanix": "nutanix", "external": "external"}


@pytest.mark.parametrize(
    "row",
    [
        row
        for document in DOCUMENTS
        for row in reported(document, KUBERNETES)
        if row.support[KUBERNETES] is Support.NOTED
    ],
    ids=lambda row: f"{row.document}:{row.path}",
)
def test_a_noted_field_of_a_file_changes_no_node(row: Setting) -> None:
    base = "compact" if row.document in ("install-config", "agent-config") else "ztp"
    if row.path.startswith("platform."):
        base = NOTED_BASES.get(row.path.split(".")[1], "listed")
    sample = FILE_SAMPLES[row.path]
    change = (base, row.document, {f"{row.path}.{row.switch}" if row.switch else row.path: sample})
    found = differing(plain_site(base), effects_of_site(changed(change)))
    assert not [name for name in found if not name.startswith("live ")]


# The interface


NEW: Final[dict[str, Any]] = {
    "name": "site1",
    "openshift_version": "1.36.3",
    "pull_secret": '{"auths": {}}',
    "base_dns_domain": "example.com",
    "machine_networks": [{"cidr": NETWORK}],
    "api_vips": [{"ip": "192.0.2.5"}],
    "ingress_vips": [{"ip": "192.0.2.6"}],
}
ADD_ONS: Final = tuple(replace(each, bundle=f"the-{each.id}") for each in RELEASE.add_ons)
CLUSTER_VALUES: Final[Mapping[str, Any]] = {
    "name": "canary",
    "base_dns_domain": CANARY,
    "pull_secret": SECRET,
    "ssh_public_key": KEY,
    "cluster_network_cidr": "10.200.0.0/14",
    "cluster_network_host_prefix": {
        "cluster_network_cidr": "10.128.0.0/14",
        "cluster_network_host_prefix": 25,
    },
    "service_network_cidr": "10.99.0.0/16",
    "machine_network_cidr": "192.0.0.0/16",
    "cluster_networks.cidr": {"cluster_networks": [{"cidr": "10.200.0.0/14", "host_prefix": 23}]},
    "cluster_networks.host_prefix": {"cluster_networks": [{"cidr": "10.128.0.0/14", "host_prefix": 25}]},
    "service_networks.cidr": {"service_networks": [{"cidr": "10.99.0.0/16"}]},
    "machine_networks.cidr": {"machine_networks": [{"cidr": "192.0.0.0/16"}]},
    "api_vips.ip": {"api_vips": [{"ip": "192.0.2.77"}]},
    "ingress_vips.ip": {"ingress_vips": [{"ip": "192.0.2.77"}]},
    "additional_ntp_source": CANARY,
    "ntp_sources": CANARY,
    "user_managed_networking": True,
    "platform.type": {"platform": {"type": "none"}},
    "load_balancer.type": {"load_balancer": {"type": "user-managed"}},
    "olm_operators.name": {"olm_operators": [{"name": "storage"}]},
    "operator_bundles.id": {"operator_bundles": [{"id": "the-storage"}]},
    "openshift_version": "1.99.0",
    "cpu_architecture": "arm64",
    "high_availability_mode": "None",
    "control_plane_count": 1,
}
"""Another value of each field, or the fields that say it."""
INFRA_ENV_VALUES: Final[Mapping[str, Any]] = {
    "pull_secret": SECRET,
    "proxy.http_proxy": {"proxy": {"http_proxy": f"http://{CANARY}:3128"}},
    "proxy.https_proxy": {"proxy": {"https_proxy": f"http://{CANARY}:3128"}},
    "proxy.no_proxy": {"proxy": {"http_proxy": "http://p.example.com:3128", "no_proxy": CANARY}},
    "additional_ntp_sources": CANARY,
    "ntp_sources": CANARY,
    "ssh_authorized_key": KEY,
    "static_network_config.network_yaml": {"static_network_config": static_network(mtu=8999)},
    "static_network_config.mac_interface_map.mac_address": {
        "static_network_config": static_network(mac="52:54:00:00:00:ca")
    },
    "static_network_config.mac_interface_map.logical_nic_name": {
        "static_network_config": static_network("eth9")
    },
    "rendezvous_ip": "192.0.2.99",
    "image_type": "minimal-iso",
    "ignition_config_override": IGNITION,
    "openshift_version": "1.99.0",
    "cpu_architecture": "aarch64",
    "kernel_arguments.operation": {"kernel_arguments": [{"operation": "delete", "value": "quiet"}]},
    "kernel_arguments.value": {"kernel_arguments": [{"operation": "append", "value": "canary"}]},
    "additional_trust_bundle": PEM,
}
INFRA_ENV_BASES: Final[Mapping[str, dict[str, Any]]] = {
    "proxy.no_proxy": {"proxy": {"http_proxy": "http://p.example.com:3128"}},
    "static_network_config": {"static_network_config": static_network()},
    "kernel_arguments": {"kernel_arguments": [{"operation": "append", "value": "quiet"}]},
}
"""What an infra-env has before one field of it is set to another value."""
HOST_VALUES: Final[Mapping[str, Any]] = {
    "host_name": "canary",
    "host_role": "worker",
    "disks_selected_config.id": {"disks_selected_config": [{"id": "/dev/sdb", "role": "install"}]},
    "disks_skip_formatting.disk_id": {
        "disks_skip_formatting": [{"disk_id": "/dev/sdc", "skip_formatting": True}]
    },
}


def values_of(values: Mapping[str, Any], path: str) -> dict[str, Any]:
    """The fields that set one to another value; a KeyError for one that has no case."""
    value = values[path]
    return value if isinstance(value, dict) else {path: value}


def registered(**more: Any) -> Cluster:
    draft = Draft(Realm(CLUSTER), NOW)
    params = msgspec.convert({**NEW, **more}, ClusterCreateParams)
    return register_cluster(draft, CLUSTER, params, seal, ADD_ONS)


def updated(**values: Any) -> Cluster:
    draft = Draft(Realm(CLUSTER, cluster=registered()), NOW)
    return update_cluster(draft, msgspec.convert(values, V2ClusterUpdateParams), seal, ADD_ONS)


def asked(cluster: Cluster | None = None, **infra_env: Any) -> Asked:
    """A cluster, and an infra-env with other values than usual."""
    params = {"name": "pool", "pull_secret": '{"auths": {}}', "image_type": "full-iso", **infra_env}
    return ask(cluster or registered(), make_infra_env(msgspec.convert(params, InfraEnvCreateParams)))


@cache
def plain_cluster() -> Effects:
    """What a cluster comes to of which nothing special is asked."""
    return effects_of_cluster(asked())


def with_values(document: str, values: dict[str, Any]) -> Asked:
    """A cluster that the interface was asked for, or asked to change."""
    if document == "ClusterCreateParams":
        return asked(registered(**values))
    if document == "V2ClusterUpdateParams":
        return asked(updated(**values))
    if document == "InfraEnvCreateParams":
        return asked(**values)
    found = asked()
    if document == "InfraEnvUpdateParams":
        draft = Draft(Realm(found.infra_env.id, infra_env=found.infra_env), NOW)
        found.infra_env = update_infra_env(draft, msgspec.convert(values, InfraEnvUpdateParams), seal)
        return found
    if document == "HostUpdateParams":
        # A worker among others: the cluster keeps its control plane.
        update(found, 2, msgspec.convert(values, HostUpdateParams))
        return found
    found.hosts[2] = _told(found.hosts[2], document, values)
    return found


def _told(host: Host, document: str, values: dict[str, Any]) -> Host:
    draft = Draft(Realm(CLUSTER, hosts={host.id: host}), NOW)
    if document == "HostIgnitionParams":
        return update_ignition(draft, host, values["config"])
    return update_installer_args(draft, host, values["args"])


VALUES: Final[Mapping[str, Mapping[str, Any]]] = {
    "ClusterCreateParams": CLUSTER_VALUES,
    "V2ClusterUpdateParams": CLUSTER_VALUES,
    "InfraEnvCreateParams": INFRA_ENV_VALUES,
    "InfraEnvUpdateParams": INFRA_ENV_VALUES,
    "HostUpdateParams": HOST_VALUES,
    "HostIgnitionParams": {"config": IGNITION},
    "InstallerArgsParams": {"args": ("--append-karg", "canary")},
}


@pytest.mark.parametrize("field", [*honoured(tuple(PARAMS))], ids=":".join)
def test_an_honoured_field_of_the_interface_changes_what_hosts_get(field: tuple[str, str]) -> None:
    document, path = field
    if field not in NOT_SHOWN:
        found = effects_of_cluster(with_values(document, values_of(VALUES[document], path)))
        bases = INFRA_ENV_BASES if VALUES[document] is INFRA_ENV_VALUES else {}
        base = next((each for name, each in bases.items() if path.startswith(name)), None)
        before = plain_cluster() if base is None else effects_of_cluster(with_values(document, base))
        assert differing(before, found)


@pytest.mark.parametrize(
    "row",
    [
        row
        for document in PARAMS
        for row in reported(document, KUBERNETES)
        if row.support[KUBERNETES] is Support.NOTED
    ],
    ids=lambda row: f"{row.document}:{row.path}",
)
def test_a_noted_field_of_the_interface_changes_nothing(row: Setting) -> None:
    values = copy.deepcopy(dict(PARAM_SAMPLES[row.path]))
    if "operator_bundles" in values:
        values["operator_bundles"][0]["id"] = "the-storage"
    without = copy.deepcopy(values)
    drop(without, row.path.split("."))
    found = effects_of_cluster(with_values(row.document, values))
    assert differing(effects_of_cluster(with_values(row.document, without)), found) == set()


def drop(values: Any, path: list[str]) -> None:
    """Remove a field from an object, or from the first of a list."""
    here = values[0] if isinstance(values, list) else values
    if len(path) == 1:
        del here[path[0]]
    else:
        drop(here[path[0]], path[1:])


PARTS: Final[Mapping[str, Any]] = {
    "disks": [{"device": "/dev/canary", "partitions": [{"label": "canary"}]}],
    "raid": [{"name": "canary", "level": "raid1", "devices": ["/dev/canary"]}],
    "filesystems": [{"device": "/dev/canary", "format": "xfs", "path": "/var/canary"}],
    "files": [{"path": "/etc/canary", "contents": {"source": "data:,canary"}}],
    "directories": [{"path": "/var/canary"}],
    "links": [{"path": "/etc/canary", "target": "/canary"}],
}
OVERRIDE_PARTS: Final[Mapping[str, Any]] = {
    **{f"storage.{name}": {"storage": {name: value}} for name, value in PARTS.items()},
    "ignition": {"ignition": {"timeouts": {"httpTotal": 4711}}},
    "systemd": {"systemd": {"units": [{"name": "canary.service", "enabled": True}]}},
    "passwd": {"passwd": {"users": [{"name": "canary"}]}},
}


def test_every_honoured_part_of_an_ignition_config_reaches_live_systems_and_nodes() -> None:
    parts = {part for _, part in honoured((IGNITION_OVERRIDE,))}
    assert all(any(each.startswith(part) for part in OVERRIDE_PARTS) for each in parts)
    for part, body in OVERRIDE_PARTS.items():
        config = {**body, "ignition": {"version": "3.2.0", **body.get("ignition", {})}}
        text = json.dumps(config)
        host = effects_of_cluster(with_values("HostIgnitionParams", {"config": text}))
        assert any(name.startswith("node ") for name in differing(plain_cluster(), host)), part
        live = effects_of_cluster(asked(ignition_config_override=text))
        assert any(name.startswith("live ") for name in differing(plain_cluster(), live)), part


def test_every_case_is_about_an_honoured_field() -> None:
    known = set(honoured((*DOCUMENTS, *PARAMS, *OVERRIDES)))
    assert NOT_SHOWN.keys() <= known
    assert FILE_CASES.keys() <= known
    assert not NOT_SHOWN.keys() & FILE_CASES.keys()
