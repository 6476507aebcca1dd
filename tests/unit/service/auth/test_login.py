# SPDX-License-Identifier: Apache-2.0
"""The login: passwords, codes, guesses and sessions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bcrypt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.errors import UserError
from muster.model.typed_code import ALPHABET, BITS, make_code
from muster.service.auth import attempts, codes
from muster.service.auth.attempts import Attempts, region_of
from muster.service.auth.codes import OneTimeCode
from muster.service.auth.keys import load_key_ring
from muster.service.auth.login import Login, LoginSettings, Proof, Refused, Session
from muster.service.auth.passwords import check_hash, hash_password, is_password
from muster.service.auth.personas import Grant, Persona
from muster.service.auth.sessions import (
    EndedSessions,
    csrf_of,
    is_csrf_of,
    parse_cookie,
    render_cookie,
)
from muster.service.auth.tokens import Tokens
from muster.serving.accept import network_of
from tests.unit.service.auth.ties import repeatable
from tests.unit.service.running import finish

NOW = 1_800_000_000.0
HOME, THERE = "192.0.2.1", "192.0.2.2"


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(load_key_ring(tmp_path, repeatable("keys")))


@pytest.fixture
def login(tokens: Tokens) -> Login:
    return Login(LoginSettings(session_s=100), tokens, repeatable("login"))


def shown(login: Login, now: float = NOW) -> str:
    assert login.code is not None
    return login.code.show(now)


def test_the_code_gives_a_session_that_ends(login: Login, tokens: Tokens) -> None:
    session = finish(login.log_in(HOME, Proof(code=shown(login)), NOW))
    assert isinstance(session, Session)
    grant = tokens.read(session.token, NOW + 99)
    assert isinstance(grant, Grant)
    assert grant.persona is Persona.USER
    assert not grant.is_scoped
    assert is_csrf_of(grant.session, session.csrf)
    assert not isinstance(tokens.read(session.token, NOW + 100), Grant)
    assert session.token not in repr(session)


def test_a_code_works_once(login: Login) -> None:
    code = shown(login)
    assert isinstance(finish(login.log_in(HOME, Proof(code=code), NOW)), Session)
    again = finish(login.log_in(HOME, Proof(code=code), NOW))
    assert isinstance(again, Refused)
    assert again.status == 401


def test_after_some_wrong_passwords_an_address_has_to_wait_and_others_need_not(tokens: Tokens) -> None:
    async def check(password: str, _hash: str) -> bool:
        return password == "right"

    settings = LoginSettings(hash_password("right", repeatable("x")))
    login = Login(settings, tokens, repeatable("x"), check)
    right, wrong = Proof(password="right"), Proof(password="wrong")
    statuses = [finish(login.log_in(HOME, wrong, NOW)) for _ in range(5)]
    assert [each.status for each in statuses if isinstance(each, Refused)] == [401, 401, 401, 429, 429]
    last = statuses[-1]
    assert isinstance(last, Refused)
    assert last.retry_after_s == 1
    waiting = finish(login.log_in(HOME, right, NOW))
    assert isinstance(waiting, Refused), "the right password does not help one who has to wait"
    assert isinstance(finish(login.log_in(THERE, right, NOW)), Session)
    assert isinstance(finish(login.log_in(HOME, right, NOW + 1)), Session)


def test_no_number_of_guesses_delays_a_code(login: Login) -> None:
    """Not even guesses from the owner's own address."""
    wrong = [finish(login.log_in(HOME, Proof(code="00000 00000"), NOW)) for _ in range(1000)]
    assert {each.status for each in wrong if isinstance(each, Refused)} == {401}
    for _ in range(10):
        finish(login.log_in(HOME, Proof(password="wrong"), NOW))
    assert isinstance(finish(login.log_in(HOME, Proof(code=shown(login)), NOW)), Session)


@pytest.mark.parametrize("proof", [Proof(), Proof(password="a", code="b")])
def test_one_proof_is_needed(login: Login, proof: Proof) -> None:
    refused = finish(login.log_in(HOME, proof, NOW))
    assert isinstance(refused, Refused)
    assert refused.status == 400


def test_ways(tokens: Tokens, login: Login) -> None:
    assert login.ways == ("code",)
    hashed = hash_password("secret", repeatable("x"))
    closed = Login(LoginSettings(hashed, with_code=False), tokens, repeatable("x"))
    assert closed.ways == ("password",)
    assert isinstance(finish(closed.log_in(HOME, Proof(code="00000000"), NOW)), Refused)
    assert isinstance(finish(login.log_in(HOME, Proof(password="secret"), NOW)), Refused)
    assert hashed not in repr(closed.settings)
    assert "secret" not in repr(Proof(password="secret"))


def test_wait_doubles_up_to_a_limit_and_is_forgotten() -> None:
    table, now, waits = Attempts(), NOW, []
    for _ in range(20):
        now += table.wait_s(HOME, now)
        table.begin(HOME, now)
        waits.append(table.wait_s(HOME, now))
    assert waits[:6] == [0, 0, 1, 2, 4, 8]
    assert waits[-1] == attempts.MAX_DELAY_S
    assert table.wait_s(HOME, now - 10**9) <= attempts.MAX_DELAY_S
    table.begin(HOME, now + attempts.FORGET_S + 1)
    assert table.wait_s(HOME, now + attempts.FORGET_S + 1) == 0


def test_what_other_addresses_do_never_delays_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "MAX_ADDRESSES", 100)
    table = Attempts()
    for each in range(1000):
        table.begin(f"2001:db8:0:{each:x}::1", NOW)
    assert table.wait_s("192.0.2.77", NOW) == 0
    assert len(table._failed) <= 100


