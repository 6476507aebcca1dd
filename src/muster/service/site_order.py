# SPDX-License-Identifier: Apache-2.0
"""What a site's files ask of the service: a cluster, an infra-env, and what each host is to be.

It is asked through the interface like everything else, so a site that installs itself and one that is only
tried in a model go the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from muster.config import derive
from muster.errors import UserError
from muster.frozen import dataclass
from muster.model.dump import dump
from muster.model.host import RootDeviceHints
from muster.model.machine_pool import Credential
from muster.model.plan import Plan, Topology
from muster.model.release import version_of
from muster.model.site import Site, SiteHost
from muster.model.wire.cluster import (
    ApiVip,
    ClusterCreateParams,
    ClusterNetwork,
    DiskEncryption,
    IngressVip,
    LoadBalancer,
    MachineNetwork,
    ServiceNetwork,
)
from muster.model.wire.host import DiskConfigParams, FencingCredentialsParams, HostUpdateParams
from muster.model.wire.infra_env import InfraEnvCreateParams, Proxy
from muster.model.wire.inventory import Disk, Inventory
from muster.service.derive.disks import GB, device_path
from muster.service.derive.hints import matching_disks
from muster.service.validations.of_site import architecture_of, platform_of


@dataclass(frozen=True)
class Wish:
    """What the files say of one host."""

    label: str
    macs: frozenset[str]
    hostname: str
    role: str
    """Empty: whatever suits."""
    hints: RootDeviceHints | None
    fencing: Credential | None
    described: SiteHost
    place: str = ""
    """File and line of the hints, as far as that is known."""

    def params(self, inventory: Inventory) -> HostUpdateParams:
        """What is asked for the host, now that it has told what it is made of; hints have to mean a disk."""
        return self.params_with(self.disks(inventory))

    def disks(self, inventory: Inventory) -> tuple[DiskConfigParams, ...] | None:
        """The disk that the hints mean; a UserError when there is none, None when nobody gave hints."""
        if self.hints is None:
            return None
        found = matching_disks(self.hints, inventory.disks or ())
        if not found:
            raise UserError(
                unmatched(self, self.hints, inventory.disks or ()),
                hint="plug in the disk that is meant, or change the hints and make a new medium",
            )
        return (DiskConfigParams(id=found[0].id or found[0].path or "", role="install"),)

    def params_with(self, disks: tuple[DiskConfigParams, ...] | None) -> HostUpdateParams:
        """What is asked for the host whatever its disks are, and a disk if one was found."""
        fencing = self.fencing
        return HostUpdateParams(
            host_name=self.hostname or None,
            host_role=self.role or None,  # type: ignore[arg-type]  # the rules for files let no other through
            disks_selected_config=disks,
            fencing_credentials=None
            if fencing is None
            else FencingCredentialsParams(
                address=fencing.address or "",
                username=fencing.username or "",
                password=fencing.password.reveal() if fencing.password else "",
                certificate_verification=fencing.certificate_verification.value
                if fencing.certificate_verification
                else None,
            ),
        )


def unmatched(wish: Wish, hints: RootDeviceHints, disks: Sequence[Disk]) -> str:
    """That no disk is as the hints say: which hints, where they are written, and which disks there are."""
    asked = ", ".join(f"{name}: {value}" for name, value in dump(hints).items())
    where = f", {wish.place}" if wish.place else ""
    there = "; ".join(_describe(disk) for disk in disks) or "none"
    return f"no disk of {wish.label} is as rootDeviceHints say ({asked}{where}); its disks: {there}"


def _describe(disk: Disk) -> str:
    names = (("serial", disk.serial), ("WWN", disk.wwn), ("model", disk.model))
    facts = [f"{name} {value}" for name, value in names if value]
    facts.append(f"{(disk.size_bytes or 0) / GB:.4g} GB")
    return f"{device_path(disk)} ({', '.join(facts)})"


def cluster_params(site: Site, plan: Plan) -> ClusterCreateParams:
    """The cluster that the files describe."""
    managed = LoadBalancer(type="user-managed") if derive.vips(site.install).user_managed else None
    is_single = plan.topology is Topology.SINGLE_NODE
    proxy = plan.proxy
    return ClusterCreateParams(
        name=plan.name,
        openshift_version=version_of(plan.release_image),
        ocp_release_image=plan.release_image,
        pull_secret=plan.pull_secret.reveal(),
        base_dns_domain=plan.base_domain,
        cpu_architecture=architecture_of(plan.architecture),  # type: ignore[arg-type]  # as above
        control_plane_count=plan.masters,
        platform=platform_of(site, plan),
        load_balancer=managed,
        user_managed_networking=True if is_single else None,
        network_type=plan.networks.type,  # type: ignore[arg-type]  # as above
        machine_networks=tuple(MachineNetwork(cidr=str(each)) for each in plan.networks.machine) or None,
        cluster_networks=tuple(
            ClusterNetwork(cidr=str(each.cidr), host_prefix=each.host_prefix)
            for each in plan.networks.cluster
        ),
        service_networks=tuple(ServiceNetwork(cidr=str(each)) for each in plan.networks.service),
        api_vips=tuple(ApiVip(ip=str(each)) for each in plan.api_vips) or None,
        ingress_vips=tuple(IngressVip(ip=str(each)) for each in plan.ingress_vips) or None,
        ssh_public_key=plan.ssh_key or None,
        http_proxy=(proxy and proxy.http) or None,
        https_proxy=(proxy and proxy.https) or None,
        no_proxy=(proxy and proxy.no_proxy) or None,
        additional_ntp_source=",".join(plan.ntp_sources) or None,
        disk_encryption=_disk_encryption(site),
    )


def _disk_encryption(site: Site) -> DiskEncryption | None:
    """What the manifests ask for. `muster check` refuses it; a medium that another tool made may have it."""
    spec = site.cluster_install_spec
    wanted = spec.disk_encryption if spec else None
    if wanted is None or wanted.enable_on is None:
        return None
    return DiskEncryption(
        enable_on=wanted.enable_on.value,
        mode=wanted.mode.value if wanted.mode else None,
        tang_servers=wanted.tang_servers,
    )


def infra_env_params(plan: Plan, cluster_id: str) -> InfraEnvCreateParams:
    """Where its hosts come from. Their networks are on the medium that they boot."""
    proxy = plan.proxy
    return InfraEnvCreateParams(
        name=plan.name,
        cluster_id=cluster_id,
        pull_secret=plan.pull_secret.reveal(),
        ssh_authorized_key=plan.ssh_key or None,
        additional_ntp_sources=",".join(plan.ntp_sources) or None,
        additional_trust_bundle=plan.trust_bundle or None,
        image_type="minimal-iso" if plan.minimal_iso else "full-iso",
        rendezvous_ip=str(plan.rendezvous.ip) if plan.rendezvous else None,
        proxy=None
        if proxy is None
        else Proxy(
            http_proxy=proxy.http or None, https_proxy=proxy.https or None, no_proxy=proxy.no_proxy or None
        ),
    )


def wishes_of(site: Site, plan: Plan) -> tuple[Wish, ...]:
    """What the files say of each host that they name."""
    pool = site.install.control_plane if site.install else None
    credentials = list(pool.fencing.credentials) if pool and pool.fencing else []
    return tuple(_wishes(site, plan, credentials))


def _wishes(site: Site, plan: Plan, credentials: list[Credential]) -> Iterator[Wish]:
    for described, host in zip(site.hosts, plan.hosts, strict=True):
        macs = frozenset(card.mac_address.lower() for card in host.cards)
        yield Wish(
            label=described.label,
            macs=macs,
            hostname=host.hostname,
            role=str(host.role) if host.role_reason == "given" else "",
            hints=host.disk,
            fencing=_fencing(host.hostname, macs, credentials),
            described=described,
        )


def _fencing(name: str, macs: frozenset[str], credentials: Iterable[Credential]) -> Credential | None:
    for each in credentials:
        if (each.host_name and each.host_name == name) or (each.mac_address or "").lower() in macs:
            return each
    return None


def find_wish(wishes: Iterable[Wish], inventory: Inventory) -> Wish | None:
    """What the files say of a host that has told its cards."""
    macs = {(card.mac_address or "").lower() for card in inventory.interfaces or ()}
    return next((wish for wish in wishes if wish.macs & macs), None)
