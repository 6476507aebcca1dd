# SPDX-License-Identifier: Apache-2.0
"""The ISO that replaces a lost control-plane host: its configuration comes from those that are left."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from muster.model.ignition import Config as Ignition
from muster.model.ignition import File, find_file, render_tree, tree_of
from muster.model.replacement import CONFIG_FILE, REPLACEMENT_FILE
from tests.component.agent.making import ignition
from tests.component.live import Live
from tests.component.muster import Result, run

ISO = "host-master-2.x86_64.iso"
# It stands in for ssh, and for sudo on the other side: the address tells which host it is.
SSH = """\
#!/bin/sh
while [ "$1" != -- ]; do shift; done
folder={folder}/$2
[ -d "$folder" ] || {{ echo "ssh: connect to host $2 port 22: No route to host" >&2; exit 255; }}
shift 2
PATH={folder}/bin:$PATH exec sh -c "$(echo "$*" | sed "s,/etc/muster/kept,$folder,")"
"""
SUDO = '#!/bin/sh\nshift\nexec "$@"\n'


def config_of(name: str) -> dict[str, Any]:
    return tree_of(Ignition((File("/etc/hostname", f"{name}\n".encode()), File("/etc/key", name.encode()))))


def put_program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """master-1 and master-3 are left, and keep what hosts of a control plane keep."""
    folder = tmp_path / "hosts"
    for address, names in (("192.168.10.11", (2, 3)), ("192.168.10.13", (1, 2))):
        (folder / address).mkdir(parents=True)
        for number in names:
            data = render_tree(config_of(f"master-{number}"))
            (folder / address / f"master-{number}.ign").write_bytes(data)
    put_program(folder / "bin/ssh", SSH.format(folder=folder))
    put_program(folder / "bin/sudo", SUDO)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    return folder


def create(site: Path, base: Live, *more: str | Path) -> Result:
    return run(
        "agent", "create", "host-image", "--dir", site, "--host", "master-2", "--base-image", base.path, *more
    )


def shown(site: Path) -> dict[str, object]:
    return ignition(site / ISO)


@pytest.mark.usefixtures("hosts")
def test_a_lost_host_is_written_again_from_what_the_others_keep(site: Path, build_x86: Live) -> None:
    done = create(site, build_x86)
    assert done.status == 0, done.err
    assert "boot the machine with 52:54:00:a4:00:02" in done.out
    assert "has the keys of master-2, master-1, master-3: its holder is root of the cluster" in done.out
    tree = shown(site)
    said = json.loads(find_file(tree, REPLACEMENT_FILE) or b"")
    assert said == {
        "id": said["id"],
        "hostname": "master-2",
        "role": "master",
        "macs": ["52:54:00:a4:00:02"],
        "addresses": ["192.168.10.12"],
        "hints": {"serial_number": "S4EVNX0M100002"},
    }
    config = json.loads(find_file(tree, CONFIG_FILE) or b"")
    assert find_file(config, "/etc/key") == b"master-2"
    for other in ("master-1", "master-3"):  # Each was kept by another host, and the new one keeps both.
        assert find_file(config, f"/etc/muster/kept/{other}.ign") == render_tree(config_of(other))
    assert find_file(config, "/etc/muster/kept/master-2.ign") is None
    whole: Any = tree
    units = [unit["name"] for unit in whole["systemd"]["units"]]
    assert {"muster-replace.service", "muster-network.service"} <= set(units)
    paths = [each["path"] for each in whole["storage"]["files"]]
    assert not [path for path in paths if "rendezvous" in path or "/tls/" in path or "token" in path]
    assert (site / ISO).stat().st_mode & 0o777 == 0o600


def test_one_that_is_left_is_enough(site: Path, build_x86: Live, hosts: Path) -> None:
    for path in (hosts / "192.168.10.11").iterdir():
        path.unlink()
    (hosts / "192.168.10.11").rmdir()
    done = create(site, build_x86, "--disk", "/dev/sdb")
    assert done.status == 0, done.err
    assert "master-1: ssh: connect to host 192.168.10.11 port 22: No route to host" in done.err
    assert json.loads(find_file(shown(site), REPLACEMENT_FILE) or b"")["hints"] == {"device_name": "/dev/sdb"}


def test_a_copy_of_the_configuration_does_as_well(site: Path, build_x86: Live, tmp_path: Path) -> None:
    copy = tmp_path / "master-2.ign"
    copy.write_bytes(render_tree(config_of("master-2")))
    done = create(site, build_x86, "--config", copy)
    assert done.status == 0, done.err
    assert "has the keys of master-2: its holder" in done.out
    again = create(site, build_x86, "--config", copy)
    assert "nothing has changed" in again.out
    copy.write_bytes(render_tree(config_of("master-1")))
    wrong = create(site, build_x86, "--config", copy)
    assert wrong.status == 1
    assert "nobody has the configuration of master-2; there are those of: master-1" in wrong.err
    copy.write_bytes(b"{}")
    assert "is not an Ignition config" in create(site, build_x86, "--config", copy).err


@pytest.mark.usefixtures("hosts")
def test_nobody_who_is_left_says_so(site: Path, build_x86: Live) -> None:
    done = create(site, build_x86, "--from", "192.168.10.99")
    assert done.status == 1
    assert "192.168.10.99: ssh: connect to host 192.168.10.99" in done.err
    assert "nobody has the configuration of master-2; there are those of: none" in done.err
    assert "--config" in done.err
    assert not (site / ISO).exists()
