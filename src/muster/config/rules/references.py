# SPDX-License-Identifier: Apache-2.0
"""Objects of cluster-manifests/ that name each other: by the names that they have, in one namespace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from muster.model.manifests.references import Reference
from muster.model.metadata import Metadata
from muster.model.problem import Place, Problem, problem
from muster.model.schema import Model
from muster.model.site import Manifests, Site
from muster.model.tree import Node

_OBJECTS: Final = (
    ("pull_secret", "v1", "Secret"),
    ("infra_env", "agent-install.openshift.io/v1beta1", "InfraEnv"),
    ("agent_cluster_install", "extensions.hive.openshift.io/v1beta1", "AgentClusterInstall"),
    ("cluster_deployment", "hive.openshift.io/v1", "ClusterDeployment"),
    ("cluster_image_set", "hive.openshift.io/v1", "ClusterImageSet"),
)
_REFERENCES: Final = (
    ("infra_env", "cluster_ref", "cluster_deployment"),
    ("infra_env", "pull_secret_ref", "pull_secret"),
    ("agent_cluster_install", "cluster_deployment_ref", "cluster_deployment"),
    ("agent_cluster_install", "image_set_ref", "cluster_image_set"),
    ("cluster_deployment", "pull_secret_ref", "pull_secret"),
    ("cluster_deployment", "cluster_install_ref", "agent_cluster_install"),
)
"""Who names whom: an object, the field of its spec, and the object that is meant."""
_OUTSIDE: Final = (
    ("infra_env", "mirror_registry_ref", "put the mirrors into mirror/registries.conf"),
    ("agent_cluster_install", "mirror_registry_ref", "put the mirrors into mirror/registries.conf"),
    ("agent_cluster_install", "manifests_config_map_ref", "put the manifests into openshift/"),
    ("agent_cluster_install", "manifests_config_map_refs", "put the manifests into openshift/"),
)
"""Fields that name objects which only a management cluster has, and what to do instead."""


def objects(site: Site) -> Iterator[tuple[Model, str, str]]:
    """Every object of cluster-manifests/, and the version and kind that it must have."""
    if site.manifests is None:
        return
    for name, version, kind in _OBJECTS:
        found = getattr(site.manifests, name)
        if found is not None:
            yield found, version, kind
    for config in site.manifests.nmstate_configs:
        yield config, "agent-install.openshift.io/v1beta1", "NMStateConfig"


def _metadata(manifests: Manifests, name: str) -> Metadata | None:
    found = getattr(manifests, name)
    metadata = found.metadata if found is not None else None
    return metadata if isinstance(metadata, Metadata) else None


def _spec(manifests: Manifests, name: str) -> Model | None:
    found = getattr(manifests, name)
    spec = found.spec if found is not None else None
    return spec if isinstance(spec, Model) else None


def check_references(site: Site) -> Iterator[Problem]:
    """A reference names the object that is there, and all stand in one namespace."""
    manifests = site.manifests
    if manifests is None:
        return
    for owner, field, target in _REFERENCES:
        spec, metadata = _spec(manifests, owner), _metadata(manifests, target)
        reference = getattr(spec, field, None)
        named = getattr(reference, "name", None)
        if reference is None or metadata is None or not named or not metadata.name or named == metadata.name:
            continue
        assert isinstance(reference, Model)
        yield problem(
            "reference-mismatch",
            reference.at("name"),
            key=_key(reference.node, field),
            value=named,
            right=metadata.name,
            where=Place.of(metadata.at("name")).where,
        )
    yield from _check_namespaces(site, manifests)


def _check_namespaces(site: Site, manifests: Manifests) -> Iterator[Problem]:
    first: tuple[str, Node] | None = None
    for name, _, _ in (("cluster_deployment", "", ""), *_OBJECTS):
        metadata = _metadata(manifests, name)
        if first is None and metadata is not None and metadata.namespace:
            first = (metadata.namespace, metadata.at("namespace"))
    if first is None:
        return
    for namespace, node in _namespaces(site, manifests):
        if namespace != first[0]:
            yield problem(
                "namespaces-differ",
                node,
                value=namespace,
                right=first[0],
                where=Place.of(first[1]).where,
            )


def _namespaces(site: Site, manifests: Manifests) -> Iterator[tuple[str, Node]]:
    for item, _, _ in objects(site):
        metadata = getattr(item, "metadata", None)
        if isinstance(metadata, Metadata) and metadata.namespace:
            yield metadata.namespace, metadata.at("namespace")
    reference = getattr(_spec(manifests, "infra_env"), "cluster_ref", None)
    if reference is not None and reference.namespace:
        yield reference.namespace, reference.at("namespace")


def _key(node: Node, field: str) -> str:
    return node.key.text if node.key else field


def check_references_outside(site: Site) -> Iterator[Problem]:
    """Nothing is taken from objects that only a management cluster has."""
    if site.manifests is None:
        return
    for owner, field, advice in _OUTSIDE:
        spec = _spec(site.manifests, owner)
        found = getattr(spec, field, None)
        if spec is None or not found:
            continue
        named = found if isinstance(found, Reference) else found[0]
        node = spec.at(field)
        yield problem(
            "reference-outside",
            Place.of_key(node),
            key=_key(node, field),
            name=named.name or "?",
            advice=advice,
        )
