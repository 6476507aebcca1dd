# SPDX-License-Identifier: Apache-2.0
"""Tokens: what is written comes back, and nothing else is accepted."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from muster.certificates.keys import P256, make_key, public_pem
from muster.errors import UserError
from muster.service.auth import tokens
from muster.service.auth.keys import (
    load_key_ring,
    make_key_ring,
    parse_public_key,
    rotate_key_ring,
)
from muster.service.auth.personas import Grant, Persona, Scope
from muster.service.auth.tokens import Refusal, Tokens
from tests.unit.service.auth.ties import repeatable

NOW = 1_800_000_000.0


def key(seed: str) -> ec.EllipticCurvePrivateKey:
    made = make_key(P256, repeatable(seed))
    assert isinstance(made, ec.EllipticCurvePrivateKey)
    return made


OURS, THEIRS = key("ours"), key("theirs")
TOKENS = Tokens(make_key_ring([OURS]))
IDS = st.none() | st.uuids().map(str)
GRANTS = st.builds(
    Grant,
    persona=st.sampled_from([each for each in Persona if each is not Persona.ANYONE]),
    scope=st.builds(Scope, st.uuids().map(str), IDS, IDS),
    expires=st.integers(int(NOW) + 1, int(NOW) + 10**6).map(float),
    link=st.text(max_size=40),
    epoch=st.integers(0, 9),
    session=st.text(max_size=10),
)


def foreign(claims: dict[str, Any], signer: ec.EllipticCurvePrivateKey = THEIRS) -> str:
    return jwt.encode(claims, signer, "ES256")


@given(GRANTS)
def test_what_is_written_comes_back(grant: Grant) -> None:
    assert TOKENS.read(TOKENS.issue(grant), NOW) == grant


def test_the_same_is_written_the_same() -> None:
    """Media carry tokens, and are made anew for each range of their bytes."""
    grant = Grant(Persona.MEDIUM, Scope("an infra-env"), NOW + 1)
    assert Tokens(make_key_ring([OURS])).issue(grant) == TOKENS.issue(grant)


def test_a_token_expires() -> None:
    text = TOKENS.issue(Grant(Persona.USER, expires=NOW + 10))
    assert isinstance(TOKENS.read(text, NOW + 9), Grant)
    assert TOKENS.read(text, NOW + 10) == Refusal("the token has expired")
    assert TOKENS.read(text, NOW + 10**9) == Refusal("the token has expired")


def test_tokens_that_never_end_or_name_half_a_host_are_not_made() -> None:
    with pytest.raises(ValueError, match="expires"):
        TOKENS.issue(Grant(Persona.USER))
    with pytest.raises(ValueError, match="infra-env"):
        TOKENS.issue(Grant(Persona.MEDIUM, Scope(host_id="h"), expires=NOW))


@given(st.text() | st.binary().map(lambda data: base64.urlsafe_b64encode(data).decode() + "..x"))
def test_garbage_is_refused(text: str) -> None:
    assert isinstance(TOKENS.read(text, NOW), Refusal)


@given(st.data())
def test_a_changed_token_is_refused(data: st.DataObject) -> None:
    head, body, signature = TOKENS.issue(Grant(Persona.WATCHER, expires=NOW + 9)).split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    claims[data.draw(st.sampled_from(["persona", "cluster_id", "exp"]))] = data.draw(
        st.text() | st.integers()
    )
    changed = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    assert isinstance(TOKENS.read(f"{head}.{changed}.{signature}", NOW), Refusal)


@pytest.mark.parametrize("claims", [{}, {"iss": "muster", "persona": "anyone", "exp": NOW + 9}, {"iss": "x"}])
def test_odd_claims_under_our_own_key_are_refused(claims: dict[str, Any]) -> None:
    kid = make_key_ring([OURS]).signing_id
    text = jwt.encode(claims, OURS, "ES256", headers={"kid": kid})
    assert TOKENS.read(text, NOW) == Refusal("the token is garbled")


def test_other_algorithms_are_refused() -> None:
    plain = jwt.encode({"persona": "user"}, "", "none")
    shared = jwt.encode({"persona": "user"}, "x" * 64, "HS256")
    for text in (plain, shared):
        assert TOKENS.read(text, NOW) == Refusal("the token is not signed with ES256")


def test_tokens_of_the_installer_are_accepted_by_their_key() -> None:
    pem = public_pem(THEIRS.public_key()).replace("PUBLIC KEY", "EC PUBLIC KEY")
    accepting = Tokens(make_key_ring([OURS], [base64.b64encode(pem.encode()).decode()]))
    text = foreign({"auth_scheme": "agentAuth"})
    assert accepting.read(text, NOW) == Grant(Persona.MEDIUM)
    assert TOKENS.read(text, NOW) == Refusal("the token was signed by somebody else")
    dated = foreign({"auth_scheme": "watcherAuth", "exp": NOW + 5})
    assert accepting.read(dated, NOW) == Grant(Persona.WATCHER, expires=NOW + 5)
    assert accepting.read(dated, NOW + 5) == Refusal("the token has expired")
    assert isinstance(accepting.read(foreign({"auth_scheme": "imageAuth"}), NOW), Refusal)
    assert isinstance(accepting.read(foreign({"auth_scheme": "userAuth", "exp": True}), NOW), Refusal)


def test_a_foreign_key_does_not_make_tokens_of_ours() -> None:
    accepting = Tokens(make_key_ring([OURS], [public_pem(THEIRS.public_key())]))
    claims = {"iss": "muster", "persona": "user", "exp": NOW + 9}
    kid = make_key_ring([OURS]).signing_id
    assert isinstance(accepting.read(foreign(claims), NOW), Refusal)
    assert isinstance(accepting.read(jwt.encode(claims, THEIRS, "ES256", {"kid": kid}), NOW), Refusal)


def test_the_memory_for_tokens_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MAX_REMEMBERED", 3)
    reader = Tokens(make_key_ring([OURS]))
    texts = [reader.issue(Grant(Persona.USER, expires=NOW + each)) for each in range(1, 6)]
    for text in texts + texts:
        assert isinstance(reader.read(text, NOW), Grant)
        assert len(reader._remembered) <= 3


def test_keys_are_made_once_and_kept_to_oneself(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "auth"
    first = load_key_ring(folder, repeatable("a"))
    again = load_key_ring(folder, repeatable("b"))
    assert first.signing_id == again.signing_id
    file = folder / "tokens.pem"
    assert file.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    file.chmod(0o644)
    with pytest.raises(UserError, match="everybody"):
        load_key_ring(folder, repeatable("c"))


def test_after_a_rotation_old_tokens_are_good_and_then_no_longer(tmp_path: Path) -> None:
    ring = load_key_ring(tmp_path, repeatable("a"))
    text = Tokens(ring).issue(Grant(Persona.USER, expires=NOW + 9))
    rotated = rotate_key_ring(tmp_path, repeatable("b"))
    assert rotated.signing_id != ring.signing_id
    assert isinstance(Tokens(rotated).read(text, NOW), Grant)
    assert isinstance(Tokens(load_key_ring(tmp_path, repeatable("x"))).read(text, NOW), Grant)
    assert isinstance(Tokens(rotate_key_ring(tmp_path, repeatable("c"))).read(text, NOW), Refusal)
    assert (tmp_path / "tokens.pem").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"rubbish", b"-----BEGIN X-----\n-----END X-----\n"])
def test_a_broken_key_file_is_an_error_with_a_way_out(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tokens.pem").write_bytes(content)
    (tmp_path / "tokens.pem").chmod(0o600)
    with pytest.raises(UserError, match="private keys") as caught:
        load_key_ring(tmp_path, repeatable("a"))
    assert caught.value.hint


def test_public_keys_that_are_none() -> None:
    other = ec.derive_private_key(7, ec.SECP384R1()).public_key()
    large = other.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    for text in ("", "%%%", "QUJD", "-----BEGIN PUBLIC KEY-----", large):
        with pytest.raises(UserError, match="P-256"):
            parse_public_key(text)
