# SPDX-License-Identifier: Apache-2.0
"""What people need when the service is away: where the cluster is, which host restarts; and as one file."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from datetime import datetime
from ipaddress import ip_address, ip_network
from typing import Annotated, Final

from muster.model.wire.struct import Wire, about
from muster.service.credentials import PASSWORD, console_url_of, domain_of
from muster.service.derive.addresses import addressed
from muster.service.derive.roles import effective_role
from muster.service.house import House
from muster.service.state import Cluster, Host
from muster.service.states.words import name_of

_README: Final = """\
Cluster {domain}

API          {api}
Console      {console}
User         {user}
Password     in kubeadmin-password
kubeconfig   in kubeconfig: export KUBECONFIG=$PWD/kubeconfig && kubectl get nodes

If your DNS does not know these names, add the lines of "hosts" to /etc/hosts
(on Windows: C:\\Windows\\System32\\drivers\\etc\\hosts).

While the cluster is being installed, how far it is stands at {status}
The password lets you log in there, too. That page is gone ten minutes after the cluster is complete.

Whoever has these files can do everything with the cluster: keep them safe.
"""


class RendezvousHost(Wire, frozen=True, kw_only=True):
    """The host that the service runs on, and that restarts last."""

    host_id: str
    name: str
    ip: str
    stage: str = ""
    left: Annotated[bool, about("It has restarted, or is about to.")] = False


class Farewell(Wire, frozen=True, kw_only=True):
    """What to keep."""

    domain: str
    api_url: str
    console_url: str = ""
    hosts_lines: Annotated[
        tuple[str, ...], about("For /etc/hosts, where DNS does not know the cluster.")
    ] = ()
    rendezvous: RendezvousHost | None = None
    credentials_taken: Annotated[bool, about("Somebody has downloaded kubeconfig and password.")] = False
    status_url: Annotated[
        str, about("Where the installation can be followed, after the restart as well.")
    ] = ""


def farewell_of(cluster: Cluster, hosts: Iterable[Host], house: House, url: str) -> Farewell:
    """What to keep of a cluster."""
    there = tuple(hosts)
    domain = domain_of(cluster)
    taken = {domain, PASSWORD} <= set(cluster.access_taken)
    return Farewell(
        domain=domain,
        api_url=f"https://api.{domain}:6443",
        console_url=console_url_of(cluster),
        hosts_lines=hosts_lines(cluster, there),
        rendezvous=next((_rendezvous(each, house) for each in there if house.is_rendezvous(each)), None),
        credentials_taken=taken or cluster.kubeconfig_given,
        status_url=url,
    )


def _rendezvous(host: Host, house: House) -> RendezvousHost:
    stage = host.progress.current_stage or ""
    return RendezvousHost(
        host_id=host.id,
        name=name_of(host),
        ip=house.rendezvous_ip,
        stage=stage,
        left=stage in ("Rebooting", "Configuring", "Joined", "Done"),
    )


def hosts_lines(cluster: Cluster, hosts: Iterable[Host]) -> tuple[str, ...]:
    """Names of a cluster and their addresses, as far as they are known; NAME is any of one's own."""
    domain, there = domain_of(cluster), tuple(hosts)
    api = [each.ip or "" for each in cluster.api_vips] or _own_addresses(cluster, there)
    apps = [each.ip or "" for each in cluster.ingress_vips] or _own_addresses(cluster, there)
    lines = [f"{address} api.{domain} api-int.{domain}" for address in api if address]
    lines += [f"# {address} NAME.apps.{domain}" for address in apps if address]
    if console_url_of(cluster):
        names = " ".join(f"{name}.apps.{domain}" for name in ("console-openshift-console", "oauth-openshift"))
        lines += [f"{address} {names}" for address in apps if address]
    return tuple(lines)


def _own_addresses(cluster: Cluster, hosts: Iterable[Host]) -> list[str]:
    """Where one host is everything, its own address is that of all."""
    if cluster.control_plane_count != 1:
        return []
    networks = [ip_network(each.cidr) for each in cluster.machine_networks if each.cidr]
    return [
        address
        for host in hosts
        if effective_role(host) in ("master", "bootstrap")
        for _, address, _ in addressed(host.inventory)
        if any(ip_address(address) in network for network in networks)
    ]


def pack(found: Farewell, user: str, files: Mapping[str, bytes], moment: datetime) -> bytes:
    """All that is to be kept as a zip archive, which every desk can open."""
    page = _README.format(
        domain=found.domain,
        api=found.api_url,
        console=found.console_url or "(this release has none)",
        user=user,
        status=found.status_url,
    )
    lines = "".join(f"{line}\n" for line in found.hosts_lines)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in {"README.txt": page.encode(), "hosts": lines.encode(), **files}.items():
            entry = zipfile.ZipInfo(f"{found.domain}/{name}", moment.timetuple()[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o600 << 16
            archive.writestr(entry, body)
    return packed.getvalue()
