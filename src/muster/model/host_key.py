# SPDX-License-Identifier: Apache-2.0
"""The key pair that a host makes at its first registration, and how it proves that it has it.

The host sends its public key with every registration. A service that knows the host already answers with a
challenge; the host signs it and registers again. Both sides build the signed text here.
"""

from __future__ import annotations

import hashlib
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

KEY_HEADER: Final = "X-Muster-Host-Key"
"""In a registration: the public key of the host (Ed25519, base64)."""
CHALLENGE_HEADER: Final = "X-Muster-Host-Challenge"
"""In a refused registration: what to sign. In the registration that follows: what was signed."""
PROOF_HEADER: Final = "X-Muster-Host-Proof"
"""In a registration: the signature of the challenge (base64)."""
KEY_BYTES: Final = 32
_FINGERPRINT: Final = re.compile(r"[0-9A-F]{4}(?:-[0-9A-F]{4}){4}")


def signed_text(infra_env_id: str, host_id: str, challenge: str) -> bytes:
    """What a host signs; nothing else that the key could sign looks like it."""
    return f"muster-host-registration\n{infra_env_id}\n{host_id}\n{challenge}".encode()


def encode(data: bytes) -> str:
    """Bytes as text for a header."""
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def decode(text: str, size: int) -> bytes | None:
    """The bytes of a header; None when they are not of the right form and size."""
    if len(text) > size * 2:
        return None
    try:
        found = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return None
    return found if len(found) == size else None


def is_fingerprint(text: str) -> bool:
    """Whether a text has the form of a fingerprint."""
    return _FINGERPRINT.fullmatch(text) is not None


def fingerprint(key: str) -> str:
    """A public key in a form that people can compare: 80 bits of its hash."""
    digits = hashlib.sha256(key.encode("ascii", "replace")).hexdigest()[:20].upper()
    return "-".join(digits[at : at + 4] for at in range(0, len(digits), 4))
