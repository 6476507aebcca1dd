# SPDX-License-Identifier: Apache-2.0
"""The private key of a host: made at the first registration, kept in memory until the host restarts."""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from muster.files import save_file
from muster.model.host_key import decode, encode, fingerprint, signed_text

_PRIVATE_BYTES = 32


class HostKey:
    """A key pair; only the public half ever leaves the host."""

    def __init__(self, private: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(private)

    @property
    def public(self) -> str:
        """As a registration carries it."""
        return encode(self._key.public_key().public_bytes_raw())

    @property
    def fingerprint(self) -> str:
        """As people compare it."""
        return fingerprint(self.public)

    def prove(self, infra_env_id: str, host_id: str, challenge: str) -> str:
        """The proof that this host has the key, for one registration."""
        return encode(self._key.sign(signed_text(infra_env_id, host_id, challenge)))


def load_host_key(path: Path) -> HostKey:
    """The key of this host; it is made if there is none, or none that can be read."""
    try:
        private = decode(path.read_text("ascii").strip(), _PRIVATE_BYTES)
    except (OSError, ValueError):
        private = None
    if private is None:
        private = Ed25519PrivateKey.generate().private_bytes_raw()
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        save_file(path, encode(private).encode("ascii"), mode=0o600)
    return HostKey(private)
