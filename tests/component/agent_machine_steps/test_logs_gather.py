# SPDX-License-Identifier: Apache-2.0
"""Logs are collected from real programs and files; what fails is named in the report, and is no obstacle."""

from __future__ import annotations

import asyncio
import tarfile
from pathlib import Path

import pytest

from muster.agent.steps.logs_gather import collect_logs
from muster.errors import MusterError
from muster.machine import Machine, ThisMachine
from muster.model.wire.steps import LogsGatherCmdRequest
from muster.run import LATE, Said
from muster.support import collecting
from muster.support.parts import COMMANDS, JOURNALS, Journal
from tests.component.agent_machine_steps.machines import RecordedMachine

SECRET = "hunter2-and-more"
REQUEST = LogsGatherCmdRequest(
    cluster_id="c1", infra_env_id="i1", host_id="h1", bootstrap=False, installer_gather=True
)
JOURNAL = "#!/bin/sh\necho \"$@\" >&2\n{ seq -f 'line %.0f' 100; echo 'token=" + SECRET + "'; }\n"


def save(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def collect(machine: Machine, workdir: Path) -> dict[str, str]:
    """The files of the archive by name; nothing else may be left in the folder."""
    archive = asyncio.run(collect_logs(machine, REQUEST, workdir))
    assert [path.name for path in workdir.iterdir()] == ["logs.tar.gz"]
    with tarfile.open(archive) as tar:
        files = {entry.name: tar.extractfile(entry) for entry in tar.getmembers()}
        return {name: file.read().decode() for name, file in files.items() if file is not None}


@pytest.fixture
def journalctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of this name before that of the system."""
    program = tmp_path / "bin/journalctl"
    save(program, JOURNAL)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/sbin:/usr/bin:/sbin:/bin")
    return program


def test_this_machine(tmp_path: Path) -> None:
    files = collect(ThisMachine(), tmp_path / "work")
    assert "MOUNTPOINTS" in files["logs/disks/lsblk.txt"]
    assert "TARGET" in files["logs/disks/findmnt.txt"]
    report = files["logs/report.txt"]
    assert "host h1 in cluster c1" in report
    for name in COMMANDS:
        assert f"logs/{name}" in files or f"  {name}: " in report
    assert "logs/journal.txt" in files or "  journal.txt: " in report


def test_files_and_programs_without_their_secrets(tmp_path: Path, journalctl: Path) -> None:
    root = tmp_path / "root"
    save(root / "var/log/muster/agent.log", f"10:00 registered as node1\n10:01 told {SECRET}-agent\n")
    save(root / "etc/assisted/tokens/agent", f"{SECRET}-agent")
    save(root / "etc/assisted/rendezvous-host.env", f"NODE_ZERO_IP=192.0.2.1\nUSER_TOKEN={SECRET}\n")
    save(root / "etc/NetworkManager/system-connections/wlan.nmconnection", f"[w]\nssid=a\npsk={SECRET}\n")
    answers = {"ip": Said(0, f"1: lo\n    alias password={SECRET}\n", "")}
    machine = RecordedMachine(root, answers, frozenset({"sh"}))
    files = collect(machine, tmp_path / "work")
    assert not [name for name, text in files.items() if SECRET in text]
    assert files["logs/var/log/muster/agent.log"] == "10:00 registered as node1\n10:01 told ••••\n"
    assert "NODE_ZERO_IP=192.0.2.1" in files["logs/etc/assisted/rendezvous-host.env"]
    assert "ssid=a" in files["logs/etc/NetworkManager/system-connections/wlan.nmconnection"]
    assert "1: lo" in files["logs/network/address.txt"]
    assert files["logs/journal.txt"].startswith("line 1\nline 2\n")
    assert files["logs/journal.txt"].endswith("line 100\ntoken=••••\n")
    report = files["logs/report.txt"]
    assert "  etc/assisted/tokens/agent\n" in report
    assert "  dmesg.txt: the program dmesg is not there\n" in report
    assert "  run/NetworkManager/system-connections: it is not there\n" in report
    assert "--output=short-iso-precise --boot=0" in report  # It said so where troubles are said.


def test_of_a_long_journal_the_end_is_kept(
    tmp_path: Path, journalctl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "JOURNALS", (Journal("journal.txt", ("--boot=0",), 100),))
    journalctl.write_text("#!/bin/sh\nseq -f 'line %.0f' 100000 100300\n")
    files = collect(RecordedMachine(tmp_path / "root", {}, frozenset({"sh"})), tmp_path / "work")
    lines = files["logs/journal.txt"].splitlines()
    assert 5 <= len(lines) <= 9
    assert lines[-1] == "line 100300"
    assert all(line.startswith("line ") for line in lines)
    assert "  journal.txt: only its last 0 KiB are here\n" in files["logs/report.txt"]


def test_a_journal_that_fails_half_way_is_kept_so_far(tmp_path: Path, journalctl: Path) -> None:
    journalctl.write_text("#!/bin/sh\necho the beginning\nexit 3\n")
    files = collect(RecordedMachine(tmp_path / "root", {}, frozenset({"sh"})), tmp_path / "work")
    assert files["logs/journal.txt"] == "the beginning\n"
    assert "  journal.txt: journalctl ended with status 3\n" in files["logs/report.txt"]


def test_a_journal_that_takes_too_long_is_kept_so_far(
    tmp_path: Path, journalctl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "_JOURNAL_S", 1)
    journalctl.write_text("#!/bin/sh\necho the beginning\nexec sleep 600\n")
    files = collect(RecordedMachine(tmp_path / "root", {}, frozenset({"sh"})), tmp_path / "work")
    assert files["logs/journal.txt"] == "the beginning\n"
    assert "  journal.txt: journalctl ended with status 124\n" in files["logs/report.txt"]


def test_a_machine_where_nothing_works(tmp_path: Path) -> None:
    late = Said(LATE, "", "it did not end within 20 s")
    names = {Path(argv[0]).name for argv in COMMANDS.values()} | {"sh"}
    files = collect(RecordedMachine(tmp_path / "root", dict.fromkeys(names, late)), tmp_path / "work")
    front = ["logs/00-READ-ME-FIRST.txt", "logs/report.txt", "logs/summary.json"]
    assert list(files) == front
    assert "NOTHING STANDS OUT" in files[front[0]]
    for name in (*COMMANDS, *(journal.name for journal in JOURNALS)):
        assert f"  {name}: it did not end within 20 s\n" in files["logs/report.txt"]


def test_what_a_failing_program_said_is_kept(tmp_path: Path) -> None:
    answers = {"chronyc": Said(1, "506 Cannot talk to daemon\n", "")}
    files = collect(RecordedMachine(tmp_path / "root", answers), tmp_path / "work")
    assert files["logs/time/sources.txt"] == "506 Cannot talk to daemon\n"
    assert "  time/sources.txt: 506 Cannot talk to daemon\n" in files["logs/report.txt"]


def test_no_place_for_the_archive(tmp_path: Path) -> None:
    save(tmp_path / "file", "")
    with pytest.raises(MusterError, match="cannot write"):
        asyncio.run(collect_logs(RecordedMachine(tmp_path), REQUEST, tmp_path / "file/work"))
