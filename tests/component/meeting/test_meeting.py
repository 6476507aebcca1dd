# SPDX-License-Identifier: Apache-2.0
"""Hosts of a generic medium on one network: one is chosen, others find and join it, and the ways back."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from muster.agent.meeting.acting import SERVICE
from muster.agent.meeting.choice import Kind, Want
from muster.agent.meeting.code import render_code
from muster.agent.meeting.place import FOLDER
from muster.model.meeting import AGENT_TOKEN, ENVIRONMENT, SERVICE_AUTHORITY, parse_meeting
from muster.model.service_card import CARD_FILE, LOGIN_FILE, parse_card
from tests.component.meeting.conftest import Host, NewHost


def choose(host: Host, ip: str = "") -> str:
    """Make a host the rendezvous host; its code."""
    host.start()
    standing = host.wish(Want.HERE, ip or host.ip4)
    assert standing.kind is Kind.HERE, standing
    host.serve()
    return standing.code


def found(host: Host, ip: str) -> str:
    """Wait until a host is found by itself; its authority."""
    host.until(lambda: any(each.ip == ip for each in host.place.load_found()))
    return next(each.authority for each in host.place.load_found() if each.ip == ip)


def test_one_is_chosen_and_others_join_it(new_host: NewHost) -> None:
    first, second, third = new_host(), new_host(), new_host()
    for each in (second, third):
        each.start()
    code = choose(first)
    meeting = parse_meeting(first.text(ENVIRONMENT))
    assert meeting is not None
    assert str(meeting.ip) == first.ip4
    assert "systemctl start --no-block muster-meeting.target" in first.asked
    authority = found(second, first.ip4)
    assert second.wish(Want.JOIN, first.ip4, render_code(code).lower(), authority).kind is Kind.JOINED
    assert third.wish(Want.JOIN, first.ip6, code).kind is Kind.JOINED  # By hand, and by the other family.
    for each in (second, third):
        assert parse_meeting(each.text(ENVIRONMENT)) == meeting
        assert each.text(AGENT_TOKEN) == "the-token"
        assert each.text(SERVICE_AUTHORITY) == first.text(SERVICE_AUTHORITY)
        assert each.has(f"{FOLDER}/joined.json")
        each.until(partial(each.has, f"run/muster/{CARD_FILE}"))
        card = parse_card((each.root / "run/muster" / CARD_FILE).read_bytes())
        assert card == parse_card((first.root / "run/muster" / CARD_FILE).read_bytes())
        assert not each.has(f"run/muster/{LOGIN_FILE}"), "whoever has it is the administrator"
    assert not first.has(f"{FOLDER}/joined.json")
    assert first.place.load_found() == ()


def test_it_is_found_with_one_family_only(new_host: NewHost) -> None:
    first, second = new_host(), new_host()
    for each in (first, second):
        each.drop_ipv4()
    second.start()
    code = choose(first, first.ip6)
    assert second.wish(Want.JOIN, first.ip6, code, found(second, first.ip6)).kind is Kind.JOINED


def test_a_wrong_code_changes_nothing(new_host: NewHost) -> None:
    first, second = new_host(), new_host()
    second.start()
    code = choose(first)
    found(second, first.ip4)
    wrong = ("1" if code[0] == "0" else "0") + code[1:]
    standing = second.wish(Want.JOIN, first.ip4, wrong)
    assert (standing.kind, standing.code) == (Kind.OPEN, "")
    assert standing.trouble.startswith(f"the host at {first.ip4} does not have this code")
    assert not second.has(ENVIRONMENT)
    assert second.wish(Want.JOIN, first.ip4, code).kind is Kind.JOINED


def test_a_stranger_is_not_joined_by_the_code_of_another(new_host: NewHost) -> None:
    first, stranger, second = new_host(), new_host(), new_host()
    second.start()
    code = choose(first)
    choose(stranger)
    authority = found(second, first.ip4)
    found(second, stranger.ip4)
    assert second.wish(Want.JOIN, stranger.ip4, code).trouble.startswith(
        "the host at 192.0.2.11 does not have"
    )
    other = second.wish(Want.JOIN, stranger.ip4, code, authority)
    assert other.trouble.startswith("another one answers at 192.0.2.11 than the one that was announced")
    assert not second.has(ENVIRONMENT)


def test_who_is_not_there_yet_is_waited_for(new_host: NewHost) -> None:
    first, second = new_host(), new_host()
    second.start()
    first.start()
    standing = first.wish(Want.HERE, first.ip4)
    second.want(Want.JOIN, first.ip4, standing.code)
    second.until(lambda: second.standing.trouble.startswith(f"no rendezvous host answers at {first.ip4}: "))
    assert second.standing.fix
    first.serve()
    second.until(lambda: second.standing.kind is Kind.JOINED)
    assert second.standing.trouble == ""


def test_before_the_service_is_up_nothing_is_given(new_host: NewHost) -> None:
    first, second = new_host(), new_host()
    second.start()
    code = choose(first)
    found(second, first.ip4)
    (first.root / AGENT_TOKEN.lstrip("/")).unlink()
    second.want(Want.JOIN, first.ip4, code)
    second.until(lambda: "its service is not up yet" in second.standing.trouble)
    assert second.wish(Want.LEAVE).trouble == ""  # It is given up.
    assert not second.has(ENVIRONMENT)


def test_another_rendezvous_host_is_chosen_later(new_host: NewHost) -> None:
    first, second, third = new_host(), new_host(), new_host()
    for each in (second, third):
        each.start()
    code = choose(first)
    for each in (second, third):
        assert each.wish(Want.JOIN, first.ip4, code).kind is Kind.JOINED
    assert first.wish(Want.LEAVE).kind is Kind.OPEN
    for path in (ENVIRONMENT, AGENT_TOKEN, SERVICE_AUTHORITY, SERVICE, f"run/muster/{LOGIN_FILE}"):
        assert not first.has(path), path
    assert any(each.startswith("systemctl stop muster-meeting.target muster-install") for each in first.asked)
    before = second.text(ENVIRONMENT)
    assert second.wish(Want.HERE, second.ip4).kind is Kind.HERE
    second.serve()
    assert parse_meeting(second.text(ENVIRONMENT)) != parse_meeting(before)
    fresh = second.standing.code
    assert fresh != code
    for each in (first, third):
        found(each, second.ip4)
        assert each.wish(Want.JOIN, second.ip4, fresh).kind is Kind.JOINED
        assert parse_meeting(each.text(ENVIRONMENT)) == parse_meeting(second.text(ENVIRONMENT))


def test_a_wrong_join_leaves_the_choice_of_before(new_host: NewHost) -> None:
    first, second, third = new_host(), new_host(), new_host()
    second.start()
    code = choose(first)
    choose(third)
    assert second.wish(Want.JOIN, first.ip4, code).kind is Kind.JOINED
    standing = second.wish(Want.JOIN, third.ip4, code)
    assert (standing.kind, standing.ip) == (Kind.JOINED, first.ip4)
    assert standing.trouble
    assert second.has(ENVIRONMENT)


def test_the_program_is_killed(new_host: NewHost) -> None:
    first, second, third = new_host(), new_host(), new_host()
    second.start()
    code = choose(first)
    assert second.wish(Want.JOIN, first.ip4, code).kind is Kind.JOINED
    for each in (first, second):
        each.kill()
        (each.root / ENVIRONMENT.lstrip("/")).unlink()  # As if it was killed before that was written.
        each.start()
        each.until(partial(each.has, ENVIRONMENT))
    assert first.standing.code == code
    third.start()
    found(third, first.ip4)
    assert third.wish(Want.JOIN, first.ip4, code).kind is Kind.JOINED


def test_killed_while_it_forgets(new_host: NewHost) -> None:
    first = new_host()
    choose(first)
    first.kill()
    first.place.save_standing(replace(first.standing, kind=Kind.LEAVING))
    first.start()
    first.until(lambda: first.standing.kind is Kind.OPEN)
    assert not first.has(ENVIRONMENT)


def test_a_flood_of_nonsense_does_not_stop_it(new_host: NewHost) -> None:
    first, second = new_host(), new_host()
    second.start()
    first.flood()
    code = choose(first)
    assert second.wish(Want.JOIN, first.ip4, code, found(second, first.ip4)).kind is Kind.JOINED
