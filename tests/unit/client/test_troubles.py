# SPDX-License-Identifier: Apache-2.0
"""What stands in the way is told once when it came to stay, and once when it is mended."""

from __future__ import annotations

from muster.client.snapshot import Snapshot
from muster.client.telling import Line, Steps, Troubles
from muster.model.wire.enums import HostStage
from muster.model.wire.host import HostProgressInfo
from tests.unit.client.sights import REFUSED, host, reason, seen, verdicts

NTP = verdicts(ntp_synced="no time source answers")


def told(troubles: Troubles, snapshot: Snapshot, now: float) -> list[Line]:
    return list(troubles.tell(snapshot, now))


def test_a_failing_validation_has_its_why_and_its_fix() -> None:
    troubles = Troubles(1)
    why = (reason("ntp-synced", "m-0", why="Certificates need a clock.", fix="name a time server"),)
    snapshot = seen("insufficient", host(validations_info=NTP), why=why)
    assert told(troubles, snapshot, 0) == []
    (line,) = told(troubles, snapshot, 10)
    assert line.is_warning
    assert line.text.splitlines() == [
        "m-0: ntp-synced fails: no time source answers",
        "  why: Certificates need a clock.",
        "  fix: name a time server",
    ]
    assert line.facts["fix"] == "name a time server"
    assert told(troubles, snapshot, 500) == []
    (line,) = told(troubles, seen("ready", host(validations_info=verdicts())), 70)
    assert (line.kind, line.text) == ("mended", "m-0: ntp-synced is mended after 1:10")
    assert not line.is_warning


def test_what_passes_quickly_is_not_told() -> None:
    troubles = Troubles(1)
    assert told(troubles, seen("insufficient", host(validations_info=NTP)), 0) == []
    assert told(troubles, seen("insufficient", host(validations_info=verdicts())), 5) == []
    assert told(troubles, seen("insufficient", host(validations_info=NTP)), 12) == []


def test_it_is_told_again_when_it_comes_back() -> None:
    troubles = Troubles(1)
    bad, good = seen("insufficient", host(validations_info=NTP)), seen("ready", host())
    assert [len(told(troubles, each, at)) for each, at in ((bad, 0), (bad, 20), (good, 30))] == [0, 1, 1]
    assert [len(told(troubles, each, at)) for each, at in ((bad, 40), (bad, 60), (good, 70))] == [0, 1, 1]


def test_hosts_with_the_same_trouble_share_a_line() -> None:
    troubles = Troubles(1)
    hosts = [host(f"m-{number}", validations_info=NTP) for number in range(7)]
    told(troubles, seen("insufficient", *hosts), 0)
    (line,) = told(troubles, seen("insufficient", *hosts), 10)
    assert line.text.count("no time source answers") == 5
    assert "2 more hosts: ntp-synced" in line.text


def test_trouble_of_the_cluster_is_called_so() -> None:
    troubles = Troubles(1)
    info = verdicts(api_vips_valid="192.0.2.5 is in use", all_hosts_are_ready_to_install="no")
    told(troubles, seen("insufficient", validations_info=info), 0)
    (line,) = told(troubles, seen("insufficient", validations_info=info), 10)
    assert line.text == "cluster: api-vips-valid fails: 192.0.2.5 is in use"


def test_too_few_hosts_are_no_trouble_while_some_are_to_come() -> None:
    troubles, info = Troubles(2), verdicts(sufficient_masters_count="there are 1, and 2 are asked for")
    told(troubles, seen("insufficient", host(), validations_info=info), 0)
    assert told(troubles, seen("insufficient", host(), validations_info=info), 20) == []
    both = seen("insufficient", host(), host("m-1"), validations_info=info)
    told(troubles, both, 30)
    (line,) = told(troubles, both, 40)
    assert line.text.startswith("cluster: sufficient-masters-count fails")


def test_while_the_service_is_away_nothing_is_mended() -> None:
    troubles = Troubles(1)
    bad = seen("insufficient", host(validations_info=NTP))
    told(troubles, bad, 0)
    assert len(told(troubles, bad, 10)) == 1
    assert told(troubles, Snapshot(REFUSED), 20) == []
    assert told(troubles, bad, 30) == []


def test_validations_do_not_count_any_more_while_disks_are_written() -> None:
    troubles = Troubles(1)
    hosts = host("m-0", "installing-in-progress", "Rebooting", validations_info=NTP)
    told(troubles, seen("installing", hosts), 0)
    assert told(troubles, seen("installing", hosts), 20) == []


def test_somebody_who_has_to_do_something_is_told_so() -> None:
    troubles = Troubles(1)
    wait = reason("installing-pending-user-action", "m-1", fix="take out the medium")
    snapshot = seen("installing-pending-user-action", host("m-1"), why=(wait,))
    told(troubles, snapshot, 0)
    (line,) = told(troubles, snapshot, 10)
    assert line.text.splitlines() == ["m-1: m-1 waits", "  fix: take out the medium"]
    (line,) = told(troubles, seen("installing", host("m-1")), 70)
    assert line.text == "m-1: installing-pending-user-action is over after 1:10"


def test_work_that_goes_on_is_no_trouble_until_it_takes_too_long() -> None:
    troubles = Troubles(1)
    stage = reason("Rebooting", "m-1", who="host")
    told(troubles, seen("installing", host("m-1"), why=(stage,)), 0)
    assert told(troubles, seen("installing", host("m-1"), why=(stage,)), 20) == []
    late = seen("installing", host("m-1"), why=(reason("Rebooting", "m-1", who="host", overdue=True),))
    told(troubles, late, 30)
    (line,) = told(troubles, late, 40)
    assert "takes longer than it should" in line.text


def test_validations_that_cannot_be_read_are_none() -> None:
    troubles = Troubles(1)
    told(troubles, seen("insufficient", host(validations_info="{]")), 0)
    assert told(troubles, seen("insufficient", host(validations_info="{]")), 20) == []


def test_what_keeps_a_host_at_a_stage_is_told_once_it_is_on_its_disk() -> None:
    steps = Steps()

    def lines(stage: HostStage, info: str) -> list[Line]:
        progress = HostProgressInfo(current_stage=stage, progress_info=info)
        return list(steps.tell(seen("installing", host(status="installing-in-progress", progress=progress))))

    assert [line.text for line in lines("Writing image to disk", "10%")][-1] == "m-0: Writing image to disk"
    assert lines("Writing image to disk", "20%") == []
    assert [line.text for line in lines("Rebooting", "")] == ["m-0: Rebooting"]
    (line,) = lines("Rebooting", "containerd does not stay")
    assert line.text == "m-0: Rebooting: containerd does not stay"
    assert [line.text for line in lines("Rebooting", "")] == ["m-0: Rebooting"]
