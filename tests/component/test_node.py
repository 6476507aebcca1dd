# SPDX-License-Identifier: Apache-2.0
"""What makes a node of a host, judged by real programs: Ignition, systemd, openssl, a shell."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from muster.model.ignition import Config, render_tree, tree_of
from muster.release.node.payload import plan_cluster
from muster.release.node.templates import load_template
from tests.clusters import CLUSTERS, RELEASE, authorities
from tests.component.test_ignition import validate
from tests.seeds import seeded

NEWER = "RestartMode"
"""What systemd of this machine may not know yet; that of the machine OS does."""


def plan(name: str) -> dict[str, Config]:
    return plan_cluster(RELEASE, CLUSTERS[name], authorities(), seeded("hosts"))


@pytest.mark.parametrize("name", CLUSTERS)
def test_ignition_accepts_it(name: str) -> None:
    for config in plan(name).values():
        assert validate(render_tree(tree_of(config))) == ""


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    """All units of all roles, with stand-ins for what the machine OS or the release brings."""
    configs = plan("with-worker") | plan("arbiter")
    units = {unit.name: unit.contents for host in configs for unit in configs[host].units}
    for name in ("containerd", "NetworkManager"):
        units[f"{name}.service"] = "[Service]\nExecStart=/bin/true\n"
    for name, text in units.items():
        # The programs are not here; that they exist is what other tests say.
        shown = text.replace("/usr/local/bin/", "/bin/true #").replace("/usr/bin/muster ", "/bin/true ")
        (tmp_path / name).write_text(shown)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *map(str, sorted(tmp_path.iterdir()))],
        env={"PATH": os.environ["PATH"], "SYSTEMD_UNIT_PATH": f"{tmp_path}:/lib/systemd/system"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if str(tmp_path) in line and NEWER not in line]
    assert said == []


def put(config: Config, root: Path) -> None:
    for file in config.files:
        path = root / file.path.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)


@pytest.mark.parametrize(
    ("trusted", "certificate", "purpose"),
    [
        ("api-ca.crt", "apiserver.crt", "sslserver"),
        ("client-ca.crt", "apiserver-kubelet-client.crt", "sslclient"),
        ("kubelet-ca.crt", "kubelet.crt", "sslserver"),
        ("etcd/ca.crt", "etcd/member.crt", "sslserver"),
        ("etcd/ca.crt", "etcd/member.crt", "sslclient"),
        ("front-proxy-ca.crt", "front-proxy-client.crt", "sslclient"),
    ],
)
def test_openssl_verifies_the_certificates(
    trusted: str, certificate: str, purpose: str, tmp_path: Path
) -> None:
    put(plan("dual-stack")["master-0"], tmp_path)
    pki = tmp_path / "etc/kubernetes/pki"
    argv = ["openssl", "verify", "-x509_strict", "-attime", "1772366400", "-purpose", purpose]
    done = subprocess.run(
        [*argv, "-CAfile", pki / trusted, pki / certificate], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A host of a cluster, as a folder."""
    root = tmp_path / "root"
    put(plan("with-worker")["master-0"], root)
    (root / "bin").mkdir()
    stand_in(root, "muster-listens", "")
    return root


def stand_in(root: Path, name: str, text: str) -> None:
    """A program that notes what it was asked, and then does something."""
    path = root / "bin" / name
    path.write_text(f'#!/bin/sh\necho "{name} $*" >>"{root}/asked"\n{text}\n')
    path.chmod(0o755)


