# SPDX-License-Identifier: Apache-2.0
"""Clusters: made, changed, ended."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from muster.model.wire.cluster import (
    ApiVip,
    ClusterCreateParams,
    ClusterNetwork,
    DisconnectedClusterCreateParams,
    IgnoredValidations,
    ImportClusterParams,
    IngressVip,
    MachineNetwork,
    Platform,
    ServiceNetwork,
    V2ClusterUpdateParams,
)
from muster.model.wire.operators import MonitoredOperator
from muster.service.decisions import checks
from muster.service.decisions.operators import Offered, Operators, asked_operators, replace_operators
from muster.service.decisions.settings import refuse_overrides, tell_overrides_without_effect
from muster.service.realm import Draft
from muster.service.refusals import BadRequest, StateConflict
from muster.service.state import Cluster
from muster.service.states.moves import abandon
from muster.service.validations.registry import CLUSTER, HOST

Seal: TypeAlias = Callable[[str, str, str], str]
"""Hides a secret: whose it is, which field, and the secret."""

CHANGEABLE: Final = frozenset({"insufficient", "ready", "pending-for-input", "adding-hosts"})
_CHECKS: Final[Mapping[str, Callable[[str, str], str]]] = {
    "name": checks.name,
    "base_dns_domain": checks.domain,
    "http_proxy": checks.proxy,
    "https_proxy": checks.proxy,
    "no_proxy": checks.text,
    "additional_ntp_source": checks.ntp,
    "ntp_sources": checks.ntp,
    "ssh_public_key": checks.text,
    "tags": checks.text,
    "api_vip_dns_name": checks.domain_or_ip,
}
_PLAIN: Final = frozenset(
    {
        *("openshift_version", "ocp_release_image", "cpu_architecture", "vip_dhcp_allocation"),
        *("hyperthreading", "network_type", "schedulable_masters", "disk_encryption"),
        *("ignition_endpoint", "load_balancer"),
    }
)
_MOST_OVERRIDES: Final = 1 << 16
_Params: TypeAlias = ClusterCreateParams | V2ClusterUpdateParams
_CONSOLE: Final = MonitoredOperator(name="console", operator_type="builtin", timeout_seconds=3600)


def register_cluster(
    draft: Draft, id: str, params: ClusterCreateParams, seal: Seal, offered: Offered = ()
) -> Cluster:
    """A new cluster, with the networks that most have when nothing else is said."""
    values = _read(params, id, seal)
    values.setdefault(
        "cluster_networks", (ClusterNetwork(cluster_id=id, cidr="10.128.0.0/14", host_prefix=23),)
    )
    values.setdefault("service_networks", (ServiceNetwork(cluster_id=id, cidr="172.30.0.0/16"),))
    count = values.setdefault("control_plane_count", 3)
    if count == 1:
        values.setdefault("platform", Platform(type="none"))
        values["user_managed_networking"] = True
    _check_shape(count, values)
    asked = asked_operators(params, offered) or ()
    cluster = _new(draft, id, "insufficient", asked, **values)
    draft.add(cluster)
    draft.tell(
        cluster,
        "cluster_registration_succeeded",
        f"Registered cluster {cluster.name}",
    )
    return cluster


def _new(draft: Draft, id: str, status: str, operators: Operators = (), **values: Any) -> Cluster:
    now = draft.now
    return Cluster(
        id=id,
        status=status,
        status_updated_at=now,
        created_at=now,
        updated_at=now,
        monitored_operators=tuple(
            msgspec.structs.replace(each, cluster_id=id) for each in (_CONSOLE, *operators)
        ),
        **values,
    )


def import_cluster(draft: Draft, id: str, params: ImportClusterParams) -> Cluster:
    """A cluster that exists already, and gets more hosts."""
    cluster = _new(
        draft,
        id,
        "adding-hosts",
        kind="AddHostsCluster",
        name=checks.name("name", params.name),
        api_vip_dns_name=checks.domain_or_ip("api_vip_dnsname", params.api_vip_dnsname),
        openshift_cluster_id=params.openshift_cluster_id,
        openshift_version=params.openshift_version or "",
        imported=True,
    )
    draft.add(cluster)
    draft.tell(
        cluster, "cluster_registration_succeeded", f"Registered cluster {cluster.name} to add hosts to"
    )
    return cluster


def register_disconnected(draft: Draft, id: str, params: DisconnectedClusterCreateParams) -> Cluster:
    """A cluster that is installed out of our sight: only its media are made here."""
    cluster = _new(
        draft,
        id,
        "unmonitored",
        kind="DisconnectedCluster",
        name=checks.name("name", params.name),
        openshift_version=params.openshift_version,
    )
    draft.add(cluster)
    draft.tell(cluster, "cluster_registration_succeeded", f"Registered disconnected cluster {cluster.name}")
    return cluster


def update_cluster(draft: Draft, params: V2ClusterUpdateParams, seal: Seal, offered: Offered = ()) -> Cluster:
    """Other values for a cluster that is not being installed."""
    cluster = draft.cluster
    if cluster.status not in CHANGEABLE:
        raise StateConflict(
            f"cluster {cluster.name} is {cluster.status} and cannot be changed",
            hint="reset it first, or wait until it is installed",
        )
    values = _read(params, cluster.id, seal)
    if "machine_networks" in values:
        values["machine_networks_reason"] = ""
    _check_shape(values.get("control_plane_count", cluster.control_plane_count), values)
    if (asked := asked_operators(params, offered)) is not None:
        values["monitored_operators"] = replace_operators(cluster, asked)
    draft.change(cluster, **values, updated_at=draft.now)
    return draft.cluster


def override_install_config(draft: Draft, text: str, kind: str) -> None:
    """What is merged into the install-config: JSON in a string, or an empty one."""
    if len(text) > _MOST_OVERRIDES:
        fix = "leave out what the cluster has fields for"
        raise checks.refuse("the install config override", f"it has more than {_MOST_OVERRIDES} bytes", fix)
    overrides = json.loads(text) if text else {}
    refuse_overrides(overrides, kind, draft.cluster.platform.type)
    draft.change(draft.cluster, install_config_overrides=text)
    tell_overrides_without_effect(draft, draft.cluster, overrides, kind)


def deregister_cluster(draft: Draft, files: Iterable[tuple[str, str]], *pools: Draft) -> None:
    """A cluster is gone, and with it its hosts and all its files; nobody installs them any more.

    Infra-envs stay: hosts that boot their media wait there for another cluster from now on, and so do hosts
    that were bound from a pool.
    """
    cluster = draft.cluster
    homes = {each.infra_env.id: each for each in pools if each.infra_env.cluster_id != cluster.id}
    for host in list(draft.hosts.values()):
        home = homes.get(host.infra_env_id)
        if home is None:
            draft.remove(host)
        else:
            abandon(draft, home, host)
    for pool in pools:
        if pool.infra_env.cluster_id == cluster.id:
            release_infra_env(pool)
    draft.documents.update(dict.fromkeys(files))
    draft.tell(cluster, "cluster_deregister_succeeded", f"Deregistered cluster {cluster.name}")
    draft.remove(cluster)


def release_infra_env(pool: Draft) -> None:
    """The cluster of an infra-env is no more: its hosts wait for another one."""
    infra_env = pool.infra_env
    pool.change(infra_env, cluster_id=None, updated_at=pool.now)
    message = f"Infra-env {infra_env.name}: its cluster was deleted, hosts wait in it for another one"
    pool.tell(infra_env, "infra_env_released", message)


def ignore_validations(draft: Draft, wanted: IgnoredValidations) -> None:
    """Which validations may fail; some may not."""
    host = _ignored("host-validation-ids", wanted.host_validation_ids, HOST)
    cluster = _ignored("cluster-validation-ids", wanted.cluster_validation_ids, CLUSTER)
    draft.change(draft.cluster, ignored_host_validations=host, ignored_cluster_validations=cluster)


def _ignored(field: str, ids: tuple[str, ...] | str | None, known: Mapping[str, Any]) -> tuple[str, ...]:
    wanted = _ids(field, ids) if isinstance(ids, str) and ids else tuple(ids or ())
    if "all" in wanted:
        return ("all",)
    for id in wanted:
        if id in known and not known[id].ignorable:
            raise checks.refuse(field, f"{id} cannot be ignored", "leave it out")
    return wanted


def _ids(field: str, text: str) -> tuple[str, ...]:
    """A list in a string; a word alone is a list of one."""
    if re.fullmatch(r"[a-z0-9-]+", text):
        return (text,)
    try:
        return msgspec.json.decode(text, type=tuple[str, ...])
    except msgspec.DecodeError:
        raise checks.refuse(field, "it is no list of ids", """write it as '["ntp-synced"]'""") from None


def _read(params: _Params, id: str, seal: Seal) -> dict[str, Any]:
    """The fields that the parameters give, as the state has them."""
    given = {name: value for name, value in msgspec.structs.asdict(params).items() if value is not None}
    values: dict[str, Any] = {name: value for name, value in given.items() if name in _PLAIN}
    for name, check in _CHECKS.items():
        if name in given:
            values[name] = check(name, given[name]) if given[name] else ""
    if given.get("pull_secret"):
        values["pull_secret"] = seal(
            id, "pull_secret", checks.pull_secret("pull_secret", given["pull_secret"])
        )
    values.update(_read_networks(given, id))
    values.update(_read_shape(given))
    return values


def _read_networks(given: Mapping[str, Any], id: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "cluster_networks" in given or "cluster_network_cidr" in given:
        pods = ClusterNetwork(
            cidr=given.get("cluster_network_cidr"), host_prefix=given.get("cluster_network_host_prefix", 23)
        )
        found["cluster_networks"] = _networks("cluster_networks", given.get("cluster_networks", (pods,)), id)
    for name, one, kind in (
        ("service_networks", "service_network_cidr", ServiceNetwork),
        ("machine_networks", "machine_network_cidr", MachineNetwork),
    ):
        if name in given or given.get(one):
            single = (kind(cidr=given[one]),) if given.get(one) else ()
            found[name] = _networks(name, given.get(name) or single, id)
    for name, vip in (("api_vips", ApiVip), ("ingress_vips", IngressVip)):
        if name in given:
            found[name] = tuple(
                vip(
                    cluster_id=id,
                    ip=checks.ip(f"{name}[{number}].ip", each.ip or ""),
                    verification="unverified",
                )
                for number, each in enumerate(given[name])
                if each.ip
            )
    return found


def _networks(field: str, networks: tuple[Any, ...], id: str) -> tuple[Any, ...]:
    return tuple(
        msgspec.structs.replace(
            each, cluster_id=id, cidr=checks.cidr(f"{field}[{number}].cidr", each.cidr or "")
        )
        for number, each in enumerate(networks)
    )


def _read_shape(given: Mapping[str, Any]) -> dict[str, Any]:
    """Older and newer ways to say how many there are and who manages the network; the newer one wins."""
    found: dict[str, Any] = {}
    if "high_availability_mode" in given:
        found["control_plane_count"] = 1 if given["high_availability_mode"] == "None" else 3
    if "control_plane_count" in given:
        found["control_plane_count"] = given["control_plane_count"]
    if "user_managed_networking" in given:
        managed = given["user_managed_networking"]
        found["user_managed_networking"] = managed
        found["platform"] = Platform(type="none" if managed else "baremetal")
    if "platform" in given:
        found["platform"] = given["platform"]
        found["user_managed_networking"] = given["platform"].type in ("none", "external")
    return found


def _check_shape(count: int, values: Mapping[str, Any]) -> None:
    if not 1 <= count <= 5:
        raise BadRequest(f"control_plane_count: {count} is not between 1 and 5", hint="use 1, 3 or 5")
    platform = values.get("platform")
    if count == 1 and platform is not None and platform.type == "baremetal":
        raise BadRequest(
            "platform: a single node has no VIPs, which baremetal needs", hint="use the platform none"
        )
