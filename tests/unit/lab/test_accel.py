# SPDX-License-Identifier: Apache-2.0
"""KVM is used when a guest ran with it, and each choice says why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from muster.errors import ExternalError
from muster.lab import accel
from muster.lab.accel import Host, choose_accel, choose_qemu, find_obstacle, find_version
from muster.lab.probe import PROBES, probe_argv
from muster.toolbox import Toolbox
from tests.stand_in import Asked, StandIn

HOST = Host("x86_64", "boot-1", has_device=True, may_use_device=True)
QEMU = ["/usr/bin/qemu-system-x86_64"]


class Told(StandIn):
    """A program that says what a test wants, or fails with it."""

    def __init__(self, said: str, *, fails: bool = False) -> None:
        super().__init__()
        self.said = said
        self.fails = fails

    def answer(self, asked: Asked) -> str:
        if self.fails:
            raise ExternalError(self.said)
        return self.said


def test_kvm_is_used_when_a_guest_ran(tmp_path: Path) -> None:
    chosen = choose_accel("x86_64", QEMU, tmp_path, host=HOST, run=Told("M"))
    assert chosen.kind == "kvm"
    assert chosen.arguments("x86_64") == ["-accel", "kvm", "-cpu", "host"]


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (Told("qemu-system-x86_64 … did not end within 3 s", fails=True), "did not run within 3 s"),
        (Told("qemu failed with status 1; it said last:\n    no such ioctl", fails=True), "no such ioctl"),
        (Told(""), "said nothing"),
    ],
)
def test_otherwise_guests_are_emulated(tmp_path: Path, told: Told, reason: str) -> None:
    chosen = choose_accel("x86_64", QEMU, tmp_path, host=HOST, run=told)
    assert chosen.kind == "tcg"
    assert reason in chosen.reason
    assert "emulated" in chosen.expectation
    processor = chosen.arguments("x86_64")[-1]
    assert processor.startswith("Westmere,")
    assert "rdrand=on" in processor  # Early in a boot there is no other chance, and much waits for it.
    assert "thread=multi" in chosen.arguments("x86_64")[1]
    assert "thread=single" in chosen.arguments("x86_64", is_crowded=True)[1]


def test_the_verdict_holds_until_the_next_boot_or_another_qemu(tmp_path: Path) -> None:
    told = Told("M")
    choose_accel("x86_64", QEMU, tmp_path, host=HOST, run=told)
    choose_accel("x86_64", QEMU, tmp_path, host=HOST, run=told)
    assert len(told.asked) == 1
    choose_accel("x86_64", QEMU, tmp_path, host=replace(HOST, boot_id="boot-2"), run=told)
    choose_accel("x86_64", ["/other"], tmp_path, host=HOST, run=told)
    assert len(told.asked) == 3


def test_a_damaged_record_is_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "kvm.json").write_text('["M"]')
    assert choose_accel("x86_64", QEMU, tmp_path, host=HOST, run=Told("M")).kind == "kvm"


@pytest.mark.parametrize(
    ("machine", "host", "words"),
    [
        ("aarch64", HOST, "guests of kind aarch64 on a machine of kind x86_64"),
        ("riscv64", replace(HOST, machine="riscv64"), "not tried"),
        ("x86_64", replace(HOST, has_device=False), "no /dev/kvm"),
        ("x86_64", replace(HOST, may_use_device=False), "group kvm"),
    ],
)
def test_what_cannot_work_is_not_tried(machine: str, host: Host, words: str) -> None:
    assert words in find_obstacle(machine, host)


@pytest.mark.parametrize("machine", PROBES)
def test_the_guest_is_named_to_qemu(machine: str) -> None:
    argv = probe_argv(["qemu"], machine, "kvm", "/tmp/guest")
    assert any("/tmp/guest" in word for word in argv)
    assert argv[:5] == ["qemu", "-accel", "kvm", "-cpu", "host"]


def test_versions_are_read() -> None:
    assert find_version("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)") == (7, 2)
    assert find_version("no such thing") is None


def test_the_systems_qemu_is_used_when_it_is_new_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accel, "find_program", lambda name: Path("/usr/bin") / name)
    chosen = choose_qemu("x86_64", lambda: pytest.fail("not needed"), run=Told("QEMU emulator version 8.0.1"))
    assert chosen.argv == ("/usr/bin/qemu-system-x86_64",)
    assert chosen.reason == "the system's QEMU 8.0"


@pytest.mark.parametrize(
    ("own", "why"), [(Path("/usr/bin/qemu"), "7.2 is older than 8"), (None, "the system has none")]
)
def test_else_that_of_the_toolbox(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own: Path | None, why: str
) -> None:
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "qemu-system-x86_64").touch()
    monkeypatch.setattr(accel, "find_program", lambda _name: own)

    class Both(Told):
        def answer(self, asked: Asked) -> str:
            return (
                "QEMU emulator version 7.2.1"
                if asked.words[0] == str(own)
                else "QEMU emulator version 10.0.1"
            )

    chosen = choose_qemu("x86_64", lambda: Toolbox(tmp_path), run=Both(""))
    assert chosen.version == (10, 0)
    assert chosen.argv == (str(tmp_path / "programs" / "qemu-system-x86_64"),)
    assert why in chosen.reason
