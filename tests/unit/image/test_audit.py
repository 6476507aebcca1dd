# SPDX-License-Identifier: Apache-2.0
"""Finding the secrets of a medium."""

from __future__ import annotations

import base64
import json
from itertools import count

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from muster.image.audit import Secret, audit, audit_within, hide, purpose_of
from muster.image.reading import Embedded, Kind, Reading
from muster.model.ignition import render_tree, tree_of
from muster.model.replacement import CONFIG_FILE
from muster.release.node.payload import plan_cluster
from muster.service.drivers.keeping import FOLDER, keep_others
from tests.clusters import RELEASE, THREE, authorities
from tests.seeds import seeded

LONG = 1 << 20
"""Characters of a text for which a search in quadratic time takes ten minutes to an hour."""
KEY = (
    ec.generate_private_key(ec.SECP256R1())
    .private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    .decode()
)
LOGINS = json.dumps({"auths": {"quay.io": {"auth": "dXNlcjpwYXNz"}, "mirror:5000": {"auth": "eDp5"}}})


def token(**claims: object) -> str:
    parts = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
        for part in ({"a": 1}, claims)
    ]
    return ".".join([*parts, "c2lnbmF0dXJl"])


@pytest.mark.parametrize(
    ("text", "kind", "detail"),
    [
        (KEY, "private key", "ECDSA secp256r1"),
        (KEY.replace("M", "A"), "private key", "encrypted, or of an unknown kind"),
        (
            token(auth_scheme="agentAuth", exp=1800000000),
            "token",
            "for agentAuth, valid until 2027-01-15 08:00 UTC",
        ),
        (token(auth_scheme="userAuth"), "token", "for userAuth, never expires"),
        ("core:$2b$05$abcdefghijklmnopqrstuvwxyz", "password hash", ""),
        ("proxy=http://me:pass@proxy.example.com:3128", "login in a URL", "for proxy.example.com:3128"),
        ("[wifi-security]\npsk=hunter2\n", "password in a setting", "psk"),
        ("bmc:\n  - username: a\n    password: b\n", "password", "bmc[0].password"),
        (
            "resources:\n- providers:\n  - secretbox: {keys: [{name: a, secret: c2VjcmV0}]}\n",
            "encryption key",
            "resources[0].providers[0].secretbox.keys[0].secret",
        ),
        (
            'metadata:\n  annotations:\n    over: \'{"bmc":{"password":"b"}}\'\n',
            "password",
            "metadata.annotations.over.bmc.password",
        ),
    ],
)
def test_a_secret_is_named_without_its_value(text: str, kind: str, detail: str) -> None:
    assert audit({"here": text}) == (Secret("here", kind, detail),)


@pytest.mark.parametrize(
    "text",
    [
        LOGINS,
        f"kind: Secret\nstringData:\n  .dockerconfigjson: '{LOGINS}'\n",
        f"kind: Secret\ndata:\n  .dockerconfigjson: {base64.b64encode(LOGINS.encode()).decode()}\n",
    ],
)
def test_logins_are_found_in_every_form(text: str) -> None:
    assert [found.detail for found in audit({"here": text})] == ["for mirror:5000", "for quay.io"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("users:\n- user:\n    client-key-data: {}\n", "users[0].user.client-key-data"),
        ("kind: Secret\ndata:\n  tls.key: {}\n", "data.tls.key"),
    ],
)
def test_a_private_key_in_base64_is_named_as_one(text: str, path: str) -> None:
    found = audit({"here": text.format(base64.b64encode(KEY.encode()).decode())})
    assert found == (Secret("here", "private key", f"{path}: ECDSA secp256r1"),)
    assert audit({"here": text.format(base64.b64encode(b"other").decode())}) != found


def test_every_secret_of_a_host_image_has_a_purpose() -> None:
    """The ISO has the keys of the host, and those of the other control-plane hosts that it keeps again."""
    configs = plan_cluster(RELEASE, THREE, authorities(), seeded("hosts"))
    trees = {name: tree_of(config) for name, config in configs.items()}
    whole = keep_others("master-2", trees["master-2"], trees)
    found = audit(Reading(Kind.LIVE, "", 0, (Embedded(CONFIG_FILE, 0o600, render_tree(whole)),)).texts())
    kinds = {each.place.rpartition(": ")[2]: each.kind for each in found}
    logins = [place for place in kinds if place.endswith((".conf", "/kubeconfig"))]
    assert len(logins) == 5
    assert {kinds[place] for place in logins} == {"private key"}
    own, kept = (
        {each.place: purpose_of(each.place) for each in found if (FOLDER in each.place) is is_kept}
        for is_kept in (False, True)
    )
    assert own
    assert all(own.values()), own
    assert {place.split(": ")[1] for place in kept} == {
        f"{FOLDER}/{name}.ign" for name in ("master-0", "master-1")
    }
    assert all(purpose.startswith("to replace master-") for purpose in kept.values()), kept
    assert purpose_of("/etc/muster/other.ign: /etc/kubernetes/kubelet.conf") == ""


def test_what_is_public_is_not_found() -> None:
    key = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"
    assert audit({"key": key, "ssh": "ssh-ed25519 AAAA me", "yaml": "password:\nurl: https://x.y/\n"}) == ()


def test_aliases_that_multiply_are_looked_at_once() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    assert audit({"here": "\n".join(lines)}) == ()


