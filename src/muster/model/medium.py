# SPDX-License-Identifier: Apache-2.0
"""Where a live host finds the medium that it booted, and what may be on it."""

from __future__ import annotations

from typing import Final

MEDIUM: Final = "/run/media/iso"
RELEASE_FOLDER: Final = "release"
"""A content store with a release, for places without a registry."""
CARRIED_RELEASE: Final = f"{MEDIUM}/{RELEASE_FOLDER}".lstrip("/")
"""That store on a live host, relative to its root."""
RELEASE_KIND: Final = "/etc/assisted/release-kind"
"""The kind of release that the medium was made for, where that was known."""
RELEASE_KEY: Final = "/etc/assisted/release-key.pem"
"""The public key whose owner must have signed the release, if a signature is required."""
