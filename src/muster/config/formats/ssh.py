# SPDX-License-Identifier: Apache-2.0
"""Public SSH keys: a line of authorized_keys, taken apart far enough to know that a host will accept it."""

from __future__ import annotations

import base64
import re
from typing import Final

from muster.frozen import dataclass

_PARTS: Final = {
    "ssh-ed25519": 2,
    "ssh-rsa": 3,
    "ssh-dss": 5,
    "ecdsa-sha2-nistp256": 3,
    "ecdsa-sha2-nistp384": 3,
    "ecdsa-sha2-nistp521": 3,
    "sk-ssh-ed25519@openssh.com": 3,
    "sk-ecdsa-sha2-nistp256@openssh.com": 4,
}
"""The types of keys, and how many parts the binary form of each has."""
_CERTIFICATE: Final = "-cert-v01@openssh.com"
_WORD: Final = re.compile(r'(?:"(?:\\.|[^"\\])*"|[^\s"])+')
_PRIVATE: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----|^\s*b3BlbnNzaC1rZXktdjE|^PuTTY-User-Key-File-\d", re.MULTILINE
)
"""How private keys begin; the second is "openssh-key-v1" in base64, when the first line was lost."""
_FILE_NAME: Final = re.compile(r"(?:[~.]{0,2}/\S+|\S+\.pub)\Z")


@dataclass(frozen=True)
class SSHKey:
    """A public key: its type, and its size when that depends on the key."""

    type: str
    bits: int | None = None


@dataclass(frozen=True)
class BadSSHKey:
    """Why a line is no public key, and the line that it should be when that is certain."""

    reason: str
    right: str | None = None


def holds_private_key(text: str) -> bool:
    """Whether a text is the secret half of a key."""
    return _PRIVATE.search(text) is not None


def key_lines(text: str) -> list[str]:
    """The lines that have to be keys."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def parse_ssh_key(line: str) -> SSHKey | BadSSHKey:
    """The key of one line: options if any, type, key in base64, comment."""
    words = _WORD.findall(line)
    at = next((index for index, word in enumerate(words[:2]) if is_key_type(word)), None)
    if at is None:
        return _explain(line, words)
    if len(words) <= at + 1:
        return BadSSHKey(f"the key itself is missing behind its type {words[at]}")
    return _parse_body(words[at], words[at + 1])


def is_key_type(word: str) -> bool:
    """Whether a word is the type of a key."""
    return word in _PARTS or (word.endswith(_CERTIFICATE) and _plain_type(word) in _PARTS)


def _plain_type(word: str) -> str:
    name = word.removesuffix(_CERTIFICATE)
    return f"{name}@openssh.com" if name.startswith("sk-") else name


def _explain(line: str, words: list[str]) -> BadSSHKey:
    if line.startswith("---- BEGIN SSH2"):
        return BadSSHKey("it has the form of RFC 4716; `ssh-keygen -i -f FILE` converts it to one line")
    if _FILE_NAME.match(line):
        return BadSSHKey("it is the name of a file; what is needed is the content of that file")
    first = words[0] if words else ""
    if first.startswith("AAAA"):
        held = _embedded_type(first)
        return BadSSHKey("the type in front of the key is missing", f"{held} {line}" if held else None)
    return BadSSHKey(
        "no line of authorized_keys begins like that; it has to begin with a type such as ssh-ed25519"
    )


def _embedded_type(body: str) -> str | None:
    parts = _split(_decoded(body) or b"")
    held = parts[0].decode("ascii", "replace") if parts else ""
    return held if is_key_type(held) else None


def _parse_body(key_type: str, body: str) -> SSHKey | BadSSHKey:
    data = _decoded(body)
    if data is None:
        return BadSSHKey("the part behind the type is not base64; it was cut off or broken over two lines")
    parts = _split(data)
    if not parts:
        return BadSSHKey("the key ends too early; it was not copied whole")
    held = parts[0].decode("ascii", "replace")
    if held != key_type:
        named = held if is_key_type(held) else "something else"
        return BadSSHKey(f"its type says {key_type}, but the key itself is {named}")
    if key_type in _PARTS and len(parts) != _PARTS[key_type]:
        return BadSSHKey("the key ends too early or goes on too long; it was not copied exactly")
    if key_type == "ssh-ed25519" and len(parts[1]) != 32:
        return BadSSHKey("an ed25519 key has 32 bytes, and this one does not")
    return SSHKey(key_type, int.from_bytes(parts[2], "big").bit_length() if key_type == "ssh-rsa" else None)


def _decoded(body: str) -> bytes | None:
    try:
        return base64.b64decode(body, validate=True)
    except ValueError:
        return None


def _split(data: bytes) -> list[bytes]:
    """The parts of a key, each with its length in front; none when they do not add up."""
    parts = []
    while data:
        size = int.from_bytes(data[:4], "big")
        if len(data) < 4 + size:
            return []
        parts.append(data[4 : 4 + size])
        data = data[4 + size :]
    return parts
