# SPDX-License-Identifier: Apache-2.0
"""The most probable cause, from what the files of a bundle say."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

import pytest

from muster.support.causes import LIKELY, Evidence, find_causes, is_telling, rules, split_name

SEEN = {
    "medium-unreadable": "dmesg.txt: I/O error, dev sr0, sector 4 op 0x0:(READ) flags 0x0",
    "disk-fails": "dmesg.txt: critical medium error, dev nvme0n1, sector 7 op 0x0:(READ)",
    "out-of-memory": "dmesg.txt: Out of memory: Killed process 812 (kube-apiserver) total-vm:1kB",
    "bug": "journal/muster.txt: muster: this is a bug in Muster, not in your files: KeyError",
    "no-space": "journal/muster.txt: OSError: [Errno 28] No space left on device",
    "hardware-fails": "dmesg.txt: mce: [Hardware Error]: CPU 3: Machine Check: 0",
    "certificate-out-of-time": "journal/node.txt: x509: certificate has expired or is not yet valid: now",
    "foreign-certificate": "journal/node.txt: tls: x509: certificate signed by unknown authority",
    "registry-refuses": "journal/node.txt: pull: unauthorized: authentication required",
    "address-taken": "journal.txt: eno1: IPv6 duplicate address fd00::1 used by 52:54:00:00:00:01 detected!",
    "image-missing": 'journal/node.txt: failed to pull and unpack image "r.example.com/a@sha256:1"',
    "no-rendezvous": 'run/muster/rendezvous.json: {"doing":"it is 1.2.3.4, which is not this one"}',
    "service-silent": "service/trouble.txt: no service at https://192.0.2.1:8090: connection refused",
    "host-silent": "trouble.txt: ssh: connect to host 192.0.2.2 port 22: Connection timed out",
    "no-lease": "journal.txt: NetworkManager[7]: dhcp4 (eno1): request timed out",
    "no-route": "journal/muster.txt: connect: no route to host",
    "name-unknown": "journal/node.txt: dial tcp: lookup r.example.com on 192.0.2.1:53: no such host",
    "clock-wrong": "journal/warnings.txt: chronyd[1]: System clock wrong by 157680000.5 seconds",
    "slow-disk": "journal/node.txt: etcd: slow fdatasync took 2s",
    "hangs": "dmesg.txt: INFO: task kworker/u4:2:77 blocked for more than 120 seconds.",
    "link-flaps": "dmesg.txt: ixgbe 0000:01:00.0 eno1: NIC Link is Down",
    "unit-failed": "failed-units.txt: muster-install.service loaded failed failed Install this host",
}
WELL = (
    "all is well",
    "registered as node1",
    "I/O scheduler mq-deadline registered",
    "password authentication disabled",
    "link is up at 10 Gbps",
)


def test_each_rule_has_a_sample() -> None:
    assert SEEN.keys() == rules().keys()


@pytest.mark.parametrize("id", SEEN)
def test_a_line_that_shows_it(id: str) -> None:
    name, _, line = SEEN[id].partition(": ")
    rule = rules()[id]
    lines = ["", *[line] * rule.least]
    hosts = ("hosts/a/", "hosts/b/") if rule.everywhere else ("",)
    found = [each for each in find_causes({f"{host}{name}": lines for host in hosts}) if each.id == id]
    (cause,) = found
    assert cause.evidence[0] == Evidence(f"{hosts[0]}{name}", 2, line)
    assert not re.search(r"[{}]", cause.message + cause.fix + cause.proof)
    assert cause.fix
    assert cause.proof
    assert is_telling(f"{hosts[0]}{name}")


@pytest.mark.parametrize("id", [id for id, rule in rules().items() if rule.least > 1])
def test_a_little_of_it_is_normal(id: str) -> None:
    name, _, line = SEEN[id].partition(": ")
    assert find_causes({name: [line] * (rules()[id].least - 1)}) == ()


def test_nothing_stands_out() -> None:
    logs = ("dmesg.txt", "journal.txt", "journal/muster.txt", "journal/node.txt", "journal/warnings.txt")
    assert find_causes({name: WELL for name in logs}) == ()
    assert find_causes({}) == ()


def test_the_words_are_filled_in() -> None:
    (cause,) = find_causes({"dmesg.txt": ["I/O error, dev sdb, sector 1 op 0x1:(WRITE)"]})
    assert cause.message == "the disk sdb fails: reads or writes end in an error"
    assert cause.proof == "smartctl --all /dev/sdb"
    assert cause.weight >= LIKELY


def test_programs_tell_in_their_own_words() -> None:
    board = {"doing": "registering", "since": "2026-01-01T00:00:00Z", "trouble": "no service", "fix": "wait"}
    text = json.dumps(board, indent=1).split("\n")
    (cause,) = find_causes({"hosts/a/run/muster/agent.json": text})
    assert (cause.message, cause.fix, cause.hosts) == ("registering: no service", "wait", ("a",))
    assert cause.proof == "journalctl --unit muster-agent"
    assert '"trouble": "no service"' in cause.evidence[0].text
    calm = json.dumps({key: value for key, value in board.items() if key != "trouble"})
    assert find_causes({"run/muster/agent.json": [calm]}) == ()
    assert find_causes({"run/muster/agent.json": ["no JSON"]}) == ()


def why(who: str, *, overdue: bool = False, message: str = "the disk is too small") -> list[str]:
    reason = {
        "id": "has-min-valid-disks",
        "of": "host",
        "message": message,
        "since": datetime(2026, 1, 1, tzinfo=UTC).isoformat(),
        "overdue": overdue,
        "who": who,
        "why": "It is needed.",
        "fix": "add a disk",
        "proof": "lsblk",
        "hosts": [{"id": "1", "name": "a"}, {"id": "2"}],
    }
    return [json.dumps({"summary": "Waiting", "reasons": [reason]})]


def test_the_service_tells_in_its_own_words() -> None:
    (cause,) = find_causes({"service/why-1.json": why("user")})
    assert (cause.id, cause.message, cause.why) == (
        "has-min-valid-disks",
        "the disk is too small",
        "It is needed.",
    )
    assert (cause.fix, cause.proof, cause.hosts) == ("add a disk", "lsblk", ("a", "2"))
    (same,) = find_causes({"service/why.json": why("user"), "hosts/a/service/why-1.json": why("user")})
    assert len(same.evidence) == 2


def test_what_hosts_do_by_themselves_is_no_cause_unless_it_is_late() -> None:
    assert find_causes({"service/why.json": why("host")}) == ()
    (cause,) = find_causes({"service/why.json": why("host", overdue=True)})
    assert cause.message == "the disk is too small, and it takes longer than it should"


def event(severity: str, message: str) -> str:
    body = {"severity": severity, "message": message, "event_time": "2026-01-01T00:00:00Z", "name": "n"}
    return json.dumps(body)


def test_the_last_event_that_is_bad() -> None:
    lines = [event("error", "first"), event("critical", "second"), event("info", "third"), ""]
    (cause,) = find_causes({"service/events.jsonl": lines})
    assert (cause.message, cause.evidence[0].line) == ("second", 2)
    told = {
        "service/events.jsonl": [event("error", "the disk is too small")],
        "service/why.json": why("user"),
    }
    assert [each.id for each in find_causes(told)] == ["has-min-valid-disks"]


def test_hosts_with_the_same_trouble_are_told_of_together() -> None:
    line = SEEN["out-of-memory"].partition(": ")[2]
    (cause,) = find_causes({"hosts/a/dmesg.txt": [line], "service/logs/b/dmesg.txt": [line]})
    assert cause.hosts == ("a", "b")
    assert [each.file for each in cause.evidence] == ["hosts/a/dmesg.txt", "service/logs/b/dmesg.txt"]


def test_nobody_has_the_rendezvous_address() -> None:
    name, _, line = SEEN["no-rendezvous"].partition(": ")
    both = {f"hosts/a/{name}": [line], f"hosts/b/{name}": [line]}
    assert [each.id for each in find_causes(both)] == ["no-rendezvous"]
    assert find_causes({name: [line]}) == ()  # One host alone says nothing about others.
    assert find_causes({f"hosts/a/{name}": [line]}) == ()
    served = {f"hosts/c/{name}": ['{"doing":"this is the rendezvous host"}']}
    assert find_causes(both | served) == ()
    assert find_causes({**both, "service/why.json": ["{}"]}) == ()


def test_what_weighs_most_comes_first() -> None:
    files = {name: [line] * 5 for name, _, line in (text.partition(": ") for text in SEEN.values())}
    weights = [cause.weight for cause in find_causes(files)]
    assert weights == sorted(weights, reverse=True)
    assert len(weights) > 5


def test_evidence_is_the_first_and_the_last() -> None:
    lines = [f"{number}: Out of memory: Killed process 1 (a)" for number in range(9)]
    (cause,) = find_causes({"dmesg.txt": lines})
    assert [each.line for each in cause.evidence] == [1, 8, 9]


def test_names() -> None:
    assert split_name("hosts/a/journal/muster.txt") == ("a", "journal/muster.txt")
    assert split_name("service/logs/b/dmesg.txt") == ("b", "dmesg.txt")
    assert split_name("service/why.json") == ("", "service/why.json")
    assert not is_telling("inventory.json")
