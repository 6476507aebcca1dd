# SPDX-License-Identifier: Apache-2.0
"""Public SSH keys: what hosts accept is accepted, and everything else has a reason."""

from __future__ import annotations

import pytest

from muster.config.formats.ssh import BadSSHKey, SSHKey, holds_private_key, key_lines, parse_ssh_key

ED25519 = "AAAAC3NzaC1lZDI1NTE5AAAAIKNCZ5TiF1TuoGOvLEDz2CYS4DHWj3Op9p1vAUJqYs2b"
ECDSA = (
    "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBM4gsZl60+/4sjTpwadOfFipVByGGIlUr2SEjJWNTSayMY6pf5F/"
    "ZCB+YIrrFdHgmqdcU5dwcxnW8p7byMkclZY="
)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (f"ssh-ed25519 {ED25519}", "ssh-ed25519"),
        (f"ssh-ed25519 {ED25519} a comment with spaces", "ssh-ed25519"),
        (f'from="192.0.2.0/24,*.example.com",no-pty ssh-ed25519 {ED25519} x', "ssh-ed25519"),
        (f'command="echo \\"hello you\\"" ssh-ed25519 {ED25519}', "ssh-ed25519"),
        (f"ecdsa-sha2-nistp256 {ECDSA}", "ecdsa-sha2-nistp256"),
    ],
)
def test_good_keys(line: str, found: str) -> None:
    key = parse_ssh_key(line)
    assert isinstance(key, SSHKey)
    assert key.type == found


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ssh-ed25519", "missing behind its type"),
        (f"ssh-ed25519 {ED25519[:-1]}", "not base64"),
        (f"ssh-ed25519 {ED25519[:-4]}", "too early"),
        (f"ssh-ed25519 {ED25519}AAAA", "too early"),
        (f"ssh-rsa {ED25519}", "the key itself is ssh-ed25519"),
        ("ssh-ed25519 AAAA", "too early"),
        ("/root/.ssh/id_rsa.pub", "name of a file"),
        ("---- BEGIN SSH2 PUBLIC KEY ----", "RFC 4716"),
        ("hello", "has to begin with a type"),
    ],
)
def test_bad_keys(line: str, reason: str) -> None:
    key = parse_ssh_key(line)
    assert isinstance(key, BadSSHKey)
    assert reason in key.reason


def test_a_missing_type_is_known_from_the_key() -> None:
    key = parse_ssh_key(f"{ED25519} me")
    assert isinstance(key, BadSSHKey)
    assert key.right == f"ssh-ed25519 {ED25519} me"


def test_private_keys_are_told_apart() -> None:
    assert holds_private_key("-----BEGIN OPENSSH PRIVATE KEY-----\nx")
    assert holds_private_key("PuTTY-User-Key-File-3: ssh-ed25519")
    assert not holds_private_key(f"ssh-ed25519 {ED25519}")


def test_comments_and_empty_lines_are_no_keys() -> None:
    assert key_lines("\n# mine\n a \n\nb\n") == ["a", "b"]
