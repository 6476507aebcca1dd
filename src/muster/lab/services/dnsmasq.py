# SPDX-License-Identifier: Apache-2.0
"""DHCP and DNS for the lab's machines, and the first step of a boot from the network: dnsmasq.

The networks have no way out, so DNS answers for the site's names alone and refuses all else at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Interface, IPv6Interface, ip_address, ip_interface
from typing import Final

from muster.frozen import dataclass
from muster.lab.services.service import Service

Interface = IPv4Interface | IPv6Interface
POOL_SIZE: Final = 100


@dataclass(frozen=True)
class Subnet:
    """A network in which the lab has an address."""

    link: str
    """The lab's own link in it."""
    address: str
    """The lab's own address, with its prefix length."""
    gateway: str = ""
    """What machines are told to route by; empty for no default route."""
    pool: tuple[str, str] | None = None
    """The first and the last address for machines without a reservation; None for those with one only."""


@dataclass(frozen=True)
class Reservation:
    """The addresses and the name of a card."""

    mac_address: str
    name: str
    addresses: tuple[str, ...] = ()
    """At most one of each family; empty when only its name is fixed."""


@dataclass(frozen=True)
class Record:
    """A name that DNS knows."""

    name: str
    """``*.apps.example.com`` is every name below apps.example.com."""
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class Names:
    """What DNS answers for."""

    domain: str
    records: tuple[Record, ...] = ()


@dataclass(frozen=True)
class Pxe:
    """How machines boot from the network: by a script for iPXE.

    With a BIOS the firmware of QEMU's cards is iPXE; UEFI has its own, which fetches iPXE by TFTP first.
    """

    script: str
    """The address of the script, or its name below the TFTP folder."""
    tftp_root: str = ""
    """The folder with the loaders, such as usr/lib/ipxe of the toolbox; empty for no TFTP."""
    loaders: tuple[tuple[int, str], ...] = ((0, "undionly.kpxe"), (7, "snponly.efi"), (11, "ipxe-arm64.efi"))
    """iPXE for the firmware that has none, by the number of its kind (RFC 4578)."""


@dataclass(frozen=True)
class Offer:
    """What of all this is offered."""

    subnets: tuple[Subnet, ...]
    dhcp: bool = True
    dns: bool = True
    ntp: bool = False
    reservations: tuple[Reservation, ...] = ()
    pxe: Pxe | None = None


def describe_dnsmasq(offer: Offer, names: Names, *, program: Sequence[str]) -> Service:
    """dnsmasq with its configuration."""
    return Service(
        name="dnsmasq",
        argv=(*program, "--keep-in-foreground", "--conf-file=dnsmasq.conf"),
        ready="started, version",
        files=(("dnsmasq.conf", render_config(offer, names)),),
    )


def render_config(offer: Offer, names: Names) -> str:
    """dnsmasq.conf."""
    lines = [
        "# written by muster lab",
        "user=root",  # It may not leave the lab's network namespace anyway, and keeps its leases itself.
        "pid-file",  # None: it goes to / before it would write one.
        "log-facility=-",
        "no-hosts",
        "no-resolv",
        # Links of VLANs may come later, and lo has no machines on it.
        "bind-dynamic",
        "except-interface=lo",
        *(f"interface={link}" for link in dict.fromkeys(subnet.link for subnet in offer.subnets)),
        f"port={53 if offer.dns else 0}",
        *(_dns_lines(names) if offer.dns else ()),
        *(_dhcp_lines(offer, names) if offer.dhcp or offer.pxe else ()),
    ]
    return "\n".join(lines) + "\n"


def _dns_lines(names: Names) -> Iterator[str]:
    yield f"local=/{names.domain}/"
    yield f"domain={names.domain}"
    yield "log-queries"
    for record in names.records:
        if record.name.startswith("*."):
            yield from (f"address=/{record.name[2:]}/{address}" for address in record.addresses)
        else:
            yield f"host-record={','.join([record.name, *record.addresses])}"


