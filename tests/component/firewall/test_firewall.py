# SPDX-License-Identifier: Apache-2.0
"""The host firewall, loaded by the program of the machine OS into a namespace and probed from another one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path

import pytest

from muster.board import read_notice
from muster.machine_os.recipe import find_home
from muster.model.firewall import LIVE_RULES_FILE, RULES_FILE, SITE_RULES
from muster.model.ports import PORTS, Source, System
from muster.release.node.cluster import Cluster
from muster.release.node.firewall import render_firewall
from tests.clusters import ARBITER, CLUSTERS, DUAL, WITH_WORKER
from tests.component.agent_steps.site import Host, Site, batch

LOADER = find_home() / "tree/usr/lib/muster/firewall"
LIVE_RULES = find_home() / "tree" / LIVE_RULES_FILE.lstrip("/")
MACHINES = ip_network("192.0.2.0/24")
CLIENTS = {
    Source.ANYONE: "198.51.100.7",
    Source.HOSTS: "192.0.2.200",
    Source.PODS: "10.128.4.9",
}
"""An address of each kind of client."""
STRANGE = ("tcp/111", "tcp/2381", "tcp/5000", "tcp/8080", "tcp/10248", "tcp/10249", "tcp/10257", "tcp/10259")
"""Ports of other programs, and of those that are for the host itself."""
LONG_S, SHORT_S = "60", "3"


class Guarded:
    """A host whose files are in a folder, with the firewall that these ask for."""

    def __init__(self, host: Host, root: Path) -> None:
        self.host, self.root = host, root
        live = root / LIVE_RULES_FILE.lstrip("/")
        live.parent.mkdir(parents=True)
        live.write_bytes(LIVE_RULES.read_bytes())

    def put(self, path: str, text: str) -> Path:
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def load(self) -> subprocess.CompletedProcess[str]:
        inside = ("ip", "netns", "exec", self.host.namespace, "env", f"MUSTER_ROOT={self.root}")
        return subprocess.run([*inside, "sh", LOADER], capture_output=True, text=True, check=False)

    @property
    def ruleset(self) -> str:
        return self.host.run("nft", "--stateless", "list", "ruleset")


@pytest.fixture
def site(root: None) -> Iterator[Site]:
    made = Site()
    yield made
    made.clear()


@pytest.fixture
def guarded(site: Site, tmp_path: Path) -> Guarded:
    return Guarded(site.add("192.0.2.10/24", "2001:db8::10/64"), tmp_path)


@pytest.fixture
def client(site: Site, guarded: Guarded) -> Host:
    """A host that may speak from an address of any kind."""
    made = site.add("192.0.2.200/24", "2001:db8::200/64", "198.51.100.7/32", "10.128.4.9/32")
    for source in (Source.ANYONE, Source.PODS):
        batch(guarded.host.namespace, f"route add {CLIENTS[source]} dev eth0")
    return made


def answering(client: Host, ports: tuple[str, ...], source: Source, deadline_s: str) -> set[str]:
    """Those of the ports that answer to a client of a kind."""
    batch(client.namespace, f"route replace 192.0.2.10/32 dev eth0 src {CLIENTS[source]}")
    argv = (sys.executable, "-m", "tests.component.firewall.probe", deadline_s, "192.0.2.10", *ports)
    return {*client.run(*argv).split()}


def wanted(systems: tuple[System, ...], source: Source) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Ports that the table opens on a host to a client, and those that it does not, by their ends."""
    opened: set[str] = set()
    closed = {*STRANGE}
    for port in PORTS:
        if Source.LINK in port.sources:
            continue
        here = not {*systems}.isdisjoint(port.systems)
        is_open = here and not {source, Source.ANYONE}.isdisjoint({*port.sources})
        for number in {port.number, port.last or port.number}:
            (opened if is_open else closed).add(f"{port.protocol}/{number}")
    return tuple(sorted(opened)), tuple(sorted(closed - opened))


def check_table(client: Host, systems: tuple[System, ...]) -> None:
    for source in CLIENTS:
        opened, closed = wanted(systems, source)
        assert answering(client, opened, source, LONG_S) == {*opened}, source
        assert answering(client, closed, source, SHORT_S) == set(), source


def test_a_live_host_answers_at_the_ports_of_the_table_only(guarded: Guarded, client: Host) -> None:
    before = answering(client, STRANGE, Source.ANYONE, LONG_S)
    assert before == {*STRANGE}  # Without a firewall everything answers.
    done = guarded.load()
    assert (done.returncode, done.stderr) == (0, "")
    check_table(client, (System.LIVE,))
    for address in ("192.0.2.10", "2001:db8::10"):
        client.run("ping", "-c", "1", "-W", "5", address)


