# SPDX-License-Identifier: Apache-2.0
"""No secret is in what is shown of the state."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import pytest
from msgspec import inspect

from muster.model.wire import cluster, infra_env
from muster.model.wire.cluster import IgnitionEndpoint
from muster.model.wire.infra_env import HostStaticNetworkConfig, Proxy
from muster.model.wire.inventory import Boot, Inventory
from muster.model.wire.reports import ApiVipConnectivityResponse, TangConnectivityResponse
from muster.service.masking import mask_shown, mask_subject
from muster.service.state import TYPES, InfraEnv, Kind, Subject
from tests.realms import NOW, make_cluster, make_host

SECRET = "hunter2-hunter2"
POOL = InfraEnv(id="i1", name="pool", created_at=NOW, updated_at=NOW)


@pytest.mark.parametrize("subject", [make_cluster(), make_host(), POOL], ids=lambda each: type(each).__name__)
def test_what_is_sealed_or_of_users_is_not_shown(subject: Subject) -> None:
    names = {
        "pull_secret",
        "signing_key",
        "ignition_endpoint_token",
        "ignition_endpoint_http_headers",
        "fencing_credentials",
        "ignition_config_override",
        "ignition_config_overrides",
        "install_config_overrides",
    } & {each.name for each in msgspec.structs.fields(type(subject))}
    assert names
    shown = mask_subject(msgspec.structs.replace(subject, **dict.fromkeys(names, SECRET)))
    assert SECRET not in json.dumps(shown)
    assert {shown[name] for name in names} == {"••••"}


@pytest.mark.parametrize("kind", TYPES)
def test_every_field_that_is_sealed_is_known(kind: Kind) -> None:
    """A name that sounds like a secret is one: a new field has to be thought about here."""
    sounds = [
        each.name
        for each in msgspec.structs.fields(TYPES[kind])
        if any(
            word in each.name for word in ("secret", "token", "credential", "password", "_key", "override")
        )
    ]
    public = {"ssh_public_key", "ssh_authorized_key", "public_key"}
    subjects: dict[Kind, Subject] = {"cluster": make_cluster(), "host": make_host(), "infra-env": POOL}
    subject = subjects[kind]
    for name in set(sounds) - public:
        shown = mask_subject(msgspec.structs.replace(subject, **{name: SECRET}))
        assert SECRET not in json.dumps(shown), name


def test_logins_of_proxies_and_what_is_in_networks() -> None:
    url = f"http://user:{SECRET}@proxy.example.com:3128"
    pool = msgspec.structs.replace(
        POOL,
        proxy=Proxy(http_proxy=url, no_proxy="example.com"),
        static_network_config=(HostStaticNetworkConfig(network_yaml=f"psk: {SECRET}"),),
    )
    shown = mask_subject(pool)
    assert SECRET not in json.dumps(shown)
    assert shown["proxy"] == {"http_proxy": "http://••••@proxy.example.com:3128", "no_proxy": "example.com"}
    assert SECRET not in json.dumps(mask_subject(msgspec.structs.replace(make_cluster(), https_proxy=url)))


def test_the_rest_is_as_it_is() -> None:
    assert mask_subject(make_cluster()) == {
        "kind": "cluster",
        "id": "c1",
        "name": "ocp",
        "status": "pending-for-input",
        **dict.fromkeys(("status_updated_at", "created_at", "updated_at"), "2026-03-01T12:00:00Z"),
    }


# What viewers see

_JSON: Final[dict[str, type[msgspec.Struct]]] = {
    "inventory": Inventory,
    "api_vip_connectivity": ApiVipConnectivityResponse,
    "tang_connectivity": TangConnectivityResponse,
}
_PUBLIC: Final = """
additional_ntp_source additional_ntp_sources additional_trust_bundle address ams_subscription_id
api_vip_dns_name architecture base_dns_domain biosdevname bmc_address bmc_v6address bundles by_id
by_path ca_certificate chassis_id cidr client_id cluster_id cluster_network_cidr connectivity
connectivity_majority_groups current_boot_mode destination device_id device_type differs
discovery_agent_version disks_info disks_to_be_formatted domain_name_resolutions email_domain
feature_usage flags free_addresses gateway generator_version hctl holders holds host_ids
host_ip_address hostname href id ignition ignored_cluster_validations ignored_host_validations
images_status infra_env_id installation_disk_id installation_disk_path installer_version interface
ip ip_collisions ipv4_addresses ipv6_addresses key key_fingerprint kind label mac_address
machine_config_pool_name machine_network_cidr manufacturer members model model_name mounted_at name
namespace no_proxy node_labels not_eligible_reasons ntp_sources ocp_release_image
openshift_cluster_id openshift_version optional_operators org_id os_stream parent partition_table
partition_types path payload platform_name port_description port_id product product_name
progress_info protected pxe_interface reasons rendezvous_ip requested_hostname serial serial_number
service_network_cidr signature skip_formatting_disks smart source_bundles ssh_authorized_key
ssh_public_key status_info subscription_name system_name tags type user_name validations_info vendor
vendor_id version volume_groups wwn
"""
PUBLIC: Final = frozenset(_PUBLIC.split())
"""Fields that people without rights may see. A field that is new has to be masked, or named here."""


def plant(type: Any, name: str = "") -> Any:
    """A value of a type, with a canary in every text: in the login and in the query of a URL."""
    if isinstance(type, inspect.Metadata):
        return plant(type.type, name)
    if isinstance(type, inspect.UnionType):
        found = (plant(each, name) for each in type.types)
        return next((each for each in found if each is not None), None)
    if isinstance(type, inspect.StructType):
        return type.cls(**{each.name: plant(each.type, each.name) for each in type.fields})
    if isinstance(type, inspect.VarTupleType):
        return (plant(type.item_type, name),)
    if isinstance(type, inspect.StrType):
        if name in _JSON:
            return msgspec.json.encode(plant(inspect.type_info(_JSON[name]))).decode()
        return f"https://user:canary-{name}@host.example.com/?token=canary-{name}"
    if isinstance(type, inspect.LiteralType):
        return type.values[0]
    if isinstance(type, inspect.DateTimeType):
        return datetime(2026, 1, 1, tzinfo=UTC)
    return next((value for kind, value in SIMPLE.items() if isinstance(type, kind)), None)


SIMPLE: Final[dict[type[inspect.Type], Any]] = {
    inspect.BoolType: False,
    inspect.IntType: 1,
    inspect.FloatType: 1.0,
}


def canaries(body: msgspec.Struct) -> set[str]:
    return set(re.findall(r"canary-(\w+)", json.dumps(msgspec.to_builtins(body))))


@pytest.mark.parametrize("type", [cluster.Cluster, infra_env.InfraEnv])
def test_viewers_see_only_fields_that_are_public(type: type[msgspec.Struct]) -> None:
    body = plant(inspect.type_info(type))
    assert len(canaries(body)) > 20
    assert canaries(mask_shown(body)) - PUBLIC == set()


def test_viewers_and_logs_see_where_ignition_comes_from_without_its_token() -> None:
    url = f"https://user:{SECRET}@ignition.example.com/config?token={SECRET}"
    shown = "https://••••@ignition.example.com/config?••••"
    seen = mask_shown(plant(inspect.type_info(cluster.Cluster)))
    seen = mask_shown(msgspec.structs.replace(seen, ignition_endpoint=IgnitionEndpoint(url=url)))
    assert seen.ignition_endpoint.url == shown
    subject = msgspec.structs.replace(make_cluster(), ignition_endpoint=IgnitionEndpoint(url=url))
    assert mask_subject(subject)["ignition_endpoint"] == {"url": shown}


def test_the_inventory_of_a_viewer_is_whole_but_for_kernel_arguments() -> None:
    inventory = Inventory(hostname="a", boot=Boot(command_line=f'x="{SECRET}\\" y', current_boot_mode="uefi"))
    host = msgspec.structs.replace(
        plant(inspect.type_info(cluster.Cluster)).hosts[0], inventory=msgspec.json.encode(inventory).decode()
    )
    seen = msgspec.json.decode(mask_shown(host).inventory, type=Inventory)
    assert seen == Inventory(hostname="a", boot=Boot(command_line="••••", current_boot_mode="uefi"))
