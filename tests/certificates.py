# SPDX-License-Identifier: Apache-2.0
"""Certificates as a site has them: from an authority of its own."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

from cryptography.x509 import ObjectIdentifier

from muster.certificates.issue import (
    SERVER,
    Term,
    Wish,
    common_name,
    issue,
    make_authority,
    render_certificate,
)
from muster.certificates.keys import P256, make_key, render_key
from muster.service.edge.given import Given


def site_certificate(
    folder: Path, names: tuple[str, ...], now: datetime, use: ObjectIdentifier = SERVER
) -> Given:
    """A certificate for 90 days since yesterday with the one above it, and its key."""
    begin = now - timedelta(days=1)
    term = Term("corporate", begin, timedelta(days=3650))
    above, key = (
        make_authority(common_name("corporate"), make_key(P256, os.urandom), term),
        make_key(P256, os.urandom),
    )
    made = issue(
        above, Wish(common_name("muster"), key, (use,), names), Term("site", begin, timedelta(days=90))
    )
    given = Given(folder / "tls.crt", folder / "tls.key")
    given.certificate.write_text(render_certificate(made) + above.pem)
    given.key.write_text(render_key(key))
    given.key.chmod(0o600)
    return given
