# SPDX-License-Identifier: Apache-2.0
"""The signature of a store: that of its index, from which a chain of digests leads to every byte.

It lies beside the index, and ``openssl`` can check it, too. An index that is changed by somebody without the
key has none: one that does not fit would look like a forgery.
"""

from __future__ import annotations

import logging
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from muster.errors import MediaError
from muster.files import save_file
from muster.release.store.flaws import unreadable
from muster.release.store.incoming import cannot_write

if TYPE_CHECKING:
    from muster.signature import PrivateKey, PublicKey

SIGNATURE: Final = "index.json.sig"
_LARGEST: Final = 64 << 10
_logger: Final = logging.getLogger(__name__)


class Seal(StrEnum):
    """What is known about the signature of a store."""

    NONE = "none"
    UNCHECKED = "unchecked"
    """There is one, and nobody said whose it has to be."""
    GOOD = "good"
    WRONG = "wrong"


def check_seal(root: Path, index: bytes, key: PublicKey | None) -> Seal:
    """Whether an index is signed by the owner of a key."""
    signature = _read(root / SIGNATURE)
    if signature is None:
        return Seal.NONE
    if key is None:
        return Seal.UNCHECKED
    from muster.signature import is_signed_by

    return Seal.GOOD if is_signed_by(key, index, signature) else Seal.WRONG


def require_seal(root: Path, index: bytes, key: PublicKey) -> None:
    """Refuse an index that the owner of the key did not sign."""
    seal = check_seal(root, index, key)
    if seal is Seal.NONE:
        raise MediaError(
            f"the store {root} is not signed: it has no {SIGNATURE}",
            hint="`muster store sign` signs it; if somebody else should have done so, do not use it",
        )
    if seal is Seal.WRONG:
        raise MediaError(
            f"the index of the store {root} was changed, or signed by somebody else",
            hint="do not use it; get the store again, or name the key of the one who signed it",
        )


def save_seal(root: Path, index: bytes, key: PrivateKey) -> None:
    from muster.signature import sign

    save_file(root / SIGNATURE, sign(key, index))


def is_sealed(root: Path, index: bytes, key: PrivateKey) -> bool:
    """Whether the signature is the one that this key makes."""
    from muster.signature import is_signed_by

    signature = _read(root / SIGNATURE)
    return signature is not None and is_signed_by(key.public_key(), index, signature)


def break_seal(root: Path, *, will_renew: bool) -> None:
    """Take the signature away before the index changes; say so when no other will follow."""
    path = root / SIGNATURE
    try:
        path.unlink()
    except FileNotFoundError:
        return
    except OSError as error:
        raise cannot_write(path, error) from error
    if not will_renew:
        _logger.warning("the index of %s changes, so its signature was removed; sign it again", root)


def _read(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(path, error) from error
