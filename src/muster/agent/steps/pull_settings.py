# SPDX-License-Identifier: Apache-2.0
"""How this host gets container images: mirrors, logins and authorities, from where container tools look."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from muster.config.formats.registries import parse_registries
from muster.errors import UserError, cannot
from muster.model.registries import RegistriesConf
from muster.model.tree import Source
from muster.release.oci.client import Settings
from muster.release.oci.logins import Logins, parse_logins
from muster.release.oci.patience import Patience
from muster.release.oci.proxies import proxy_of
from muster.release.oci.transport import Limits

REGISTRIES: Final = "etc/containers/registries.conf"
LOGINS: Final = "root/.docker/config.json"
AUTHORITIES: Final = "etc/pki/ca-trust/source/anchors"
_PATIENCE: Final = Patience(tries=3, first_s=0.5)
"""The service asks again anyway, and somebody waits for the answer."""
_LIMITS: Final = Limits(connect_s=10, stall_s=30)


def load_settings(root: Path) -> Settings:
    """What a client of registries is told on a machine with this root; each file may be missing."""
    return Settings(
        logins=_load_logins(root / LOGINS),
        registries=_load_registries(root / REGISTRIES),
        authorities=_load_authorities(root / AUTHORITIES),
        proxy=proxy_of(os.environ),
        limits=_LIMITS,
        patience=_PATIENCE,
    )


def _load_logins(path: Path) -> Logins:
    text = _find_text(path)
    return parse_logins(text, str(path)) if text.strip() else Logins()


def _load_registries(path: Path) -> RegistriesConf:
    conf, problems = parse_registries(Source(str(path), _find_text(path)))
    if conf is None:
        raise UserError(f"{path} cannot be used: {problems[0].message}", hint="it has to be TOML")
    return conf


def _load_authorities(folder: Path) -> tuple[str, ...]:
    """Texts in PEM form; files of another kind may lie there, too."""
    try:
        paths = sorted(path for path in folder.iterdir() if path.is_file())
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise cannot("read", folder, error) from error
    texts = (_find_text(path) for path in paths)
    return tuple(text for text in texts if "-----BEGIN CERTIFICATE-----" in text)


def _find_text(path: Path) -> str:
    """The text of a file; empty when it is not there."""
    try:
        return path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise cannot("read", path, error) from error
