# SPDX-License-Identifier: Apache-2.0
"""Site → plans of an image-based install: settles every value, and notes the reason of those not given."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from muster.config import derive
from muster.config.kinds import IMAGE_BASED_EXTRA_DIR
from muster.model.image_based_plan import ConfigurationPlan, InstallationPlan, MirrorSet
from muster.model.install_config import InstallConfig, Proxy, TrustBundlePolicy
from muster.model.plan import Decision, ProxyPlan
from muster.model.registries import merge_sources
from muster.model.site import Site
from muster.model.tree import Map, Node, Plain, to_plain
from muster.model.values import Secret

PARTITION_LABEL: Final = "var-lib-containers"
PARTITION_NUMBER: Final = 5
PARTITION_START: Final = "-40G"
_ALWAYS_DIRECT: Final = ("127.0.0.1", "localhost", ".svc", ".cluster.local")
_NOT_GIVEN: Final = "not given; the default"


def resolve_configuration(site: Site) -> ConfigurationPlan:
    """The plan of a valid site with install-config.yaml and image-based-config.yaml."""
    install, config = site.install, site.image_based
    assert install is not None
    assert install.metadata is not None
    assert config is not None
    decisions: list[Decision] = []
    name, domain = install.metadata.name or "", install.base_domain or ""
    proxy = _cluster_proxy(install, f"{name}.{domain}", decisions)
    bundle = _bundle(install.additional_trust_bundle)
    return ConfigurationPlan(
        name=name,
        base_domain=domain,
        hostname=config.hostname or "",
        cluster_id=config.cluster_id or "",
        infra_id=config.infra_id or "",
        machine_networks=tuple(map(str, _written_machine_networks(install))),
        network=_network(config.network_config),
        ntp_sources=tuple(config.additional_ntp_sources),
        release_registry=config.release_registry or "",
        node_labels=dict(config.node_labels),
        pull_secret=_compact(install.pull_secret),
        ssh_key=(install.ssh_key or "").strip(),
        proxy=proxy,
        trust_bundle=bundle,
        trusted_by_operators=_trusted_by_operators(install, bundle, decisions),
        mirrors=tuple(_mirrors(install)),
        signer_key=derive.signer_key(install),
        extra_manifests=tuple(
            (each.source.name.removeprefix(f"{IMAGE_BASED_EXTRA_DIR}/"), each.source.text)
            for each in site.extra_manifests
        ),
        decisions=tuple(decisions),
    )


def resolve_installation(site: Site) -> InstallationPlan:
    """The plan of a valid site with image-based-installation-config.yaml."""
    config = site.image_based_installation
    assert config is not None
    decisions: list[Decision] = []
    for key, given, default in (
        ("architecture", config.architecture, "amd64"),
        ("extraPartitionLabel", config.extra_partition_label, PARTITION_LABEL),
        ("extraPartitionNumber", config.extra_partition_number, str(PARTITION_NUMBER)),
        ("extraPartitionStart", config.extra_partition_start, PARTITION_START),
    ):
        if given is None:
            decisions.append(Decision(key, default, _NOT_GIVEN))
    return InstallationPlan(
        seed_image=config.seed_image or "",
        seed_version=config.seed_version or "",
        installation_disk=config.installation_disk or "",
        architecture=str(config.architecture or "amd64"),
        extra_partition_label=config.extra_partition_label or PARTITION_LABEL,
        extra_partition_number=config.extra_partition_number or PARTITION_NUMBER,
        extra_partition_start=config.extra_partition_start or PARTITION_START,
        release_registry=config.release_registry or "",
        coreos_installer_args=tuple(config.coreos_installer_args),
        shutdown=bool(config.shutdown),
        skip_disk_cleanup=bool(config.skip_disk_cleanup),
        pull_secret=_compact(config.pull_secret),
        ssh_keys=tuple(line.strip() for line in (config.ssh_key or "").splitlines() if line.strip()),
        network=_network(config.network_config),
        proxy=_own_proxy(config.proxy),
        trust_bundle=_bundle(config.additional_trust_bundle),
        registries=merge_sources(config.image_digest_sources),
        ignition_override=config.ignition_config_override or "",
        decisions=tuple(decisions),
    )


def _written_machine_networks(install: InstallConfig) -> Iterator[object]:
    """The networks that the file names. Without any, the node's own address says which one it is in."""
    found = derive.machine_networks(install.networking)
    return iter(()) if derive.is_default(found) else iter(found)


def _cluster_proxy(install: InstallConfig, domain: str, decisions: list[Decision]) -> ProxyPlan | None:
    """The proxy, with everything inside the cluster reached directly, as an installation would have it."""
    plain = _own_proxy(install.proxy)
    if plain is None or plain.no_proxy == "*":
        return plain
    own = {
        *_ALWAYS_DIRECT,
        f"api-int.{domain}",
        *map(str, _written_machine_networks(install)),
        *map(str, derive.cluster_networks(install.networking)),
        *map(str, derive.service_networks(install.networking)),
    }
    given = set(plain.no_proxy.split(",")) - {""}
    added = sorted(own - given)
    if added:
        decisions.append(
            Decision(
                "proxy.noProxy", ",".join(added), "added: what is inside the cluster is reached directly"
            )
        )
    return ProxyPlan(plain.http, plain.https, ",".join(sorted(own | given)))


def _own_proxy(proxy: Proxy | None) -> ProxyPlan | None:
    """The proxy as it is written."""
    if proxy is None:
        return None
    direct = [item.strip() for item in (proxy.no_proxy or "").split(",") if item.strip()]
    return ProxyPlan(proxy.http_proxy or "", proxy.https_proxy or "", ",".join(direct))


def _trusted_by_operators(install: InstallConfig, bundle: str, decisions: list[Decision]) -> bool:
    if not bundle:
        return False
    policy = install.additional_trust_bundle_policy
    if policy is None:
        decisions.append(Decision("additionalTrustBundlePolicy", TrustBundlePolicy.PROXY_ONLY, _NOT_GIVEN))
    return policy is TrustBundlePolicy.ALWAYS or install.proxy is not None


def _mirrors(install: InstallConfig) -> Iterator[MirrorSet]:
    for entry in install.image_digest_sources:
        yield MirrorSet(entry.source or "", tuple(entry.mirrors), str(entry.source_policy or ""))
    for old in install.image_content_sources:
        yield MirrorSet(old.source or "", tuple(old.mirrors))


def _network(node: Node | None) -> Mapping[str, Plain] | None:
    document = to_plain(node) if isinstance(node, Map) else None
    return document if isinstance(document, dict) else None


def _compact(secret: Secret | None) -> Secret:
    if secret is None:
        return Secret("")
    return Secret(json.dumps(json.loads(secret.reveal()), separators=(",", ":"), sort_keys=True))


def _bundle(text: str | None) -> str:
    return f"{text.strip()}\n" if text and text.strip() else ""