def start(root: Path, script: str, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    program = root / script
    program.write_text(load_template(f"scripts/{script}.sh"))
    env = {"PATH": f"{root}/bin:{os.environ['PATH']}", "MUSTER_ROOT": str(root), **more}
    return subprocess.run(["sh", program, *arguments], env=env, capture_output=True, text=True, check=False)


def asked(root: Path, name: str) -> list[str]:
    return [line for line in (root / "asked").read_text().splitlines() if line.startswith(f"{name} ")]


COUNT = """\
count=$(cat "$MUSTER_ROOT/count" 2>/dev/null || echo 0)
echo $((count + 1)) >"$MUSTER_ROOT/count"
"""


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("[+]ping ok\\n[-]etcd failed: reason withheld\\n", "[-]etcd failed: reason withheld "),
        ("curl: (7) Failed to connect\\n", "curl: (7) Failed to connect "),
        (
            'curl: (22) 403\\n{\\n "kind": "Status",\\n "message": "forbidden",\\n "code": 403\\n}',
            'curl: (22) 403 "message": "forbidden", ',
        ),
    ],
)
def test_waiting_for_the_api_says_what_it_lacks_once(answer: str, reason: str, host: Path) -> None:
    stand_in(host, "sleep", "")
    stand_in(host, "curl", f"{COUNT}[ $count -ge 3 ] && exit 0\nprintf '{answer}'; exit 22")
    done = start(host, "wait-for-api", "https://192.0.2.5:6443")
    assert done.returncode == 0
    assert done.stdout == f"waiting for the API at https://192.0.2.5:6443: {reason}\n"
    assert len(asked(host, "curl")) == 4
    assert f"--cacert {host}/etc/kubernetes/pki/api-ca.crt" in asked(host, "curl")[0]
    assert "--insecure" not in asked(host, "curl")[0]


def test_waiting_for_the_api_takes_one_program_and_one_connection(host: Path) -> None:
    connections, answers = [], iter([(500, b"[-]etcd failed"), (403, b"{}"), (200, b"ok")])

    class Api(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            connections.append(self.client_address)
            super().setup()

        def do_GET(self) -> None:
            status, body = next(answers)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Api) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        done = start(host, "wait-for-api", f"http://127.0.0.1:{server.server_port}", no_proxy="127.0.0.1")
        server.shutdown()
        thread.join()
    assert (done.returncode, done.stdout, len(connections)) == (0, "", 1)
    assert next(answers, None) is None


