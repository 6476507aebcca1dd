# SPDX-License-Identifier: Apache-2.0
"""`muster host bundle` and `muster agent gather` as programs: what they print, leave behind and end with."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.image.kept import load_secrets
from tests import media
from tests.component import muster
from tests.component.client import apart
from tests.component.support.scene import SECRET, Room, read_archive, save

EXAMPLE = Path(__file__).parents[3] / "examples" / "compact-baremetal"
JOURNALCTL = (
    f"#!/bin/sh\necho muster-agent: hello, token={SECRET}\necho 'Out of memory: Killed process 1 (etcd) x'\n"
)


@pytest.fixture(autouse=True)
def journalctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A journal and a kernel log, whatever this machine has."""
    program = tmp_path / "bin/journalctl"
    for path, text in ((program, JOURNALCTL), (tmp_path / "bin/dmesg", "#!/bin/sh\necho all is well\n")):
        save(path, text)
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return program


def bundle(*arguments: str | Path) -> muster.Result:
    return muster.run("host", "bundle", "--data", "/nowhere", *arguments)


def test_a_bundle_in_a_directory(tmp_path: Path) -> None:
    place = tmp_path / "usb"
    place.mkdir()
    done = bundle("--to", place)
    assert done.status == 0, done.err
    (path,) = place.iterdir()
    assert done.out.splitlines()[-1] == str(path)
    assert path.name.startswith("muster-bundle-")
    assert path.stat().st_mode & 0o777 == 0o600
    assert "most probable cause: the host ran out of memory, and the kernel ended etcd" in done.err
    files = read_archive(path)
    assert SECRET not in "".join(files.values())
    assert "MOST PROBABLE CAUSE\n  the host ran out of memory" in files["00-READ-ME-FIRST.txt"]
    assert "journal/warnings.txt:2: Out of memory" in files["00-READ-ME-FIRST.txt"]
    assert files["journal/muster.txt"].startswith("muster-agent: hello, token=••••\n")
    assert json.loads(files["inventory.json"])["cpu"]
    assert json.loads(files["disks/lsblk.json"])["blockdevices"]


def test_a_bundle_by_name_for_programs(tmp_path: Path) -> None:
    done = bundle("--to", tmp_path / "a.tar.gz", "--output", "json")
    assert done.status == 0, done.err
    body = json.loads(done.out)
    assert body["bundle"] == str(tmp_path / "a.tar.gz")
    assert body["bytes"] == (tmp_path / "a.tar.gz").stat().st_size
    assert body["cause"]["id"] == "out-of-memory"


def test_a_bundle_to_standard_output(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "muster.cli", "host", "bundle", "--data", "/nowhere", "--to", "-"]
    done = subprocess.run(argv, capture_output=True, check=True, env={**os.environ, "TMPDIR": str(tmp_path)})
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
        assert any(name.endswith("/00-READ-ME-FIRST.txt") for name in tar.getnames())
    assert not [path for path in tmp_path.iterdir() if path.name != "bin"]
    refused = bundle("--to", "-", "--output", "json")
    assert (refused.status, "cannot be both" in refused.err) == (1, True)


def test_a_target_that_cannot_be_written(tmp_path: Path) -> None:
    save(tmp_path / "file", "")
    for target in (tmp_path / "nowhere/a.tar.gz", tmp_path / "file/a.tar.gz"):
        done = bundle("--to", target)
        assert done.status == 1
        assert f"cannot write {target}" in done.err


@pytest.fixture
def full(tmp_path: Path, root: None) -> Iterator[Path]:
    """A file system with hardly any room."""
    place = tmp_path / "full"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", place], check=True)
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_full_disk_leaves_no_half_file(full: Path) -> None:
    done = bundle("--to", full)
    assert done.status == 1
    assert "no space left on device" in done.err
    assert "free some space" in done.err
    assert list(full.iterdir()) == []


