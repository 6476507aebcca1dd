# SPDX-License-Identifier: Apache-2.0
"""Site → plan: settles every value, and notes the reason of each that no file gives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.config import derive
from muster.config.derive import Counts
from muster.config.networks import plugin_of
from muster.config.settings import host_settings, manifest_settings, settings
from muster.model.dump import dump
from muster.model.host import Role
from muster.model.install_config import InstallConfig
from muster.model.manifests.agent_cluster_install import NetworkType
from muster.model.manifests.infra_env import ImageType
from muster.model.networking import Networking
from muster.model.plan import (
    Card,
    Decision,
    HostPlan,
    Networks,
    Plan,
    PodNetwork,
    ProxyPlan,
    RendezvousPlan,
    Topology,
)
from muster.model.registries import RegistriesConf, merge_sources
from muster.model.site import Site, SiteHost
from muster.model.tree import Map, Plain, Source, to_plain
from muster.model.values import Network, Secret


@dataclass
class _Decisions:
    """Collects the values that had to be derived."""

    made: list[Decision] = field(default_factory=list)

    def note(self, name: str, value: object, reason: str) -> None:
        """Remember a derived value."""
        self.made.append(Decision(name, str(value), reason))


def resolve_site(site: Site) -> Plan:
    """The plan of a valid site that describes a cluster."""
    install = site.install
    assert install is not None
    assert install.metadata is not None
    decisions = _Decisions()
    counts = derive.host_counts(install)
    _note_counts(install, counts, decisions)
    platform = derive.platform_name(install) or ""
    architecture = derive.architecture(install)
    if install.control_plane is None or install.control_plane.architecture is None:
        decisions.note("controlPlane.architecture", architecture, "not given; amd64 is the default")
    vips = derive.vips(install)
    name = install.metadata.name or ""
    return Plan(
        name=name,
        base_domain=install.base_domain or "",
        namespace=install.metadata.namespace or "",
        platform=platform,
        topology=topology(install, counts),
        architecture=architecture,
        release_image=_release(site, decisions),
        masters=counts.masters,
        arbiters=counts.arbiters,
        workers=counts.workers,
        networks=_networks(site, decisions),
        api_vips=tuple(vips.api),
        ingress_vips=tuple(vips.ingress),
        user_managed_networking=platform in derive.USER_MANAGED_PLATFORMS,
        hosts=resolve_hosts(site, counts),
        rendezvous=_rendezvous(site, decisions),
        pull_secret=_normal_secret(install.pull_secret),
        ssh_key=(install.ssh_key or "").strip(),
        proxy=_proxy(site, decisions),
        ntp_sources=_ntp_sources(site, decisions),
        registries=registries_of(site),
        trust_bundle=trust_bundle_of(site),
        minimal_iso=_minimal_iso(site, platform, decisions),
        boot_artifacts_base_url=(site.agent.boot_artifacts_base_url or "") if site.agent else "",
        settings=settings(site, platform, decisions.note),
        manifest_settings=manifest_settings(site),
        extra_manifests=tuple((each.source.name, each.source.text) for each in site.extra_manifests),
        add_ons=tuple(site.add_ons.add_ons) if site.add_ons else (),
        decisions=tuple(decisions.made),
    )


def topology(install: InstallConfig, counts: Counts) -> Topology:
    """The shape that the counts make."""
    if counts.masters == 1:
        return Topology.SINGLE_NODE
    if counts.arbiters:
        return Topology.ARBITER
    if counts.masters == 2 and install.control_plane and install.control_plane.fencing:
        return Topology.FENCING
    return Topology.COMPACT if counts.workers == 0 else Topology.HIGHLY_AVAILABLE


def _note_counts(install: InstallConfig, counts: Counts, decisions: _Decisions) -> None:
    if install.control_plane is None or install.control_plane.replicas is None:
        decisions.note(
            "controlPlane.replicas", counts.masters, "not given; three hosts survive the loss of one"
        )
    if not install.compute:
        decisions.note(
            "compute[0].replicas", counts.workers, "no compute pool is given; one of three hosts is added"
        )


def _release(site: Site, decisions: _Decisions) -> str:
    image = derive.release_image(site)
    if site.environment.release_image:
        decisions.note("release", image, "OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE names it")
    elif not derive.named_release(site):
        decisions.note("release", image, "built into this version of Muster")
    return image


def _machine_networks(site: Site, decisions: _Decisions) -> tuple[Network, ...]:
    networks = derive.likely_machine_networks(site)
    if derive.is_default(networks):
        if not site.is_lifted:
            reason = "the default of install-config.yaml"
        elif networks:
            reason = "the addresses of the hosts are in it"
        else:
            reason = "that of the addresses that the hosts get"
        shown = ", ".join(map(str, networks)) or "not known yet"
        decisions.note("networking.machineNetwork", shown, f"not given; {reason}")
    return tuple(networks)


def _networks(site: Site, decisions: _Decisions) -> Networks:
    networking = site.install.networking if site.install else None
    machine = _machine_networks(site, decisions)
    service = derive.service_networks(networking)
    if derive.is_default(service):
        decisions.note(
            "networking.serviceNetwork", service[0], "not given; the default of install-config.yaml"
        )
    pods = []
    for cidr, prefix, given in derive.pod_networks(networking):
        pods.append(PodNetwork(cidr, prefix))
        if not given:
            reason = f"not given; /{prefix} is the default for IPv{cidr.version}"
            decisions.note("networking.clusterNetwork.hostPrefix", prefix, reason)
    if derive.is_default(derive.cluster_networks(networking)):
        decisions.note(
            "networking.clusterNetwork", pods[0].cidr, "not given; the default of install-config.yaml"
        )
    plugin = plugin_of(networking or Networking())
    if networking is None or not (networking.network_type or networking.type):
        decisions.note("networking.networkType", plugin, "not given; the only one that every release has")
    return Networks(_spelled(plugin), machine, tuple(pods), tuple(service))


def _spelled(plugin: str) -> str:
    """A plugin that the manifests know, as they write it."""
    return next((str(known) for known in NetworkType if known.lower() == plugin.lower()), plugin)


def resolve_hosts(site: Site, counts: Counts) -> tuple[HostPlan, ...]:
    """The machines that a site names, each with its role."""
    roles = derive.roles(site.hosts, counts)
    listed = host_settings(site)
    return tuple(
        _host(host, role, listed[index] if index < len(listed) else None)
        for index, (host, role) in enumerate(zip(site.hosts, roles, strict=True))
    )


def _host(each: SiteHost, role: Role, in_install_config: Mapping[str, Plain] | None) -> HostPlan:
    host = each.host
    document = to_plain(host.network_config) if isinstance(host.network_config, Map) else None
    found = each.network.addresses() if each.network else ()
    return HostPlan(
        hostname=host.hostname or "",
        role=role,
        cards=tuple(Card(card.name or "", card.mac_address or "") for card in host.interfaces),
        addresses=tuple(f"{ip}/{prefix}" if prefix is not None else str(ip) for _, ip, prefix, _ in found),
        disk=host.root_device_hints if host.root_device_hints and dump(host.root_device_hints) else None,
        network=document if isinstance(document, Mapping) else None,
        keyfiles=each.keyfiles,
        bmc=host.bmc if host.bmc and dump(host.bmc) else None,
        in_install_config=in_install_config,
        role_reason="given" if host.role else f"not given; {role}s are still wanted",
    )


def _rendezvous(site: Site, decisions: _Decisions) -> RendezvousPlan | None:
    found = derive.rendezvous(site)
    if found is None:
        return None
    if site.agent is None or site.agent.rendezvous_ip is None:
        decisions.note("rendezvousIP", found.ip, f"not given; {found.reason}")
    return RendezvousPlan(found.ip, found.host.label if found.host else "", found.reason)


def _normal_secret(secret: Secret | None) -> Secret:
    if secret is None:
        return Secret("")
    return Secret(json.dumps(json.loads(secret.reveal()), separators=(",", ":"), sort_keys=True))


def _proxy(site: Site, decisions: _Decisions) -> ProxyPlan | None:
    install = site.install
    proxy = install.proxy if install else None
    if install is None or proxy is None:
        return None
    direct = [item.strip() for item in (proxy.no_proxy or "").split(",") if item.strip()]
    meeting = derive.rendezvous(site)
    if meeting is not None and direct != ["*"]:
        for network in derive.likely_machine_networks(site):
            if meeting.ip in network and str(network) not in direct:
                direct.append(str(network))
                decisions.note("proxy.noProxy", network, "added: the hosts reach each other directly")
    return ProxyPlan(proxy.http_proxy or "", proxy.https_proxy or "", ",".join(direct))


def _ntp_sources(site: Site, decisions: _Decisions) -> tuple[str, ...]:
    if site.agent is not None and site.agent.additional_ntp_sources:
        return tuple(site.agent.additional_ntp_sources)
    infra = site.infra_env_spec
    if infra is not None and infra.additional_ntp_sources:
        return tuple(infra.additional_ntp_sources)
    baremetal = site.install.platform.baremetal if site.install and site.install.platform else None
    servers = tuple(baremetal.additional_ntp_servers) if baremetal else ()
    if servers:
        decisions.note(
            "additionalNTPSources", ", ".join(servers), "platform.baremetal.additionalNTPServers names them"
        )
    return servers


def registries_of(site: Site) -> RegistriesConf:
    """Where images are to be had, instead of where they say they are from."""
    if site.registries is not None:
        return site.registries
    install = site.install
    return (
        merge_sources((*install.image_digest_sources, *install.image_content_sources))
        if install
        else RegistriesConf()
    )


def trust_bundle_of(site: Site) -> str:
    """The authorities that a site adds to those that everybody trusts."""
    written = site.install.additional_trust_bundle if site.install else None
    if not written and isinstance(site.ca_bundle, Source):
        written = site.ca_bundle.text
    return f"{written.strip()}\n" if written and written.strip() else ""


def _minimal_iso(site: Site, platform: str, decisions: _Decisions) -> bool:
    given = site.agent.minimal_iso if site.agent else None
    infra = site.infra_env_spec
    if given is None and infra is not None and infra.image_type is ImageType.MINIMAL_ISO:
        given = True
    if platform == "external" and given is None:
        given = bool(site.agent and site.agent.boot_artifacts_base_url)
        said = "says" if given else "does not say"
        reason = f"not given; platform external, and bootArtifactsBaseURL {said} where the rest comes from"
        decisions.note("minimalISO", str(given).lower(), reason)
    return bool(given)
