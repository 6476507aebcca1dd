# SPDX-License-Identifier: Apache-2.0
"""Manifests → install-config: the same cluster in the other form, so that one set of rules serves both.

Every value keeps the place in the manifest that it was written at.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final

from muster.config.document.bind import Binder
from muster.config.document.parse import parse_yaml
from muster.model.install_config import InstallConfig
from muster.model.machine_pool import MachinePool
from muster.model.manifests.agent_cluster_install import (
    OVERRIDES_ANNOTATION,
    AgentClusterInstallSpec,
    PlatformType,
)
from muster.model.manifests.agent_cluster_install import LoadBalancer as AgentLoadBalancer
from muster.model.manifests.pull_secret import DOCKER_CONFIG
from muster.model.metadata import Metadata
from muster.model.networking import ClusterNetwork, Networking
from muster.model.platform import Platform
from muster.model.platform.on_premises import LoadBalancer
from muster.model.problem import Problem, problem
from muster.model.schema import Items, Model, Object, fields_of
from muster.model.site import Manifests
from muster.model.tree import Map, Node, Scalar, Sequence, Source

_PLATFORMS: Final = {
    PlatformType.BAREMETAL: "baremetal",
    PlatformType.VSPHERE: "vsphere",
    PlatformType.NUTANIX: "nutanix",
    PlatformType.NONE: "none",
    PlatformType.EXTERNAL: "external",
}


def lift_manifests(manifests: Manifests | None, problems: list[Problem]) -> InstallConfig | None:
    """What install-config.yaml would say; None when the manifests do not describe a cluster."""
    if manifests is None or manifests.agent_cluster_install is None:
        return None
    aci = manifests.agent_cluster_install
    spec = aci.spec or AgentClusterInstallSpec()
    base = read_overrides(manifests, problems) or InstallConfig()
    lifted = _Lifted(base, aci.node)
    lifted.put("api_version", "v1", aci.node)
    deployment = manifests.cluster_deployment
    if deployment and deployment.spec:
        lifted.take("base_domain", deployment.spec, "base_domain")
        name = deployment.spec.cluster_name
        at = deployment.spec.at("cluster_name")
        namespace = deployment.metadata.namespace if deployment.metadata else None
        metadata = Metadata(name=name, namespace=namespace, node=at, places={"name": at} if name else {})
        lifted.put("metadata", metadata, at)
    lifted.put("networking", _networking(spec, base), spec.at("networking"))
    _lift_pools(lifted, manifests, spec, base)
    lifted.put("platform", _platform(spec, base), spec.at("platform_type"))
    infra = manifests.infra_env.spec if manifests.infra_env else None
    if infra is not None:
        lifted.take("additional_trust_bundle", infra, "additional_trust_bundle")
        lifted.take("ssh_key", infra, "ssh_authorized_key")
        lifted.take("proxy", infra, "proxy")
    lifted.take("ssh_key", spec, "ssh_public_key")
    lifted.take("proxy", spec, "proxy")
    _lift_pull_secret(lifted, manifests)
    return lifted.finish()


class _Lifted:
    """An install-config in the making."""

    def __init__(self, base: InstallConfig, node: Node) -> None:
        self._base = base
        self._node = node
        self._values: dict[str, Any] = {}
        self._places: dict[str, Node] = dict(base.places)

    def put(self, name: str, value: Any, at: Node) -> None:
        """Set a field and its place."""
        if value is not None:
            self._values[name] = value
            self._places[name] = at

    def take(self, name: str, model: Model, field: str) -> None:
        """Set a field from one of another model."""
        if model.has(field):
            self.put(name, getattr(model, field), model.at(field))

    def finish(self) -> InstallConfig:
        """The install-config."""
        return self._base.but(node=self._node, places=self._places, **self._values)


def read_overrides(manifests: Manifests, problems: list[Problem]) -> InstallConfig | None:
    """The part of install-config.yaml that travels as JSON in an annotation."""
    aci = manifests.agent_cluster_install
    node = annotation_node(aci.metadata) if aci and aci.metadata else None
    if node is None:
        return None
    try:
        json.loads(node.text)
    except (ValueError, RecursionError) as error:
        problems.append(
            problem("bad-json", node, key=OVERRIDES_ANNOTATION.partition("/")[2], reason=str(error))
        )
        return None
    documents, _ = parse_yaml(Source(node.source.name, node.text))
    if not documents or not isinstance(documents[0], Map):
        return None
    binder = Binder(partial=True)
    bound = binder.bind(InstallConfig, relocate(documents[0], node))
    problems.extend(replace(found, edits=()) for found in binder.problems)
    return bound


def annotation_node(metadata: Metadata) -> Scalar | None:
    """Where the overrides are written."""
    annotations = metadata.places.get("annotations")
    node = annotations.get(OVERRIDES_ANNOTATION) if isinstance(annotations, Map) else None
    return node if isinstance(node, Scalar) else None


def relocate(node: Node, at: Node) -> Node:
    """Give a tree that was parsed out of a scalar the place of that scalar."""
    node.source, node.start, node.end = at.source, at.start, at.end
    if node.key is not None:
        node.key.source, node.key.start, node.key.end = at.source, at.start, at.end
    children: list[Node] = []
    match node:
        case Map():
            children = list(node.items.values())
        case Sequence():
            children = node.items
        case _:
            pass
    for child in children:
        relocate(child, at)
    return node


def _networking(spec: AgentClusterInstallSpec, base: InstallConfig) -> Networking | None:
    given = spec.networking
    if given is None:
        return base.networking
    start = base.networking or Networking()
    cluster = Items(
        tuple(
            ClusterNetwork(
                cidr=entry.cidr, host_prefix=entry.host_prefix, node=entry.node, places=entry.places
            )
            for entry in given.cluster_network
        ),
        given.cluster_network.nodes,
    )
    network_type = start.network_type or (str(given.network_type) if given.network_type else None)
    return start.but(
        node=given.node,
        places={**start.places, **given.places},
        network_type=network_type,
        machine_network=given.machine_network or start.machine_network,
        cluster_network=cluster or start.cluster_network,
        service_network=given.service_network or start.service_network,
    )


def _lift_pools(
    lifted: _Lifted, manifests: Manifests, spec: AgentClusterInstallSpec, base: InstallConfig
) -> None:
    required = spec.provision_requirements
    infra = manifests.infra_env.spec if manifests.infra_env else None
    architecture = infra.cpu_architecture if infra else None
    at = spec.at("provision_requirements")

    def pool(name: str, count: int | None, field: str, start: MachinePool | None) -> MachinePool:
        place = required.at(field) if required else at
        unread = count is None and required is not None and required.has(field)
        return (start or MachinePool()).but(
            name=name,
            replicas=None if unread else count or 0,
            architecture=(start.architecture if start else None) or architecture,
            node=place,
            places={**(start.places if start else {}), "replicas": place},
        )

    masters = required.control_plane_agents if required else None
    arbiters = required.arbiter_agents if required else None
    workers = required.worker_agents if required else None
    lifted.put("control_plane", pool("master", masters, "control_plane_agents", base.control_plane), at)
    if arbiters:
        lifted.put("arbiter", pool("arbiter", arbiters, "arbiter_agents", base.arbiter), at)
    start = base.compute[0] if base.compute else None
    compute = pool("worker", workers, "worker_agents", start)
    lifted.put("compute", Items((compute,), (compute.node,)), _list_of(compute.node, at))


def _list_of(item: Node, at: Node) -> Sequence:
    """A list that install-config.yaml has and manifests do not, at the place of what stands for it."""
    made = Sequence(at.source, at.start, flow=False)
    made.items, made.end, made.key = [item], at.end, at.key
    return made


def _platform(spec: AgentClusterInstallSpec, base: InstallConfig) -> Platform | None:
    at = spec.at("platform_type")
    kind = spec.platform_type or (PlatformType.NONE if _has_no_vips(spec) else PlatformType.BAREMETAL)
    name = _PLATFORMS.get(kind)
    if name is None:
        return None
    start = base.platform or Platform()
    section: Any = getattr(start, name) or _section_type(name)(node=at)
    changes: dict[str, Any] = {}
    places: dict[str, Node] = dict(section.places)
    for field in ("api_vips", "ingress_vips", "api_vip", "ingress_vip", "load_balancer"):
        given = getattr(spec, field)
        if given and hasattr(section, field):
            # Newer manifests repeat the first VIP in the old field; the lists say it all.
            if field.endswith("_vip") and getattr(spec, f"{field}s"):
                continue
            changes[field] = given if field != "load_balancer" else _load_balancer(given)
            places[field] = spec.at(field)
    if name == "external" and spec.external is not None:
        changes["platform_name"] = spec.external.platform_name
        if section.cloud_controller_manager is None and spec.external.cloud_controller_manager is not None:
            changes["cloud_controller_manager"] = spec.external.cloud_controller_manager
    sections: dict[str, Any] = {name: section.but(places=places, **changes)}
    return start.but(node=at, places={name: at}, **sections)


def _load_balancer(given: AgentLoadBalancer) -> LoadBalancer:
    return LoadBalancer(type=given.type, node=given.node, places=given.places)


def _section_type(name: str) -> type[Model]:
    kind = fields_of(Platform)[name].kind
    assert isinstance(kind, Object)
    return kind.model


def _has_no_vips(spec: AgentClusterInstallSpec) -> bool:
    """Whether a cluster without a platform type is one without VIPs: of a single host, or if it says so."""
    single = spec.provision_requirements and spec.provision_requirements.control_plane_agents == 1
    return bool(single or (spec.networking and spec.networking.user_managed_networking))


def _lift_pull_secret(lifted: _Lifted, manifests: Manifests) -> None:
    secret = manifests.pull_secret
    found = secret.find_logins() if secret else None
    if secret is not None and found is not None:
        field, logins = found
        node = secret.at(field)
        at = node.items.get(DOCKER_CONFIG, node) if isinstance(node, Map) else node
        lifted.put("pull_secret", logins, at)
