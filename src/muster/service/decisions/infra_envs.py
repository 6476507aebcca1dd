# SPDX-License-Identifier: Apache-2.0
"""Infra-envs: made, changed, ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from muster.model.wire.infra_env import InfraEnvCreateParams, InfraEnvUpdateParams
from muster.service.decisions import checks
from muster.service.decisions.clusters import Seal
from muster.service.realm import Draft
from muster.service.refusals import StateConflict
from muster.service.state import Cluster, InfraEnv

_CHECKS: Final[Mapping[str, Callable[[str, str], str]]] = {
    "name": checks.text,
    "additional_ntp_sources": checks.ntp,
    "ntp_sources": checks.ntp,
    "ssh_authorized_key": checks.text,
    "ignition_config_override": checks.ignition,
    "additional_trust_bundle": checks.text,
    "rendezvous_ip": checks.ip,
}
_PLAIN: Final = frozenset(
    {
        *("openshift_version", "os_stream", "cpu_architecture", "static_network_config", "kernel_arguments"),
        "network_discovery_delay_seconds",
    }
)


def register_infra_env(
    draft: Draft, id: str, params: InfraEnvCreateParams, cluster: Cluster | None, seal: Seal
) -> InfraEnv:
    """A new infra-env, of a cluster or of none."""
    if not params.name.strip():
        raise checks.refuse("name", "it is empty", "give it a name to know it by")
    values = _read(params, id, seal)
    if cluster is not None:
        values.setdefault("openshift_version", cluster.openshift_version)
        values.setdefault("cpu_architecture", cluster.cpu_architecture)
    infra_env = InfraEnv(
        id=id,
        created_at=draft.now,
        updated_at=draft.now,
        cluster_id=None if cluster is None else cluster.id,
        **values,
    )
    draft.add(infra_env)
    draft.tell(infra_env, "infra_env_registered", f"Registered infra-env {infra_env.name}")
    return infra_env


def update_infra_env(draft: Draft, params: InfraEnvUpdateParams, seal: Seal) -> InfraEnv:
    """Other values: media that are made from now on have them."""
    infra_env = draft.infra_env
    draft.change(infra_env, **_read(params, infra_env.id, seal), updated_at=draft.now)
    draft.tell(infra_env, "image_info_updated", "Updated image information")
    return draft.infra_env


def deregister_infra_env(draft: Draft, bound: int) -> None:
    """An infra-env is gone; not as long as hosts of it are in a cluster."""
    infra_env = draft.infra_env
    if bound:
        raise StateConflict(
            f"infra-env {infra_env.name} has {bound} hosts in a cluster",
            hint="remove or unbind those hosts first",
        )
    for host in list(draft.hosts.values()):
        draft.remove(host)
    draft.tell(infra_env, "infra_env_deregistered", f"Deregistered infra-env {infra_env.name}")
    draft.remove(infra_env)


def renew_signing_key(draft: Draft, key: str) -> None:
    """Make every URL of its media that was handed out so far worthless."""
    draft.change(draft.infra_env, signing_key=key, updated_at=draft.now)


def _read(params: InfraEnvCreateParams | InfraEnvUpdateParams, id: str, seal: Seal) -> dict[str, Any]:
    given = {name: value for name, value in msgspec.structs.asdict(params).items() if value is not None}
    values: dict[str, Any] = {name: value for name, value in given.items() if name in _PLAIN}
    for name, check in _CHECKS.items():
        if name in given:
            values[name] = check(name, given[name]) if given[name] else ""
    if "image_type" in given:
        values["type"] = given["image_type"]
    if proxy := given.get("proxy"):
        for name in ("http_proxy", "https_proxy"):
            checks.proxy(f"proxy.{name}", getattr(proxy, name) or "")
        values["proxy"] = proxy
    if given.get("pull_secret"):
        values["pull_secret"] = seal(
            id, "pull_secret", checks.pull_secret("pull_secret", given["pull_secret"])
        )
    return values
