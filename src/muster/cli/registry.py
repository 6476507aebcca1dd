# SPDX-License-Identifier: Apache-2.0
"""`muster registry`: serve a content store to those who pull images."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from muster.cli import log, options
from muster.cli.store import load_public
from muster.errors import UserError, cannot
from muster.frozen import dataclass
from muster.units import parse_span

F = TypeVar("F", bound=Callable[..., Any])
_OPTIONS: Final = (
    click.option(
        "--listen", metavar="ADDRESS:PORT", default="127.0.0.1:5000", show_default=True,
        help="Where to listen: [::1]:5000 for IPv6, :5000 for all addresses; port 0 is any that is free.",
    ),
    click.option(
        "--certificate", metavar="FILE", type=click.Path(path_type=Path),
        help="Certificate (PEM) for HTTPS, with those that lead to its root.",
    ),
    click.option("--key", metavar="FILE", type=click.Path(path_type=Path), help="Its key (PEM)."),
    click.option(
        "--htpasswd", metavar="FILE", type=click.Path(path_type=Path),
        help="Who may pull, with bcrypt hashes (`htpasswd -B`).  [default: everybody]",
    ),
    click.option(
        "--public-key", metavar="FILE", type=click.Path(path_type=Path),
        help="Whose signature the store must have (PEM); without it nothing is served.",
    ),
    click.option(
        "--timeout", metavar="TIME", default="60s", show_default=True,
        help="A client that asks nothing, or takes nothing, for so long is cut off.",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class _Wish:
    """How a store is to be served."""

    listen: str
    certificate: Path | None
    key: Path | None
    htpasswd: Path | None
    public_key: Path | None
    timeout: str


def _serve_options(command: F) -> F:
    """The flags above; the command is given them as `wish`."""

    @wraps(command)
    def gathered(*args: Any, **kwargs: Any) -> Any:
        names = ("listen", "certificate", "key", "htpasswd", "public_key", "timeout")
        return command(*args, wish=_Wish(**{name: kwargs.pop(name) for name in names}), **kwargs)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]


@click.group(epilog=options.examples("muster registry serve /srv/release"))
def registry() -> None:
    """Serve a content store by the API that podman, skopeo, containerd and all others pull images with."""


@registry.command(
    epilog=options.examples(
        "muster registry serve /srv/release",
        "muster registry serve /media/cdrom/release --listen 192.0.2.10:5000 \\",
        "    --certificate registry.crt --key registry.key --htpasswd users",
        "podman pull --tls-verify=false 127.0.0.1:5000/team/tool:v1",
    )
)
@click.argument("store", type=click.Path(path_type=Path))
@_serve_options
@options.log_level
@options.output
def serve(store: Path, wish: _Wish, log_level: str | None, output_format: str) -> None:
    """Serve the images of the content store STORE, read-only, until it is ended by Ctrl-C or SIGTERM.

    STORE is a folder that `muster release` filled, or a mounted medium that has one; any OCI image layout
    whose images have full names will do. It is served as it is, nothing is unpacked. When it gets new images
    they are there at once.

    An image that came from registry.example.com/team/tool:v1 is served as team/tool:v1, and also as
    registry.example.com/team/tool:v1 for mirrors that keep several registries. What is damaged or missing is
    told here, with the images that need it.
    """
    as_json = options.begin_without_site(log_level, output_format)
    _serve(store, wish, as_json=as_json)


def _serve(place: Path, wish: _Wish, *, as_json: bool) -> None:
    import asyncio

    from muster.release.registry.server import Settings, serve
    from muster.release.store.store import open_store
    from muster.serving.listen import (
        is_local,
        load_certificate,
        open_socket,
        parse_endpoint,
        raise_file_limit,
        render_url,
    )

    store = open_store(place, public_key=load_public(wish.public_key))
    endpoint = parse_endpoint(wish.listen)
    settings = Settings(
        tls=load_certificate(*pair) if (pair := _pair(wish)) else None,
        users=_load_users(wish.htpasswd) if wish.htpasswd else {},
        patience_s=_parse_timeout(wish.timeout),
    )
    raise_file_limit()
    with open_socket(endpoint) as listening:
        url = render_url(listening, is_secure=settings.tls is not None)
        if settings.users and not settings.tls and not is_local(listening):
            log.warn("passwords are sent in the clear: HTTPS needs --certificate and --key")

        def tell(count: int) -> None:
            images = f"{count} image{'' if count == 1 else 's'}"
            body = {"url": url, "store": str(place), "images": count}
            click.echo(json.dumps(body) if as_json else f"serving {images} of {place} at {url}")

        asyncio.run(serve(store, listening, settings, tell))
    log.say("the registry ended")


def _pair(wish: _Wish) -> tuple[Path, Path] | None:
    if wish.certificate and wish.key:
        return wish.certificate, wish.key
    if wish.certificate or wish.key:
        raise UserError("--certificate and --key belong together", hint="give both, or none of them")
    return None


def _load_users(path: Path) -> dict[str, bytes]:
    from muster.release.registry.access import parse_htpasswd

    try:
        return parse_htpasswd(path.read_text("utf-8"), str(path))
    except OSError as error:
        raise cannot("read", path, error) from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not a text file", hint="make it with `htpasswd -cB FILE USER`") from error


def _parse_timeout(text: str) -> float:
    seconds = parse_span(text).total_seconds()
    if seconds < 1:
        raise UserError("--timeout is too short for any client", hint="write at least 1s")
    return seconds
