# SPDX-License-Identifier: Apache-2.0
"""No secret gets into a bundle, in whatever form it is written."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from muster.support.secrets import (
    clean_config,
    clean_json,
    clean_log,
    clean_text,
    is_secret_path,
    is_secret_text,
    load_secrets,
)

SECRET = "hunter2-and-more"
KEY = f"-----BEGIN EC PRIVATE KEY-----\n{SECRET}\n-----END EC PRIVATE KEY-----\n"
KEY_DATA = base64.b64encode(KEY.encode()).decode()
HASHES = (
    "$6$Zr3qg1pOJx$Qm2Cq7hJt7K1e3bq0Q8hHk4eV5v3b1F3o7nq0sXzHj2zYh1q9eJ0mA3b8u6w1x.",
    "$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy",
    "$y$j9T$F5Jx5fExrKuPp53xLKQ..1$X3DX6M94c7o.9agCG9G317fhZg9SqC.5i5rd.RhAtQ7",
)


def save(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    "path",
    [
        "etc/assisted/tokens/agent",
        "etc/assisted/tls/server.pem",
        "etc/assisted/tls/anything",
        "etc/assisted/core/password.hash",
        "etc/assisted/manifests/pull-secret.yaml",
        "etc/assisted/hostconfig/fencing-credentials.yaml",
        "etc/assisted/auth/kubeconfig",
        "etc/assisted/auth.json",
    ],
)
def test_a_secret_path(path: str) -> None:
    assert is_secret_path(PurePosixPath(path))


@pytest.mark.parametrize(
    "path",
    [
        "etc/assisted/tls/service-ca.crt",
        "etc/assisted/rendezvous-host.env",
        "etc/assisted/hostconfig/node1/role",
        "etc/assisted/manifests/agent-cluster-install.yaml",
        "etc/assisted/medium.json",
        "var/log/muster/agent.log",
    ],
)
def test_no_secret_path(path: str) -> None:
    assert not is_secret_path(PurePosixPath(path))


def test_a_manifest_of_secrets() -> None:
    assert is_secret_text("apiVersion: v1\nkind: Secret\n")
    assert is_secret_text('{"kind": "Secret"}')
    assert not is_secret_text("kind: ConfigMap\nsecretName: a\n")


@pytest.mark.parametrize(
    "text",
    [
        f"[wifi-security]\npsk={SECRET}\n",
        f"[802-1x]\npassword={SECRET} with spaces {SECRET}\n",
        f"[wireguard]\nprivate-key={SECRET}\n",
        f"[wifi-security]\nwep-key0={SECRET}\n",
        f"[vpn]\nx=1\n\n[vpn-secrets]\nanything={SECRET}\nelse={SECRET}\n\n[ipv4]\nmethod=auto\n",
        f"AGENT_AUTH_TOKEN={SECRET}\n",
        f"export PULL_SECRET='{SECRET}'\n",
        f"bmc:\n  username: admin\n  password: {SECRET}\n",
        f"contents:\n  source: data:text/plain;base64,{SECRET}aaaaaaaa\n",
        KEY,
    ],
)
def test_settings_without_secrets(text: str) -> None:
    assert SECRET not in clean_config(text, ())


def test_settings_are_else_as_they_were() -> None:
    text = "[connection]\nid=eno1\nuuid=1\n\n[ipv4]\naddress1=192.0.2.7/24\ndns=192.0.2.1;\nmethod=manual\n"
    assert clean_config(text, ()) == text
    vpn = "[vpn-secrets]\na=b\n\n[ipv4]\nmethod=auto\n"
    assert clean_config(vpn, ()).endswith("[ipv4]\nmethod=auto\n")


@pytest.mark.parametrize(
    "line",
    [
        f"GET https://joe:{SECRET}@r.example.com/v2/ 200",
        f"started with --token {SECRET} --verbose",
        f"X-Secret-Key={SECRET}, else=1",
        f"Authorization: Bearer {SECRET}",
        f"sent Basic {SECRET}",
        f'{{"auth": "{SECRET}"}}',
        f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.{SECRET}",
        f"password:\n    {SECRET}",
        f'{{"client-key-data": "{SECRET}"}}',
        f"    client-key-data: {SECRET}",
    ],
)
def test_a_log_without_secrets(line: str) -> None:
    prefix = "2026-08-01T10:00:00.000001+0000 host agent[1]: "
    before, after = f"{prefix}all is well\n", f"{prefix}it goes on\n"
    cleaned = clean_text(f"{before}{prefix}{line}\n{after}", ())
    assert SECRET not in cleaned
    assert cleaned.startswith(before)
    assert cleaned.endswith(after)


def test_a_known_secret_is_found_in_any_line() -> None:
    assert clean_text(f"we were told {SECRET}\n", (SECRET,)) == "we were told ••••\n"


def test_a_key_that_goes_over_two_pieces() -> None:
    pieces = ["a\n-----BEGIN RSA PRIVATE KEY-----\n", f"{SECRET}\n-----END RSA PRIVATE KEY-----\nb\n", "c\n"]
    cleaned = list(clean_log(pieces, ()))
    assert SECRET not in "".join(cleaned)
    assert cleaned[0].startswith("a\n")
    assert cleaned[1].endswith("-----END RSA PRIVATE KEY-----\nb\n")
    assert cleaned[2] == "c\n"


def test_a_key_without_an_end_does_not_hide_all_that_follows() -> None:
    pieces = [KEY.partition("-----END")[0], "some lines\n", "more lines\n"]
    assert list(clean_log(pieces, ()))[2] == "more lines\n"


def test_a_key_without_its_beginning() -> None:
    cleaned = clean_text(f"{SECRET}\n-----END RSA PRIVATE KEY-----\nb\n{KEY}c\n", ())
    assert SECRET not in cleaned
    assert cleaned.endswith("c\n")


def test_what_a_host_was_told_in_confidence(tmp_path: Path) -> None:
    save(tmp_path / "etc/assisted/tokens/agent", f"{SECRET}-token\n")
    save(tmp_path / "etc/assisted/rendezvous-host.env", "NODE_ZERO_IP=192.0.2.1\n")
    os.mkfifo(tmp_path / "etc/assisted/tokens/pipe")
    auth = "am9lOmh1bnRlcjItbG9naW4="
    save(
        tmp_path / "root/.docker/config.json",
        json.dumps({"auths": {"r.example.com": {"auth": auth}, "s": 1}}),
    )
    assert set(load_secrets(tmp_path)) == {f"{SECRET}-token", auth, "hunter2-login"}
    assert load_secrets(tmp_path / "nowhere") == ()


@pytest.mark.parametrize("word", [*HASHES, KEY_DATA], ids=["sha512", "bcrypt", "yescrypt", "key"])
@pytest.mark.parametrize("line", ["core:{}:19000:0:99999", "{}", 'said "{}"', '{{"x": "{}"}}', "a={} b"])
def test_hashes_and_encoded_keys(line: str, word: str) -> None:
    for clean in (clean_text, clean_config):
        cleaned = clean(f"before\n{line.format(word)}\nafter\n", ())
        assert word[4:30] not in cleaned
        assert cleaned.startswith("before\n")
        assert cleaned.endswith("after\n")


def test_a_certificate_in_base64_stays() -> None:
    text = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nMIIB").decode()
    assert clean_text(f"certificate-authority-data: {text}\n", ()) == f"certificate-authority-data: {text}\n"


@given(
    secret=st.text("abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789+/", min_size=16, max_size=80),
    form=st.sampled_from(
        [
            "password: {}",
            '"password": "{}"',
            "export AGENT_TOKEN={}",
            "--token {}",
            "Authorization: Bearer {}",
            "https://joe:{}@example.com:8443/",
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----",
            'client-key-data: "{}"',
            "psk={}",
            '{{"auths": {{"r.example.com": {{"auth": "{}"}}}}}}',
        ]
    ),
    before=st.text(max_size=40),
    after=st.text(max_size=40),
)
def test_whatever_stands_around_it(secret: str, form: str, before: str, after: str) -> None:
    """A secret is gone, wherever in a log its line stands."""
    assume("PRIVATE KEY" not in before + after)
    secret = secret.replace("/", "x") if "@" in form else secret
    text = f"{before}\n{form.format(secret)}\n{after}\n"
    assume(secret not in f"{before}\n{after}")
    assert secret not in clean_text(text, ())
    assert secret not in clean_config(text, ())


def test_json_stays_json() -> None:
    body = {
        "doing": "waits",
        "trouble": f"bad token={SECRET}",
        "token": SECRET,
        "list": [{"password": SECRET}, 1, None],
    }
    cleaned = clean_json(json.dumps(body), ())
    assert SECRET not in cleaned
    assert json.loads(cleaned) == {
        "doing": "waits",
        "trouble": "bad token=••••",
        "token": "••••",
        "list": [{"password": "••••"}, 1, None],
    }
    assert SECRET not in clean_json(f"no JSON, password={SECRET}\n", ())


def test_what_a_node_took_along_is_known(tmp_path: Path) -> None:
    save(
        tmp_path / "etc/muster/join.json", json.dumps({"url": "https://192.0.2.1", "token": f"{SECRET}-join"})
    )
    save(tmp_path / "run/muster/host-token", f"{SECRET}-host")
    assert set(load_secrets(tmp_path)) == {f"{SECRET}-join", f"{SECRET}-host"}
