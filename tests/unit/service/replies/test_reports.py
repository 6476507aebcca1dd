# SPDX-License-Identifier: Apache-2.0
"""What a host reported of its peers in pieces is shown as a whole."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from muster.model.wire.reports import ConnectivityRemoteHost
from muster.service.derive.bits import read_bits
from muster.service.realm import Draft, Realm
from muster.service.replies.reports import _MOST, merge_reports, note_report
from muster.service.states.host_effects import EFFECTS
from muster.service.states.sight import HostSight
from tests.unit.service.hosts import NOW, all_told, answer, host_id, remote, report

Files = dict[str, bytes]


def tell(realm: Realm, files: Files, *remotes: ConnectivityRemoteHost) -> None:
    draft = answer(realm, 1, "connectivity-check", report(*remotes))
    for (id, name), body in draft.documents.items():
        assert id == host_id(1)
        if body is None:
            del files[name]
        else:
            files[name] = body


def show(realm: Realm, files: Files) -> dict[str, Any]:
    """By peer: whether its first address answered to pings."""
    numbers = {host.id: host.number for host in realm.hosts.values()}
    body = merge_reports(realm.hosts[host_id(1)].reports, numbers, files.get)
    assert body is not None
    found = json.loads(body)["remote_hosts"]
    shown = {each["host_id"]: each["l3_connectivity"][0].get("successful", False) for each in found}
    assert len(shown) == len(found), "nobody twice"
    return shown


def test_all_pieces_are_shown() -> None:
    realm, files = all_told(6), Files()
    tell(realm, files, remote(2), remote(3))
    tell(realm, files, remote(4), remote(5, l3=False))
    tell(realm, files, remote(6))
    assert show(realm, files) == {host_id(number): number != 5 for number in range(2, 7)}
    tell(realm, files, remote(5))
    tell(realm, files, remote(3, l3=False))
    assert show(realm, files) == {host_id(number): number != 3 for number in range(2, 7)}


def test_files_that_say_nothing_last_are_removed() -> None:
    realm, files = all_told(4), Files()
    tell(realm, files, remote(2), remote(3))
    tell(realm, files, remote(4))
    assert len(files) == 2
    tell(realm, files, remote(2, l3=False), remote(3), remote(4))
    assert len(files) == 1
    assert show(realm, files) == {host_id(2): False, host_id(3): True, host_id(4): True}


def test_peers_that_are_gone_are_not_shown() -> None:
    realm, files = all_told(4), Files()
    tell(realm, files, remote(2), remote(3))
    tell(realm, files, remote(4))
    realm.put("host", host_id(3), None)
    assert show(realm, files).keys() == {host_id(2), host_id(4)}


def test_a_host_that_boots_anew_has_reported_nothing() -> None:
    realm, files = all_told(4), Files()
    tell(realm, files, remote(2), remote(3))
    tell(realm, files, remote(4))
    draft = Draft(realm, NOW)
    EFFECTS["forget-told"](HostSight(draft, draft.hosts[host_id(1)]))
    assert draft.hosts[host_id(1)].reports == {}
    assert draft.documents == {(host_id(1), name): None for name in files}


def test_what_cannot_be_read_is_left_out() -> None:
    files = {"a": b"{]", "b": b'{"remote_hosts": [1, {"host_id": "x", "more": "y"}]}'}
    shown = merge_reports({"a": "1", "b": "2", "c": "4"}, {"x": 1}, files.get)
    assert shown == b'{"remote_hosts":[{"host_id": "x", "more": "y"}]}'
    assert merge_reports({}, {}, {"connectivity": b"as before"}.get) == b"as before"


@given(st.lists(st.integers(1, 2**200 - 1), min_size=1, max_size=300))
def test_each_peer_has_one_last_word(rounds: list[int]) -> None:
    reports: dict[str, str] = {}
    last: dict[str, int] = {}
    files: set[str] = set()
    for asked in rounds:
        reports, name, gone = note_report(reports, asked)
        files = files - gone | {name}
        assert name not in gone
        last[name] = asked
    assert files == reports.keys()
    assert len(files) <= _MOST
    words = [read_bits(each) for each in reports.values()]
    assert all(read_bits(bits) & ~last[name] == 0 for name, bits in reports.items())
    assert sum(each.bit_count() for each in words) == (sum(words)).bit_count(), "they do not overlap"
