# SPDX-License-Identifier: Apache-2.0
"""Plan of a lab → modelled machines and what is around them: the hosts of a site's own files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Interface, IPv6Interface, ip_address, ip_interface, ip_network
from types import MappingProxyType
from typing import Any, Final

import msgspec

from muster.errors import UserError
from muster.lab import plan as lab
from muster.lab.legs import cards_below
from muster.lab.sim.faults import Trouble
from muster.lab.sim.machines import FIRST, Machine
from muster.lab.sim.world import Segment, Surroundings
from muster.model.host import RootDeviceHints
from muster.model.lab import Bus, Firmware, Medium
from muster.model.nmstate import Interface as Link
from muster.model.nmstate import InterfaceType, NMState
from muster.model.wire.inventory import (
    Boot,
    Cpu,
    Disk,
    DiskInstallationEligibility,
    Interface,
    Inventory,
    Memory,
    Route,
    SystemVendor,
)
from muster.service.derive.hints import matching_disks

GIB: Final = 1 << 30
_BALANCER: Final = 3
"""The number of a load balancer in its network: beside routers, before hosts."""
_INET: Final = 2
_INET6: Final = 10
_UP: Final = ("up", "broadcast", "multicast")
_PREFIXES: Final = MappingProxyType({Bus.VIRTIO: "vd", Bus.SCSI: "sd", Bus.SATA: "sd", Bus.NVME: "nvme"})
_NONE: Final[Mapping[str, NMState]] = MappingProxyType({})


class Make(msgspec.Struct, frozen=True, kw_only=True):
    """What hosts are made of that a site's files say nothing about."""

    cpus: int = 16
    memory_gib: int = 64
    least_disk_gb: int = 120
    """Disks that are smaller, as those of a lab are, count as so large."""
    maker: str = "Muster"
    model: str = "Modelled Server"
    architecture: str = "x86_64"


class Wires(msgspec.Struct, frozen=True):
    """The network of one host."""

    document: NMState | None = None
    """Its static network."""
    leases: tuple[str, ...] = ()
    """What DHCP gives to its first card, with the lengths of the prefixes."""
    gateways: tuple[str, ...] = ()


def machines_of_plan(
    plan: lab.LabPlan, documents: Mapping[str, NMState] = _NONE, *, count: int = 0, make: Make | None = None
) -> tuple[Machine, ...]:
    """The machines of a plan; with a count, workers are added, or the last machines left out."""
    make = make or Make()
    free = _free_addresses(plan)
    planned = [*plan.machines[: count or None], *_further(len(plan.machines), count)]
    return tuple(machine_of_host(host, _wires(host, plan, documents, free), make) for host in planned)


def _further(known: int, count: int) -> Iterator[lab.Machine]:
    """Workers that no file names."""
    for number in range(known, count):
        high, low = divmod(number, 0x100)
        nic = lab.Nic("eth0", f"02:00:f0:{high:02x}:{low:02x}:00", "", "")
        disk = lab.Disk("disk0", 0, Bus.NVME, f"MUSTER{number:06d}")
        yield lab.Machine(f"further-{number}", "worker", 0, 0, Firmware.UEFI, Medium.CD, (nic,), (disk,))


def _free_addresses(plan: lab.LabPlan) -> list[Iterator[str]]:
    """What DHCP has to give in each machine network: the rendezvous address first, if nobody has it."""
    taken = {cidr.partition("/")[0] for machine in plan.machines for cidr in machine.addresses}
    taken |= {*plan.api_vips, *plan.ingress_vips, *(leg.address.partition("/")[0] for leg in plan.legs)}
    meeting = plan.rendezvous_ip if plan.rendezvous_ip not in taken else ""
    return [_free(cidr, taken, meeting) for cidr in plan.machine_networks]


def _free(cidr: str, taken: set[str], meeting: str) -> Iterator[str]:
    network = ip_network(cidr)
    if meeting and ip_address(meeting) in network:
        yield f"{meeting}/{network.prefixlen}"
    for offset in range(FIRST, network.num_addresses - 1):
        address = str(network[offset])
        if address not in taken and address != meeting:
            yield f"{address}/{network.prefixlen}"
    raise UserError(f"{cidr} has no room for so many hosts", hint="ask for fewer, or widen machineNetwork")


