# SPDX-License-Identifier: Apache-2.0
"""The programs of the live system, run by a real shell on a tree that looks like a machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from muster.config.document.folder import Directory
from muster.image.ignition.network import network_files
from muster.image.ignition.scripts import load_script
from muster.model.ignition import File
from tests.golden.test_examples import ROOT, resolve


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    for folder in ("sys/class/net", "etc", "proc/sys/kernel"):
        (tmp_path / folder).mkdir(parents=True)
    plug(tmp_path, "lo", "00:00:00:00:00:00", real=False)
    return tmp_path


def plug(machine: Path, name: str, mac: str, *, real: bool = True, permanent: str = "") -> None:
    """An interface: a card, or one that is made of others; a card in a bond has a permanent address."""
    card = machine / "sys/class/net" / name
    card.mkdir()
    (card / "address").write_text(f"{mac}\n")
    if real:
        (card / "device").mkdir()
    if permanent:
        (card / "bonding_slave").mkdir()
        (card / "bonding_slave/perm_hwaddr").write_text(f"{permanent}\n")


def put(machine: Path, files: tuple[File, ...]) -> None:
    for file in files:
        path = machine / file.path.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)


def start(machine: Path, name: str, *arguments: str) -> str:
    program = machine / f"{name}.sh"
    program.write_bytes(load_script(name))
    result = subprocess.run(
        ["sh", str(program), *arguments],
        env={"PATH": os.environ["PATH"], "MUSTER_ROOT": str(machine)},
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stderr


def profiles(machine: Path) -> dict[str, str]:
    folder = machine / "etc/NetworkManager/system-connections"
    return {path.name: path.read_text() for path in sorted(folder.iterdir())} if folder.exists() else {}


def test_a_host_takes_its_own_profiles(machine: Path) -> None:
    plan = resolve(Directory(ROOT / "examples/compact-baremetal"))
    put(machine, network_files(plan.hosts))
    plug(machine, "ens3", plan.hosts[1].cards[0].mac_address.upper())
    said = start(machine, "network")
    assert "host1" in said
    (name, text), *rest = profiles(machine).items()
    assert rest == []
    assert name == "eno1.nmconnection"
    assert "interface-name=ens3\n" in text
    assert plan.hosts[1].addresses[0] in text
    assert "autoconnect-priority=1\n" in text
    mode = (machine / "etc/NetworkManager/system-connections" / name).stat().st_mode
    assert mode & 0o777 == 0o600


def test_no_match_is_said_on_the_console(machine: Path) -> None:
    put(machine, network_files(resolve(Directory(ROOT / "examples/compact-baremetal")).hosts))
    plug(machine, "ens3", "02:00:00:00:00:99")
    said = start(machine, "network")
    assert "no host of the site has a MAC address of this machine" in said
    assert "02:00:00:00:00:99 (ens3)" in said
    assert profiles(machine) == {}
    issue = (machine / "etc/issue.d/50-muster-network.issue").read_text()
    assert "02:00:00:00:00:99" in issue
    assert issue == issue.splitlines()[0] + "\n"
    start(machine, "network")
    assert (machine / "etc/issue.d/50-muster-network.issue").read_text() == issue


def test_swapped_names_come_out_right(machine: Path) -> None:
    folder = machine / "etc/assisted/network/host0"
    folder.mkdir(parents=True)
    (folder / "mac_interface.ini").write_text("02:00:00:00:00:01=eth0\n02:00:00:00:00:02=eth1\n")
    (folder / "eth0.nmconnection").write_text("[connection]\ninterface-name=eth0\n")
    (folder / "eth1.nmconnection").write_text("[connection]\ninterface-name=eth1\n")
    (folder / "v.nmconnection").write_text("[vlan]\nparent=eth1\nid=7\n\n[ipv4]\nroute0=0.0.0.0/0,10.0.0.1,0")
    plug(machine, "eth0", "02:00:00:00:00:02")
    plug(machine, "eth1", "02:00:00:00:00:01")
    start(machine, "network")
    found = profiles(machine)
    assert found["eth0.nmconnection"] == "[connection]\ninterface-name=eth1\n"
    assert found["eth1.nmconnection"] == "[connection]\ninterface-name=eth0\n"
    assert found["v.nmconnection"] == "[vlan]\nparent=eth0\nid=7\n\n[ipv4]\nroute0=0.0.0.0/0,10.0.0.1,0\n"


def plug_bond(machine: Path) -> None:
    """bond0 with a VLAN on it and two cards in it, all with one address."""
    plug(machine, "bond0", "02:00:00:00:00:01", real=False)
    plug(machine, "bond0.7", "02:00:00:00:00:01", real=False)
    plug(machine, "ens1", "02:00:00:00:00:01", permanent="02:00:00:00:00:01")
    plug(machine, "ens2", "02:00:00:00:00:01", permanent="02:00:00:00:00:02")


def test_cards_in_a_bond_are_known_by_their_own_addresses(machine: Path) -> None:
    folder = machine / "etc/assisted/network/host0"
    folder.mkdir(parents=True)
    (folder / "mac_interface.ini").write_text("02:00:00:00:00:01=eth0\n02:00:00:00:00:02=eth1\n")
    for name in ("eth0", "eth1"):
        (folder / f"{name}.nmconnection").write_text(f"[connection]\ninterface-name={name}\nmaster=bond0\n")
    plug_bond(machine)
    start(machine, "network")
    assert profiles(machine) == {
        "eth0.nmconnection": "[connection]\ninterface-name=ens1\nmaster=bond0\n",
        "eth1.nmconnection": "[connection]\ninterface-name=ens2\nmaster=bond0\n",
    }


def test_a_bond_does_not_name_a_host(machine: Path) -> None:
    names = machine / "etc/assisted/hostnames"
    names.mkdir(parents=True)
    (names / "02:00:00:00:00:02").write_text("node-b\n")
    plug(machine, "br0", "02:00:00:00:00:0a", real=False)
    (names / "02:00:00:00:00:0a").write_text("node-a\n")
    plug_bond(machine)
    assert "this host is node-b" in start(machine, "hostname")


def test_in_the_initrd_profiles_go_where_its_networkmanager_looks(machine: Path) -> None:
    plan = resolve(Directory(ROOT / "examples/compact-baremetal"))
    put(machine, network_files(plan.hosts))
    (machine / "etc/initrd-release").touch()
    plug(machine, "ens3", plan.hosts[0].cards[0].mac_address)
    start(machine, "network")
    assert (machine / "run/NetworkManager/system-connections/eno1.nmconnection").exists()


def test_the_name_of_any_card_will_do(machine: Path) -> None:
    names = machine / "etc/assisted/hostnames"
    names.mkdir(parents=True)
    (names / "02:00:00:00:00:0b").write_text("node-b\n")
    plug(machine, "ens3", "02:00:00:00:00:01")
    plug(machine, "ens4", "02:00:00:00:00:0B")
    assert "this host is node-b" in start(machine, "hostname")
    assert (machine / "etc/hostname").read_text() == "node-b\n"
    assert (machine / "proc/sys/kernel/hostname").read_text() == "node-b"


def test_a_machine_without_a_name_keeps_its_own(machine: Path) -> None:
    assert "no name" in start(machine, "hostname")
    assert not (machine / "etc/hostname").exists()


def pack(folder: Path, files: dict[str, str]) -> Path:
    """A configuration medium."""
    content, medium = folder / "content", folder / "medium"
    medium.mkdir(parents=True)
    for name, text in files.items():
        (content / name).parent.mkdir(parents=True, exist_ok=True)
        (content / name).write_text(text)
        (content / name).chmod(0o640)
    subprocess.run(
        f"cd {content} && find . | cpio -o -H newc --quiet | gzip > {medium}/config.gz",
        shell=True,
        check=True,
    )
    return medium


SITE = {"etc/assisted/rendezvous-host.env": "NODE_ZERO_IP=192.0.2.1\n", "etc/chrony.conf": "server a\n"}
RELEASE, KEY = "etc/assisted/agent-installer.env", "etc/assisted/release-key.pem"


def test_a_configuration_medium_is_taken_once(machine: Path, tmp_path: Path) -> None:
    (machine / "etc").chmod(0o711)
    medium = pack(tmp_path / "one", SITE)
    assert "has taken its configuration" in start(machine, "load-config", str(medium))
    assert (machine / "etc/chrony.conf").read_text() == "server a\n"
    assert (machine / "etc/chrony.conf").stat().st_mode & 0o777 == 0o640
    assert (machine / "etc").stat().st_mode & 0o777 == 0o711
    assert (machine / "etc/assisted/rendezvous-host.env").read_text() == SITE[
        "etc/assisted/rendezvous-host.env"
    ]
    assert [path.name for path in (machine / "etc/assisted").iterdir()] == ["rendezvous-host.env"]
    assert [path.name for path in (machine / "run/muster").iterdir()] == ["config-image"]
    other = pack(tmp_path / "two", {**SITE, "etc/chrony.conf": "server b\n"})
    assert "has its configuration already" in start(machine, "load-config", str(other))
    assert (machine / "etc/chrony.conf").read_text() == "server a\n"


def put_network(machine: Path, name: str) -> None:
    """The static network that a generic medium brings, in place."""
    folder = machine / "etc/assisted/network/host7"
    folder.mkdir(parents=True)
    (folder / "mac_interface.ini").write_text("02:00:00:00:00:01=eth0\n")
    (folder / f"{name}.nmconnection").write_text("[connection]\ninterface-name=eth0\n")
    plug(machine, "ens3", "02:00:00:00:00:01")
    start(machine, "network")
    own = machine / "etc/NetworkManager/system-connections/own.nmconnection"
    own.write_text("[connection]\n")
    assert sorted(profiles(machine)) == sorted([f"{name}.nmconnection", "own.nmconnection"])


@pytest.mark.parametrize("initrd", [False, True])
def test_the_network_of_a_site_replaces_that_of_the_generic_medium(
    machine: Path, tmp_path: Path, initrd: bool
) -> None:
    put_network(machine, "old card")
    if initrd:
        (machine / "etc/initrd-release").touch()
        start(machine, "network")
        (machine / "etc/initrd-release").unlink()
        assert (machine / "run/NetworkManager/system-connections/old card.nmconnection").exists()
    network = "etc/assisted/network/host0"
    site = {
        f"{network}/mac_interface.ini": "02:00:00:00:00:01=eno1\n",
        f"{network}/eno1.nmconnection": "[connection]\ninterface-name=eno1\n",
    }
    start(machine, "load-config", str(pack(tmp_path / "one", SITE | site)))
    assert sorted(profiles(machine)) == ["own.nmconnection"]
    assert not list((machine / "run").rglob("*.nmconnection"))
    assert [path.name for path in (machine / "etc/assisted/network").iterdir()] == ["host0"]
    start(machine, "network")
    assert profiles(machine)["eno1.nmconnection"] == "[connection]\ninterface-name=ens3\n"


def test_a_site_without_a_network_leaves_that_of_the_generic_medium(machine: Path, tmp_path: Path) -> None:
    put_network(machine, "eth0")
    start(machine, "load-config", str(pack(tmp_path / "one", SITE)))
    assert sorted(profiles(machine)) == ["eth0.nmconnection", "own.nmconnection"]
    assert (machine / "etc/assisted/network/host7").exists()


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"etc/chrony.conf": "x"}, "names no rendezvous host"),
        ({**SITE, RELEASE: "RELEASE_IMAGE=registry.example.com/other@sha256:2\n"}, "is for another release"),
        ({**SITE, KEY: "other"}, "has another key for signatures"),
    ],
)
def test_a_wrong_configuration_changes_nothing(
    machine: Path, tmp_path: Path, files: dict[str, str], said: str
) -> None:
    for path, text in ((RELEASE, "RELEASE_IMAGE=registry.example.com/own@sha256:1\n"), (KEY, "own")):
        (machine / path).parent.mkdir(parents=True, exist_ok=True)
        (machine / path).write_text(text)
    with pytest.raises(subprocess.CalledProcessError) as caught:
        start(machine, "load-config", str(pack(tmp_path / "one", files)))
    assert said in caught.value.stderr
    assert said in (machine / "etc/issue.d/60-muster-config-image.issue").read_text()
    assert not (machine / "etc/chrony.conf").exists()
    assert not (machine / "etc/assisted/rendezvous-host.env").exists()


def test_the_release_counts_and_not_the_file_that_it_was_written_in(machine: Path, tmp_path: Path) -> None:
    """The manifest of one directory may name a tag, and that of the other the digest of the same image."""
    named = "RELEASE_IMAGE=registry.example.com/own@sha256:1\n"
    image_set = "etc/assisted/manifests/cluster-image-set.yaml"
    for path, text in ((RELEASE, named), (image_set, "releaseImage: own:1"), (KEY, "key")):
        (machine / path).parent.mkdir(parents=True, exist_ok=True)
        (machine / path).write_text(text)
    start(machine, "load-config", str(pack(tmp_path / "one", {**SITE, RELEASE: named, image_set: "other"})))
    assert (machine / image_set).read_text() == "other"
    assert (machine / KEY).read_text() == "key", "a configuration does not turn the check of signatures off"


def test_a_damaged_configuration_changes_nothing(machine: Path, tmp_path: Path) -> None:
    medium = pack(tmp_path / "one", SITE)
    data = (medium / "config.gz").read_bytes()
    (medium / "config.gz").write_bytes(data[: len(data) // 2])
    with pytest.raises(subprocess.CalledProcessError) as caught:
        start(machine, "load-config", str(medium))
    assert "muster: the configuration on" in caught.value.stderr
    assert not (machine / "etc/assisted/rendezvous-host.env").exists()
