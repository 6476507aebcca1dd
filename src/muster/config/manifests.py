# SPDX-License-Identifier: Apache-2.0
"""Plan → cluster-manifests/ and mirror/: the same cluster as Kubernetes objects, for GitOps and ZTP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import yaml

from muster.config.derive import DEFAULT_NETWORK_TYPE
from muster.config.kinds import MANIFESTS_DIR, MIRROR_DIR
from muster.config.overrides import is_known_type, networking_of, overrides_of
from muster.model.manifests.agent_cluster_install import OVERRIDES_ANNOTATION
from muster.model.manifests.pull_secret import DOCKER_CONFIG
from muster.model.plan import HostPlan, Plan, ProxyPlan
from muster.model.registries import render_registries_conf
from muster.model.release import RPM_ARCHITECTURES, version_of
from muster.model.tree import is_number

_HIVE: Final = "hive.openshift.io/v1"
_EXTENSIONS: Final = "extensions.hive.openshift.io/v1beta1"
_AGENT_INSTALL: Final = "agent-install.openshift.io/v1beta1"
_LABEL: Final = "infraenvs.agent-install.openshift.io"
_PLATFORM_TYPES: Final = {
    "baremetal": "BareMetal",
    "vsphere": "VSphere",
    "nutanix": "Nutanix",
    "none": "None",
    "external": "External",
}


def render_manifests(plan: Plan) -> dict[str, str]:
    """The files by name. They hold secrets."""
    objects = {
        "pull-secret.yaml": _pull_secret(plan),
        "infraenv.yaml": _infra_env(plan),
        "agent-cluster-install.yaml": _agent_cluster_install(plan),
        "cluster-deployment.yaml": _cluster_deployment(plan),
        "cluster-image-set.yaml": _cluster_image_set(plan),
    }
    files = {f"{MANIFESTS_DIR}/{name}": render_yaml(body) for name, body in objects.items()}
    networks = [_nmstate_config(plan, index, host) for index, host in enumerate(plan.hosts) if host.network]
    if networks:
        text = "---\n".join(render_yaml(body) for body in networks)
        files[f"{MANIFESTS_DIR}/nmstateconfig.yaml"] = text
    files[f"{MIRROR_DIR}/registries.conf"] = render_registries_conf(plan.registries)
    files[f"{MIRROR_DIR}/ca-bundle.crt"] = plan.trust_bundle
    return files


def _object(plan: Plan, api_version: str, kind: str, name: str, **rest: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name}
    if plan.namespace:
        metadata["namespace"] = plan.namespace
    metadata |= rest.pop("metadata", {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def _pull_secret(plan: Plan) -> dict[str, Any]:
    # Indented, so that each registry has a line of its own that tools can leave out.
    text = json.dumps(json.loads(plan.pull_secret.reveal()), indent=2)
    return _object(plan, "v1", "Secret", _pull_secret_name(plan), stringData={DOCKER_CONFIG: text})


def _pull_secret_name(plan: Plan) -> str:
    return f"{plan.name}-pull-secret"


def _infra_env(plan: Plan) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "clusterRef": _reference(plan),
        "cpuArchitecture": RPM_ARCHITECTURES[plan.architecture],
        "nmStateConfigLabelSelector": {"matchLabels": {_LABEL: plan.name}},
        "pullSecretRef": {"name": _pull_secret_name(plan)},
        "sshAuthorizedKey": plan.ssh_key,
    }
    if plan.ntp_sources:
        spec["additionalNTPSources"] = list(plan.ntp_sources)
    if plan.trust_bundle:
        spec["additionalTrustBundle"] = plan.trust_bundle
    if plan.proxy:
        spec["proxy"] = _proxy(plan.proxy)
    if plan.minimal_iso:
        spec["imageType"] = "minimal-iso"
    spec |= _further(plan, "InfraEnv")
    return _object(plan, _AGENT_INSTALL, "InfraEnv", plan.name, spec=spec)


def _further(plan: Plan, kind: str) -> dict[str, Any]:
    """Fields that only this kind of manifest has."""
    fields = plan.manifest_settings.get(kind)
    return dict(fields) if isinstance(fields, dict) else {}


def _reference(plan: Plan) -> dict[str, str]:
    return {"name": plan.name, "namespace": plan.namespace}


def _proxy(proxy: ProxyPlan) -> dict[str, str]:
    fields = {"httpProxy": proxy.http, "httpsProxy": proxy.https, "noProxy": proxy.no_proxy}
    return {key: text for key, text in fields.items() if text}


def _nmstate_config(plan: Plan, index: int, host: HostPlan) -> dict[str, Any]:
    cards = [{"name": card.name, "macAddress": card.mac_address} for card in host.cards]
    return _object(
        plan,
        _AGENT_INSTALL,
        "NMStateConfig",
        f"{plan.name}-{index}",
        metadata={"labels": {_LABEL: plan.name}},
        spec={"interfaces": cards, "config": host.network},
    )


def _agent_cluster_install(plan: Plan) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "clusterDeploymentRef": {"name": plan.name},
        "imageSetRef": {"name": _image_set_name(plan)},
        "networking": {
            **networking_of(plan, plan.networks.type if is_known_type(plan) else DEFAULT_NETWORK_TYPE),
            "userManagedNetworking": plan.user_managed_networking,
        },
        "platformType": _PLATFORM_TYPES[plan.platform],
        "provisionRequirements": _requirements(plan),
        "sshPublicKey": plan.ssh_key,
    }
    if plan.api_vips:
        spec |= {"apiVIP": str(plan.api_vips[0]), "apiVIPs": [str(ip) for ip in plan.api_vips]}
    if plan.ingress_vips:
        spec |= {
            "ingressVIP": str(plan.ingress_vips[0]),
            "ingressVIPs": [str(ip) for ip in plan.ingress_vips],
        }
    if plan.platform == "external":
        spec["external"] = _external(plan)
    if plan.proxy:
        spec["proxy"] = _proxy(plan.proxy)
    if not plan.networks.machine:
        del spec["networking"]["machineNetwork"]
    spec |= _further(plan, "AgentClusterInstall")
    overrides = overrides_of(plan).body
    metadata = {"annotations": {OVERRIDES_ANNOTATION: json.dumps(overrides)}} if overrides else {}
    return _object(plan, _EXTENSIONS, "AgentClusterInstall", plan.name, metadata=metadata, spec=spec)


def _requirements(plan: Plan) -> dict[str, int]:
    counts = {
        "controlPlaneAgents": plan.masters,
        "arbiterAgents": plan.arbiters,
        "workerAgents": plan.workers,
    }
    return {key: count for key, count in counts.items() if count}


def _external(plan: Plan) -> dict[str, Any]:
    section = plan.settings.get("platform")
    external = section.get("external") if isinstance(section, dict) else None
    return dict(external) if isinstance(external, dict) else {}


def _cluster_deployment(plan: Plan) -> dict[str, Any]:
    group, _, version = _EXTENSIONS.partition("/")
    spec = {
        "baseDomain": plan.base_domain,
        "clusterInstallRef": {
            "group": group,
            "kind": "AgentClusterInstall",
            "name": plan.name,
            "version": version,
        },
        "clusterName": plan.name,
        "pullSecretRef": {"name": _pull_secret_name(plan)},
    }
    return _object(plan, _HIVE, "ClusterDeployment", plan.name, spec=spec)


def _image_set_name(plan: Plan) -> str:
    return f"openshift-{version_of(plan.release_image)}"


def _cluster_image_set(plan: Plan) -> dict[str, Any]:
    spec = {"releaseImage": plan.release_image}
    return _object(plan, _HIVE, "ClusterImageSet", _image_set_name(plan), spec=spec)


class _Dumper(yaml.CSafeDumper):
    """Writes texts of several lines as blocks, and repeated values out instead of as aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _represent_text(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    # PyYAML quotes by its own reading of YAML 1.1; in quotes all readers agree.
    doubtful = is_number(text) or text in ("y", "Y", "n", "N")
    style = "|" if "\n" in text else "'" if doubtful else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def render_yaml(body: Mapping[str, Any]) -> str:
    """One document, in the order it is given."""
    return yaml.dump(dict(body), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1_000_000)
