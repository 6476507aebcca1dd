# SPDX-License-Identifier: Apache-2.0
"""The host firewall, loaded by the program of the machine OS into a namespace and probed from another one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from muster.board import Notice, read_notice
from muster.machine_os.recipe import find_home
from muster.model.firewall import LIVE_RULES_FILE, POD_BRIDGE, RULES_FILE, SITE_RULES
from muster.model.ports import PORTS, Source, System
from muster.release import node
from muster.release.node.cluster import Cluster
from muster.release.node.firewall import render_firewall
from tests.clusters import ARBITER, CLUSTERS, DUAL, WITH_WORKER
from tests.component.agent_steps.site import Host, Site, batch

LOADER = find_home() / "tree/usr/lib/muster/firewall"
NODE_UNITS = Path(node.__file__).parent / "units"
LIVE_RULES = find_home() / "tree" / LIVE_RULES_FILE.lstrip("/")
CLIENTS = {
    Source.ANYONE: "198.51.100.7",
    Source.HOSTS: "192.0.2.200",
    Source.MEMBERS: "192.0.2.11",
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
        """Run the program of the machine OS; programs in the folder `bin` of the host go first."""
        path = f"PATH={self.root}/bin:{os.environ['PATH']}"
        inside = ("ip", "netns", "exec", self.host.namespace, "env", f"MUSTER_ROOT={self.root}", path)
        return subprocess.run([*inside, "sh", LOADER], capture_output=True, text=True, check=False)

    @property
    def notice(self) -> Notice | None:
        return read_notice(self.root / "run/muster/firewall.json")

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
    made = site.add("192.0.2.200/24", "192.0.2.11/24", "2001:db8::200/64", "198.51.100.7/32", "10.128.4.9/32")
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
        kinds = {source, Source.ANYONE, *((Source.HOSTS,) if source is Source.MEMBERS else ())}
        is_open = here and not kinds.isdisjoint(port.sources)
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
        (ARBITER, 2, (System.ARBITER, System.RENDEZVOUS)),
    ],
    ids=["control plane", "worker", "arbiter"],
)
def test_a_node_answers_at_the_ports_of_the_table_only(
    cluster: Cluster, number: int, systems: tuple[System, ...], guarded: Guarded, client: Host
) -> None:
    guarded.put(RULES_FILE, render_firewall(cluster, cluster.members[number]))
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


def test_the_documented_rules_of_a_site_are_loaded(guarded: Guarded, client: Host) -> None:
    page = (Path(__file__).parents[3] / "docs/generate.py").read_text("utf-8")
    (block,) = re.findall(r"```text\n# {SITE_RULES}/50-site.nft\n(.*?)```", page, re.DOTALL)
    guarded.put(RULES_FILE, render_firewall(DUAL, DUAL.first))
    guarded.put(f"{SITE_RULES}/50-site.nft", block.replace("{POD_BRIDGE}", POD_BRIDGE))
    done = guarded.load()
    assert (done.returncode, done.stderr) == (0, "")
    assert answering(client, ("tcp/22",), Source.HOSTS, LONG_S)
    assert not answering(client, ("tcp/22",), Source.ANYONE, SHORT_S)
    assert not probe(client, "2001:db8::10", "tcp/22", is_open=False)


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
    [
        "flush table inet muster\n",
        "add chain inet muster input { policy accept; }\n",
        "add chain inet muster forward { type filter hook forward priority 0; policy accept; }\n"
        "flush chain inet muster input\n",
    ],
)
def test_a_site_cannot_remove_the_firewall_by_mistake(text: str, guarded: Guarded, client: Host) -> None:
    guarded.put(f"{SITE_RULES}/50-site.nft", text)
    done = guarded.load()
    assert done.returncode == 1
    assert "the firewall rules of the site are not loaded: they remove the rules of the host" in done.stderr
    assert answering(client, ("tcp/22",), Source.ANYONE, LONG_S)
    assert not answering(client, ("tcp/5000",), Source.ANYONE, SHORT_S)


@pytest.mark.parametrize(
    "text",
    [
        "flush ruleset\n",
        "#!/usr/sbin/nft -f\nflush\truleset; add table inet mine\n",
        "flush \\\n  ruleset inet\n",
        'define name = "#"\nflush ruleset # "\n',
        "add table inet mine;flush ruleset",
    ],
)
def test_a_file_that_empties_the_ruleset_is_not_loaded(text: str, guarded: Guarded) -> None:
    tables = {"ip kube-proxy", "inet muster-pods"}
    for table in tables:
        guarded.host.run("nft", f"add table {table}")
    guarded.put(f"{SITE_RULES}/10-flush.nft", text)
    guarded.put(f"{SITE_RULES}/20-good.nft", "add rule inet muster site tcp dport 8080 accept\n")
    done = guarded.load()
    assert done.returncode == 1
    assert guarded.notice is not None
    assert f"{SITE_RULES}/10-flush.nft are not loaded: flush ruleset removes" in guarded.notice.trouble
    assert "delete table inet NAME" in guarded.notice.trouble
    assert all(f"table {table} " in guarded.ruleset for table in (*tables, "inet muster"))
    assert "tcp dport 8080 accept" in guarded.ruleset


@pytest.mark.parametrize(
    "text",
    [
        "# flush ruleset\n",
        '#!/usr/sbin/nft -f\n# Never flush ruleset, it says "why.\nadd table inet mine # flush ruleset \\\n',
        'add rule inet muster site tcp dport 1 accept comment "flush ruleset"\n',
        "table inet mine {\n chain flush-ruleset {\n }\n}\nflush chain inet mine flush-ruleset\n",
    ],
)
def test_comments_and_texts_may_name_what_empties_the_ruleset(text: str, guarded: Guarded) -> None:
    guarded.put(f"{SITE_RULES}/10-mine.nft", text)
    done = guarded.load()
    assert (done.returncode, done.stderr) == (0, "")


def test_an_own_table_of_a_site_is_loaded_again_without_doubling(guarded: Guarded) -> None:
    """As docs/reference/ports.md shows it."""
    chain = "chain c {\ntype filter hook input priority 5\ntcp dport 1 drop\n}"
    text = f"table inet mine\ndelete table inet mine\ntable inet mine {{\n{chain}\n}}\n"
    guarded.put(f"{SITE_RULES}/10.nft", text)
    for _ in range(2):
        assert guarded.load().returncode == 0
    assert guarded.ruleset.count("tcp dport 1 drop") == 1


BROKEN_NFT = "#!/bin/sh\ncase $1 in\n{}) echo 'Error: no memory' >&2; exit 1 ;;\nesac\nexec {} \"$@\"\n"


@pytest.mark.parametrize("site_rules", [True, False])
def test_a_host_without_a_firewall_says_so(guarded: Guarded, client: Host, *, site_rules: bool) -> None:
    """When nft can load nothing, not even the rules that let in SSH only."""
    guarded.put("/bin/nft", BROKEN_NFT.format("*", "")).chmod(0o755)
    if site_rules:
        guarded.put(f"{SITE_RULES}/50.nft", "add rule inet muster site tcp dport 8080 accept\n")
    done = guarded.load()
    assert done.returncode == 1
    assert "this host has NO FIREWALL: every port is open" in done.stderr
    assert "lets nothing in" not in done.stderr
    notice = guarded.notice
    assert notice is not None
    assert notice.doing == "this host has NO FIREWALL: every port is open"
    assert "Error: no memory" in notice.trouble
    assert f"nft --check --file {LIVE_RULES_FILE}" in notice.fix
    assert answering(client, ("tcp/5000",), Source.ANYONE, LONG_S)


def test_rules_that_were_loaded_earlier_are_named_as_active(guarded: Guarded, client: Host) -> None:
    assert guarded.load().returncode == 0
    guarded.put("/bin/nft", BROKEN_NFT.format("--file", shutil.which("nft"))).chmod(0o755)
    assert guarded.load().returncode == 1
    assert guarded.notice is not None
    assert guarded.notice.doing == "the host firewall still has the rules that were loaded earlier"
    assert not answering(client, ("tcp/5000",), Source.ANYONE, SHORT_S)


def test_services_start_after_the_firewall_was_loaded() -> None:
    """Services start after sysinit.target, unless they say otherwise."""
    folder = find_home() / "tree/usr/lib/systemd/system"
    unit = (folder / "muster-firewall.service").read_text()
    assert "Before=network-pre.target sysinit.target " in unit
    assert "WantedBy=sysinit.target" in unit
    others = [*folder.glob("*.service"), *NODE_UNITS.glob("*.service")]
    early = {path.name for path in others if "DefaultDependencies=no" in path.read_text()}
    assert early == {"muster-firewall.service", "muster-ca-trust.service"}, "these do not listen"


def test_a_disk_without_rules_of_its_own_has_no_firewall(guarded: Guarded) -> None:
    """A system that was installed without Muster, or by an older one: its ports are not known."""
    guarded.put("/run/muster/disk", "")
    done = guarded.load()
    assert done.returncode == 0
    assert "no host firewall" in done.stdout
    assert guarded.ruleset == ""


@pytest.mark.parametrize("text", ["", "table inet muster {\n", "nonsense\n"])
def test_a_host_whose_rules_cannot_be_loaded_lets_nothing_in_but_ssh(
    text: str, guarded: Guarded, client: Host
) -> None:
    guarded.put(RULES_FILE, text)
    done = guarded.load()
    assert done.returncode == 1
    assert f"the firewall rules {RULES_FILE} cannot be loaded: " in done.stderr
    notice = read_notice(guarded.root / "run/muster/firewall.json")
    assert notice is not None
    assert (RULES_FILE in notice.trouble, RULES_FILE in notice.fix) == (True, True)
    assert answering(client, ("tcp/22",), Source.ANYONE, LONG_S)
    assert not answering(client, ("tcp/6443", "tcp/5000", "udp/5000"), Source.ANYONE, SHORT_S)


@dataclass(frozen=True)
class Ends:
    """Addresses of one family around a node that forwards."""

    node: str
    pod: str
    gateway: str
    other_pod: str
    host: str
    stranger: str
    behind: str
    """In a network that only the node is in, by another card."""
    service: str
    any: str
    family: str


ENDS = {
    "IPv4": Ends(
        *("192.0.2.10", "10.128.0.2/23", "10.128.0.1/23", "10.128.4.9", "192.0.2.200", "198.51.100.7"),
        *("203.0.113.2/24", "172.30.0.9", "0.0.0.0/0", "ip"),
    ),
    "IPv6": Ends(
        *("2001:db8::10", "fd01::2/64", "fd01::1/64", "fd01:0:0:4::9", "2001:db8::200", "2001:db8:7::7"),
        *("2001:db8:9::2/64", "fd02::9", "::/0", "ip6"),
    ),
}
_NEXT = {"203.0.113.2/24": "203.0.113.1/24", "2001:db8:9::2/64": "2001:db8:9::1/64"}


class Room:
    """A node with a pod, a network behind another card, and a client on its link."""

    def __init__(self, site: Site, node: Host, ends: Ends) -> None:
        self.ends, self.node = ends, node
        late, size = (" nodad", 64) if ends.family == "ip6" else ("", 24)
        self.pod, self.behind, self.client = site.add(), site.add(), site.add(f"{ends.host}/{size}")
        batch(
            node.namespace,
            "link add cni0 type bridge",
            "link set cni0 up",
            f"address add {ends.gateway} dev cni0{late}",
            f"link add veth0 type veth peer name pod0 netns {self.pod.namespace}",
            "link set veth0 master cni0 up",
            f"link add storage0 type veth peer name card0 netns {self.behind.namespace}",
            "link set storage0 up",
            f"address add {_NEXT[ends.behind]} dev storage0{late}",
            *(f"route add {each} dev eth0" for each in (ends.stranger, ends.other_pod)),
        )
        for host, card, address, via in (
            (self.pod, "pod0", ends.pod, ends.gateway),
            (self.behind, "card0", ends.behind, _NEXT[ends.behind]),
        ):
            batch(
                host.namespace,
                "link set eth0 down",
                f"link set {card} up",
                f"address add {address} dev {card}{late}",
                f"route add default via {via.partition('/')[0]}",
            )
        for address in (ends.stranger, ends.other_pod):
            batch(self.client.namespace, f"address add {address} dev eth0{late}")
        for name in ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"):
            node.run("sysctl", "-qw", f"{name}=1")

    def redirect(self, match: str, to: str) -> None:
        """What kube-proxy and the plug-in for ports of the host do."""
        chain = f"chain pre {{\ntype nat hook prerouting priority dstnat\n{match} dnat to {to}\n}}"
        self.node.run("nft", f"table {self.ends.family} kube {{\n{chain}\n}}")

    def reaches(self, source: str, target: str, port: str, *, is_open: bool = True) -> bool:
        """Whether the client gets an answer when it calls from one of its addresses."""
        batch(self.client.namespace, f"route replace {target} via {self.ends.node} src {source}")
        return bool(probe(self.client, target, port, is_open=is_open))


def probe(host: Host, target: str, *ports: str, is_open: bool = True) -> set[str]:
    deadline_s = LONG_S if is_open else SHORT_S
    argv = (sys.executable, "-m", "tests.component.firewall.probe", deadline_s, target, *ports)
    return {*host.run(*argv).split()}


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
def test_a_node_forwards_for_its_cluster_only(ends: Ends, site: Site, guarded: Guarded) -> None:
    room = Room(site, guarded.host, ends)
    pod, behind = ends.pod.partition("/")[0], ends.behind.partition("/")[0]
    inside = f"[{pod}]:8080" if ends.family == "ip6" else f"{pod}:8080"
    for target in (pod, behind):
        assert room.reaches(ends.stranger, target, "tcp/8080")  # Without a firewall the node routes for all.
    room.redirect(f"{ends.family} daddr {ends.service} tcp dport 80", f"{inside}")
    guarded.put(RULES_FILE, render_firewall(DUAL, DUAL.first))
    guarded.put("/run/muster/disk", "")
    assert guarded.load().returncode == 0

    for target in (pod, behind):
        assert not room.reaches(ends.stranger, target, "tcp/8080", is_open=False)
    assert not room.reaches(ends.host, behind, "tcp/8080", is_open=False)
    assert not room.reaches(ends.stranger, ends.service, "tcp/80", is_open=False)
    for source in (ends.host, ends.other_pod):
        assert room.reaches(source, pod, "tcp/8080")
        assert room.reaches(source, ends.service, "tcp/80")

    # Pods reach everything but the ports that hosts open to each other.
    assert probe(room.pod, ends.stranger, "tcp/2379", "tcp/8080") == {"tcp/2379", "tcp/8080"}
    assert probe(room.pod, ends.host, "tcp/10250", "tcp/8080") == {"tcp/10250", "tcp/8080"}
    assert probe(room.pod, ends.host, "tcp/2379", "tcp/2380", "udp/123", is_open=False) == set()


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
def test_a_service_opens_no_port_that_is_for_hosts(ends: Ends, site: Site, guarded: Guarded) -> None:
    """Services may have a port of a host as their endpoint."""
    room = Room(site, guarded.host, ends)
    member = ends.node[:-1] + "1"  # .10 and .11, ::10 and ::11
    pod, behind = ends.pod.partition("/")[0], ends.behind.partition("/")[0]
    late = " nodad" if ends.family == "ip6" else ""
    back = (f"route add {each} via {ends.node}" for each in (pod, behind))
    batch(room.client.namespace, f"address add {member} dev eth0{late}", *back)
    targets = {80: (ends.node, 2379), 81: (ends.node, 9100), 82: (ends.host, 2379), 83: (ends.host, 8080)}
    for port, (host, number) in targets.items():
        to = f"[{host}]:{number}" if ends.family == "ip6" else f"{host}:{number}"
        room.redirect(f"{ends.family} daddr {{ {ends.service}, {ends.node} }} tcp dport {port}", to)
    names = tuple(f"tcp/{port}" for port in targets)
    assert probe(room.pod, ends.service, *names) == {*names}
    guarded.put(RULES_FILE, render_firewall(DUAL, DUAL.first))
    assert guarded.load().returncode == 0

    assert probe(room.pod, ends.service, "tcp/81", "tcp/83") == {"tcp/81", "tcp/83"}
    assert not probe(room.pod, ends.service, "tcp/80", "tcp/82", is_open=False)
    assert probe(room.behind, ends.node, "tcp/83") == {"tcp/83"}
    assert not probe(room.behind, ends.node, "tcp/80", "tcp/82", is_open=False)
    # Members of etcd reach it, and so does the node itself.
    batch(room.client.namespace, f"route add {ends.node} dev eth0 src {member}")
    assert probe(room.client, ends.node, "tcp/2379") == {"tcp/2379"}
    assert room.reaches(member, ends.service, "tcp/80")
    assert probe(room.node, ends.node, "tcp/2379") == {"tcp/2379"}


def test_a_node_port_is_redirected_for_everyone(site: Site, guarded: Guarded) -> None:
    ends = ENDS["IPv4"]
    room = Room(site, guarded.host, ends)
    room.redirect(f"ip daddr {ends.node} udp dport 30080", "10.128.0.2:8080")
    guarded.put(RULES_FILE, render_firewall(DUAL, DUAL.first))
    assert guarded.load().returncode == 0
    batch(room.client.namespace, f"route replace {ends.node} dev eth0 src {ends.stranger}")
    assert probe(room.client, ends.node, "udp/30080") == {"udp/30080"}
    assert not probe(room.client, ends.node, "udp/30081", is_open=False)


def test_the_rules_of_a_site_may_route_for_others(site: Site, guarded: Guarded) -> None:
    ends = ENDS["IPv4"]
    room = Room(site, guarded.host, ends)
    guarded.put(RULES_FILE, render_firewall(DUAL, DUAL.first))
    guarded.put(f"{SITE_RULES}/50.nft", "add rule inet muster site_forward ip daddr 203.0.113.0/24 accept\n")
    assert guarded.load().returncode == 0
    assert room.reaches(ends.stranger, "203.0.113.2", "tcp/8080")
