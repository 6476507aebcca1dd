# SPDX-License-Identifier: Apache-2.0
"""The picture on a terminal: it fits, and has what people look for."""

from __future__ import annotations

import pytest

from muster.client.snapshot import KubernetesSight, Snapshot
from muster.client.story import Story
from muster.client.view import Extent
from muster.model.wire.host import HostProgressInfo
from tests.unit.client.sights import NOON, REFUSED, aim, api, host, reason, seen

WIDE = Extent(200, 50)


def picture(*snapshots: Snapshot, extent: Extent = WIDE) -> list[str]:
    story = Story(aim(), 0)
    for snapshot in snapshots:
        story.go_on(snapshot, 75)
    return story.view(75, extent)


def test_before_anything_is_known() -> None:
    lines = picture(Snapshot(REFUSED))
    assert lines[0] == "alpha.example.com: install-complete, 1:15 so far"
    assert lines[1].startswith("waiting for the service at https://192.0.2.10:8090 to come up")
    assert "a host is up there" in lines[2]


def test_hosts_stages_percent_and_the_time_left() -> None:
    progress = HostProgressInfo(
        current_stage="Writing image to disk", progress_info="45%", installation_percentage=30
    )
    lines = picture(
        seen(
            "installing",
            host("m-1", "installing-in-progress", progress=progress),
            host("longer", "error", status_info="no disk"),
            percent=25,
            install_started_at=NOON,
            why=(
                reason("installing", who="host", message="they are installed"),
                reason("stage", "m-1", who="host", message="m-1 writes", fix="Look at it"),
            ),
            api=KubernetesSight(words="connection refused"),
        )
    )
    assert lines[1:] == [
        "cluster  installing, 25 %, about 30:00 left",
        "  longer  error: no disk",
        "  m-1     Writing image to disk (45%), 30 %",
        "API      not ready: connection refused",
        "waiting for the host: m-1 writes, and 1 more",
        "  fix: Look at it",
    ]


@pytest.mark.parametrize("percent", [0, 5, 100])
def test_nobody_guesses_the_time_left_too_early_or_too_late(percent: int) -> None:
    lines = picture(seen("installing", percent=percent, install_started_at=NOON))
    assert not any("left" in line for line in lines)


def test_the_cluster_is_still_shown_while_the_service_is_away() -> None:
    lines = picture(seen("finalizing", host(), percent=90), Snapshot(REFUSED, api(m_0=True, m_1=False)))
    assert lines[1] == "cluster  finalizing, 90 %, as last seen"
    assert "API      ready; 1 of 2 nodes are Ready" in lines


def test_it_fits_on_any_terminal() -> None:
    hosts = [host(f"worker-{number:03}", "known") for number in range(200)]
    bad = host("worker-150", "error", status_info="x" * 300)
    lines = picture(seen("installing", *hosts, bad), extent=Extent(40, 24))
    assert all(len(line) < 40 for line in lines)
    assert len(lines) <= 22
    assert lines[2].startswith("  worker-150  error: xxx")
    assert any(line.endswith(" known") and "more: " in line for line in lines)


def test_a_long_text_has_a_few_lines() -> None:
    lines = picture(Snapshot(REFUSED), extent=Extent(60, 24))
    assert len(lines) == 1 + 3 + 3
    assert all(len(line) < 60 for line in lines)
    assert "journalctl" in lines[-1] or lines[-1].endswith("…")


def test_to_wait_is_no_advice() -> None:
    lines = picture(seen("installing", why=(reason("stage", "m-1", who="host", fix="Wait"),)))
    assert lines[-1].startswith("waiting for the host")


def test_what_hosts_say_does_nothing_to_the_terminal() -> None:
    lines = picture(seen("installing", host("m-0", "error", status_info="\x1b[2Jgone")))
    assert not any("\x1b" in line for line in lines)


def test_what_only_a_person_can_mend_stands_at_the_top() -> None:
    stop = reason("matches-site-files", "m-1", message="no disk of m-1 is as rootDeviceHints say")
    lines = picture(seen("insufficient", host("m-1", "insufficient"), why=(stop,)))
    assert lines[1:3] == [
        "waiting for you: no disk of m-1 is as rootDeviceHints say",
        "  fix: do something about matches-site-files",
    ]
    assert lines[3].startswith("cluster  insufficient")
    assert not any("have not come" in line for line in lines)
