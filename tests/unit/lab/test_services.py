# SPDX-License-Identifier: Apache-2.0
"""The configuration of the services, as text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from muster.lab.services.chrony import describe_chrony
from muster.lab.services.dnsmasq import (
    Names,
    Offer,
    Pxe,
    Record,
    Reservation,
    Subnet,
    choose_pool,
    render_config,
)
from muster.lab.services.registry import Registry
from muster.lab.services.registry import render_config as render_registry

NAMES = Names("c.example.com", (Record("api.c.example.com", ("192.0.2.5", "2001:db8::5")),))


def lines(offer: Offer) -> list[str]:
    return render_config(offer, NAMES).splitlines()


def test_reservations_alone_hand_out_nothing_else() -> None:
    subnet = Subnet("br0", "192.0.2.1/24")
    text = lines(Offer((subnet,), reservations=(Reservation("52:54:00:00:00:01", "a", ("192.0.2.7",)),)))
    assert "dhcp-range=set:net0,192.0.2.0,static,255.255.255.0,12h" in text
    assert "dhcp-host=52:54:00:00:00:01,192.0.2.7,a,infinite" in text
    assert "dhcp-option=tag:net0,option:router" in text, "no default route is told"


def test_both_families_of_a_link() -> None:
    subnets = (
        Subnet("br0", "192.0.2.1/24", "192.0.2.1", ("192.0.2.100", "192.0.2.199")),
        Subnet("br0", "2001:db8::1/64", "2001:db8::1", ("2001:db8::100", "2001:db8::1ff")),
    )
    reservation = Reservation("52:54:00:00:00:01", "a", ("192.0.2.7", "2001:db8::7"))
    text = lines(Offer(subnets, ntp=True, reservations=(reservation,)))
    assert text.count("interface=br0") == 1
    assert "dhcp-range=set:net0,192.0.2.100,192.0.2.199,255.255.255.0,12h" in text
    assert "dhcp-range=set:net1,2001:db8::100,2001:db8::1ff,64,12h" in text
    assert "dhcp-option=tag:net1,option6:dns-server,[2001:db8::1]" in text
    assert "ra-param=br0,mtu:off,60,1800" in text
    assert "dhcp-host=52:54:00:00:00:01,192.0.2.7,[2001:db8::7],a,infinite" in text
    assert "host-record=api.c.example.com,192.0.2.5,2001:db8::5" in text


def test_only_what_is_asked_for_is_offered() -> None:
    subnets = (Subnet("br0", "192.0.2.1/24"),)
    only_dns, only_dhcp = lines(Offer(subnets, dhcp=False)), lines(Offer(subnets, dns=False))
    assert "port=53" in only_dns
    assert not [line for line in only_dns if line.startswith("dhcp")]
    assert "port=0" in only_dhcp
    assert "dhcp-option=tag:net0,option:dns-server,192.0.2.1" not in only_dhcp


def test_a_boot_from_the_network_by_ipxe_alone() -> None:
    text = lines(Offer((Subnet("br0", "192.0.2.1/24"),), pxe=Pxe("http://192.0.2.1/boot.ipxe")))
    assert "dhcp-boot=http://192.0.2.1/boot.ipxe" in text
    assert "enable-tftp" not in text


def test_firmware_without_ipxe_fetches_it_first() -> None:
    subnets = (Subnet("br0", "192.0.2.1/24"), Subnet("br0", "2001:db8::1/64"))
    text = lines(Offer(subnets, pxe=Pxe("boot.ipxe", "/srv/tftp")))
    assert {"enable-tftp", "tftp-root=/srv/tftp", "dhcp-boot=tag:ipxe,boot.ipxe"} <= set(text)
    assert "dhcp-boot=tag:!ipxe,tag:kind7,snponly.efi" in text
    assert (
        "dhcp-option=tag:net1,tag:!ipxe,tag:kind7,option6:bootfile-url,tftp://[2001:db8::1]/snponly.efi"
        in text
    )


@pytest.mark.parametrize(
    ("address", "taken", "pool"),
    [
        ("192.0.2.1/24", [], ("192.0.2.155", "192.0.2.254")),
        ("192.0.2.1/24", ["192.0.2.254", "192.0.2.200"], ("192.0.2.201", "192.0.2.253")),
        ("192.0.2.254/29", [], ("192.0.2.249", "192.0.2.253")),
        ("192.0.2.1/30", ["192.0.2.2"], None),
        ("2001:db8::1/64", [], ("2001:db8::ffff:ffff:ffff:ff9c", "2001:db8::ffff:ffff:ffff:ffff")),
    ],
)
def test_a_pool_is_free(address: str, taken: list[str], pool: tuple[str, str] | None) -> None:
    assert choose_pool(address, taken) == pool


def test_chrony_never_sets_the_clock() -> None:
    assert "-x" in describe_chrony(program=["chronyd"]).argv


def test_a_registry_with_and_without_certificate() -> None:
    plain = json.loads(render_registry(Registry(address="fd00::1")))
    assert plain["http"] == {"addr": "[fd00::1]:5000"}
    assert "auth" not in plain
    safe = Registry(certificate=Path("/c.crt"), key=Path("/c.key"), htpasswd=Path("/users"))
    config = json.loads(render_registry(safe))
    assert config["http"]["tls"] == {"certificate": "/c.crt", "key": "/c.key"}
    assert config["auth"]["htpasswd"]["path"] == "/users"
