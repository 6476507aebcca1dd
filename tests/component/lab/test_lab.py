# SPDX-License-Identifier: Apache-2.0
"""Labs that really boot, with the smallest guest there is: up, look, break, crash, down."""

from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.component import muster
from tests.component.lab.guest import GREETING, build_guest

EXAMPLES = Path(__file__).parent.parent.parent.parent / "examples"
NAMESPACES = Path("/run/netns")
NAME = f"test-{os.getpid()}"
"""Somebody else may run these tests on the same machine."""
Lab: TypeAlias = Callable[..., muster.Result]

pytestmark = pytest.mark.usefixtures("root")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Runs `muster lab` with a state of its own; all labs are taken down at the end."""
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}

    def run(*arguments: str | Path) -> muster.Result:
        return muster.run("lab", *arguments, env=env)

    yield run
    run("down", "--all")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Three hosts that boot the smallest guest."""
    folder = tmp_path / "site"
    shutil.copytree(EXAMPLES / "compact-baremetal", folder)
    (folder / "agent.x86_64.iso").write_bytes(build_guest())
    (folder / "lab.yaml").write_text("memoryMiB: 64\ncpus: 1\nmedium: disk\n")
    return folder


def up(lab: Lab, site: Path, *more: str) -> None:
    result = lab("up", site, "--name", NAME, *more)
    assert result.status == 0, result.err


def status(lab: Lab) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(lab("status", "--output", "json").out)
    return body


def process_of(lab: Lab, tmp_path: Path, name: str) -> int:
    state = json.loads((tmp_path / f"state/muster/labs/{NAME}/state.json").read_text())
    found = state["recorder"] if name == "recorder" else state["machines"][name]["process"]
    pid: int = found["pid"]
    return pid


def wait_gone(pid: int) -> None:
    """Wait until a process is gone; it need not be our child."""
    import select

    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([descriptor], [], [], 10)[0]
    finally:
        os.close(descriptor)


def test_a_lab_of_two_machines(lab: Lab, site: Path, tmp_path: Path) -> None:
    up(lab, site, "--only", "master-1", "--only", "master-2", "--cut", "link:master-2/eno1")
    body = status(lab)
    assert [machine["on"] for machine in body["machines"]] == [True, True]
    assert body["faults"] == ["link:master-2/eno1"]
    assert (NAMESPACES / f"muster-{NAME}").exists()

    picture = tmp_path / "screen.png"
    assert lab("screenshot", "master-1", picture).status == 0
    width, height = struct.unpack(">II", picture.read_bytes()[16:24])
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert width >= 320
    assert height >= 200

    for fault in ("delay:master-1/eno1=100ms", "slow-disk:master-1=1MB/s", "disk-full:master-1/disk0"):
        result = lab("cut", fault)
        assert result.status == 0, result.err
        assert result.out.startswith(f"{fault}: ")
    assert lab("cut", "partition:master-1|master-2").status == 0
    assert lab("power", "master-1", "cycle").status == 0, "faults are made again"
    assert lab("heal", "slow-disk:master-1").status == 0
    assert lab("heal", "all").status == 0
    assert status(lab)["faults"] == []

    assert lab("kill", "master-1").status == 0
    assert [machine["on"] for machine in status(lab)["machines"]] == [False, True]
    assert lab("power", "master-1", "on").status == 0
    assert lab("cut", "clock:master-1=1970-01-01").status == 0
    log = lab("logs", "master-1").out
    assert log.count("power on") >= 4

    result = lab("down")
    assert result.out == f"the lab {NAME} is down\n"
    assert not (NAMESPACES / f"muster-{NAME}").exists()
    assert lab("down", NAME).out == f"there was no lab {NAME}\n"
    assert not list((tmp_path / "state/muster/labs").iterdir())


def test_a_run_ends_when_the_condition_is_met(lab: Lab, site: Path, tmp_path: Path) -> None:
    result = lab(
        *("run", site, "--only", "master-1", "--name", NAME),
        *("--until", f"serial:master-1:{GREETING}", "--deadline", "30s"),
    )
    assert result.status == 0, result.err
    assert "first serial line" in result.out
    assert lab("list").out == "there is no lab; `muster lab up SITE` makes one\n"


def test_a_run_that_fails_leaves_evidence(lab: Lab, site: Path, tmp_path: Path) -> None:
    place = tmp_path / "evidence"
    result = lab(
        *("run", site, "--only", "master-1", "--name", NAME, "--output", "json"),
        *("--until", "healthy,serial:master-1:hello", "--deadline", "4s", "--evidence", place),
    )
    assert result.status == 1
    body = json.loads(result.out)
    assert body["unmet"] == ["healthy"]
    assert GREETING in (place / "master-1/serial.log").read_text()
    assert (place / "master-1/screen.png").exists()
    assert "power on" in (place / "timeline.txt").read_text()
    assert (place / "plan.json").exists()


