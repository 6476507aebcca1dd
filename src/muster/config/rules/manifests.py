# SPDX-License-Identifier: Apache-2.0
"""cluster-manifests/ and openshift/: objects that are all there, agree with each other, and can be used."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any, Final

from muster.config.derive import release_image
from muster.config.document.edit import rename_key, replace_scalar
from muster.config.formats.ignition import ignition_fault
from muster.config.kinds import MANIFESTS_DIR
from muster.config.lift import annotation_node
from muster.config.rules import release
from muster.config.rules.descriptions import check_descriptions
from muster.config.rules.extra_manifests import check_extra_manifests
from muster.config.rules.machines import is_file
from muster.config.rules.references import check_references, check_references_outside, objects
from muster.config.rules.versions import check_version
from muster.model.manifests import InfraEnv
from muster.model.manifests.agent_cluster_install import (
    DiskEncryption,
    DiskEncryptionMode,
    EnableOn,
    PlatformType,
)
from muster.model.manifests.pull_secret import DOCKER_CONFIG, PullSecret
from muster.model.metadata import Metadata
from muster.model.problem import Edit, Place, Problem, problem
from muster.model.site import Manifests, Site
from muster.model.tree import Map, Node, Source, is_null
from muster.model.values import url_fault

_KERNEL_ARGUMENT: Final = re.compile(r'(?:[^ \t\n\r"]|"[^"]*")+\Z')
_CLUSTER_FILES: Final = ("agent-cluster-install.yaml", "cluster-deployment.yaml", "cluster-image-set.yaml")
"""The files that describe a cluster; those with the hosts alone make a generic image."""


def check_complete(site: Site) -> Iterator[Problem]:
    """All files are there when no install-config.yaml can stand in for them."""
    if site.manifests is None or any(is_file(each.name, "install-config.yaml") for each in site.sources):
        return
    for name in site.manifests.missing:
        if name in _CLUSTER_FILES and not _describes_cluster(site.manifests):
            continue
        path = f"{MANIFESTS_DIR}/{name}"
        at = Place(Source(path, ""))
        if name == "cluster-image-set.yaml":
            source = f"{release.OVERRIDE} names" if site.environment.release_image else "is built into Muster"
            yield problem("missing-image-set", at, name=path, release=release_image(site), source=source)
        else:
            yield problem("missing-manifest", at, name=path)


def _describes_cluster(manifests: Manifests) -> bool:
    """Whether a cluster is meant, and not only hosts that boot a generic image."""
    return not {"agent-cluster-install.yaml", "cluster-deployment.yaml"} <= set(manifests.missing)


def check_versions(site: Site) -> Iterator[Problem]:
    """Every file holds the kind of object that its name says."""
    for item, version, kind in objects(site):
        yield from check_version(item, (version,), kind)


def check_labels(site: Site) -> Iterator[Problem]:
    """The labels of every NMStateConfig are those that the InfraEnv selects."""
    if site.manifests is None:
        return
    for config in site.manifests.nmstate_configs:
        metadata = config.metadata or Metadata(node=config.node)
        if not metadata.labels:
            if not metadata.is_unread("labels"):
                yield problem(
                    "nmstate-no-labels", Place.of_key(metadata.node), name=metadata.name or "NMStateConfig"
                )
            continue
        wanted = _selected_labels(site.manifests.infra_env)
        if wanted is not None and _describes_cluster(site.manifests) and wanted != dict(metadata.labels):
            yield problem(
                "nmstate-labels-differ",
                Place.of_key(metadata.at("labels")),
                name=metadata.name or "NMStateConfig",
                labels=_shown(dict(metadata.labels)),
                wanted=_shown(wanted),
            )


def _selected_labels(infra: InfraEnv | None) -> dict[str, str] | None:
    if infra is None or infra.spec is None:
        return None
    selector = infra.spec.nm_state_config_label_selector
    return dict(selector.match_labels) if selector else {}


def _shown(labels: dict[str, str]) -> str:
    return ", ".join(f"{key}: {label}" for key, label in sorted(labels.items())) or "none"


def check_pull_secret(site: Site) -> Iterator[Problem]:
    """The Secret has the key that credentials stand under."""
    secret = site.manifests.pull_secret if site.manifests else None
    if secret is None or DOCKER_CONFIG in secret.string_data:
        return
    tables = [secret.places[name] for name in ("string_data", "data") if name in secret.places]
    entries = [table.get(DOCKER_CONFIG) for table in tables if isinstance(table, Map)]
    if DOCKER_CONFIG in secret.data:
        if not _is_base64(secret):
            yield problem("pull-secret-not-base64", entries[-1] or secret.node, key=DOCKER_CONFIG)
    elif all(is_null(entry) for entry in entries) and all(
        isinstance(each, Map) or is_null(each) for each in tables
    ):
        at = tables[0] if tables else secret.node
        yield problem("pull-secret-key-missing", Place.of_key(at), edits=_named_right(at), key=DOCKER_CONFIG)


def _named_right(table: Node) -> tuple[Edit, ...]:
    """The right name for a key that only lacks its dot."""
    entries = table.items.items() if isinstance(table, Map) else ()
    near = [child for key, child in entries if key.lower() == DOCKER_CONFIG.removeprefix(".")]
    return rename_key(near[0], DOCKER_CONFIG) if near else ()


def _is_base64(secret: PullSecret) -> bool:
    try:
        base64.b64decode("".join(secret.data[DOCKER_CONFIG].reveal().split()), validate=True).decode()
    except ValueError:
        return False
    return True


def check_user_managed(site: Site) -> Iterator[Problem]:
    """Who balances the load follows from the platform."""
    spec = site.cluster_install_spec
    networking = spec.networking if spec else None
    if spec is None or networking is None or networking.user_managed_networking is None:
        return
    managed = networking.user_managed_networking
    single = spec.provision_requirements is not None and spec.provision_requirements.control_plane_agents == 1
    needed = spec.platform_type in (PlatformType.NONE, PlatformType.EXTERNAL)
    refused = spec.platform_type is PlatformType.BAREMETAL and not single
    if (needed and not managed) or (refused and managed):
        node = networking.at("user_managed_networking")
        right = str(not managed).lower()
        certain = bool(spec.api_vips or spec.api_vip) is managed
        edits = replace_scalar(node, right) if certain else ()
        yield problem(
            "user-managed-networking",
            node,
            edits=edits,
            value=str(managed).lower(),
            right=right,
            platform=spec.platform_type,
        )


def check_vip_fields(site: Site) -> Iterator[Problem]:
    """The old field of a VIP repeats the first of the list."""
    spec = site.cluster_install_spec
    if spec is None:
        return
    for old, new in (("api_vip", "api_vips"), ("ingress_vip", "ingress_vips")):
        one, many = getattr(spec, old), getattr(spec, new)
        if one is not None and many and one != many[0]:
            node = spec.at(old)
            yield problem(
                "vips-disagree", node, key=node.key.text if node.key else old, value=one, right=many[0]
            )


def check_disk_encryption(site: Site) -> Iterator[Problem]:
    """Encryption says on which hosts and by what, and Tang servers can be asked."""
    spec = site.cluster_install_spec
    encryption = spec.disk_encryption if spec else None
    if encryption is None:
        return
    for name, key in (("enable_on", "enableOn"), ("mode", "mode")):
        if not encryption.has(name):
            yield problem("disk-encryption-incomplete", Place.of_key(encryption.node), key=key)
    if encryption.mode is DiskEncryptionMode.TANG and encryption.enable_on is not EnableOn.NONE:
        yield from _check_tang(encryption)


def _check_tang(encryption: DiskEncryption) -> Iterator[Problem]:
    if not encryption.tang_servers:
        yield problem("bad-tang-servers", Place.of_key(encryption.at("mode")), reason="no server is given")
        return
    try:
        servers = json.loads(encryption.tang_servers)
    except (ValueError, RecursionError):
        servers = None
    fault = _tang_fault(servers)
    if fault:
        yield problem("bad-tang-servers", encryption.at("tang_servers"), reason=fault)


def _tang_fault(servers: Any) -> str:
    if not isinstance(servers, list) or not all(isinstance(server, dict) for server in servers):
        return "it is not a JSON list of objects"
    if not servers:
        return "no server is given"
    for server in servers:
        fault = url_fault(str(server.get("url", "")), ("http", "https"))
        if fault:
            return f"a server has no usable url: {fault}"
        if not server.get("thumbprint"):
            return "a server has no thumbprint"
    return ""


def check_external(site: Site) -> Iterator[Problem]:
    """A provider is named only on platform External."""
    spec = site.cluster_install_spec
    if spec is None or spec.external is None or spec.platform_type in (PlatformType.EXTERNAL, None):
        return
    yield problem("external-unused", Place.of_key(spec.at("external")), platform=spec.platform_type)


def check_overrides(site: Site) -> Iterator[Problem]:
    """The annotation with settings of install-config.yaml is a JSON object; reading it says the rest."""
    aci = site.manifests.agent_cluster_install if site.manifests else None
    node = annotation_node(aci.metadata) if aci and aci.metadata else None
    if node is None:
        return
    try:
        data = json.loads(node.text)
    except (ValueError, RecursionError):
        return
    if not isinstance(data, dict):
        found = "a list" if isinstance(data, list) else "a single value"
        key, right = "install-config-overrides", "a JSON object"
        yield problem("wrong-kind", node, key=key, expected=right, found=found, advice=f"write {right}")


def check_infra_env(site: Site) -> Iterator[Problem]:
    """What the live system is given can be used."""
    spec = site.infra_env_spec
    if spec is None:
        return
    for argument in spec.kernel_arguments:
        if argument.argument and not _KERNEL_ARGUMENT.match(argument.argument):
            yield problem("bad-kernel-argument", argument.at("argument"), value=argument.argument)
    if spec.ignition_config_override:
        fault = ignition_fault(spec.ignition_config_override)
        if fault:
            node = spec.at("ignition_config_override")
            yield problem("bad-ignition-override", node, key="ignitionConfigOverride", reason=fault)
    if spec.os_image_version and spec.cluster_ref is not None:
        yield problem("os-image-version", spec.at("os_image_version"), value=spec.os_image_version)


def check_infra_env_agrees(site: Site) -> Iterator[Problem]:
    """InfraEnv and AgentClusterInstall do not name different keys and proxies."""
    infra, spec = site.infra_env_spec, site.cluster_install_spec
    if infra is None or spec is None:
        return
    if _differ(infra.ssh_authorized_key, spec.ssh_public_key):
        yield _differs(
            "sshPublicKey", spec.at("ssh_public_key"), "sshAuthorizedKey", infra.at("ssh_authorized_key")
        )
    if infra.proxy is None or spec.proxy is None:
        return
    for name, key in (("http_proxy", "httpProxy"), ("https_proxy", "httpsProxy")):
        if _differ(getattr(infra.proxy, name), getattr(spec.proxy, name)):
            yield _differs(key, spec.proxy.at(name), key, infra.proxy.at(name))


def _differ(one: str | None, other: str | None) -> bool:
    return bool(one and other and one.strip() != other.strip())


def _differs(key: str, at: Node, other_key: str, other: Node) -> Problem:
    where = Place.of_key(other).where
    return problem("infra-env-differs", Place.of_key(at), key=key, other=other_key, where=where)


RULES: Final = (
    check_complete,
    check_versions,
    check_references,
    check_references_outside,
    check_labels,
    check_pull_secret,
    check_user_managed,
    check_vip_fields,
    check_disk_encryption,
    check_external,
    check_overrides,
    *release.RULES,
    check_infra_env,
    check_infra_env_agrees,
    check_descriptions,
    check_extra_manifests,
)