def connect(host: Path, tools: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    for name, text in {"sleep": "", "nft": "", "systemd-notify": "", **tools}.items():
        stand_in(host, name, text)
    return start(host, "node-network")


ADDRESSES = """\
case "$*" in
*"address show to"*) %s ;;
"monitor address") echo 1; echo 2 ;;
esac
"""


def test_the_network_waits_for_addresses_and_mends_routes(host: Path) -> None:
    late = f"{COUNT}[ $count -ge 2 ] && echo 'eth0 inet 192.0.2.10/24'"
    done = connect(host, {"ip": ADDRESSES % late})
    assert done.stdout == "waiting for this host's addresses: 192.0.2.10\n"
    # Once at the beginning, and after each change of an address; when nobody tells of those, it begins anew.
    batches = [line for line in asked(host, "ip") if "-batch" in line]
    assert len(batches) == 3
    assert done.returncode == 1
    assert asked(host, "systemd-notify") == ["systemd-notify --ready"]


def test_a_host_without_a_way_to_the_others_does_not_come_up_alone(host: Path) -> None:
    broken = "*-batch*) echo 'Error: Nexthop has invalid gateway.' >&2; exit 1 ;;\nesac\n"
    there = ADDRESSES % "echo 'eth0 inet 192.0.2.10/24'"
    done = connect(host, {"ip": there.replace("esac\n", broken)})
    assert done.returncode == 1
    assert done.stdout.endswith("of all other hosts: Error: Nexthop has invalid gateway.\n")
    assert asked(host, "nft")
    assert not (host / "asked").read_text().count("systemd-notify")


def test_the_routes_lead_to_the_pods_of_the_others(tmp_path: Path) -> None:
    """With the real program, in a network of its own."""
    put(plan("dual-stack")["master-0"], tmp_path)
    network = tmp_path / "etc/kubernetes/network"
    own = " && ".join(
        f"ip address add {address}/{64 if ':' in address else 24} dev card"
        for address in (network / "addresses").read_text().split()
    )
    script = (
        "ip link add card type veth peer name other && ip link set card up && ip link set other up"
        f" && {own} && ip -force -batch {network / 'routes'} && ip -4 route && ip -6 route"
    )
    done = subprocess.run(
        ["unshare", "--net", "sh", "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = {tuple(line.split()[:3]) for line in done.stdout.splitlines() if " via " in line}
    wanted = [line.split() for line in (network / "routes").read_text().splitlines()]
    assert found == {(subnet, "via", hop) for _, _, subnet, _, hop in wanted}
    assert {":" in subnet for subnet, _, _ in found} == {True, False}


def test_an_address_that_may_be_taken_does_not_count(host: Path) -> None:
    twice = f"{COUNT}[ $count -ge 2 ] && echo 'eth0 inet6 2001:db8::10/64' || echo 'eth0 inet6 tentative'"
    assert "waiting for this host's addresses" in connect(host, {"ip": ADDRESSES % twice}).stdout


def test_a_network_without_other_hosts_has_nothing_to_watch(host: Path) -> None:
    (host / "etc/kubernetes/network/routes").write_text("")
    done = connect(host, {"ip": ADDRESSES % "echo 'eth0 inet 192.0.2.10/24'"})
    assert (done.returncode, done.stdout) == (0, "")
    assert not [line for line in asked(host, "ip") if "monitor" in line]


def test_keepalived_waits_for_the_card_that_has_this_host_s_address(host: Path) -> None:
    (host / "run/muster-vips").mkdir(parents=True)
    stand_in(host, "ip", "")
    done = start(host, "vips")
    assert (done.returncode, done.stdout) == (1, "no card of this host has its address 192.0.2.10\n")
    stand_in(host, "ip", "echo '4: bond0.7    inet 192.0.2.10/24 scope global bond0.7'")
    assert start(host, "vips").returncode == 0
    conf = (host / "run/muster-vips/keepalived.conf").read_text()
    assert "    interface bond0.7\n" in conf
    assert "interface of-" not in conf


@pytest.mark.parametrize(
    ("codes", "listens"),
    [((0,), True), ((35,), True), ((7, 0), True), ((7, 52), True), ((7, 28), False), ((2, 127), False)],
)
def test_whoever_answers_takes_requests(codes: tuple[int, ...], listens: bool, host: Path) -> None:
    answers = " ".join(f"{number}) exit {code} ;;" for number, code in enumerate(codes))
    stand_in(host, "curl", f"{COUNT}case $count in {answers} esac")
    assert (start(host, "ingress-listens", "[2001:db8::10]", "1").returncode == 0) is listens
    asked_for = [line.split()[-1] for line in asked(host, "curl")]
    assert asked_for == ["https://[2001:db8::10]:443/", "http://[2001:db8::10]:80/"][: len(codes)]


@pytest.mark.parametrize("script", ["api-ready", "ingress-listens", "node-network", "vips", "wait-for-api"])
def test_scripts_are_scripts(script: str, tmp_path: Path) -> None:
    path = tmp_path / script
    path.write_text(load_template(f"scripts/{script}.sh"))
    subprocess.run(["sh", "-n", path], check=True)


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "[::1]")])
def test_who_listens_is_found_without_a_request(
    family: socket.AddressFamily, host: str, tmp_path: Path
) -> None:
    program = tmp_path / "listens"
    program.write_text(load_template("scripts/listens.sh"))
    with socket.create_server((host.strip("[]"), 0), family=family) as server:
        place = f"{host}:{server.getsockname()[1]}"
        assert subprocess.run(["bash", program, f"https://{place}/readyz"], check=False).returncode == 0
    done = subprocess.run(["bash", program, f"https://{place}"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, f"nobody listens at {place}\n", "")


def test_nobody_is_asked_who_does_not_listen(host: Path) -> None:
    stand_in(host, "muster-listens", f"{COUNT}[ $count -ge 3 ] && exit 0\necho 'nobody listens at x'; exit 1")
    for program in ("curl", "sleep"):
        stand_in(host, program, "")
    assert start(host, "api-ready", "https://127.0.0.1:6443", "2").returncode == 1
    assert start(host, "ingress-listens", "192.0.2.10", "1").returncode == 1
    assert asked(host, "curl") == []
    assert start(host, "api-ready", "https://127.0.0.1:6443", "2").returncode == 0
    (words,) = asked(host, "curl")
    assert words.endswith(
        f"--max-time 2 --noproxy * --cacert {host}/etc/kubernetes/pki/api-ca.crt https://127.0.0.1:6443/readyz"
    )


def test_waiting_says_once_that_nobody_listens(host: Path) -> None:
    stand_in(host, "muster-listens", f"{COUNT}[ $count -ge 3 ] && exit 0\necho 'nobody listens at x'; exit 1")
    for program in ("curl", "sleep"):
        stand_in(host, program, "")
    assert (
        start(host, "wait-for-api", "https://x").stdout
        == "waiting for the API at https://x: nobody listens at x \n"
    )
