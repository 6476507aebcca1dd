# SPDX-License-Identifier: Apache-2.0
"""What the lab offers to its machines, by its plan: links on VLANs, DHCP, DNS, NTP, registry, boot files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_address, ip_interface
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from muster.errors import UserError
from muster.folders import make_folder
from muster.frozen import dataclass
from muster.lab.means import Means
from muster.lab.network import apply_lines
from muster.lab.plan import LabPlan, Leg
from muster.lab.processes import Process, find_process
from muster.lab.services.chrony import describe_chrony
from muster.lab.services.dnsmasq import (
    Names,
    Offer,
    Pxe,
    Record,
    Reservation,
    Subnet,
    choose_pool,
    describe_dnsmasq,
)
from muster.lab.services.registry import Registry, describe_registry, describe_store_registry
from muster.lab.services.service import Place, Service, start_service
from muster.lab.services.web import describe_web
from muster.lab.store import Lab, LabState
from muster.lab.trunk import Trunk, make_trunk
from muster.model import lab as words
from muster.model.lab import Firmware, Medium

_WEB: Final = "web"


def start_legs(lab: Lab, state: LabState) -> LabState:
    """Stand on the VLANs that the hosts use."""
    plan = lab.plan
    place = _place(lab, state)
    for segment in plan.segments:
        tagged = [leg for leg in plan.legs if leg.vlan and leg.segment == segment.name]
        if not tagged:
            continue
        trunk = Trunk(segment.bridge, tuple(sorted({leg.vlan for leg in tagged})))
        state = _remember(lab, state, f"trunk-{segment.bridge}", make_trunk(trunk, place))
        lines = [f"addr add {leg.address} dev {link_of(plan, leg)}{_at_once(leg)}" for leg in tagged]
        apply_lines(lab.namespace, lines)
    return state


def _at_once(leg: Leg) -> str:
    return " nodad" if ":" in leg.address else ""


def link_of(plan: LabPlan, leg: Leg) -> str:
    """The link that has the lab's own address."""
    bridge = plan.bridge(leg.segment)
    return Trunk(bridge, (leg.vlan,)).link(leg.vlan) if leg.vlan else bridge


def start_services(lab: Lab, state: LabState, means: Means, files: Path | None) -> LabState:
    """Start what lab.yaml asks for, and what machines need that boot from the network."""
    files = files or Path(lab.plan.site) / "boot-artifacts"
    boot = plan_boot(lab.plan, files)
    if boot is not None:
        make_folder((lab.folder / _WEB / boot.path).parent)
        (lab.folder / _WEB / boot.path).symlink_to(files.resolve(), target_is_directory=True)
    for service in describe_services(lab, means, boot):
        state = _remember(lab, state, service.name, start_service(service, _place(lab, state)))
    return state


def describe_services(lab: Lab, means: Means, boot: NetworkBoot | None) -> Iterator[Service]:
    """The services of a lab."""
    plan = lab.plan
    wanted = {*plan.services}
    if boot is not None or {words.Service.DHCP, words.Service.DNS} & wanted:
        pxe = None if boot is None else _pxe(plan, boot, means)
        yield describe_dnsmasq(plan_offer(plan, pxe), plan_names(plan), program=means.program("dnsmasq"))
    if boot is not None:
        yield describe_web((lab.folder / _WEB).resolve(), address=boot.address, port=boot.port)
    if words.Service.NTP in wanted:
        yield describe_chrony(program=means.program("chronyd"))
    if plan.registry_store:
        yield describe_store_registry(Path(plan.registry_store))
    elif words.Service.REGISTRY in wanted:
        yield describe_registry(Registry(), program=means.program("docker-registry"))


