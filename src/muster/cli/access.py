# SPDX-License-Identifier: Apache-2.0
"""How verbs reach registries: the flags, the files that they name, and what the environment says."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from muster.errors import MusterError, UserError, cannot
from muster.frozen import dataclass

if TYPE_CHECKING:
    from muster.model.registries import RegistriesConf
    from muster.release.oci.client import Settings
    from muster.release.oci.logins import Logins

F = TypeVar("F", bound=Callable[..., Any])
_AUTH_VARIABLE: Final = "REGISTRY_AUTH_FILE"
_CONF_VARIABLE: Final = "CONTAINERS_REGISTRIES_CONF"
_OPTIONS: Final = (
    click.option(
        "--pull-secret", metavar="FILE", type=click.Path(path_type=Path),
        help=f"Logins of registries (JSON); also {_AUTH_VARIABLE}.  [default: those of podman and Docker]",
    ),
    click.option(
        "--registries-conf", metavar="FILE", type=click.Path(path_type=Path),
        help=f"Where images really are: mirrors, blocked registries; also {_CONF_VARIABLE}.",
    ),
    click.option(
        "--ca-bundle", metavar="FILE", type=click.Path(path_type=Path),
        help="Certificates (PEM) to trust, besides those of the system.",
    ),
    click.option(
        "--insecure", metavar="HOST[:PORT]", multiple=True,
        help="A registry that need not prove who it is, or has no TLS at all. May be given several times.",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class AccessFlags:
    """What was said about registries."""

    pull_secret: Path | None = None
    registries_conf: Path | None = None
    ca_bundle: Path | None = None
    insecure: tuple[str, ...] = ()


@dataclass(frozen=True)
class SiteAccess:
    """What a site says about registries."""

    pull_secret: str = field(default="", repr=False)
    registries: RegistriesConf | None = None
    authorities: tuple[str, ...] = ()


def access_options(command: F) -> F:
    """The flags above; the command is given them as `access`, an AccessFlags."""

    @wraps(command)
    def gathered(*args: Any, **kwargs: Any) -> Any:
        names = ("pull_secret", "registries_conf", "ca_bundle", "insecure")
        return command(*args, access=AccessFlags(**{name: kwargs.pop(name) for name in names}), **kwargs)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]


def settings_of(flags: AccessFlags, site: SiteAccess | None = None) -> Settings:
    """What a client of registries is told; a flag goes before the site, and that before the machine."""
    from muster.release.oci.client import Settings
    from muster.release.oci.proxies import proxy_of

    site = site or SiteAccess()
    return Settings(
        logins=_logins(flags.pull_secret, site.pull_secret),
        registries=_registries(flags.registries_conf, site.registries),
        insecure=frozenset(flags.insecure),
        authorities=(*site.authorities, *load_bundle(flags.ca_bundle)),
        proxy=proxy_of(os.environ),
    )


def load_bundle(path: Path | None) -> list[str]:
    """The certificates that --ca-bundle names."""
    if path is None:
        return []
    text = _read(path)
    if "-----BEGIN CERTIFICATE-----" not in text:
        raise UserError(f"{path} has no certificate in it", hint="--ca-bundle takes certificates in PEM form")
    return [text]


def find_auth_file(environment: Mapping[str, str], home: Path) -> Path | None:
    """Where podman, skopeo or Docker keep logins, in the order that they look in."""
    places = [home / ".config/containers/auth.json", home / ".docker/config.json"]
    runtime = environment.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/"):
        places.insert(0, Path(runtime) / "containers/auth.json")
    return next((place for place in places if place.is_file()), None)


def _logins(given: Path | None, of_site: str) -> Logins:
    from muster.release.oci.logins import parse_logins

    if given is not None:
        return parse_logins(_read(given), str(given))
    own = _own_logins()
    return own.add(parse_logins(of_site, "the pull secret of the site")) if of_site else own


def _own_logins() -> Logins:
    """Those of whoever runs this."""
    from muster.release.oci.logins import Logins, parse_logins

    named = os.environ.get(_AUTH_VARIABLE)
    if named:
        return parse_logins(_read(Path(named)), named)
    try:
        found = find_auth_file(os.environ, Path.home())
        return parse_logins(_read(found), str(found)) if found else Logins()
    except (MusterError, RuntimeError):
        return Logins()  # Docker's file may hold no login at all, and nobody named it.


def _registries(given: Path | None, of_site: RegistriesConf | None) -> RegistriesConf:
    from muster.config.formats.registries import parse_registries
    from muster.model.registries import RegistriesConf
    from muster.model.tree import Source

    named = given
    if named is None and of_site is None and os.environ.get(_CONF_VARIABLE):
        named = Path(os.environ[_CONF_VARIABLE])
    if named is None:
        return of_site or RegistriesConf()
    conf, problems = parse_registries(Source(str(named), _read(named)))
    if conf is None:
        raise UserError(f"{named} cannot be used: {problems[0].message}", hint="it has to be TOML")
    return conf


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError as error:
        raise cannot("read", path, error) from error
