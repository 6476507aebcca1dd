# SPDX-License-Identifier: Apache-2.0
"""What the service of a site keeps beside its database: with this directory alone it comes up again."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Final

import msgspec

from muster.errors import MediaError, cannot
from muster.files import save_file
from muster.model.meeting import Meeting
from muster.service.edge.given import Given
from muster.service.hosting import make_folder
from muster.service.rendezvous.medium import Medium

_FILE: Final = "site.json"
_CERTIFICATE: Final = "service.crt"
_KEY: Final = "service.key"


class Kept(msgspec.Struct, frozen=True):
    """Who the service is, and whom it lets in."""

    ip: str
    cluster_id: str
    infra_env_id: str
    token_key: str
    password_hash: str

    @property
    def meeting(self) -> Meeting:
        return Meeting(ip_address(self.ip), self.cluster_id, self.infra_env_id)


def keep(data: Path, medium: Medium) -> Kept:
    """Write it all into the data directory; what is there already is the same."""
    make_folder(data)
    meeting = medium.meeting
    kept = Kept(
        str(meeting.ip), meeting.cluster_id, meeting.infra_env_id, medium.token_key, medium.password_hash
    )
    for source, name in ((medium.certificate.certificate, _CERTIFICATE), (medium.certificate.key, _KEY)):
        try:
            save_file(data / name, source.read_bytes(), mode=0o600)
        except OSError as error:
            raise cannot("read", source, error) from error
    save_kept(data, kept)
    return kept


def keep_own(data: Path, meeting: Meeting) -> Kept:
    """The same for a service that no medium made: it has a certificate and tokens of its own.

    What was kept before of the same meeting stays: people may log in with the password already.
    """
    make_folder(data)
    kept = Kept(str(meeting.ip), meeting.cluster_id, meeting.infra_env_id, "", "")
    if (data / _FILE).exists():
        before = load_kept(data)
        if before.meeting == meeting:
            return before
    save_kept(data, kept)
    return kept


def save_kept(data: Path, kept: Kept) -> None:
    """Write who the service is."""
    save_file(data / _FILE, msgspec.json.encode(kept), mode=0o600)


def load_kept(data: Path) -> Kept:
    """What was kept."""
    try:
        return msgspec.json.decode((data / _FILE).read_bytes(), type=Kept)
    except OSError as error:
        raise cannot("read", data / _FILE, error) from error
    except msgspec.DecodeError as error:
        raise MediaError(
            f"{data / _FILE} cannot be used: {error}", hint="the directory was not handed over whole"
        ) from error


def find_certificate(data: Path) -> Given | None:
    """The certificate that was kept, with its key; a service that no medium made has its own."""
    return Given(data / _CERTIFICATE, data / _KEY) if (data / _CERTIFICATE).exists() else None
