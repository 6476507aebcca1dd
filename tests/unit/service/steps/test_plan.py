# SPDX-License-Identifier: Apache-2.0
"""What hosts are told to do, and what they are not told again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import msgspec
import pytest

from muster.model.wire.reports import StepReply
from muster.model.wire.steps import Steps
from muster.service.realm import Draft, Realm
from muster.service.steps.plan import has_news, next_steps
from muster.service.steps.scene import BootArtifacts, Means, ReleaseImages, Scene
from muster.service.steps.sent import Sent, note_reply
from muster.service.steps.table import DAY1
from tests.unit.service.hosts import (
    NOW,
    all_told,
    answer,
    host_id,
    make_host,
    make_realm,
    remote,
    report,
    settle,
    tell_inventory,
)

IMAGES = ReleaseImages("registry.example.com/release:1", "installer:1", "controller:1", "mco:1", "gather:1")


def chance() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"{next(numbers):08x}"


class Talk:
    """A host and the service: it asks, and what it was told is remembered."""

    def __init__(self, realm: Realm, number: int = 1, **means: Any) -> None:
        self.realm, self.number, self.now, self.sent = realm, number, NOW, Sent()
        self.means = Means(**{"chance": chance(), "images": IMAGES, **means})

    @property
    def scene(self) -> Scene:
        return Scene(self.realm, self.realm.hosts[host_id(self.number)], None, self.now, self.means)

    def ask(self, seconds: int = 0) -> Steps:
        self.now += timedelta(seconds=seconds)
        is_news = has_news(self.scene, self.sent)
        plan = next_steps(self.scene, self.sent)
        assert is_news is (bool(plan.steps.instructions) or plan.steps.post_step_action == "exit")
        self.sent = plan.sent
        assert self.sent.due is not None
        assert self.sent.due > self.now, "what is due now was told"
        assert not has_news(self.scene, self.sent) or plan.steps.post_step_action == "exit"
        self.last = {each.step_type: each for each in plan.steps.instructions or ()}
        return plan.steps

    def types(self, seconds: int = 0) -> set[str]:
        return {each.step_type or "" for each in self.ask(seconds).instructions or ()}

    def reply(self, step_type: Any, output: Any = "{}", exit_code: int = 0) -> None:
        step = self.last[step_type]
        reply = StepReply(step_type=step_type, step_id=step.step_id, exit_code=exit_code, output="x")
        self.sent = note_reply(self.sent, reply, self.now)
        if output is not None:
            asked = msgspec.structs.astuple(IMAGES)
            answer(self.realm, self.number, step_type, output, exit_code, asked)

    def peers(self) -> list[int]:
        body = msgspec.json.decode((self.last["connectivity-check"].args or ("[]",))[0])
        return [int(each["host_id"][-12:]) for each in body]


def be(realm: Realm, number: int, **values: Any) -> None:
    draft = Draft(realm, NOW)
    draft.change(draft.hosts[host_id(number)], **values)
    settle(draft)


def test_a_new_host_is_asked_everything_that_needs_no_peer() -> None:
    realm = make_realm(1)
    be(realm, 1, status="discovering")
    talk = Talk(realm)
    assert talk.types() == {"inventory", "ntp-synchronizer", "domain-resolution"}
    assert talk.last["inventory"].step_id == "inventory-00000001"
    assert talk.last["inventory"].args == (host_id(1),)


def test_nothing_is_told_twice_while_it_runs() -> None:
    talk = Talk(all_told(3))
    assert "inventory" in talk.types()
    assert talk.types(1) == set()
    assert talk.types(20) == set()


def test_a_step_without_an_answer_is_over_at_its_deadline() -> None:
    talk = Talk(all_told(1))
    talk.ask()
    assert "inventory" not in talk.types(59)
    assert "inventory" in talk.types(1)


def test_time_is_asked_soon_again_until_it_is_right() -> None:
    talk = Talk(all_told(1))
    talk.ask()
    talk.reply("ntp-synchronizer", {"ntp_sources": [{"source_name": "a", "source_state": "unreachable"}]})
    assert "ntp-synchronizer" not in talk.types(9)
    assert "ntp-synchronizer" in talk.types(1)
    talk.reply("ntp-synchronizer", {"ntp_sources": [{"source_name": "a", "source_state": "synced"}]})
    assert "ntp-synchronizer" not in talk.types(299)
    assert "ntp-synchronizer" in talk.types(1)


def test_another_question_does_not_wait_for_the_answer_to_the_last() -> None:
    realm = all_told(1)
    talk = Talk(realm)
    talk.ask()
    draft = Draft(realm, NOW)
    draft.change(draft.cluster, additional_ntp_source="ntp.example.com")
    settle(draft)
    assert talk.types() == {"ntp-synchronizer"}
    assert talk.last["ntp-synchronizer"].args == ('{"ntp_source":"ntp.example.com"}',)


def test_a_peer_is_checked_as_soon_as_it_is_known() -> None:
    realm = make_realm(3)
    for number in (1, 2):
        tell_inventory(realm, number)
    talk = Talk(realm)
    talk.ask()
    assert talk.peers() == [2]
    talk.reply("connectivity-check", report(remote(2)))
    assert "connectivity-check" not in talk.types(1)
    tell_inventory(realm, 3)
    assert talk.types() == {"connectivity-check"}
    assert talk.peers() == [3]


def test_a_peer_with_other_addresses_is_checked_again() -> None:
    realm = all_told(2)
    talk = Talk(realm)
    talk.ask()
    talk.reply("connectivity-check", report(remote(2)))
    inventory = realm.hosts[host_id(2)].inventory
    assert inventory is not None
    assert inventory.interfaces is not None
    nic = msgspec.structs.replace(inventory.interfaces[0], ipv4_addresses=("198.18.77.7/16",))
    tell_inventory(realm, 2, interfaces=(nic,))
    talk.ask(1)
    assert talk.peers() == [2]


def test_many_peers_come_a_few_at_a_time_and_every_one_once() -> None:
    realm = all_told(150)
    talk = Talk(realm, 100)
    seen: list[int] = []
    for size in (64, 64, 21):
        talk.ask(1)
        peers = talk.peers()
        assert len(peers) == size
        seen += peers
        talk.reply("connectivity-check", report(*(remote(peer) for peer in peers)))
    assert 101 in seen[:64], "who comes after it comes first"
    assert sorted(seen) == [number for number in range(1, 151) if number != 100]
    assert "connectivity-check" not in talk.types(1)
    assert "connectivity-check" in talk.types(600 + 150)


def test_peers_that_were_not_checked_in_time_are_told_again() -> None:
    talk = Talk(all_told(3))
    talk.ask()
    assert talk.peers() == [2, 3]
    talk.ask(90)
    assert talk.peers() == [2, 3]


def test_a_check_that_failed_is_told_again() -> None:
    talk = Talk(all_told(3))
    talk.ask()
    talk.reply("connectivity-check", None, exit_code=1)
    talk.ask(1)
    assert talk.peers() == [2, 3]


def test_where_something_is_wrong_it_is_checked_soon_again() -> None:
    talk = Talk(all_told(3))
    talk.ask()
    talk.reply("connectivity-check", report(remote(2), remote(3, l2=False)))
    assert "connectivity-check" not in talk.types(29)
    talk.ask(1)
    assert talk.peers() == [3]


def test_after_a_restart_what_was_checked_is_not_checked_at_once() -> None:
    realm = all_told(3)
    talk = Talk(realm)
    talk.ask()
    talk.reply("connectivity-check", report(remote(2)))
    realm.cache.clear()
    again = Talk(realm)
    again.ask()
    assert again.peers() == [3]


def test_who_is_away_is_not_checked() -> None:
    realm = all_told(3)
    be(realm, 2, status="disconnected")
    talk = Talk(realm)
    talk.ask()
    assert talk.peers() == [3]


def test_a_single_node_has_no_peers() -> None:
    assert "connectivity-check" not in Talk(all_told(2, control_plane_count=1)).types()


def test_images_are_fetched_early_and_disks_are_not_written_early() -> None:
    realm = all_told(3)
    talk = Talk(realm)
    assert not {"container-image-availability", "installation-disk-speed-check"} & talk.types()
    be(realm, 1, status="known")
    assert talk.types() == {"container-image-availability"}
    be(realm, 1, status="preparing-for-installation")
    assert talk.types() == {"installation-disk-speed-check"}
    assert talk.last["installation-disk-speed-check"].args == ('{"path":"/dev/sda"}', "480.00")


def test_what_was_fetched_is_not_fetched_again() -> None:
    realm = all_told(1)
    be(realm, 1, status="known")
    talk = Talk(realm)
    talk.ask()
    images = [
        {"name": name, "result": "success"} for name in (IMAGES.release, IMAGES.mco, IMAGES.must_gather)
    ]
    talk.reply("container-image-availability", {"images": images})
    talk.ask(1)
    args = (talk.last["container-image-availability"].args or ("",))[0]
    assert msgspec.json.decode(args) == {"images": [IMAGES.installer], "timeout": 960}


def test_installing_is_told_when_it_is_durable_and_always_the_same() -> None:
    realm = all_told(3)
    be(realm, 1, status="installing", role="master", bootstrap=True)
    talk = Talk(realm)
    assert talk.types() == set()
    be(realm, 1, install_step="install-0badcafe")
    assert talk.types() == {"install"}
    first = talk.last["install"]
    assert first.step_id == "install-0badcafe"
    assert talk.types(59) == set()
    assert talk.types(1) == {"install"}
    assert talk.last["install"] == first
    talk.reply("install", None, exit_code=125)
    assert talk.types(1) == set()


def test_a_host_that_booted_again_tells_its_disks_before_it_is_installed_anew() -> None:
    realm = all_told(1)
    be(realm, 1, status="installing", install_step="", disk_unsure=True)
    talk = Talk(realm)
    assert talk.types() == {"inventory"}
    be(realm, 1, install_step="install-0badcafe", disk_unsure=False)
    assert talk.types() == {"install"}


def test_a_host_without_a_disk_is_not_installed() -> None:
    realm = all_told(1)
    be(realm, 1, status="installing", install_step="install-0badcafe", installation_disk_path="")
    assert Talk(realm).types() == set()


def test_after_a_failure_logs_until_they_are_here() -> None:
    realm = all_told(1)
    be(realm, 1, status="error")
    talk = Talk(realm)
    assert talk.types() == {"logs-gather", "stop-installation"}
    talk.reply("logs-gather", None)
    assert talk.types(60) == {"logs-gather", "stop-installation"} - {"stop-installation"}
    be(realm, 1, logs_collected_at=NOW)
    assert "logs-gather" not in talk.types(900)


@pytest.mark.parametrize("status", ["binding", "unbinding", "unbinding-pending-user-action"])
def test_an_agent_that_is_to_go(status: str) -> None:
    realm = all_told(1)
    be(realm, 1, status=status)
    steps = Talk(realm).ask()
    assert (steps.instructions, steps.post_step_action, steps.next_instruction_seconds) == ((), "exit", 0)


def test_hosts_of_a_pool() -> None:
    realm = Realm("pool", hosts={host_id(1): make_host(1, status="discovering-unbound", cluster_id=None)})
    assert Talk(realm).types() == {"inventory", "ntp-synchronizer"}


def test_a_host_that_is_taken_back() -> None:
    realm = Realm("pool", hosts={host_id(1): make_host(1, status="reclaiming", cluster_id=None)})
    talk = Talk(realm, artifacts=BootArtifacts("http://k", "http://r", "http://i"))
    assert talk.types() == {"download-boot-artifacts"}
    realm.hosts[host_id(1)] = make_host(1, status="reclaiming-rebooting", cluster_id=None)
    steps = talk.ask()
    assert [each.step_type for each in steps.instructions or ()] == ["reboot-for-reclaim"]
    assert steps.post_step_action == "exit"


def test_an_old_agent_is_replaced_before_anything_else() -> None:
    realm = all_told(1)
    be(realm, 1, discovery_agent_version="agent:1")
    talk = Talk(realm, agent_image="agent:2")
    assert talk.types() == {"upgrade-agent"}
    talk.reply("upgrade-agent", None)
    assert talk.types(600) == set()


def test_hosts_that_join_later() -> None:
    realm = all_told(2, kind="AddHostsCluster", status="adding-hosts", api_vip_dns_name="api.example.com")
    be(realm, 1, kind="AddToExistingClusterHost", role="worker")
    talk = Talk(realm)
    assert talk.types() >= {"connectivity-check", "api-vip-connectivity-check", "inventory"}
    assert "free-network-addresses" not in talk.last
    args = (talk.last["api-vip-connectivity-check"].args or ("",))[0]
    assert msgspec.json.decode(args) == {"url": "http://api.example.com:22624/config/worker"}


@pytest.mark.parametrize(("hosts", "busy", "calm"), [(3, 1, 10), (100, 2, 20), (200, 4, 40), (400, 5, 60)])
def test_the_pace_follows_what_is_going_on(hosts: int, busy: int, calm: int) -> None:
    realm = make_realm(hosts)
    tell_inventory(realm, 1)
    be(realm, 1, status="known")
    talk = Talk(realm, images=None)
    assert talk.ask().next_instruction_seconds == busy
    for step_type in list(talk.last):
        talk.reply(step_type, None)
    assert talk.ask().next_instruction_seconds == calm


def test_who_waits_at_our_end_comes_back_at_once() -> None:
    talk = Talk(all_told(3))
    scene = msgspec.structs.replace(talk.scene, waits=True)
    assert next_steps(scene, Sent()).steps.next_instruction_seconds == 1


def test_a_late_answer_to_an_earlier_step_does_not_end_the_present_one() -> None:
    talk = Talk(all_told(1))
    talk.ask()
    late = StepReply(step_type="inventory", step_id="inventory-ffffffff", output="{}")
    assert note_reply(talk.sent, late, talk.now) is talk.sent


def test_an_empty_answer_says_that_it_still_runs() -> None:
    realm = all_told(1)
    be(realm, 1, status="preparing-for-installation")
    talk = Talk(realm)
    talk.ask()
    step = talk.last["installation-disk-speed-check"]
    reply = StepReply(step_type="installation-disk-speed-check", step_id=step.step_id)
    assert note_reply(talk.sent, reply, talk.now) is talk.sent


def test_planning_changes_nothing_that_it_was_given() -> None:
    talk = Talk(all_told(5))
    before = Sent()
    next_steps(talk.scene, before)
    assert before == Sent()
    assert isinstance(talk.now, datetime)


def test_a_clock_that_is_set_back_keeps_no_host_waiting() -> None:
    talk = Talk(all_told(3))
    first = talk.ask()
    assert first.instructions
    talk.now -= timedelta(days=365)
    again = talk.ask()
    assert {each.step_type for each in again.instructions or ()} == {
        each.step_type for each in first.instructions
    }


@pytest.mark.parametrize("status", ["preparing-for-installation", "installing", "installing-in-progress"])
def test_nobody_looks_for_virtual_addresses_while_hosts_may_hold_them_already(status: str) -> None:
    assert not {"verify-vips", "free-network-addresses"} & {*DAY1[status]}