def test_ctrl_c_leaves_no_half_file(tmp_path: Path, journalctl: Path) -> None:
    place = tmp_path / "usb"
    place.mkdir()
    os.mkfifo(tmp_path / "begun")
    save(journalctl, f"#!/bin/sh\necho >'{tmp_path}/begun'\nexec sleep 600\n")
    argv = [sys.executable, "-m", "muster.cli", "host", "bundle", "--data", "/nowhere", "--to", str(place)]
    process = subprocess.Popen(
        argv, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    (tmp_path / "begun").read_text()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 8
    assert "interrupted" in err
    assert "Traceback" not in err
    assert list(place.iterdir()) == []
    assert not list(tmp_path.glob("collecting-*"))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site whose medium was made."""
    base, made = tmp_path / "live.iso", tmp_path / "site"
    base.write_bytes(media.image(media.MODERN))
    shutil.copytree(EXAMPLE, made)
    done = muster.run("agent", "create", "image", "--dir", made, "--base-image", base, "--release-by-tag")
    assert done.status == 0, done.err
    return made


def gather(site: Path, *arguments: str) -> muster.Result:
    """In a network of its own, where the rendezvous host has no service."""
    process = apart.start(site, "agent", "gather", "--dir", str(site), *arguments)
    out, err = process.communicate(timeout=120)
    assert "Traceback" not in out + err
    return muster.Result(process.returncode, out, err)


@pytest.mark.usefixtures("root")
def test_a_site_whose_service_is_dead(site: Path, room: Room) -> None:
    password = load_secrets(site).kubeadmin_password
    room.put("192.168.10.11", {"dmesg.txt": f"the password is {password}\n"})
    done = gather(site, "--key", str(site / "install-config.yaml"))
    assert done.status == 0, done.err
    path = Path(done.out.strip())
    assert path.parent == site
    assert path.name.startswith("muster-gather-compact-")
    assert path.stat().st_mode & 0o777 == 0o600
    files = read_archive(path)
    assert password not in "".join(files.values())
    assert "service: no service at https://192.168.10.11:8090: connection refused" in done.err
    assert "master-1: asking 192.168.10.11" in done.err
    assert "most probable cause: the service does not answer" in done.err
    assert "hosts/master-2/trouble.txt" in files
    assert f"-i {site}/install-config.yaml -o IdentitiesOnly=yes" in room.calls[0]


@pytest.mark.usefixtures("root")
def test_named_hosts_for_programs(site: Path, room: Room, tmp_path: Path) -> None:
    room.put("192.168.10.12", {"dmesg.txt": "fine\n"})
    done = gather(site, "--host", "master-2", "--to", str(tmp_path / "to/here"), "--output", "json")
    assert done.status == 0, done.err
    body = json.loads(done.out)
    assert Path(body["archive"]).parent == tmp_path / "to/here"
    assert [each["who"] for each in body["asked"]] == ["service", "master-2"]
    assert body["cause"]["id"] == "service-silent"


@pytest.mark.usefixtures("root", "room")
def test_nobody_answers(site: Path) -> None:
    done = gather(site)
    assert done.status == 1
    assert "nothing could be gathered: service: no service at" in done.err
    assert "muster host bundle" in done.err
    assert not list(site.glob("*.tar.gz"))


@pytest.mark.usefixtures("root")
def test_ctrl_c_while_a_host_is_asked(site: Path, room: Room) -> None:
    for address in ("192.168.10.11", "192.168.10.12", "192.168.10.13"):
        save(room.folder / f"{address}.wait", "")
    process = apart.start(site, "agent", "gather", "--dir", str(site))
    assert process.stderr is not None
    while "asking" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 8, err
    assert "Traceback" not in err
    assert not [path for path in site.iterdir() if "gather" in path.name]


def test_a_place_that_cannot_be_written_is_said_at_once(site: Path, room: Room) -> None:
    done = muster.run("agent", "gather", "--dir", site, "--to", site / "install-config.yaml/a")
    assert done.status == 1
    assert "cannot write" in done.err
    assert room.calls == []


def test_a_directory_without_a_medium(tmp_path: Path, room: Room) -> None:
    """There is no token for the service, and no host in reach; both is said."""
    shutil.copytree(EXAMPLE, tmp_path / "site")
    done = muster.run("agent", "gather", "--dir", tmp_path / "site")
    assert done.status == 1
    assert "no medium was made in" in done.err
    assert len(room.calls) >= 3
