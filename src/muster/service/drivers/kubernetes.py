# SPDX-License-Identifier: Apache-2.0
"""Upstream Kubernetes as Muster's own releases have it: every host gets an Ignition config of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import datetime
from ipaddress import ip_address, ip_network
from typing import Any

from muster.certificates.keys import Random
from muster.errors import UserError
from muster.frozen import dataclass
from muster.image.ignition.merge import merge, parse_override
from muster.image.kubeconfig import render_kubeconfig
from muster.image.pki import Pki, build_pki, site_authorities
from muster.image.secrets import SiteSecrets, dump_secrets, make_secrets, parse_secrets
from muster.model.ignition import Config, File, User, join, tree_of
from muster.model.plan import PodNetwork
from muster.model.registries import RegistriesConf
from muster.model.release import KUBERNETES
from muster.model.values import Secret
from muster.release.model import Release
from muster.release.node.authorities import SiteAuthorities, make_authorities
from muster.release.node.cluster import Cluster as NodeCluster
from muster.release.node.payload import plan_cluster
from muster.service.decisions.operators import chosen_add_ons
from muster.service.drivers.install_config import render_install_config
from muster.service.drivers.keeping import keep_each_other
from muster.service.drivers.members import find_members, find_rendezvous, host_name
from muster.service.release_driver import ClusterOrder
from muster.service.state import Host
from muster.service.validations.facts import balances_itself

FindRelease = Callable[[str, str], Release]
"""The release of a version for an architecture; UserError when there is none."""
SECRETS = "secrets.json"


@dataclass(frozen=True)
class SiteTerms:
    """What the site says that the service runs for; a service for many clusters has no site."""

    authorities: SiteAuthorities | None = None
    """What the kubeconfig was made with that people have already; without it there is none yet."""
    registries: RegistriesConf = field(default_factory=RegistriesConf)
    trust_bundle: str = field(default="", repr=False)
    manifests: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """What the cluster gets besides, by name."""
    add_ons: tuple[str, ...] = ()
    """Those of the release that the cluster gets."""
    tuning: str = "default"


class KubernetesDriver:
    """Makes the files of clusters of a kubernetes release."""

    kind = KUBERNETES

    def __init__(
        self,
        find: FindRelease,
        random: Random,
        clock: Callable[[], datetime],
        terms: SiteTerms | None = None,
    ) -> None:
        self._find, self._random, self._clock = find, random, clock
        self._terms = terms or SiteTerms()

    def install_config(self, order: ClusterOrder) -> str:
        return render_install_config(order)

    def images(self, order: ClusterOrder) -> tuple[str, ...]:
        """All that a node pulls before there is a cluster."""
        release = self._release(order)
        return tuple(image.pullspec for image in release.images)

    def credentials(self, order: ClusterOrder) -> Mapping[str, bytes]:
        """None for a site: its people have them since its medium was made."""
        if self._terms.authorities is not None:
            return {}
        secrets = self._secrets(order)
        return _credentials(order, secrets, build_pki(secrets))

    def _release(self, order: ClusterOrder) -> Release:
        return self._find(order.cluster.openshift_version, order.cluster.cpu_architecture)

    def prepare(self, order: ClusterOrder) -> Mapping[str, bytes]:
        _refuse_encryption(order)
        site, id, files = self._terms.authorities, order.cluster.id, {}
        if site is None:
            secrets = self._secrets(order)
            pki = build_pki(secrets)
            site, id, files = site_authorities(pki), secrets.cluster_id, _credentials(order, secrets, pki)
        files["install-config.yaml"] = render_install_config(order).encode()
        files["metadata.json"] = json.dumps({"clusterName": order.cluster.name, "clusterID": id}).encode()
        authorities = make_authorities(site, id, self._random, self._clock())
        members = {host_name(host): host for host in order.hosts}
        release = self._release(order)
        cluster = self._cluster(order, id, release)
        configs = plan_cluster(release, cluster, authorities, self._random)
        trees = {name: _tree(order, members[name], config) for name, config in configs.items()}
        for name, tree in keep_each_other(cluster, trees).items():
            files[f"host/{members[name].id}.ign"] = json.dumps(tree).encode()
        return files

    def _secrets(self, order: ClusterOrder) -> SiteSecrets:
        """Those that people may have the kubeconfig of already, else new ones."""
        if order.secrets:
            return parse_secrets(json.loads(order.secrets), "the secrets of the cluster")
        return make_secrets(self._random, self._clock())

    def _cluster(self, order: ClusterOrder, id: str, release: Release) -> NodeCluster:
        state, terms = order.cluster, self._terms
        chosen = chosen_add_ons(state, release.add_ons)
        return NodeCluster(
            name=state.name,
            base_domain=state.base_dns_domain,
            id=id,
            members=tuple(member for _, member in find_members(order)),
            pods=tuple(
                PodNetwork(ip_network(each.cidr or ""), each.host_prefix or 23)
                for each in state.cluster_networks
            ),
            services=tuple(ip_network(each.cidr or "") for each in state.service_networks),
            api_vips=tuple(ip_address(each.ip or "") for each in state.api_vips),
            ingress_vips=tuple(ip_address(each.ip or "") for each in state.ingress_vips),
            holds_vips=not (state.user_managed_networking or balances_itself(state)),
            registries=terms.registries,
            trust_bundle=terms.trust_bundle,
            pull_secret=_secret(order.pull_secret),
            tuning=terms.tuning,
            time_servers=_time_servers(order),
            machines=tuple(ip_network(each.cidr or "") for each in state.machine_networks),
            rendezvous=find_rendezvous(order),
            add_ons=tuple(dict.fromkeys((*terms.add_ons, *chosen))),
            manifests=(*terms.manifests, *_manifests(order)),
        )


def _refuse_encryption(order: ClusterOrder) -> None:
    """A cluster whose disks are to be encrypted is not installed without that."""
    wanted = order.cluster.disk_encryption
    if wanted is not None and wanted.enable_on not in (None, "none"):
        raise UserError(
            f"disk_encryption is requested for {wanted.enable_on} hosts, but disks of"
            " a Kubernetes release are not encrypted",
            hint="set enable_on of disk_encryption to none, then install the cluster again",
        )


def _credentials(order: ClusterOrder, secrets: SiteSecrets, pki: Pki) -> dict[str, bytes]:
    """What people who installed by the service are given; those of a site have it already."""
    kubeconfig = render_kubeconfig(
        pki, secrets, order.cluster.name, order.cluster.base_dns_domain, pki.api_bundle
    )
    return {
        SECRETS: json.dumps(dump_secrets(secrets)).encode(),
        "kubeadmin-password": secrets.kubeadmin_password.encode(),
        "kubeconfig-noingress": kubeconfig.encode(),
    }


def _time_servers(order: ClusterOrder) -> tuple[str, ...]:
    text = order.cluster.ntp_sources or order.cluster.additional_ntp_source
    return tuple(filter(None, (part.strip() for part in text.split(","))))


def _manifests(order: ClusterOrder) -> tuple[tuple[str, str], ...]:
    """The user's manifests, by folder and name."""
    return tuple((key, body.decode("utf-8", "replace")) for key, body in sorted(order.manifests.items()))


def _secret(text: str) -> Secret | None:
    """The logins of registries; a site without a registry has none, and says so with an empty list."""
    return Secret(text) if text and json.loads(text)["auths"] else None


def _tree(order: ClusterOrder, host: Host, config: Config) -> dict[str, Any]:
    """A host's config: its name, who may log in, the cluster's part, and what the user merged into it."""
    keys = tuple(filter(None, order.cluster.ssh_public_key.splitlines()))
    own = Config(
        (File("/etc/hostname", f"{host_name(host)}\n".encode(), 0o644),),
        (),
        (User("core", ssh_keys=keys),) if keys else (),
    )
    tree = tree_of(join((own, config)))
    if host.ignition_config_overrides:
        origin = f"the override of host {host_name(host)}"
        tree, _ = merge(tree, parse_override(host.ignition_config_overrides, origin, KUBERNETES))
    return tree
