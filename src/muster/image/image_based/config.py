# SPDX-License-Identifier: Apache-2.0
"""Plan and secrets → the files of the configuration ISO, and what its user keeps. Pure.

The node finds the ISO by its label, copies everything on it, and makes the site's cluster of the seed's. The
names in manifest.json, with all their oddities, are those that the software in the seed reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from muster.chrony import REST, render_servers
from muster.config.kinds import IMAGE_BASED_EXTRA_DIR
from muster.config.manifests import render_yaml
from muster.frozen import dataclass
from muster.image.kubeconfig import render_kubeconfig
from muster.image.pki import Pki, build_pki
from muster.image.secrets import KeyName, SiteSecrets
from muster.model.image_based_plan import ConfigurationPlan
from muster.model.tree import Plain

LABEL: Final = "cluster-config"
"""The volume label that nodes look for."""
MANIFEST: Final = "cluster-configuration/manifest.json"
MIRRORS: Final = "cluster-configuration/manifests/image-digest-mirror-set.json"
_API_VERSION: Final = 1
_LONGEST_INFRA_ID: Final = 27
_TRUST_CONFIG_MAP: Final = "user-ca-bundle"
_POOL: Final = "pool 0.rhel.pool.ntp.org iburst\n"
"""What the seed's own configuration asks, and the site's servers are added to."""


@dataclass(frozen=True)
class Configuration:
    """The content of a configuration ISO, and the credentials of the cluster that it makes."""

    files: Mapping[str, bytes] = field(repr=False)
    """The files of the ISO, by path. They hold secrets."""
    kubeconfig: str = field(repr=False)
    kubeadmin_password: str = field(repr=False)


def build_configuration(plan: ConfigurationPlan, secrets: SiteSecrets) -> Configuration:
    """Everything that one site gets: the same plan and secrets give the same bytes."""
    pki = build_pki(secrets)
    files = {MANIFEST: _json(_manifest(plan, secrets, pki))}
    if plan.mirrors:
        files[MIRRORS] = _json(_mirror_set(plan))
    for name, text in plan.extra_manifests:
        files[f"{IMAGE_BASED_EXTRA_DIR}/{name}"] = text.encode()
    kubeconfig = render_kubeconfig(pki, secrets, plan.name, plan.base_domain, pki.image_based_bundle)
    return Configuration(files, kubeconfig, secrets.kubeadmin_password)


def infra_id(name: str, suffix: str) -> str:
    """The identifier in the names of what belongs to a cluster: its name, shortened, and random letters."""
    base = re.sub(r"-{2,}", "-", re.sub(r"[^A-Za-z0-9-]", "-", name))
    return f"{base[: _LONGEST_INFRA_ID - len(suffix) - 1].rstrip('-')}-{suffix}"


def _manifest(plan: ConfigurationPlan, secrets: SiteSecrets, pki: Pki) -> dict[str, Plain]:
    """The document that the software in the seed calls SeedReconfiguration."""
    body: dict[str, Plain] = {
        "additionalTrustBundle": _trust(plan),
        "api_version": _API_VERSION,
        "base_domain": plan.base_domain,
        "cluster_id": plan.cluster_id or secrets.cluster_id,
        "cluster_name": plan.name,
        "chrony_config": _chrony(plan),
        "hostname": plan.hostname,
        "infra_id": plan.infra_id or infra_id(plan.name, secrets.infra_id_suffix),
        "kubeadmin_password_hash": secrets.kubeadmin_password_hash,
        "KubeconfigCryptoRetention": _crypto(secrets, pki),
        "machine_networks": list(plan.machine_networks),
        "raw_nm_state_config": render_yaml(plan.network) if plan.network else "",
        "release_registry": plan.release_registry,
        "ssh_key": plan.ssh_key,
        "proxy": _proxy(plan),
        "pull_secret": plan.pull_secret.reveal(),
        "node_labels": dict(plan.node_labels),
    }
    return {key: value for key, value in body.items() if value not in ("", [], {})}


def _crypto(secrets: SiteSecrets, pki: Pki) -> dict[str, Plain]:
    """What lets kubeconfig hold: the cluster makes its own certificates, with these keys."""
    serving: dict[str, Plain] = {
        "localhost_signer_private_key": secrets.keys[KeyName.LOCALHOST_SIGNER],
        "service_network_signer_private_key": secrets.keys[KeyName.SERVICE_NETWORK_SIGNER],
        "loadbalancer_external_signer_private_key": secrets.keys[KeyName.LB_SIGNER],
    }
    return {
        "KubeAPICrypto": {
            "ServingCrypto": serving,
            "ClientAuthCrypto": {"admin_ca_certificate": pki.admin.pem},
        },
        "IngresssCrypto": {
            "ingress_ca": secrets.keys[KeyName.INGRESS_SIGNER],
            "ingress_certificate_cn": pki.ingress_name,
        },
    }


def _trust(plan: ConfigurationPlan) -> dict[str, Plain]:
    """Certificates that the node trusts, and the operators if they are to; always there, even if empty."""
    shared = plan.trusted_by_operators
    return {
        "userCaBundle": plan.trust_bundle,
        "proxyConfigmapName": _TRUST_CONFIG_MAP if shared else "",
        "proxyConfigmapBundle": plan.trust_bundle if shared else "",
    }


def _proxy(plan: ConfigurationPlan) -> dict[str, Plain]:
    if plan.proxy is None:
        return {}
    body = {"httpProxy": plan.proxy.http, "httpsProxy": plan.proxy.https, "noProxy": plan.proxy.no_proxy}
    return {key: value for key, value in body.items() if value}


def _chrony(plan: ConfigurationPlan) -> str:
    if not plan.ntp_sources:
        return ""
    return _POOL + REST + render_servers(plan.ntp_sources)


def _mirror_set(plan: ConfigurationPlan) -> dict[str, Plain]:
    mirrors: list[Plain] = []
    for each in plan.mirrors:
        entry: dict[str, Plain] = {"source": each.source, "mirrors": list(each.mirrors)}
        if each.policy:
            entry["mirrorSourcePolicy"] = each.policy
        mirrors.append(entry)
    return {
        "apiVersion": "config.openshift.io/v1",
        "kind": "ImageDigestMirrorSet",
        "metadata": {"name": "image-digest-mirror"},
        "spec": {"imageDigestMirrors": mirrors},
    }


def _json(body: Mapping[str, Plain]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
