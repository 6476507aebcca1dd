# SPDX-License-Identifier: Apache-2.0
"""Several processes and one cache: together, one after another, and after a kill."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.component.image.conftest import ISO, SHA256
from tests.component.image.web import PIECE, Web
from tests.component.muster import run

ROOT = Path(__file__).parent.parent.parent.parent


def start(*arguments: str | Path, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.component.image.obtain", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    return process.returncode, out, err


def wait_until_kept(root: Path) -> None:
    """What the server has sent is on the disk soon, however little it is."""
    deadline = time.monotonic() + 20
    while not any(path.stat().st_size for path in root.glob("parts/[!.]*.part")):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def wait_for(text: str, process: subprocess.Popen[str]) -> None:
    assert process.stderr is not None
    line = process.stderr.readline()
    assert text in line, line


@pytest.mark.parametrize("query", [f"?sha256={SHA256}", ""], ids=["verified", "unverified"])
def test_two_at_once(web: Web, tmp_path: Path, query: str) -> None:
    web.pause_at = 10 * PIECE
    source = ("--base-image", f"{web.url}/base.iso{query}", "--cache-dir", tmp_path)
    first = start(*source)
    assert web.paused.wait(30)
    second = start(*source)
    if not query:
        wait_for("cannot be verified", second)
    wait_for(f"process {first.pid} is downloading", second)
    web.go_on.set()
    for process in (first, second):
        assert finish(process)[:2] == (0, f"{SHA256} {tmp_path}/images/{SHA256}.iso\n")
    assert len(web.requests) == 1


def test_a_killed_download_goes_on(web: Web, tmp_path: Path) -> None:
    web.pause_at = 20 * PIECE
    source = ("--base-image", f"{web.url}/base.iso?sha256={SHA256}", "--cache-dir", tmp_path)
    first = start(*source)
    assert web.paused.wait(30)
    wait_until_kept(tmp_path)
    waiting = start(*source)
    wait_for("is downloading", waiting)
    first.kill()
    first.communicate()
    web.pause_at = -1
    assert finish(waiting)[0] == 0, "who waits for a killed process goes on with its work"
    begin = int(web.requests[-1][1]["range"].removeprefix("bytes=").removesuffix("-"))
    assert 0 < begin <= 20 * PIECE
    assert (tmp_path / "images" / f"{SHA256}.iso").read_bytes() == ISO
    web.go_on.set()


def test_an_interrupted_download_goes_on(web: Web, tmp_path: Path) -> None:
    web.pause_at = 20 * PIECE
    source = ("--base-image", f"{web.url}/base.iso?sha256={SHA256}", "--cache-dir", tmp_path)
    first = start(*source)
    assert web.paused.wait(30)
    wait_until_kept(tmp_path)
    first.send_signal(signal.SIGTERM)
    status, _, err = finish(first)
    assert status == 8
    assert "interrupted" in err
    web.pause_at = -1
    listed = json.loads(run("cache", "list", "--cache-dir", tmp_path, "-o", "json").out)["items"]
    kept = listed[0]["sizeBytes"]
    assert finish(start(*source))[0] == 0
    assert web.requests[-1][1]["range"] == f"bytes={kept}-"


def test_what_is_in_use_is_not_pruned(web: Web, tmp_path: Path) -> None:
    using = start("--base-image", f"{web.url}/base.iso?sha256={SHA256}", "--cache-dir", tmp_path, "--wait")
    assert using.stdout is not None
    assert SHA256 in using.stdout.readline()
    kept = run("cache", "prune", "--all", "--yes", "--cache-dir", tmp_path)
    assert "is in use, and stays" in kept.out
    assert (tmp_path / "images" / f"{SHA256}.iso").exists()
    finish(using)
    assert "1 item, 584 KiB removed" in run("cache", "prune", "--all", "--yes", "--cache-dir", tmp_path).out
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "CACHEDIR.TAG"]


def test_the_override_of_upstream(web: Web, tmp_path: Path) -> None:
    env = {
        "OPENSHIFT_INSTALL_OS_IMAGE_OVERRIDE": f"{web.url}/base.iso?sha256={SHA256}",
        "MUSTER_CACHE": str(tmp_path),
    }
    status, out, err = finish(start(env=env))
    assert (status, out) == (0, f"{SHA256} {tmp_path}/images/{SHA256}.iso\n")
    assert "WARNING OPENSHIFT_INSTALL_OS_IMAGE_OVERRIDE is set" in err
    status, out, err = finish(start("--base-image", f"{web.url}/other.iso", env=env))
    assert status == 1
    assert "404" in err
    assert "OVERRIDE" not in err, "a flag wins over the environment"


def test_nothing_is_named() -> None:
    status, _, err = finish(start(env={"OPENSHIFT_INSTALL_OS_IMAGE_OVERRIDE": ""}))
    assert status == 1
    assert "no base image is named" in err


def test_json_has_nothing_between(web: Web, tmp_path: Path) -> None:
    source = ("--base-image", f"{web.url}/base.iso?sha256={SHA256}", "--cache-dir", tmp_path)
    status, out, err = finish(start(*source, "--output", "json", "--log-level", "error"))
    assert (status, err) == (0, "")
    assert json.loads(out)["sha256"] == SHA256


def test_the_log_has_no_login(web: Web, tmp_path: Path) -> None:
    url = web.url.replace("http://", "http://joe:hunter2@")
    status, out, err = finish(
        start(
            "--base-image", f"{url}/none.iso?token=hunter3", "--cache-dir", tmp_path, "--log-level", "debug"
        )
    )
    assert status == 1
    assert "hunter" not in out + err


def test_a_home_that_is_not_there(tmp_path: Path) -> None:
    image = tmp_path / "base.iso"
    image.write_bytes(ISO)
    env = {"HOME": "relative", "XDG_CACHE_HOME": "", "MUSTER_CACHE": ""}
    status, out, err = finish(start("--base-image", image, env=env))
    assert (status, out) == (0, f"{SHA256} {image}\n")
    assert "is hashed in every run: neither HOME nor XDG_CACHE_HOME" in err
    assert run("cache", "path", env=env).status == 1


def test_a_full_disk(web: Web, tmp_path: Path) -> None:
    """A real file system that is too small; the server does not say how long the file is."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-m", "true"], check=False).returncode:
        pytest.skip("this needs a mount namespace of its own, as root has")
    web.announces_length = False
    script = (
        f"mount -t tmpfs -o size=300k none {tmp_path} && "
        f"{{ {sys.executable} -m tests.component.image.obtain --base-image {web.url}/base.iso "
        f"--cache-dir {tmp_path}/c; "
        f"status=$?; ls {tmp_path}/c/images 2>/dev/null; exit $status; }}"
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "no space left on device" in done.stderr
    assert "hint: free some space" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