def _wires(
    host: lab.Machine, plan: lab.LabPlan, documents: Mapping[str, NMState], free: Sequence[Iterator[str]]
) -> Wires:
    document = documents.get(host.name)
    if document is not None and any(document.addresses()):
        return Wires(document)
    leases = host.addresses or tuple(next(addresses) for addresses in free)
    return Wires(document, leases, tuple(str(ip_network(cidr)[1]) for cidr in plan.machine_networks))


def machine_of_host(host: lab.Machine, wires: Wires, make: Make) -> Machine:
    """A usual server with the cards, the disks and the network of a planned host."""
    cards = tuple(_cards(host, wires))
    digits = hashlib.sha256(host.name.encode() + (host.nics[0].mac_address if host.nics else "").encode())
    inventory = Inventory(
        hostname=host.name,
        system_vendor=SystemVendor(
            manufacturer=make.maker,
            product_name=make.model,
            serial_number=f"MST{digits.hexdigest()[:12].upper()}",
        ),
        boot=Boot(
            current_boot_mode=host.firmware.value,
            secure_boot_state="Disabled" if host.firmware is Firmware.UEFI else "NotSupported",
            device_type="ephemeral",
        ),
        cpu=Cpu(
            count=make.cpus,
            frequency=2900.0,
            model_name="Modelled CPU",
            architecture=make.architecture,
            flags=(),
        ),
        memory=Memory(
            physical_bytes=make.memory_gib * GIB,
            usable_bytes=make.memory_gib * GIB * 98 // 100,
            physical_bytes_method="dmidecode",
        ),
        disks=tuple(_disks(host, make)),
        interfaces=cards,
        routes=tuple(_routes(cards, wires)),
        gpus=(),
        bmc_address="0.0.0.0",  # noqa: S104 (what an agent says of a host without one)
        bmc_v6address="::/0",
        tpm_version="2.0",
    )
    return Machine("planned", inventory)


def _cards(host: lab.Machine, wires: Wires) -> Iterator[Interface]:
    """The cards, then the bonds and VLANs that are made of them."""
    own = {nic.name for nic in host.nics}
    for number, nic in enumerate(host.nics):
        link = wires.document.find_interface(nic.name) if wires.document else None
        addresses = _static(wires.document, nic.name) + (list(wires.leases) if number == 0 else [])
        yield _card(nic.name, nic.mac_address, addresses, link)
    for link in wires.document.interfaces if wires.document else ():
        addresses = _static(wires.document, link.name or "")
        if link.name and link.name not in own and (addresses or link.type is InterfaceType.BOND):
            yield _card(link.name, _mac_below(host, wires, link), addresses, link)


def _mac_below(host: lab.Machine, wires: Wires, link: Link) -> str:
    """A bond or a VLAN has the address of its first card."""
    names = cards_below(wires.document, link, set())[0] if wires.document else []
    macs = {nic.name: nic.mac_address for nic in host.nics}
    return next((macs[name] for name in names if name in macs), link.mac_address or "")


def _static(document: NMState | None, name: str) -> list[str]:
    return [
        f"{found.ip}/{found.prefix_length}"
        for found in (document.addresses() if document else ())
        if found.interface.name == name
    ]


def _card(name: str, mac: str, addresses: Sequence[str], link: Link | None) -> Interface:
    kinds = {InterfaceType.BOND: "bond", InterfaceType.VLAN: "vlan"}
    return Interface(
        name=name,
        mac_address=mac.lower(),
        type=kinds.get(link.type, "physical") if link and link.type else "physical",
        mtu=(link.mtu if link else None) or 1500,
        has_carrier=True,
        speed_mbps=25000,
        flags=_UP,
        ipv4_addresses=tuple(each for each in addresses if ":" not in each),
        ipv6_addresses=tuple(each for each in addresses if ":" in each),
    )


def _routes(cards: Sequence[Interface], wires: Wires) -> Iterator[Route]:
    """The default routes that are written, or that DHCP gives."""
    written = [str(each.address) for each in wires.document.default_gateways()] if wires.document else []
    for gateway in written or wires.gateways:
        for card in cards:
            for cidr in (*(card.ipv4_addresses or ()), *(card.ipv6_addresses or ())):
                if _reaches(ip_interface(cidr), gateway):
                    family = _INET6 if ":" in gateway else _INET
                    nowhere = "::" if family == _INET6 else "0.0.0.0"  # noqa: S104 (the default route)
                    yield Route(
                        interface=card.name, gateway=gateway, destination=nowhere, family=family, metric=100
                    )


