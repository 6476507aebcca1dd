# SPDX-License-Identifier: Apache-2.0
"""Logs of a host: no secret is in them, and what is missing is said."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path, PurePosixPath

import pytest

from muster.agent.steps.log_files import FolderCopy, Kept, load_pieces, pack, render_report
from muster.agent.steps.log_secrets import (
    clean_config,
    clean_log,
    clean_text,
    is_secret_path,
    is_secret_text,
    load_secrets,
)
from muster.errors import MusterError
from muster.model.wire.steps import LogsGatherCmdRequest

SECRET = "hunter2-and-more"
KEY = f"-----BEGIN EC PRIVATE KEY-----\n{SECRET}\n-----END EC PRIVATE KEY-----\n"
REQUEST = LogsGatherCmdRequest(
    cluster_id="c1", infra_env_id="i1", host_id="h1", bootstrap=False, installer_gather=True
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


def test_the_files_of_a_folder(tmp_path: Path) -> None:
    root = tmp_path / "root"
    save(root / "etc/assisted/a.env", f"TOKEN={SECRET}\nIP=192.0.2.1\n")
    save(root / "etc/assisted/tokens/agent", SECRET)
    save(root / "etc/assisted/extra/s.yaml", f"kind: Secret\nstringData:\n  a: {SECRET}\n")
    save(root / "etc/assisted/binary", "a\0b")
    (root / "etc/assisted/link").symlink_to("/etc/shadow")
    os.mkfifo(root / "etc/assisted/pipe")
    copy = FolderCopy(root, tmp_path / "to", lambda text: clean_config(text, ()))
    kept = copy.keep("etc/assisted", lambda: False)
    assert kept.left_out == ("etc/assisted/extra/s.yaml", "etc/assisted/tokens/agent")
    assert kept.missed == (
        ("etc/assisted/binary", "it is not text"),
        ("etc/assisted/link", "it is not a plain file"),
        ("etc/assisted/pipe", "it is not a plain file"),
    )
    written = [path for path in (tmp_path / "to").rglob("*") if path.is_file()]
    assert [path.name for path in written] == ["a.env"]
    assert written[0].read_text() == "TOKEN=••••\nIP=192.0.2.1\n"
    assert written[0].stat().st_mode & 0o777 == 0o600


def test_a_folder_that_is_not_there_or_takes_too_long(tmp_path: Path) -> None:
    save(tmp_path / "root/a/b", "text")
    copy = FolderCopy(tmp_path / "root", tmp_path / "to", str)
    assert copy.keep("c", lambda: False) == Kept(missed=(("c", "it is not there"),))
    assert copy.keep("a", lambda: True).missed == (("a", "there was no time or no room for all of it"),)


def test_of_a_long_file_the_end_is_kept(tmp_path: Path) -> None:
    save(tmp_path / "root/a/log", "".join(f"line {number:07}\n" for number in range(700_000)))
    FolderCopy(tmp_path / "root", tmp_path / "to", str).keep("a", lambda: False)
    text = (tmp_path / "to/a/log").read_text()
    assert (8 << 20) - 20 < len(text) <= 8 << 20
    assert text.startswith("line ")
    assert text.endswith("line 0699999\n")


def test_pieces_of_a_text_are_whole_lines(tmp_path: Path) -> None:
    lines = [f"line {number:07}\n" for number in range(60_000)]
    (tmp_path / "log").write_text("".join(lines))
    pieces = list(load_pieces(tmp_path / "log", is_cut=False))
    assert len(pieces) > 1
    assert all(piece.endswith("\n") for piece in pieces)
    assert "".join(pieces) == "".join(lines)
    assert "".join(load_pieces(tmp_path / "log", is_cut=True)) == "".join(lines[1:])


def test_an_archive(tmp_path: Path) -> None:
    save(tmp_path / "folder/b/c.txt", "text")
    archive = pack(tmp_path / "folder", tmp_path / "logs.tar.gz")
    assert archive.stat().st_mode & 0o777 == 0o600
    with tarfile.open(archive) as tar:
        (entry,) = tar.getmembers()
        assert (entry.name, entry.uid, entry.uname) == ("logs/b/c.txt", 0, "")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["logs.tar.gz"]


def test_an_archive_that_cannot_be_written(tmp_path: Path) -> None:
    save(tmp_path / "folder/a", "text")
    with pytest.raises(MusterError, match="cannot write"):
        pack(tmp_path / "folder", tmp_path / "nowhere/logs.tar.gz")


def test_the_report() -> None:
    kept = (Kept((("dmesg.txt", "it is\x1b gone"),)), Kept(left_out=("etc/assisted/tokens/agent",)))
    text = render_report(REQUEST, kept)
    assert "host h1 in cluster c1" in text
    assert "  dmesg.txt: it is\\x1b gone\n" in text
    assert text.endswith("secrets may be in it:\n  etc/assisted/tokens/agent\n")
    assert "Nothing is missing." in render_report(REQUEST, ())
