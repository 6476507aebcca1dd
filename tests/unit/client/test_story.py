# SPDX-License-Identifier: Apache-2.0
"""The story that one hears who waits: told once, in order, with the right end."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from muster.client.presence import Goal
from muster.client.snapshot import KubernetesSight, ServiceSight, Snapshot, Trouble
from muster.client.story import REFUSED_S, REMIND_S, STEADY_S, End, Outcome, Story
from muster.errors import ExitStatus
from tests.unit.client.sights import NOON, REFUSED, STRANGER, aim, api, host, reason, seen


def texts(story: Story, snapshot: Snapshot, now: float) -> list[str]:
    return [line.text for line in story.go_on(snapshot, now)]


def end_of(story: Story, snapshot: Snapshot, now: float) -> End | None:
    story.go_on(snapshot, now)
    return story.find_end(now)


# Before the service is there


def test_a_wait_says_since_when_for_whom_and_what_to_check() -> None:
    story = Story(aim(), 0)
    assert texts(story, Snapshot(), 0) == []
    (line,) = story.go_on(Snapshot(REFUSED), 1)
    assert "since 12:00:00 UTC for the service at https://192.0.2.10:8090: connection refused" in line.text
    assert "a host is up there" in line.text
    assert not line.is_warning
    assert texts(story, Snapshot(REFUSED), 2) == []


def test_what_is_to_be_checked_follows_from_what_answers() -> None:
    story = Story(aim(), 0)
    assert "a host is up" in texts(story, Snapshot(REFUSED), 1)[0]
    assert "switched on" in texts(story, Snapshot(ServiceSight(Trouble.SILENT, "no route to host")), 2)[0]


@pytest.mark.parametrize(
    ("sight", "word"),
    [
        (STRANGER, "not the service of this site"),
        (
            ServiceSight(
                Trouble.CERTIFICATE, "its certificate is not accepted: certificate is not yet valid"
            ),
            "clock",
        ),
        (
            ServiceSight(Trouble.REFUSED, "it refuses our token: it was signed by somebody else"),
            "does not accept the token",
        ),
    ],
)
def test_one_who_is_not_believed_is_not_called_absent(sight: ServiceSight, word: str) -> None:
    (line,) = Story(aim(), 0).go_on(Snapshot(sight), 1)
    assert line.is_warning
    assert sight.words in line.text
    assert word in line.text
    assert "switched on" not in line.text


def test_a_stranger_ends_the_wait_but_not_at_once() -> None:
    story = Story(aim(), 0)
    assert end_of(story, Snapshot(STRANGER), 5) is None
    assert end_of(story, Snapshot(REFUSED), REFUSED_S) is None
    assert end_of(story, Snapshot(STRANGER), REFUSED_S + 10) is None
    found = end_of(story, Snapshot(STRANGER), 2 * REFUSED_S + 10)
    assert found is not None
    assert (found.outcome, found.status) == (Outcome.FAILED, ExitStatus.INSTALL_FAILED)
    assert "unable to get local issuer" in found.message


def test_one_is_reminded_when_nothing_happens() -> None:
    story = Story(aim(), 0)
    story.go_on(Snapshot(REFUSED), 1)
    assert texts(story, Snapshot(REFUSED), REMIND_S) == []
    (text,) = texts(story, Snapshot(REFUSED), REMIND_S + 1)
    assert text.startswith("still waiting after 5:01: the service at https://192.0.2.10:8090 to come up")
    assert texts(story, Snapshot(REFUSED), REMIND_S + 2) == []


# The service goes and comes


def rebooting(stage: str) -> Snapshot:
    return seen("installing", host("m-0", "installing-in-progress", stage, bootstrap=True), host("m-1"))


@pytest.mark.parametrize(
    ("stage", "is_expected"),
    [("Rebooting", True), ("Joined", True), ("Waiting for bootkube", False), ("Installing", False)],
)
def test_a_service_that_goes_is_expected_to_when_its_host_reboots(stage: str, is_expected: bool) -> None:
    story = Story(aim(), 0)
    story.go_on(rebooting(stage), 1)
    assert texts(story, Snapshot(REFUSED), 2) == []
    (line,) = story.go_on(Snapshot(REFUSED), 5)
    assert "does not answer any more: connection refused" in line.text
    assert ("this is expected" in line.text) is is_expected
    assert line.is_warning is not is_expected
    assert texts(story, Snapshot(REFUSED), 9) == []
    assert texts(story, rebooting(stage), 62) == ["the service answers again after 1:00"]


def test_the_reboot_of_another_host_does_not_take_the_service_away() -> None:
    story = Story(aim(), 0)
    other = host("m-1", "installing-in-progress", "Rebooting")
    story.go_on(
        seen("installing", host("m-0", "installing-in-progress", "Installing", bootstrap=True), other), 1
    )
    story.go_on(Snapshot(REFUSED), 2)
    (line,) = story.go_on(Snapshot(REFUSED), 5)
    assert "not told to reboot" in line.text


def test_a_moment_without_the_service_is_not_told() -> None:
    story = Story(aim(), 0)
    story.go_on(rebooting("Installing"), 1)
    assert texts(story, Snapshot(REFUSED), 2) == []
    assert texts(story, rebooting("Installing"), 3) == []


def test_clocks_that_differ_are_told_once() -> None:
    def at(here: datetime) -> Snapshot:
        shown = seen("insufficient").service
        assert shown is not None
        return Snapshot(replace(shown, here=here))

    story = Story(aim(), 0)
    assert not [
        each for each in texts(story, at(NOON + timedelta(minutes=10, seconds=30)), 1) if "clock" in each
    ]
    (line,) = texts(story, at(NOON - timedelta(days=3)), 2)
    assert "the service says 2026-03-01 12:10:00 UTC" in line
    assert "this machine 2026-02-26 12:00:00 UTC" in line
    assert texts(story, at(NOON - timedelta(days=3)), 3) == []


# Steps


def test_states_and_stages_are_told_once() -> None:
    story = Story(aim(), 0)
    assert texts(story, seen("insufficient", host("", "discovering")), 1) == [
        "the service at https://192.0.2.10:8090 answers",
        "cluster: insufficient: it is insufficient",
    ]
    assert texts(story, seen("insufficient", host("m-0")), 2) == ["m-0: known"]
    assert texts(story, seen("insufficient", host("m-0")), 3) == []
    writing = host("m-0", "installing-in-progress", "Writing image to disk")
    assert texts(story, seen("installing", writing), 4) == [
        "cluster: installing: it is installing",
        "m-0: Writing image to disk",
    ]


def test_a_host_in_trouble_is_a_warning_with_its_words() -> None:
    story = Story(aim(), 0)
    story.go_on(seen(), 1)
    (line,) = story.go_on(seen("ready", host("m-0", "disconnected", status_info="not heard\x1b[2J")), 2)
    assert line.is_warning
    assert line.text == "m-0: disconnected: not heard\\x1b[2J"


# The Kubernetes API


def test_a_name_that_is_not_known_is_told_once_with_the_line_that_helps() -> None:
    story = Story(aim(), 0)
    away = KubernetesSight(trouble=Trouble.SILENT, words="connection refused", is_resolved=False)
    (text,) = texts(story, Snapshot(None, away), 1)
    assert "192.0.2.5 api.alpha.example.com" in text
    assert "/etc/hosts" in text
    assert texts(story, Snapshot(None, away), 2) == []


def test_nodes_are_told_when_they_change() -> None:
    story = Story(aim(), 0)
    assert texts(story, Snapshot(None, api(m_0=False)), 1) == [
        "the Kubernetes API is ready",
        "node m-0: not Ready",
    ]
    assert texts(story, Snapshot(None, api(m_0=True)), 2) == ["node m-0: Ready"]
    assert texts(story, Snapshot(None, api(m_0=True)), 3) == []


def test_a_certificate_that_the_api_does_not_want_is_told_as_such() -> None:
    sight = KubernetesSight(trouble=Trouble.REFUSED, words="it does not accept our certificate")
    (line,) = Story(aim(), 0).go_on(Snapshot(None, sight), 1)
    assert line.is_warning
    assert "does not accept our certificate" in line.text
    assert "auth/kubeconfig" in line.text


# The end


def test_bootstrap_is_complete_when_the_api_is_ready() -> None:
    story = Story(aim(Goal.BOOTSTRAP), 0)
    waiting = KubernetesSight(words="it waits for etcd")
    assert end_of(story, seen("installing", api=waiting), 1) is None
    found = end_of(story, seen("installing", api=api()), 2)
    assert found is not None
    assert (found.outcome, found.status) == (Outcome.COMPLETE, ExitStatus.OK)
    assert found.message == "the Kubernetes API of alpha.example.com is ready"


def test_installed_is_what_the_service_says() -> None:
    story = Story(aim(), 0)
    assert end_of(story, seen("finalizing", api=api(m_0=True, m_1=True)), 1) is None
    assert end_of(story, seen("finalizing", api=api(m_0=True, m_1=True)), 1 + 2 * STEADY_S) is None
    found = end_of(story, seen("installed"), 2 + 2 * STEADY_S)
    assert found is not None
    assert (found.status, found.message) == (ExitStatus.OK, "alpha.example.com is installed")


def test_without_the_service_nodes_have_to_be_ready_for_a_while() -> None:
    story = Story(aim(), 0)
    story.go_on(rebooting("Rebooting"), 1)
    good = Snapshot(REFUSED, api(**{"m_0": True, "m_1": True}))
    assert end_of(story, good, 10) is None
    assert end_of(story, Snapshot(REFUSED, api(m_0=True, m_1=False)), 20) is None
    assert end_of(story, good, 30) is None
    assert end_of(story, good, 30 + STEADY_S - 1) is None
    found = end_of(story, good, 30 + STEADY_S)
    assert found is not None
    assert found.outcome is Outcome.COMPLETE
    assert "all of its nodes are ready" in found.message


def test_without_the_service_the_cluster_has_to_say_that_it_is_set_up() -> None:
    story = Story(aim(), 0)
    bare = Snapshot(REFUSED, replace(api(m_0=True, m_1=True), is_set_up=False))
    assert end_of(story, bare, 1) is None
    assert end_of(story, bare, 1 + 2 * STEADY_S) is None
    (line,) = story.go_on(bare, 1 + 2 * REMIND_S)
    assert line.text.endswith("or the cluster to be set up")
    assert end_of(story, Snapshot(REFUSED, api(m_0=True, m_1=True)), 2 + 2 * REMIND_S) is None
    found = end_of(story, Snapshot(REFUSED, api(m_0=True, m_1=True)), 2 + 2 * REMIND_S + STEADY_S)
    assert found is not None
    assert found.outcome is Outcome.COMPLETE


@pytest.mark.parametrize(
    "nodes", [{"m_0": True}, {"m_0": True, "other": True}, {"m_0": True, "m_1": False}, {}]
)
def test_all_nodes_of_the_plan_have_to_be_there(nodes: dict[str, bool]) -> None:
    story = Story(aim(), 0)
    snapshot = Snapshot(REFUSED, api(**nodes))
    assert end_of(story, snapshot, 1) is None
    assert end_of(story, snapshot, 1 + 2 * STEADY_S) is None


def test_nodes_without_a_name_in_the_plan_are_counted() -> None:
    story = Story(aim(nodes=(), count=2), 0)
    assert end_of(story, Snapshot(REFUSED, api(a=True)), 1) is None
    assert end_of(story, Snapshot(REFUSED, api(a=True, b=True)), 100) is None
    assert end_of(story, Snapshot(REFUSED, api(a=True, b=True)), 100 + STEADY_S) is not None


@pytest.mark.parametrize(
    ("goal", "status"),
    [(Goal.BOOTSTRAP, ExitStatus.BOOTSTRAP_FAILED), (Goal.INSTALL, ExitStatus.INSTALL_FAILED)],
)
def test_a_failure_says_what_failed_and_what_to_do(goal: Goal, status: ExitStatus) -> None:
    story = Story(aim(goal), 0)
    broken = host("m-1", "error", status_info="disk /dev/sda cannot be written")
    why = (reason("error", "m-1", fix="replace the disk"),)
    found = end_of(story, seen("error", host(), broken, why=why, status_info="a host failed"), 1)
    assert found is not None
    assert (found.outcome, found.status) == (Outcome.FAILED, status)
    assert found.message == "the installation failed: a host failed\nm-1: disk /dev/sda cannot be written"
    assert found.hint == "replace the disk"


def test_cancelled_is_failed() -> None:
    found = end_of(Story(aim(), 0), seen("cancelled"), 1)
    assert found is not None
    assert (found.outcome, found.status) == (Outcome.FAILED, ExitStatus.INSTALL_FAILED)
    assert "was cancelled" in found.message


def test_a_timeout_says_what_was_waited_for_last() -> None:
    story = Story(aim(Goal.BOOTSTRAP, patience_s=600), 0)
    why = (reason("ntp-synced", "m-0", message="m-0 has no time"), reason("b"))
    snapshot = seen("insufficient", host(), host("m-1"), why=why)
    assert end_of(story, snapshot, 599) is None
    found = end_of(story, snapshot, 600)
    assert found is not None
    assert (found.outcome, found.status) == (Outcome.TIMEOUT, ExitStatus.BOOTSTRAP_FAILED)
    assert found.message == (
        "not bootstrap-complete within 10:00; waited last for the user: m-0 has no time, and 1 more"
    )
    assert found.hint.startswith("do something about ntp-synced; the installation goes on")


def waited_for(snapshot: Snapshot, **values: Any) -> End:
    found = end_of(Story(aim(patience_s=0, **values), 0), snapshot, 1)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("values", "words"),
    [({}, "m-1"), ({"nodes": (), "count": 3}, "2 more"), ({"nodes": ("m-0",), "count": 3}, "2 more")],
)
def test_hosts_that_have_not_come_are_waited_for_by_name(values: dict[str, Any], words: str) -> None:
    end = waited_for(seen("insufficient", host(), why=(reason("x"),)), **values)
    assert end.message.endswith(f"waited last for hosts that have not come yet: {words}")
    assert "boot them from the medium" in end.hint


def test_what_fails_goes_before_what_is_not_judged_yet() -> None:
    info = json.dumps({"network": [{"id": "later", "status": "pending", "message": "not known"}]})
    why = (reason("later", message="networks are not known"), reason("b", message="b is wrong"))
    hosts = (host(), host("m-1"))
    end = waited_for(seen("pending-for-input", *hosts, why=why, validations_info=info))
    assert end.message.endswith("the user: b is wrong, and 1 more")
    end = waited_for(seen("pending-for-input", *hosts, why=why[:1], validations_info=info))
    assert end.message.endswith("the host: networks are not known")


def test_a_timeout_after_the_reboot_names_the_nodes_that_are_missing() -> None:
    story = Story(aim(patience_s=600), 0)
    story.go_on(rebooting("Rebooting"), 1)
    found = end_of(story, Snapshot(REFUSED, api(m_0=True, m_1=False)), 600)
    assert found is not None
    assert "nodes to be ready (m-1)" in found.message
    assert "consoles" in found.hint


def test_a_stop_is_the_reason_of_the_end_although_hosts_are_missing() -> None:
    story = Story(aim(patience_s=60), 0)
    stop = reason("matches-site-files", "m-1", message="no disk of m-1 is as rootDeviceHints say")
    story.go_on(seen("insufficient", host("m-1", "insufficient"), why=(stop,)), 1)
    end = story.find_end(61)
    assert end is not None
    assert (end.outcome, end.status) == (Outcome.TIMEOUT, ExitStatus.INSTALL_FAILED)
    assert "waited last for you: no disk of m-1 is as rootDeviceHints say" in end.message
    assert "do something about matches-site-files" in end.hint