@pytest.mark.parametrize(
    ("cluster", "number", "systems"),
    [
        (DUAL, 0, (System.CONTROL_PLANE, System.RENDEZVOUS)),
        (WITH_WORKER, 4, (System.WORKER,)),
        (ARBITER, 2, (System.ARBITER,)),
    ],
    ids=["control plane", "worker", "arbiter"],
)
def test_a_node_answers_at_the_ports_of_the_table_only(
    cluster: Cluster, number: int, systems: tuple[System, ...], guarded: Guarded, client: Host
) -> None:
    known = replace(cluster, machines=(MACHINES,))
    guarded.put(RULES_FILE, render_firewall(known, known.members[number]))
    guarded.put("/run/muster/disk", "")
    assert guarded.load().returncode == 0
    check_table(client, systems)


@pytest.mark.parametrize("name", CLUSTERS)
def test_nft_accepts_the_rules_of_every_node(name: str, guarded: Guarded) -> None:
    for member in CLUSTERS[name].members:
        path = guarded.put(RULES_FILE, render_firewall(CLUSTERS[name], member))
        guarded.host.run("nft", "--check", "--file", path)


def test_loading_again_changes_nothing_and_leaves_other_tables_alone(guarded: Guarded) -> None:
    guarded.host.run("nft", "add table ip kube-proxy")
    guarded.put(f"{SITE_RULES}/50-site.nft", "add rule inet muster site tcp dport 8080 accept\n")
    assert guarded.load().returncode == 0
    before = guarded.ruleset
    assert guarded.load().returncode == 0
    assert guarded.ruleset == before
    assert "table ip kube-proxy" in before
    assert before.count("tcp dport 8080 accept") == 1


def test_the_rules_of_a_site_open_and_close_ports(guarded: Guarded, client: Host) -> None:
    guarded.put(f"{SITE_RULES}/50-open.nft", "add rule inet muster site tcp dport 8080 accept\n")
    guarded.put(
        f"{SITE_RULES}/60-close.nft", "add rule inet muster site ip saddr 198.51.100.0/24 tcp dport 22 drop\n"
    )
    assert guarded.load().returncode == 0
    assert answering(client, ("tcp/8080",), Source.ANYONE, LONG_S)
    assert not answering(client, ("tcp/22", "tcp/5000"), Source.ANYONE, SHORT_S)
    assert answering(client, ("tcp/22",), Source.HOSTS, LONG_S)


def test_a_broken_file_of_a_site_is_left_out_and_reported(guarded: Guarded, client: Host) -> None:
    guarded.put(f"{SITE_RULES}/10-broken.nft", 'add rule inet muster site tcp dport "x\\y" acept\n')
    guarded.put(f"{SITE_RULES}/20-good.nft", "add rule inet muster site tcp dport 8080 accept\n")
    done = guarded.load()
    assert done.returncode == 1
    assert f"the firewall rules of {SITE_RULES}/10-broken.nft are not loaded: " in done.stderr
    assert "10-broken.nft:1:" in done.stderr
    notice = read_notice(guarded.root / "run/muster/firewall.json")
    assert notice is not None
    assert f"{SITE_RULES}/10-broken.nft" in notice.trouble
    assert "systemctl restart muster-firewall" in notice.fix
    assert answering(client, ("tcp/22", "tcp/8080"), Source.ANYONE, LONG_S) == {"tcp/22", "tcp/8080"}
    assert not answering(client, ("tcp/5000",), Source.ANYONE, SHORT_S)

    guarded.put(f"{SITE_RULES}/10-broken.nft", "")
    assert guarded.load().returncode == 0
    assert read_notice(guarded.root / "run/muster/firewall.json") is None


@pytest.mark.parametrize(
    "text",
    ["flush ruleset\n", "flush table inet muster\n", "add chain inet muster input { policy accept; }\n"],
)
def test_a_site_cannot_remove_the_firewall_by_mistake(text: str, guarded: Guarded, client: Host) -> None:
    guarded.put(f"{SITE_RULES}/50-site.nft", text)
    done = guarded.load()
    assert done.returncode == 1
    assert "the firewall rules of the site are not loaded: they remove the rules of the host" in done.stderr
    assert answering(client, ("tcp/22",), Source.ANYONE, LONG_S)
    assert not answering(client, ("tcp/5000",), Source.ANYONE, SHORT_S)


def test_a_disk_without_rules_of_its_own_has_no_firewall(guarded: Guarded) -> None:
    """A system that was installed without Muster, or by an older one: its ports are not known."""
    guarded.put("/run/muster/disk", "")
    done = guarded.load()
    assert done.returncode == 0
    assert "no host firewall" in done.stdout
    assert guarded.ruleset == ""
