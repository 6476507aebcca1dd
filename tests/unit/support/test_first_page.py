# SPDX-License-Identifier: Apache-2.0
"""The first page of a bundle says what most probably went wrong, or that nothing stands out."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from muster.support.first_page import About, load_findings, read_first, render_page, summary_of, write_front
from muster.support.room import Kept

ABOUT = About("Bundle of host a", datetime(2026, 3, 1, 12, tzinfo=UTC), (("service", "no answer"),))


def save(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_cause_with_its_evidence(tmp_path: Path) -> None:
    save(tmp_path / "dmesg.txt", "fine\nI/O error, dev sdb, sector 1 op 0x0:(READ)\n")
    save(tmp_path / "failed-units.txt", "x.service loaded failed failed X\n")
    save(
        tmp_path / "run/muster/agent.json", '{"doing":"asks","since":"2026-01-01T00:00:00Z","details":["y"]}'
    )
    save(tmp_path / "service/why-1.json", '{"summary":"Waiting for the host: a"}')
    findings = load_findings(tmp_path, [Kept((("journal.txt", "it is gone"),))])
    page = render_page(ABOUT, findings)
    assert page.startswith("Bundle of host a, 2026-03-01 12:00:00 UTC, by Muster ")
    cause, also = page.split("ALSO SEEN")
    assert "MOST PROBABLE CAUSE\n  the disk sdb fails" in cause
    assert "    fix: replace the disk" in cause
    assert "    proof: smartctl --all /dev/sdb\n" in cause
    assert "      dmesg.txt:2: I/O error, dev sdb" in cause
    assert "  2. the unit x.service failed\n" in also
    assert "WHAT THE SERVICE WAITS FOR\n  Waiting for the host: a\n" in also
    assert "WHAT WAS BEING DONE\n  agent: asks (y)\n" in also
    assert "WHO WAS ASKED\n  service: no answer\n" in also
    assert "1 are missing or cut; report.txt says which" in also


def test_nothing_stands_out(tmp_path: Path) -> None:
    for name in ("journal/muster.txt", "journal/warnings.txt", "dmesg.txt", "network/address.txt"):
        save(tmp_path / name, "all is well\n")
    page = render_page(ABOUT, load_findings(tmp_path, ()))
    assert "NOTHING STANDS OUT" in page
    assert "    journal/muster.txt\n    journal/warnings.txt\n    dmesg.txt\n" in page
    assert "MOST PROBABLE" not in page
    assert read_first([]) == ["report.txt"]


def test_a_page_cannot_harm_a_terminal(tmp_path: Path) -> None:
    save(tmp_path / "dmesg.txt", "\x1b[2J I/O error, dev sdb, sector 1\n")
    assert "\x1b" not in render_page(ABOUT, load_findings(tmp_path, ()))


def test_the_summary(tmp_path: Path) -> None:
    save(tmp_path / "dmesg.txt", "I/O error, dev sdb, sector 1\n")
    kept = [Kept((("a", "gone"),), ("etc/secret",))]
    write_front(tmp_path, ABOUT, load_findings(tmp_path, kept))
    body = json.loads((tmp_path / "summary.json").read_text())
    assert body["cause"]["id"] == "disk-fails"
    assert body["cause"]["evidence"] == [
        {"file": "dmesg.txt", "line": 1, "text": "I/O error, dev sdb, sector 1"}
    ]
    assert body["missed"] == [{"what": "a", "why": "gone"}]
    assert body["left_out"] == ["etc/secret"]
    assert "etc/secret" in (tmp_path / "report.txt").read_text()
    assert (tmp_path / "00-READ-ME-FIRST.txt").stat().st_mode & 0o777 == 0o600
    assert summary_of(ABOUT, load_findings(tmp_path / "none", ()))["cause"] is None
