# SPDX-License-Identifier: Apache-2.0
"""Bundles of certificates in PEM form: the blocks of a text, and what each of them is."""

from __future__ import annotations

import base64
import re
import warnings
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from typing import Final

from muster.frozen import dataclass

BEGIN: Final = "-----BEGIN "
_BLOCK: Final = re.compile(
    r"-----BEGIN (?P<label>[^-\n]*)-----(?P<body>.*?)(?:-----END (?P<end>[^-\n]*)-----|(?=-----BEGIN )|\Z)",
    re.DOTALL,
)
_LABEL: Final = "CERTIFICATE"
_ON_LINES: Final = re.compile(r"[ \t]*\r?\n.*\n[ \t]*\Z", re.DOTALL)
"""Between its first and last line a block has lines of its own; readers of PEM insist on it."""
_HEADER: Final = re.compile(r"^[\w-]+: .*$", re.MULTILINE)


@dataclass(frozen=True)
class Certificate:
    """What has to be known of a certificate."""

    der: bytes
    subject: str
    starts: date
    ends: date
    version: int
    is_authority: bool


@dataclass(frozen=True)
class Block:
    """One block of a bundle: a certificate, or the reason why it is none."""

    certificate: Certificate | None = None
    fault: str = ""
    private: bool = False
    """It holds the secret half of a key."""


@lru_cache(maxsize=4)
def read_bundle(text: str) -> tuple[Block, ...]:
    """The blocks of a bundle, in their order. All sites of a fleet have the same, maybe of hundreds."""
    return tuple(_read_block(match) for match in _BLOCK.finditer(text))


def text_after(text: str) -> str:
    """What stands behind the last block."""
    ends = [match.end() for match in _BLOCK.finditer(text)]
    return text[ends[-1] :].strip() if ends else ""


def block_starts(text: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Where the blocks of a text begin."""
    stop = len(text) if end is None else end
    while (start := text.find(BEGIN, start, stop)) >= 0:
        yield start
        start += len(BEGIN)


def _read_block(match: re.Match[str]) -> Block:
    label = match["label"].strip()
    if "PRIVATE KEY" in label:
        return Block(private=True)
    if match["end"] is None:
        return Block(fault=f"the line -----END {label}----- is missing, so it was not copied whole")
    if match["end"].strip() != label:
        return Block(fault=f"it begins as {label} and ends as {match['end'].strip()}")
    if not _ON_LINES.match(match["body"]):
        return Block(fault="its lines were joined; begin the value with | and keep each line as it was")
    if label != _LABEL:
        return Block(fault=f"it is a {label}, a {_LABEL} was expected")
    try:
        der = base64.b64decode("".join(_HEADER.sub("", match["body"]).split()), validate=True)
    except ValueError:
        return Block(fault="its lines are not base64; some were cut off or changed")
    certificate = _parse_certificate(der)
    if certificate is None:
        return Block(fault="its content is not an X.509 certificate; it was cut off or changed")
    return Block(certificate)


def _parse_certificate(der: bytes) -> Certificate | None:
    from cryptography import x509

    # Old authorities break rules that later versions of the library will insist on; hosts accept them.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = x509.load_der_x509_certificate(der)
            subject = found.subject.rfc4514_string()
            starts, ends = found.not_valid_before_utc.date(), found.not_valid_after_utc.date()
            version = found.version.value + 1
        except (ValueError, x509.InvalidVersion):
            return None
        return Certificate(der, subject or "without a name", starts, ends, version, _is_authority(found))


def _is_authority(certificate: object) -> bool:
    from cryptography import x509

    assert isinstance(certificate, x509.Certificate)
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (ValueError, x509.ExtensionNotFound, x509.DuplicateExtension, x509.UnsupportedGeneralNameType):
        return False