@dataclass(frozen=True)
class NetworkBoot:
    """Where machines find the script that boots them, and the files that it names."""

    address: str
    port: int
    path: str
    """Where the files are below the root of the web server; empty for the root itself."""
    script: str

    @property
    def url(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return "/".join(filter(None, (f"http://{host}:{self.port}", self.path, self.script)))


def plan_boot(plan: LabPlan, files: Path) -> NetworkBoot | None:
    """How machines boot from the network, when some are to: from where agent-config.yaml says."""
    if all(machine.medium is not Medium.PXE for machine in plan.machines):
        return None
    script = next(iter(sorted(files.glob("*.ipxe"))), None)
    if script is None:
        raise UserError(
            f"machines are to boot from the network, and there is no script for iPXE in {files}",
            hint="`muster agent create pxe-files` makes it when agent-config.yaml has bootArtifactsBaseURL",
        )
    parts = urlsplit(plan.boot_url)
    own = [str(ip_interface(leg.address).ip) for leg in plan.legs]
    if parts.scheme != "http" or parts.hostname not in own:
        raise UserError(
            f"bootArtifactsBaseURL {plan.boot_url} is no place where the lab could serve files",
            hint=f"write http:// and a free address of a machine network, such as {own[0]}",
        )
    return NetworkBoot(parts.hostname, parts.port or 80, parts.path.strip("/"), script.name)


def _pxe(plan: LabPlan, boot: NetworkBoot, means: Means) -> Pxe:
    """UEFI's own network boot needs iPXE first; the cards of a BIOS machine have it."""
    some = any(each.firmware is Firmware.UEFI and each.medium is Medium.PXE for each in plan.machines)
    return Pxe(boot.url, str(means.open_toolbox().path("usr/lib/ipxe")) if some else "")


def plan_offer(plan: LabPlan, pxe: Pxe | None) -> Offer:
    """DHCP and DNS in every network where the lab has an address."""
    taken = [str(ip_interface(each).ip) for machine in plan.machines for each in machine.addresses]
    taken += [*plan.api_vips, *plan.ingress_vips, *filter(None, [plan.rendezvous_ip])]
    taken += [str(ip_interface(leg.address).ip) for leg in plan.legs]
    first = {ip_interface(leg.address).network: leg for leg in reversed(plan.legs)}
    legs = [leg for leg in plan.legs if first[ip_interface(leg.address).network] is leg]
    return Offer(
        subnets=tuple(
            Subnet(
                link_of(plan, leg),
                leg.address,
                str(ip_interface(leg.address).ip),
                choose_pool(leg.address, taken),
            )
            for leg in legs
        ),
        dhcp=words.Service.DHCP in plan.services,
        dns=words.Service.DNS in plan.services,
        ntp=words.Service.NTP in plan.services,
        reservations=tuple(_reservations(plan)),
        pxe=pxe,
    )


def _reservations(plan: LabPlan) -> Iterator[Reservation]:
    """Names for machines without static addresses; the first control-plane host is where all meet."""
    meeting = plan.rendezvous_ip
    if any(str(ip_interface(each).ip) == meeting for machine in plan.machines for each in machine.addresses):
        meeting = ""
    for machine in plan.machines:
        if machine.addresses or not machine.nics:
            continue
        at_meeting = (meeting,) if meeting and machine.role == "master" else ()
        yield Reservation(machine.nics[0].mac_address, machine.name.partition(".")[0], at_meeting)
        meeting = "" if at_meeting else meeting


def plan_names(plan: LabPlan) -> Names:
    """What DNS knows: the cluster's own names, and those of its hosts."""
    masters = [machine for machine in plan.machines if machine.role == "master"]
    fallback = tuple(str(ip_interface(each).ip) for machine in masters for each in machine.addresses)
    fallback = fallback or tuple(filter(None, [plan.rendezvous_ip]))
    api, apps = plan.api_vips or fallback, plan.ingress_vips or fallback
    records = [Record(f"{name}.{plan.domain}", _some(api)) for name in ("api", "api-int") if api]
    records += [Record(f"*.apps.{plan.domain}", apps)] if apps else []
    for machine in plan.machines:
        addresses = tuple(str(ip_interface(each).ip) for each in machine.addresses)
        if addresses:
            name = machine.name if "." in machine.name else f"{machine.name}.{plan.domain}"
            records.append(Record(name, _some(addresses)))
    return Names(plan.domain, tuple(records))


def _some(addresses: tuple[str, ...]) -> tuple[str, ...]:
    """At most one address of each family, which is what a record holds."""
    return tuple({ip_address(each).version: each for each in reversed(addresses)}.values())


def _place(lab: Lab, state: LabState) -> Place:
    return Place(lab.folder / "services", lab.namespace, state.environment)


def _remember(lab: Lab, state: LabState, name: str, pid: int | None) -> LabState:
    process: Process | None = find_process(pid) if pid is not None else None
    if process is not None:
        state = replace(state, helpers={**state.helpers, name: process})
        lab.save_state(state)
    return state