@pytest.mark.parametrize("expires", [1e18, -1e18, 10**400, float("nan"), float("inf")])
def test_a_token_with_an_impossible_time(expires: float) -> None:
    found = audit({"here": token(auth_scheme="userAuth", exp=expires)})
    assert [each.detail for each in found] == ["for userAuth, valid until a time that no calendar has"]


@pytest.mark.parametrize(
    "text",
    [
        "a: !!bool maybe\n",
        'a: !!int ""\n',
        'a: !!float ""\n',
        "a: !!timestamp soon\n",
        "a: 0001-01-01T00:00:00+23:00\n",
        "a: \ud800\n",
        f"0x{'f' * 5000}: a\n",
        "a: " + "[" * 100_000,
        "a: " + "{a: " * 100_000,
        "- " * 100_000,
        json.dumps({"a": "[" * 100_000}),
    ],
)
def test_what_cannot_be_read_is_passed_over(text: str) -> None:
    assert audit({"here": text, "there": "psk=hunter2"}) == (Secret("there", "password in a setting", "psk"),)


@pytest.mark.parametrize("depth", [190, 400, 900, 100_000])
def test_deep_json_in_a_string(depth: int) -> None:
    inner = "[" * depth + "]" * depth
    found = audit({"here": json.dumps({"a": inner, "password": "b"})})
    assert found == (Secret("here", "password", "password"),)


def test_a_token_that_is_deep() -> None:
    claims = base64.urlsafe_b64encode(b'{"a":' + b"[" * 100_000).decode().rstrip("=")
    assert audit({"here": f"eyJhIjoxfQ.{claims}.c2ln"}) == (Secret("here", "token"),)


def test_keys_inside_of_documents_are_told_apart() -> None:
    text = json.dumps({"crypto": {"first": KEY, "second": KEY}, "hash": "$2b$05$abcdefghijklmnopqrstuvwxyz"})
    assert audit({"here": text}) == (
        Secret("here", "password hash", "hash"),
        Secret("here", "private key", "crypto.first: ECDSA secp256r1"),
        Secret("here", "private key", "crypto.second: ECDSA secp256r1"),
    )


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        (token(auth_scheme="agentAuth", exp=1), "c2lnbmF0dXJl"),
        ("$2b$05$abcdefghijklmnopqrstuvwxyz", "abcdefghij"),
        pytest.param(KEY, KEY.splitlines()[1], id="key"),
        ("[wifi-security]\npsk=hunter2\n", "hunter2"),
        ("API_TOKEN=hunter2\nOTHER=fine\n", "hunter2"),
        ("Environment=DB_PASSWORD=hunter2\n", "hunter2"),
        (LOGINS, "dXNlcjpwYXNz"),
        ("password: hunter2\n", "hunter2"),
        ('{"source": "data:;base64,aHVudGVyMmh1bnRlcjI="}', "aHVudGVy"),
    ],
)
def test_what_is_shown_has_no_secrets(text: str, hidden: str) -> None:
    assert hidden not in hide(text)
    assert "fine" in hide("OTHER=fine\n")


@pytest.mark.parametrize("word", ["token", "-", "eyJ-", "data:", "proxy:", "-----BEGIN PRIVATE KEY-----"])
def test_the_time_of_a_search_grows_with_the_length_of_a_text_alone(word: str) -> None:
    text = word * (LONG // len(word))
    assert audit({"here": text, "there": f"a: '{text}'"}) == ()
    assert hide(text).startswith(word[:5])


def test_a_token_with_words_before_it() -> None:
    text = f"a.b-{token(auth_scheme='userAuth')}.more"
    assert audit({"here": text}) == (Secret("here", "token", "for userAuth, never expires"),)
    assert hide(text) == "a.b-••••.more"
    assert audit({"here": "eyJ.eyJh.a eyJh.eyJ.a eyJh.eyJh. xeyJh.eyJh.a"}) == ()


def test_keys_that_follow_each_other_and_one_without_an_end() -> None:
    text = f"a\n{KEY}b\n{KEY}c\n{KEY.splitlines()[0]}\nhunter2"
    searched = count()
    found = audit_within({"here": text}, lambda: next(searched) < 0)
    assert found == ((Secret("here", "private key", "ECDSA secp256r1"),), ())
    assert next(searched) == 4, "before and after a text, and before each secret"
    assert "hunter2" not in hide(text)
    assert "END" not in hide(text)


def test_an_rsa_key_is_described_and_not_checked() -> None:
    """To check the numbers of a key took 0.05 s and more for each one of a medium."""
    numbers = rsa.generate_private_key(65537, 2048).private_numbers()
    made = numbers.private_key(unsafe_skip_rsa_key_validation=True)
    right = made.private_bytes(Encoding.DER, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    half = numbers.p.to_bytes(128, "big")
    wrong = base64.encodebytes(right.replace(half, half[:-1] + bytes([half[-1] ^ 2]))).decode()
    text = f"-----BEGIN RSA PRIVATE KEY-----\n{wrong}-----END RSA PRIVATE KEY-----\n"
    assert audit({"here": text}) == (Secret("here", "private key", "RSA 2048"),)


def test_a_long_key_does_not_stand_in_the_path_of_each_value_under_it() -> None:
    inner = json.dumps({"k" * 100_000: [{"password": f"b{number}"} for number in range(100)]})
    found = audit({"here": json.dumps({"a": inner})})
    assert len(found) == 100
    assert {len(each.detail) for each in found} == {501}
    assert found[0].detail.endswith("k[10].password")