def test_an_attempt_that_was_not_checked_does_not_count() -> None:
    table = Attempts()
    for _ in range(attempts.FREE):
        table.begin(HOME, NOW)
    assert table.wait_s(HOME, NOW) > 0
    table.withdraw(HOME)
    assert table.wait_s(HOME, NOW) == 0
    table.withdraw(THERE)
    assert table.wait_s(THERE, NOW) == 0


def test_networks_that_logged_in_are_known_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "MAX_KNOWN", 10)
    table = Attempts()
    for each in range(50):
        table.succeed(f"192.0.2.{each}")
    assert table.is_known("192.0.2.49")
    assert not table.is_known("192.0.2.1")
    assert len(table._known) == 10


def test_networks() -> None:
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:2") == "2001:db8::"
    assert network_of("2001:db8:0:1::1") != network_of("2001:db8::1")
    assert network_of("::ffff:192.0.2.1") == network_of("192.0.2.1") == "192.0.2.1"
    assert network_of("fe80::1%eth0") == "fe80::"
    assert network_of("") == ""
    assert region_of("198.18.7.9") == region_of("::ffff:198.18.200.1") == "198.18.0.0"
    assert region_of("2001:db8:1:2::3") == "2001:db8:1::"


def test_codes_are_renewed_by_time_and_not_by_wrong_guesses() -> None:
    code = OneTimeCode(repeatable("code"))
    first = code.show(NOW)
    assert code.show(NOW + codes.VALID_S - 1) == first
    assert code.expires(NOW) == NOW + codes.VALID_S
    second = code.show(NOW + codes.VALID_S)
    assert second != first
    assert not code.take(first, NOW + codes.VALID_S)
    for _ in range(1000):
        assert not code.take("00000 00000", NOW + codes.VALID_S)
    assert code.show(NOW + codes.VALID_S) == second, "guesses do not take the code away from its owner"
    assert code.show(NOW - 10**6) != second, "a clock that was set back does not prolong it"


@pytest.mark.parametrize(
    "typed",
    [
        lambda code: code,
        lambda code: code.replace(" ", "-"),
        lambda code: f" {code}\n",
        lambda code: code.lower().replace("0", "o").replace("1", "l"),
    ],
)
def test_codes_are_typed_in_many_ways(typed: Callable[[str], str]) -> None:
    code = OneTimeCode(repeatable("code"))
    assert code.take(typed(code.show(NOW)), NOW)


@given(st.integers(0, 2**32))
def test_codes_have_fifty_bits(seed: int) -> None:
    code = make_code(repeatable(str(seed)))
    assert len(code) == 10
    assert set(code) <= set(ALPHABET)
    assert len(ALPHABET) ** len(code) == 2**BITS


def test_guessing_a_code_is_hopeless() -> None:
    guesses = 10_000 * codes.VALID_S
    assert guesses / 2**BITS < 1e-8


def test_the_owner_logs_in_at_the_first_try_while_ten_thousand_addresses_guess_codes(login: Login) -> None:
    code = shown(login)
    for each in range(10_000):
        stranger = f"198.18.{each >> 8}.{each & 255}"
        refused = finish(login.log_in(stranger, Proof(code="00000 00000"), NOW))
        assert isinstance(refused, Refused)
        assert refused.status == 401
    assert isinstance(finish(login.log_in(HOME, Proof(code=code), NOW)), Session)


@pytest.mark.parametrize(
    "hashed",
    [
        hash_password("pass word ü", repeatable("salt")),
        bcrypt.hashpw("pass word ü".encode(), bcrypt.gensalt(4)).decode(),
    ],
    ids=["scrypt", "bcrypt"],
)
def test_passwords(hashed: str) -> None:
    check_hash(hashed)
    assert is_password("pass word ü", hashed)
    for wrong in ("", "pass word u", "x" * 73, "a\0b", "x" * 10**6):
        assert not is_password(wrong, hashed)


@pytest.mark.parametrize(
    "hashed",
    [
        "",
        "secret",
        "$1$x",
        "$2b$12$short",
        "$2b$99$" + "a" * 53,
        "scrypt:3:8:1:AA:AA",
        "scrypt:1073741824:8:1:AA:AA",
        "scrypt:::::",
    ],
)
def test_hashes_that_are_none(hashed: str) -> None:
    with pytest.raises(UserError) as caught:
        check_hash(hashed)
    assert "secret" not in str(caught.value)
    assert not is_password("secret", hashed)


def test_a_session_that_was_ended_stays_so(tmp_path: Path) -> None:
    ended = EndedSessions(tmp_path, NOW)
    ended.end("one", NOW + 10, NOW)
    ended.end("two", NOW + 99, NOW)
    assert "one" in ended
    assert "other" not in ended
    assert "two" in EndedSessions(tmp_path, NOW + 50)
    assert "one" not in EndedSessions(tmp_path, NOW + 50), "it has expired by itself"
    assert (tmp_path / "ended-sessions.json").stat().st_mode & 0o777 == 0o600
    (tmp_path / "ended-sessions.json").write_text("garbage")
    assert "two" not in EndedSessions(tmp_path, NOW)


def test_cookies() -> None:
    header = render_cookie("token", 60)
    for word in ("Secure", "HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=60"):
        assert word in header
    assert parse_cookie(header) == "token"
    assert parse_cookie("a=b; __Host-muster=x.y.z") == "x.y.z"
    assert parse_cookie("a=b; muster=x") == parse_cookie("") == ""
    assert "Max-Age=0" in render_cookie("", 60)


def test_csrf() -> None:
    assert is_csrf_of("one", csrf_of("one"))
    assert not is_csrf_of("one", csrf_of("two"))
    assert not is_csrf_of("", csrf_of(""))
    assert not is_csrf_of("one", "")
