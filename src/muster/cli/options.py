# SPDX-License-Identifier: Apache-2.0
"""Flags that many verbs share. They may stand before or behind the verb."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from muster.cli import log
from muster.errors import UserError
from muster.frozen import dataclass

OS_IMAGE_OVERRIDE: Final = "OPENSHIFT_INSTALL_OS_IMAGE_OVERRIDE"
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Globals:
    """Flags that were given before the verb."""

    directory: str | None = None
    log_level: str | None = None


@dataclass(frozen=True)
class Run:
    """What every verb that works on a site is told."""

    directory: Path
    as_json: bool


@dataclass(frozen=True)
class BaseImageFlags:
    """What was said about the base image."""

    source: str | None = None
    sha256: str = ""
    cache_dir: str | None = None
    ca_bundle: Path | None = None
    is_overridden: bool = False
    """Whether the source comes from the environment, where it is easily forgotten."""
    release: str = ""
    """The release that the base image is taken from when no source is named; empty for the site's."""
    release_by_tag: bool = False
    """Whether the medium may name the release by its tag alone."""
    release_key: Path | None = None
    """The public key that hosts check the signature of the release with."""


directory = click.option(
    "--dir",
    "directory",
    metavar="DIR",
    help="Directory with the site's files.  [default: .]",
    type=click.Path(),
)
log_level = click.option(
    "--log-level", type=click.Choice(list(log.LEVELS)), help="How much to tell.  [default: info]"
)
output = click.option(
    "--output", "-o", "output_format", type=click.Choice(["text", "json"]), default="text", show_default=True,
    help="Text for people or JSON for scripts.",
)  # fmt: skip


yes = click.option("--yes", "-y", is_flag=True, help="Do not ask.")
cache_dir = click.option(
    "--cache-dir", metavar="DIR", envvar="MUSTER_CACHE", type=click.Path(),
    help="Where images are kept between runs; also MUSTER_CACHE.  [default: ~/.cache/muster]",
)  # fmt: skip
_ca_bundle = click.option(
    "--ca-bundle", metavar="FILE", type=click.Path(path_type=Path),
    help="Certificates (PEM) to trust for the download, besides those of the system.",
)  # fmt: skip
_BASE_IMAGE: Final = (
    click.option(
        "--base-image", metavar="SOURCE",
        help=f"Live ISO to start from: a path, or a URL, best with ?sha256=HEX; also {OS_IMAGE_OVERRIDE}.",
    ),
    click.option(
        "--base-image-sha256", metavar="HEX", default="",
        help="What the base image has to hash to, compressed or not.",
    ),
    click.option(
        "--release", metavar="IMAGE|STORE", default="",
        help="Release to install, and to take the live ISO from: an image at a registry, or a content store.",
    ),
    cache_dir,
    _ca_bundle,
)  # fmt: skip
_RELEASE: Final = (
    click.option(
        "--release", metavar="IMAGE|STORE", default="",
        help="Release to install: an image at a registry, or a content store.",
    ),
    cache_dir,
    _ca_bundle,
)  # fmt: skip


def base_image(command: F) -> F:
    """--base-image and what belongs to it; the command is given them as `base_image`, a BaseImageFlags."""

    @wraps(command)
    def gathered(
        *args: Any,
        base_image: str | None,
        base_image_sha256: str,
        release: str,
        cache_dir: str | None,
        ca_bundle: Path | None,
        **kwargs: Any,
    ) -> Any:
        override = os.environ.get(OS_IMAGE_OVERRIDE) if base_image is None else None
        flags = BaseImageFlags(
            base_image if base_image is not None else override,
            base_image_sha256,
            cache_dir,
            ca_bundle,
            is_overridden=bool(override),
            release=release,
        )
        return command(*args, base_image=flags, **kwargs)

    for option in reversed(_BASE_IMAGE):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]


def release(command: F) -> F:
    """--release and what belongs to it, for media without a base image; a BaseImageFlags as `base_image`."""

    @wraps(command)
    def gathered(
        *args: Any, release: str, cache_dir: str | None, ca_bundle: Path | None, **kwargs: Any
    ) -> Any:
        flags = BaseImageFlags(release=release, cache_dir=cache_dir, ca_bundle=ca_bundle)
        return command(*args, base_image=flags, **kwargs)

    for option in reversed(_RELEASE):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]


_RELEASE_TRUST: Final = (
    click.option(
        "--release-key", metavar="FILE", type=click.Path(path_type=Path),
        help="Public key (PEM) that must have signed the release; hosts check that before they write a disk.",
    ),
    click.option(
        "--release-by-tag", is_flag=True,
        help="Do not look up the digest of the release: hosts install what their registry has under its tag.",
    ),
)  # fmt: skip


def release_trust(command: F) -> F:
    """--release-key and --release-by-tag, which become a part of `base_image`; below what makes that."""

    @wraps(command)
    def gathered(
        *args: Any,
        release_key: Path | None,
        release_by_tag: bool,
        base_image: BaseImageFlags,
        **kwargs: Any,
    ) -> Any:
        flags = replace(base_image, release_key=release_key, release_by_tag=release_by_tag)
        return command(*args, base_image=flags, **kwargs)

    for option in reversed(_RELEASE_TRUST):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]


def site_options(command: F) -> F:
    """--dir, --log-level and --output."""
    return directory(log_level(output(command)))


def begin(directory: str | None, log_level: str | None, output_format: str = "text") -> Run:
    """Start a verb that works on a site: settle the flags and open the log."""
    before = click.get_current_context().find_object(Globals) or Globals()
    given = directory if directory is not None else before.directory
    if given == "":
        raise UserError("--dir is empty", hint="name a directory; an unset variable in a script looks so")
    place = Path(given or ".")
    as_json = output_format == "json"
    log.configure(log_level or before.log_level or "info", place, as_json=as_json)
    if place.exists() and not place.is_dir():
        raise UserError(
            f"--dir {place} is not a directory",
            hint=f"name the directory that it is in: --dir {place.parent}",
        )
    return Run(place, as_json)


def begin_without_site(log_level: str | None = None, output_format: str = "text") -> bool:
    """Start a verb that works on no site; True when it is to print JSON."""
    before = click.get_current_context().find_object(Globals) or Globals()
    as_json = output_format == "json"
    log.configure(log_level or before.log_level or "info", None, as_json=as_json)
    return as_json


def examples(*lines: str) -> str:
    """The part of a help text that shows how it is done."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
