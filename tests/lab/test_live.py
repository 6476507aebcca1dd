# SPDX-License-Identifier: Apache-2.0
"""Hosts that boot live: addresses by MAC, names, bonds, VLANs, IPv6, sticks, configs of any size."""

from __future__ import annotations

import hashlib
import random
import shutil
from pathlib import Path
from typing import Any

import yaml

from tests.lab.rehearsal import Rehearsal, answers, create, ignition, on_link, save_json, save_yaml

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
VLAN = 20
SPARE = {"name": "spare", "macAddress": "52:54:00:a4:99:02"}
"""A card that the site's files do not know of."""
BOND = """\
#!/bin/sh
cut -d ' ' -f 1 /sys/class/net/bond0/bonding/mode
wc -w </sys/class/net/bond0/bonding/slaves
test -n "$(cat /sys/class/net/bond0/bonding/active_slave)"
"""
STICK = """\
#!/bin/sh
device=$(findmnt -no SOURCE /run/media/iso)
lsblk -nso TRAN "$device" | grep .
"""
EMBED_AREA = 256 * 1024


def test_two_hosts_of_one_iso_find_themselves_and_each_other(
    lab: Rehearsal, desk: Path, machine_os: Path
) -> None:
    """BIOS, CD; static addresses by MAC, a bond with a VLAN, a name by the second card."""
    site = build_site(desk / "site")
    here = [f"192.168.10.{last}" for last in (1, 11, 12)]
    checks = ignition(checks={"bond": BOND, "reach": answers(*here, "10.20.0.11", "10.20.0.12")})
    override = save_json(desk / "checks.ign", checks)
    create(
        site,
        "image",
        "--release-by-tag",
        "--base-image",
        machine_os / "live.iso",
        "--ignition-override",
        override,
    )

    # The second machine's first card is none of the site's: it is found by another.
    room = build_site(desk / "room", spare=True)
    lab.up(room, "--iso", site / "agent.x86_64.iso", "--only", "master-1", "--only", "master-2")
    reports = lab.wait("healthy")

    for number, (name, report) in enumerate(sorted(reports.items()), start=1):
        assert report["root"] == "live"
        assert report["ignition"]["ran"]
        assert report["hostname"] == name == f"master-{number}"
        link = on_link(report, f"192.168.10.1{number}/24")
        assert report["macs"][link] == f"52:54:00:a4:00:0{number}"
        assert on_link(report, f"10.20.0.1{number}/24") == f"bond0.{VLAN}"
        assert report["macs"]["bond0"] in (f"52:54:00:a4:01:0{number}", f"52:54:00:a4:02:0{number}")
        assert report["checks"]["bond"]["said"].split() == ["active-backup", "2"]
        assert report["checks"]["reach"]["said"] == "all answer"
        # The firewall was loaded before the network: nothing answers but what the table of ports opens.
        opened = {"tcp/22", "tcp/8090"}
        assert lab.answering(here[number], *opened, seconds=60) == opened
        closed = ("tcp/111", "tcp/2379", "tcp/5000", "tcp/6443", "tcp/10250", "udp/5353")
        assert lab.answering(here[number], *closed, seconds=5) == set()
    second = reports["master-2"]
    first_link = min(link for link in second["macs"] if link.startswith("en"))
    assert second["macs"][first_link] == SPARE["macAddress"]


def build_site(folder: Path, *, spare: bool = False) -> Path:
    """The compact example; each host has two more cards in a bond, and a VLAN over it."""
    shutil.copytree(EXAMPLES / "compact-baremetal", folder)
    path = folder / "agent-config.yaml"
    body = yaml.safe_load(path.read_text("utf-8"))
    for number, host in enumerate(body["hosts"], start=1):
        add_bond(host, number)
    if spare:
        body["hosts"][1]["interfaces"].insert(0, SPARE)
    save_yaml(path, body)
    # The network of the bonds is one of its own.
    save_yaml(folder / "lab.yaml", {"segments": [{"name": "trunk", "cards": ["eno2", "eno3"]}]})
    return folder


def add_bond(host: dict[str, Any], number: int) -> None:
    ports = {"eno2": f"52:54:00:a4:01:0{number}", "eno3": f"52:54:00:a4:02:0{number}"}
    without = {"ipv4": {"enabled": False}, "ipv6": {"enabled": False}}
    interfaces = host["networkConfig"]["interfaces"]
    for name, mac in ports.items():
        host["interfaces"].append({"name": name, "macAddress": mac})
        interfaces.append({"name": name, "type": "ethernet", "state": "up", "mac-address": mac, **without})
    link = {"mode": "active-backup", "options": {"miimon": 100}, "port": list(ports)}
    address = {"ip": f"10.20.0.1{number}", "prefix-length": 24}
    interfaces += [
        {"name": "bond0", "type": "bond", "state": "up", "link-aggregation": link, **without},
        {
            "name": f"bond0.{VLAN}",
            "type": "vlan",
            "state": "up",
            "vlan": {"base-iface": "bond0", "id": VLAN},
            "ipv4": {"enabled": True, "dhcp": False, "address": [address]},
            "ipv6": {"enabled": False},
        },
    ]


def test_a_stick_without_ipv4_and_with_a_large_config(lab: Rehearsal, desk: Path, machine_os: Path) -> None:
    """UEFI, USB stick; the Ignition config outgrows its area, so that the partition for UEFI has moved."""
    noise = random.Random(5).randbytes(EMBED_AREA * 3 // 2)
    digest = hashlib.sha256(noise).hexdigest()
    site = desk / "site"
    shutil.copytree(EXAMPLES / "single-node-ipv6", site)
    save_yaml(site / "lab.yaml", {"firmware": "uefi", "medium": "usb"})
    override = ignition(
        {"/etc/noise": noise},
        {
            "noise": f"#!/bin/sh\necho '{digest}  /etc/noise' | sha256sum --check\n",
            "no-ipv4": "#!/bin/sh\n! ip -4 -oneline address show scope global | grep .\n",
            "reach": answers("2001:db8:10::1"),
            "stick": STICK,
        },
    )
    ign = save_json(desk / "large.ign", override)
    create(
        site, "image", "--release-by-tag", "--base-image", machine_os / "live.iso", "--ignition-override", ign
    )

    lab.up(site)
    report = lab.wait("healthy")["node1"]

    assert report["hostname"] == "node1"
    link = on_link(report, "2001:db8:10::10/64")
    assert report["macs"][link] == "52:54:00:a2:00:01"
    assert any(line.startswith(f"default via 2001:db8:10::1 dev {link}") for line in report["routes"])
    assert report["checks"]["stick"]["said"] == "usb"