def _dhcp_lines(offer: Offer, names: Names) -> Iterator[str]:
    yield "dhcp-leasefile=leases"
    yield "dhcp-authoritative"
    yield "log-dhcp"
    if not offer.dns:
        yield f"domain={names.domain}"
    for index, subnet in enumerate(offer.subnets):
        own = ip_interface(subnet.address)
        yield from _subnet_lines(offer, subnet, own, f"net{index}")
    for each in offer.reservations:
        written = [f"[{address}]" if ":" in address else address for address in each.addresses]
        yield f"dhcp-host={','.join([each.mac_address, *written, each.name, 'infinite'])}"
    if offer.pxe:
        yield from _pxe_lines(offer.pxe, offer.subnets)


def _subnet_lines(offer: Offer, subnet: Subnet, own: Interface, tag: str) -> Iterator[str]:
    length = own.network.prefixlen
    if own.version == 4:
        first = (
            f"{subnet.pool[0]},{subnet.pool[1]}" if subnet.pool else f"{own.network.network_address},static"
        )
        yield f"dhcp-range=set:{tag},{first},{own.netmask},12h"
        yield f"dhcp-option=tag:{tag},option:router" + (f",{subnet.gateway}" if subnet.gateway else "")
        served = {"dns-server": offer.dns, "ntp-server": offer.ntp}
        yield from (f"dhcp-option=tag:{tag},option:{name},{own.ip}" for name, on in served.items() if on)
        return
    first = f"{subnet.pool[0]},{subnet.pool[1]}" if subnet.pool else f"{own.network.network_address},static"
    yield f"dhcp-range=set:{tag},{first},{length},12h"
    # Addresses come by DHCP alone; the lab is the way out only if the site has it so.
    yield "enable-ra"
    yield f"ra-param={subnet.link},mtu:off,60,{1800 if subnet.gateway == str(own.ip) else 0}"
    served = {"dns-server": offer.dns, "sntp-server": offer.ntp, "ntp-server": offer.ntp}
    yield from (f"dhcp-option=tag:{tag},option6:{name},[{own.ip}]" for name, on in served.items() if on)


def _pxe_lines(pxe: Pxe, subnets: Sequence[Subnet]) -> Iterator[str]:
    if not pxe.tftp_root:
        yield f"dhcp-boot={pxe.script}"
        yield f"dhcp-option=option6:bootfile-url,{pxe.script}"
        return
    yield "enable-tftp"
    yield f"tftp-root={pxe.tftp_root}"
    yield "dhcp-userclass=set:ipxe,iPXE"
    yield f"dhcp-boot=tag:ipxe,{pxe.script}"
    yield f"dhcp-option=tag:ipxe,option6:bootfile-url,{pxe.script}"
    for kind, loader in pxe.loaders:
        yield f"dhcp-match=set:kind{kind},option:client-arch,{kind}"
        yield f"dhcp-match=set:kind{kind},option6:61,{kind}"
        yield f"dhcp-boot=tag:!ipxe,tag:kind{kind},{loader}"
        for index, subnet in enumerate(subnets):
            own = ip_interface(subnet.address)
            if own.version == 6:
                tags = f"tag:net{index},tag:!ipxe,tag:kind{kind}"
                yield f"dhcp-option={tags},option6:bootfile-url,tftp://[{own.ip}]/{loader}"


def choose_pool(address: str, taken: Iterable[str]) -> tuple[str, str] | None:
    """The highest addresses of a network in a row that nobody has; None when there are none."""
    own = ip_interface(address)
    used = {int(ip_address(each)) for each in taken} | {int(own.ip)}
    lowest = int(own.network.network_address) + 1
    last = int(own.network.broadcast_address) - (1 if own.version == 4 else 0)
    while last in used:
        last -= 1
    if last < lowest:
        return None
    first = last
    while first > lowest and first - 1 not in used and last - first < POOL_SIZE - 1:
        first -= 1
    kind = type(own.ip)
    return str(kind(first)), str(kind(last))