def test_crashes(lab: Lab, site: Path, tmp_path: Path) -> None:
    up(lab, site, "--only", "master-1")
    recorder = process_of(lab, tmp_path, "recorder")
    os.kill(recorder, signal.SIGKILL)
    wait_gone(recorder)
    result = lab("status")
    assert "the recorder ended" in result.out
    assert lab("power", "master-1", "reset").status == 0
    assert process_of(lab, tmp_path, "recorder") != recorder
    assert status(lab)["machines"][0]["on"], "the machine did not notice"
    assert "QEMU: RESET" in lab("logs", "master-1").out

    again = lab("up", site, "--name", NAME)
    assert again.status == 1
    assert f"a lab {NAME} is there already" in again.err

    for name in ("recorder", "master-1"):
        pid = process_of(lab, tmp_path, name)
        os.kill(pid, signal.SIGKILL)
        wait_gone(pid)
    stale = lab("up", site, "--name", NAME)
    assert "was left behind" in stale.err
    assert "nothing runs" in lab("list").out

    folder = tmp_path / f"state/muster/labs/{NAME}"
    (folder / "plan.json").unlink()
    assert "damaged" in lab("list").out
    kept = lab("down", NAME, "--keep-evidence", "--output", "json")
    evidence = Path(json.loads(kept.out)["down"][0]["evidence"])
    assert (evidence / "events.jsonl").exists()
    assert not folder.exists()
    assert not (NAMESPACES / f"muster-{NAME}").exists()


def test_a_process_that_nobody_wrote_down_is_ended(lab: Lab, site: Path, tmp_path: Path) -> None:
    up(lab, site, "--only", "master-1")
    path = tmp_path / f"state/muster/labs/{NAME}/state.json"
    state = json.loads(path.read_text())
    pid = state["machines"]["master-1"]["process"]["pid"]
    state["machines"]["master-1"]["process"] = None
    state["recorder"]["start"] += 1
    path.write_text(json.dumps(state))
    assert lab("down").status == 0
    wait_gone(pid)


def test_console_and_media(lab: Lab, site: Path, tmp_path: Path) -> None:
    up(lab, site, "--only", "master-1", "--network", "user")
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    talk = muster.run("lab", "console", "master-1", stdin="echo\x1d", env=env)
    assert talk.status == 0, talk.err
    assert status(lab)["namespace"] == ""
    assert status(lab)["machines"][0]["sshPort"] > 1024
    assert lab("media", "master-1", "--eject").status == 0
    assert lab("media", "master-1").out == "there is no medium in\n"
    iso = site / "agent.x86_64.iso"
    assert lab("media", "master-1", iso, "--beside").out == f"{iso}\n"
    assert "--beside --eject" in lab("media", "master-1", iso, "--beside").err
    assert lab("power", "master-1", "cycle").status == 0
    assert lab("media", "master-1", "--beside").out == f"{iso}\n"
    assert lab("media", "master-1", "--beside", "--eject").out == "there is no medium in\n"
    result = lab("cut", "partition:master-1|master-1")
    assert "two sides" in result.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--iso", "nowhere.iso"), "there is no image nowhere.iso"),
        (("--only", "nobody"), "the site has no host nobody"),
        (("--network", "user"), "--network user connects one machine"),
        (("--memory", "900000"), "of memory"),
        (("--cut", "loss:master-1"), "is no fault"),
        (("--qemu", "no-such-qemu"), "no-such-qemu"),
    ],
)
def test_what_is_refused(lab: Lab, site: Path, arguments: tuple[str, ...], words: str) -> None:
    result = lab("up", site, "--name", NAME, *arguments)
    assert result.status == 1
    assert words in result.err
    assert "hint: " in result.err
    assert lab("list").out.startswith("there is no lab")


def test_an_image_that_is_not_made_yet(lab: Lab, site: Path) -> None:
    (site / "agent.x86_64.iso").unlink()
    result = lab("up", site, "--name", NAME)
    assert "muster agent create image --dir" in result.err


def ask(url: str, body: dict[str, Any] | None = None, method: str | None = None) -> dict[str, Any]:
    """A request as `curl` would make it."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=20) as reply:
        text = reply.read()
    found: dict[str, Any] = json.loads(text) if text else {}
    return found


def test_power_and_media_by_redfish(lab: Lab, site: Path) -> None:
    up(lab, site, "--only", "master-1", "--medium", "none", "--redfish", "0")
    root = status(lab)["notes"]["redfish"]
    system = f"{root}/Systems/master-1"
    drive = f"{root}/Managers/master-1/VirtualMedia/Cd"
    assert ask(system)["PowerState"] == "On"
    ask(f"{system}/Actions/ComputerSystem.Reset", {"ResetType": "ForceOff"})
    assert not status(lab)["machines"][0]["on"]
    ask(f"{drive}/Actions/VirtualMedia.InsertMedia", {"Image": str(site / "agent.x86_64.iso")})
    ask(system, {"Boot": {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"}}, "PATCH")
    ask(f"{system}/Actions/ComputerSystem.Reset", {"ResetType": "On"})
    assert status(lab)["machines"][0]["medium"].endswith("agent.x86_64.iso")
    assert ask(system)["Boot"]["BootSourceOverrideEnabled"] == "Disabled", "it was for one boot"
    ask(f"{system}/Actions/ComputerSystem.Reset", {"ResetType": "ForceRestart"})
    ask(f"{drive}/Actions/VirtualMedia.EjectMedia", {})
    assert status(lab)["machines"][0]["medium"] == ""
    assert "power ForceOff, by Redfish" in lab("logs", "master-1").out


def test_waiting_in_a_lab_that_is_up(lab: Lab, site: Path, tmp_path: Path) -> None:
    up(lab, site, "--only", "master-1")
    found = lab("wait", "--until", "serial:master-1:hello", "--deadline", "20s")
    assert found.status == 0, found.err
    assert "first serial line" in found.out
    wrong = lab("wait", "--until", "healthy:nobody")
    assert wrong.status == 1
    assert "nobody" in wrong.err
    late = lab("wait", "--until", "off", "--deadline", "1s")
    assert late.status == 1
    assert "failed: off: not within 0:01" in late.out
