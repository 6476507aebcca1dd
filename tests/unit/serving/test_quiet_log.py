# SPDX-License-Identifier: Apache-2.0
"""Lines that callers cause are few, however many there are of them."""

from __future__ import annotations

import logging

import pytest

from muster.serving import quiet_log
from muster.serving.quiet_log import MAX_LINES, PERIOD_S, QuietLog


class Scene:
    def __init__(self) -> None:
        self.now = 100.0
        self.quiet = QuietLog(logging.getLogger("muster.test.quiet"), lambda: self.now)


@pytest.fixture
def scene(caplog: pytest.LogCaptureFixture) -> Scene:
    caplog.set_level(logging.INFO, "muster.test.quiet")
    return Scene()


def test_one_line_a_minute_for_each_network(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(1000):
        scene.quiet.note("192.0.2.1", "%s: garbage", "192.0.2.1")
    scene.quiet.note("192.0.2.2", "other garbage")
    assert [each.getMessage() for each in caplog.records] == [
        "192.0.2.1: garbage",
        "other garbage (999 similar messages were suppressed)",
    ]
    scene.now += PERIOD_S
    scene.quiet.note("192.0.2.1", "again")
    assert caplog.records[-1].getMessage() == "again"


def test_many_networks_together_have_a_limit_and_take_no_memory(
    scene: Scene, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quiet_log, "MAX_NETWORKS", 10_000)
    for each in range(10_000):
        scene.quiet.note(f"198.18.{each >> 8}.{each & 255}", "garbage")
    assert len(caplog.records) == MAX_LINES
    assert len(scene.quiet._networks) <= MAX_LINES
    scene.now += PERIOD_S
    scene.quiet.note("192.0.2.1", "garbage")
    assert f"({10_000 - MAX_LINES} similar messages" in caplog.records[-1].getMessage()


def test_a_clock_that_goes_back_does_not_silence_it(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    scene.quiet.note("a", "one")
    scene.now = 0.0
    scene.quiet.note("a", "two")
    assert [each.getMessage() for each in caplog.records] == ["one", "two"]


def test_a_failure_comes_with_its_traceback(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    scene.quiet.write(logging.ERROR, "a", "it failed", error=ValueError("why"))
    assert caplog.records[0].exc_info is not None
