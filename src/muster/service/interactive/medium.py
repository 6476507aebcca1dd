# SPDX-License-Identifier: Apache-2.0
"""What a medium that knows no site brings all the same: a release, registries, authorities, logins."""

from __future__ import annotations

import os
from dataclasses import field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from muster.config.formats.registries import parse_registries
from muster.errors import MediaError
from muster.frozen import dataclass
from muster.model.bounded_yaml import UNREADABLE, load_document
from muster.model.medium import CARRIED_RELEASE
from muster.model.meeting import Meeting, parse_environment
from muster.model.registries import RegistriesConf
from muster.model.tree import Source
from muster.release.store.store import LAYOUT
from muster.service.rendezvous.clock import Window
from muster.service.rendezvous.reading import load_meeting, read_release_key

_SITE: Final = "etc/assisted/manifests/agent-cluster-install.yaml"
_IMAGE_SET: Final = "etc/assisted/manifests/cluster-image-set.yaml"
_INSTALLER: Final = "etc/assisted/agent-installer.env"
_LOGINS: Final = "root/.docker/config.json"
_REGISTRIES: Final = "etc/containers/registries.conf"
_TRUST: Final = "etc/pki/ca-trust/source/anchors/domain.crt"
_SYSTEM: Final = "usr/lib/os-release"
_LASTS: Final = timedelta(days=3650)


@dataclass(frozen=True)
class GenericMedium:
    """All that the service on the rendezvous host is given."""

    meeting: Meeting
    pull_secret: str = field(default="", repr=False)
    release_image: str = ""
    """Where the release is that it is for, if it says so."""
    release_key: str = ""
    """The public key (PEM) that its signature is checked with, if one is required."""
    store: Path | None = None
    """A content store with releases, if it has one."""
    registries: RegistriesConf = field(default_factory=RegistriesConf)
    trust_bundle: str = field(default="", repr=False)


def has_site(root: Path) -> bool:
    """Whether the medium that a host booted says what its cluster is."""
    return (root / _SITE).exists()


def load_generic(root: Path) -> GenericMedium:
    """What the medium brings; a MediaError names what cannot be used."""
    return GenericMedium(
        meeting=load_meeting(root),
        pull_secret=_text(root / _LOGINS),
        release_image=_release_image(root),
        release_key=read_release_key(root),
        store=root / CARRIED_RELEASE if (root / CARRIED_RELEASE / LAYOUT).exists() else None,
        registries=_registries(root / _REGISTRIES),
        trust_bundle=_text(root / _TRUST),
    )


def load_window(root: Path) -> Window:
    """A clock that is older than the system on the medium is wrong; nothing says when it is too late."""
    try:
        made = datetime.fromtimestamp((root / _SYSTEM).stat().st_mtime, UTC)
    except OSError:
        made = datetime.fromtimestamp(0, UTC)
    return Window(made, made + _LASTS)


def _release_image(root: Path) -> str:
    """The one that the medium was made for: by digest, where the manifest may only have a tag."""
    named = parse_environment(_text(root / _INSTALLER)).get("RELEASE_IMAGE", "")
    if named:
        return named
    text = _text(root / _IMAGE_SET)
    try:
        found = load_document(text) if text else None
    except UNREADABLE as error:
        raise _unusable(root / _IMAGE_SET, "it is not YAML") from error
    spec = found.get("spec") if isinstance(found, dict) else None
    image = spec.get("releaseImage") if isinstance(spec, dict) else None
    return image if isinstance(image, str) else ""


def _registries(path: Path) -> RegistriesConf:
    text = _text(path)
    if not text:
        return RegistriesConf()
    conf, problems = parse_registries(Source(path.name, text))
    if conf is None:
        raise _unusable(path, problems[0].message)
    return conf


def _text(path: Path) -> str:
    """A file's text; nothing when there is no such file."""
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "it is not text"
        raise _unusable(path, why.lower()) from error


def _unusable(path: Path, why: str) -> MediaError:
    return MediaError(
        f"the medium that this host booted cannot be used: {path}: {why}",
        hint="make it again with `muster agent create unconfigured-image`, and boot all hosts from it",
    )
