# SPDX-License-Identifier: Apache-2.0
"""What the lab offers to its machines, by its plan: links on VLANs, DHCP, DNS, NTP, registry, boot files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_address, ip_interface
from pathlib import Path

from muster.errors import UserError
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
from muster.lab.services.registry import Registry, describe_registry
from muster.lab.services.service import Place, Service, start_service
from muster.lab.services.web import describe_web
from muster.lab.store import Lab, LabState
from muster.lab.trunk import Trunk, make_trunk
from muster.model import lab as words
from muster.model.lab import Medium


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
    for service in describe_services(lab.plan, means, files):
        state = _remember(lab, state, service.name, start_service(service, _place(lab, state)))
    return state


def describe_services(plan: LabPlan, means: Means, files: Path | None) -> Iterator[Service]:
    """The services of a lab."""
    wanted = plan.services
    pxe = plan_pxe(plan, files)
    if pxe is not None or {words.Service.DHCP, words.Service.DNS} & {*wanted}:
        yield describe_dnsmasq(plan_offer(plan, pxe), plan_names(plan), program=means.program("dnsmasq"))
    if pxe is not None and files is not None:
        yield describe_web(files, address=str(ip_interface(plan.legs[0].address).ip))
    if words.Service.NTP in wanted:
        yield describe_chrony(program=means.program("chronyd"))
    if words.Service.REGISTRY in wanted:
        yield describe_registry(Registry(), program=means.program("docker-registry"))


def plan_pxe(plan: LabPlan, files: Path | None) -> Pxe | None:
    """How machines boot from the network, when some are to."""
    if all(machine.medium is not Medium.PXE for machine in plan.machines):
        return None
    script = next(iter(sorted(files.glob("*.ipxe"))), None) if files else None
    if script is None:
        raise UserError(
            "machines are to boot from the network, and there is no script for iPXE in boot-artifacts/",
            hint="`muster agent create pxe-files` makes it when agent-config.yaml has bootArtifactsBaseURL",
        )
    return Pxe(script.name, str(script.parent.resolve()))


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