def _reaches(interface: IPv4Interface | IPv6Interface, gateway: str) -> bool:
    address = ip_address(gateway)
    return address.version == interface.version and address in interface.network


def _disks(host: lab.Machine, make: Make) -> Iterator[Disk]:
    counts: dict[str, int] = {}
    for disk in host.disks:
        prefix = _PREFIXES[disk.bus]
        number = counts[prefix] = counts.get(prefix, -1) + 1
        name = f"nvme{number}n1" if disk.bus is Bus.NVME else f"{prefix}{chr(ord('a') + number)}"
        by_id = f"/dev/disk/by-id/wwn-{disk.wwn}" if disk.wwn else None
        by_path = f"/dev/disk/by-path/pci-0000:00:{disk.slot}-ata-{disk.port + 1}" if disk.slot else None
        yield Disk(
            id=by_id or by_path or f"/dev/{name}",
            name=name,
            path=f"/dev/{name}",
            by_id=by_id,
            by_path=by_path,
            hctl=f"0:0:{number}:0" if prefix == "sd" else None,
            drive_type="HDD" if disk.rotational else "SSD",
            size_bytes=max(disk.size_bytes, make.least_disk_gb * 1_000_000_000),
            serial=disk.serial or None,
            wwn=disk.wwn or None,
            vendor=disk.vendor or None,
            model=disk.product or None,
            bootable=True if number == 0 else None,
            has_uuid=True,
            smart="",
            installation_eligibility=DiskInstallationEligibility(eligible=True),
        )


def surroundings_of_plan(
    plan: lab.LabPlan, troubles: Sequence[Trouble] = (), start: float = Surroundings().start
) -> Surroundings:
    """What is around the hosts of a plan: its segments, its names, and a router in each machine network."""
    balancer = _balancer(plan)
    names = {
        f"api.{plan.domain}": plan.api_vips or balancer,
        f"api-int.{plan.domain}": plan.api_vips or balancer,
        f"*.apps.{plan.domain}": plan.ingress_vips or balancer,
    }
    ports = {
        nic.mac_address.lower(): nic.segment for host in plan.machines for nic in host.nics if nic.segment
    }
    return Surroundings(
        start=start,
        segments=tuple(Segment(segment.name) for segment in plan.segments) or (Segment(),),
        ports=ports,
        in_use={leg.address.partition("/")[0]: "02:00:00:00:fe:01" for leg in plan.legs},
        names={name: addresses for name, addresses in names.items() if addresses},
        troubles=tuple(troubles),
    )


def _balancer(plan: lab.LabPlan) -> tuple[str, ...]:
    """Where the names of a cluster without VIPs lead: to its only host, else to a load balancer."""
    if len(plan.machines) == 1:
        own = tuple(cidr.partition("/")[0] for cidr in plan.machines[0].addresses)
        return own or ((plan.rendezvous_ip,) if plan.rendezvous_ip else ())
    return tuple(str(ip_network(cidr)[_BALANCER]) for cidr in plan.machine_networks)


def with_hinted_disk(machine: Machine, hints: RootDeviceHints | None) -> Machine:
    """The machine with a disk that hints mean: files that name a disk say that the host has it."""
    disks = machine.inventory.disks or ()
    if hints is None or not disks or matching_disks(hints, disks):
        return machine
    named = hints.device_name or ""
    kind = {"/dev/disk/by-id/": "by_id", "/dev/disk/by-path/": "by_path"}
    field = next((name for head, name in kind.items() if named.startswith(head)), "path")
    values: dict[str, Any] = {
        "wwn": hints.wwn,
        "serial": hints.serial_number,
        "model": hints.model,
        "vendor": hints.vendor,
        "hctl": hints.hctl,
        "drive_type": None if hints.rotational is None else "HDD" if hints.rotational else "SSD",
        "size_bytes": max(disks[-1].size_bytes or 0, (hints.min_size_gigabytes or 0) * 1_000_000_000),
        field: named or None,
    }
    if field == "path" and named:
        values["name"] = named.rpartition("/")[2]
    given = {name: value for name, value in values.items() if value is not None}
    disk = msgspec.structs.replace(disks[-1], **given)
    disk = msgspec.structs.replace(disk, id=disk.by_id or disk.by_path or disk.path)
    return Machine(machine.kind, msgspec.structs.replace(machine.inventory, disks=(*disks[:-1], disk)))
