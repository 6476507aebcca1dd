# SPDX-License-Identifier: Apache-2.0
"""The services answer real questions from another network namespace."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from muster.errors import ExternalError
from muster.lab.services.chrony import describe_chrony
from muster.lab.services.dnsmasq import Names, Offer, Pxe, Record, Reservation, Subnet, describe_dnsmasq
from muster.lab.services.registry import Registry, describe_registry, describe_store_registry
from muster.lab.services.service import Place, inside, start_service
from muster.lab.services.web import describe_web
from muster.run import run
from muster.toolbox import Toolbox
from tests.component.lab.conftest import NewNamespace, batch
from tests.stores import build_stored

MAC = "52:54:00:00:00:01"
OWN = "192.168.55.1"
ASKING = Path(__file__).parent / "asking.py"


class Lab:
    """The lab's namespace, and one of a machine that is plugged into its bridge."""

    def __init__(self, new_namespace: NewNamespace, folder: Path) -> None:
        self.namespace, self.machine = new_namespace(), new_namespace()
        self.place = Place(folder, self.namespace)
        batch(
            self.namespace,
            "link add br0 type bridge",
            f"addr add {OWN}/24 dev br0",
            "addr add fd00:55::1/64 dev br0 nodad",
            "link set br0 up",
            f"link add tap0 type veth peer name eth0 address {MAC} netns {self.machine}",
            "link set tap0 master br0 up",
        )
        batch(self.machine, "link set eth0 up")

    def give_address(self) -> None:
        batch(self.machine, "addr add 192.168.55.80/24 dev eth0", "addr add fd00:55::80/64 dev eth0 nodad")

    def ask(self, *words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(run([*inside(self.machine), sys.executable, ASKING, *words]))
        return found


@pytest.fixture
def lab(new_namespace: NewNamespace, tmp_path: Path) -> Lab:
    return Lab(new_namespace, tmp_path)


def test_dhcp_and_dns(lab: Lab, toolbox: Toolbox) -> None:
    offer = Offer(
        (Subnet("br0", f"{OWN}/24", gateway=OWN), Subnet("br0", "fd00:55::1/64")),
        ntp=True,
        reservations=(Reservation(MAC, "master-0", ("192.168.55.80", "fd00:55::80")),),
        pxe=Pxe(f"http://{OWN}/boot.ipxe"),
    )
    names = Names(
        "lab.example.com",
        (
            Record("api.lab.example.com", ("192.168.55.5",)),
            Record("*.apps.lab.example.com", ("192.168.55.6",)),
        ),
    )
    service = describe_dnsmasq(offer, names, program=toolbox.argv("dnsmasq"))
    start_service(service, lab.place)
    assert lab.ask("dhcp", "eth0", MAC) == {
        "type": 5,
        "address": "192.168.55.80",
        "name": "master-0",
        "router": "c0a83701",
        "dns": OWN,
        "ntp": OWN,
        "file": f"http://{OWN}/boot.ipxe",
    }
    assert {path.name for path in lab.place.of(service).iterdir()} == {"dnsmasq.conf", "leases", "log"}
    assert not Path("/dnsmasq.pid").exists()
    assert lab.ask("dhcp6", "eth0", MAC) == {"type": 2, "address": "fd00:55::80", "dns": "fd00:55::1"}
    lab.give_address()
    for name, addresses in [
        ("api.lab.example.com", ["192.168.55.5"]),
        ("console.apps.lab.example.com", ["192.168.55.6"]),
        ("master-0.lab.example.com", ["192.168.55.80"]),
    ]:
        assert lab.ask("dns", OWN, name) == {"status": 0, "addresses": addresses}
    assert lab.ask("dns", "fd00:55::1", "api.lab.example.com")["addresses"] == ["192.168.55.5"]
    assert lab.ask("dns", OWN, "nowhere.lab.example.com")["status"] == 3
    assert lab.ask("dns", OWN, "example.org")["status"] == 5, "refused at once, not after a time-out"


def test_ntp(lab: Lab, toolbox: Toolbox) -> None:
    start_service(describe_chrony(program=toolbox.argv("chronyd")), lab.place)
    lab.give_address()
    for server in (OWN, "fd00:55::1"):
        answer = lab.ask("ntp", server)
        assert answer["stratum"] == 8
        assert answer["leap"] == 0, "it is in step"
        assert answer["off_s"] < 2


FETCH = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=10).read().decode())"


def test_registry_and_files(lab: Lab, toolbox: Toolbox, tmp_path: Path) -> None:
    (tmp_path / "note").write_text("hello")
    start_service(describe_registry(Registry(), program=toolbox.argv("docker-registry")), lab.place)
    start_service(describe_web(tmp_path, address=OWN), lab.place)
    lab.give_address()
    for url, content in [(f"http://{OWN}:5000/v2/", "{}"), (f"http://{OWN}/note", "hello")]:
        assert run([*inside(lab.machine), sys.executable, "-c", FETCH, url]) == content


def test_a_registry_that_serves_a_store(lab: Lab, tmp_path: Path) -> None:
    stored = build_stored(tmp_path / "store")
    start_service(describe_store_registry(stored.store.root), lab.place)
    lab.give_address()
    for host in (OWN, "[fd00:55::1]"):
        url = f"http://{host}:5000/v2/team/tool/manifests/v1"
        assert run([*inside(lab.machine), sys.executable, "-c", FETCH, url]) == stored.tool.data.decode()


def test_a_service_that_cannot_start_says_why(lab: Lab, toolbox: Toolbox) -> None:
    service = describe_registry(Registry(), program=toolbox.argv("docker-registry"))
    start_service(service, lab.place)
    with pytest.raises(ExternalError, match="the lab's registry ended") as caught:
        start_service(service, lab.place)
    assert "address already in use" in caught.value.message
