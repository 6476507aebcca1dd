# SPDX-License-Identifier: Apache-2.0
"""`muster serve`: the service that clusters are installed through."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from muster.cli import log, options
from muster.errors import UserError, cannot
from muster.frozen import dataclass

if TYPE_CHECKING:
    from muster.image.base_image import BaseImage
    from muster.release.model import Release
    from muster.service.hosting import Running, Settings, Sockets
    from muster.service.offers import Offer, Offers

F = TypeVar("F", bound=Callable[..., Any])
_PATH: Final = click.Path(path_type=Path)


def _read_settings(context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    """Values of a file stand behind those of the environment and of flags."""
    if path is None:
        return None
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise cannot("read", path, error) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path} is not TOML: {error}", hint='write lines such as listen = ":8090"'
        ) from error
    known = {parameter.name for parameter in context.command.params} - {"settings"}
    values = {name.replace("-", "_"): value for name, value in values.items()}
    if unknown := sorted(values.keys() - known):
        raise UserError(
            f"{path}: there is no setting {unknown[0].replace('_', '-')}",
            hint="the settings are called as the flags are, without the dashes in front",
        )
    context.default_map = {**(context.default_map or {}), **values}
    return path


_OPTIONS: Final = (
    click.option(
        "--settings", metavar="FILE", type=_PATH, is_eager=True, expose_value=False, callback=_read_settings,
        help="TOML file with any of the values below, by the names of their flags.",
    ),
    click.option(
        "--data", metavar="DIR", type=_PATH, default=Path("muster-data"), show_default=True,
        envvar="MUSTER_DATA", help="Keys, certificates and, without --database, the database.",
    ),
    click.option(
        "--database", metavar="URL", default="", envvar="MUSTER_DATABASE",
        help="postgresql://USER@HOST/NAME for several services side by side.  [default: SQLite in --data]",
    ),
    click.option(
        "--listen", metavar="ADDRESS:PORT", default="127.0.0.1:8090", show_default=True,
        envvar="MUSTER_LISTEN", help="Where to listen (TLS): :8090 is all addresses, port 0 any free one.",
    ),
    click.option(
        "--media-listen", metavar="ADDRESS:PORT", default="", envvar="MUSTER_MEDIA_LISTEN",
        help="Plain HTTP for firmware that fetches media by signed addresses.  [default: none]",
    ),
    click.option(
        "--redirect-listen", metavar="ADDRESS:PORT", default="", envvar="MUSTER_REDIRECT_LISTEN",
        help="Plain HTTP that only sends browsers to https.  [default: none]",
    ),
    click.option(
        "--url", metavar="URL", default="", envvar="MUSTER_URL",
        help="Where hosts and people reach the service.  [default: where it listens]",
    ),
    click.option(
        "--media-url", metavar="URL", default="", envvar="MUSTER_MEDIA_URL", help="The same for media."
    ),
    click.option(
        "--name", "names", metavar="NAME", multiple=True, envvar="MUSTER_NAMES",
        help="Another name or address for the certificate. May be given several times.",
    ),
    click.option(
        "--password-file", metavar="FILE", type=_PATH, envvar="MUSTER_PASSWORD_FILE",
        help="Its first line lets people log in, beside the code that is printed.",
    ),
    click.option(
        "--token-key", "token_keys", metavar="FILE", type=_PATH, multiple=True, envvar="MUSTER_TOKEN_KEYS",
        help="Public key (PEM) whose tokens are accepted, too. May be given several times.",
    ),
    click.option(
        "--release", "releases", metavar="STORE", type=_PATH, multiple=True, envvar="MUSTER_RELEASES",
        help="Content store with releases that can be installed. May be given several times.",
    ),
    click.option(
        "--base-image", "base_images", metavar="ISO", multiple=True, envvar="MUSTER_BASE_IMAGES",
        help="Live ISO (path or URL) that discovery media are made from. May be given several times.",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class _Wish:
    """What the flags say."""

    data: Path
    database: str
    listen: str
    media_listen: str
    redirect_listen: str
    url: str
    media_url: str
    names: tuple[str, ...]
    password_file: Path | None
    token_keys: tuple[Path, ...]
    releases: tuple[Path, ...]
    base_images: tuple[str, ...]


def _serve_options(command: F) -> F:
    @wraps(command)
    def gathered(*args: Any, **kwargs: Any) -> Any:
        wish = _Wish(**{name: kwargs.pop(name) for name in _Wish.__dataclass_fields__})
        return command(*args, wish=wish, **kwargs)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]


@click.command(
    epilog=options.examples(
        "muster serve --data /var/lib/muster --listen :8090 --url https://muster.example.com:8090",
        "muster serve --release /srv/release --base-image live.iso --media-listen :8080",
        "muster serve --settings /etc/muster/serve.toml --database postgresql://muster@db.example.com/muster",
        "aicli --url https://127.0.0.1:8090 --token TOKEN list clusters",
    )
)
@_serve_options
@options.log_level
@options.output
def serve(wish: _Wish, log_level: str | None, output_format: str) -> None:
    """Serve the assisted installer's API until Ctrl-C or SIGTERM.

    Clusters are created, hosts register by the discovery ISO that the service makes, and installations are
    driven from here. Everything that was answered is on the disk: the service can be killed at any moment and
    goes on where it was.

    People log in with the code that is printed, or with a password. Every request that changes something is
    an event of one log; `muster events` reads it.
    """
    as_json = options.begin_without_site(log_level, output_format)
    _serve(wish, as_json=as_json)


def _serve(wish: _Wish, *, as_json: bool) -> None:
    import asyncio

    from muster.serving.listen import open_socket, parse_endpoint, raise_file_limit

    raise_file_limit()
    with ExitStack() as stack:

        def listen(where: str) -> Any:
            return stack.enter_context(open_socket(parse_endpoint(where))) if where else None

        from muster.service.hosting import Sockets

        sockets = Sockets(listen(wish.listen), listen(wish.media_listen), listen(wish.redirect_listen))
        settings, find = _settings(wish, stack)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_run(settings, sockets, find, as_json=as_json))
    log.say("the service ended")


def _loop_factory() -> Callable[[], Any]:
    import uvloop

    return uvloop.new_event_loop


async def _run(
    settings: Settings, sockets: Sockets, find: Callable[[str, str], Release], *, as_json: bool
) -> None:
    import asyncio
    import signal

    from muster.service.hosting import Running

    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    running = Running(settings, sockets, find)
    async with running.serve():
        _tell(running, as_json=as_json)
        await ended.wait()


def _tell(running: Running, *, as_json: bool) -> None:
    import time

    code = running.login.code.show(time.time()) if running.login.code is not None else ""
    if as_json:
        body = {
            "url": running.url,
            "mediaUrl": running.media_url,
            "code": code,
            "fingerprint": running.identity.fingerprint,
            "certificate": str(running.identity.path.parent / "authority.pem"),
        }
        click.echo(json.dumps(body))
        return
    click.echo(f"serving at      {running.url}")
    click.echo(f"login code      {code}")
    click.echo(f"fingerprint     {running.identity.fingerprint}")
    if running.media_url != running.url:
        click.echo(f"media at        {running.media_url}")


def _settings(wish: _Wish, stack: ExitStack) -> tuple[Settings, Callable[[str, str], Release]]:
    from muster.service.auth.passwords import hash_password
    from muster.service.hosting import Settings

    releases = _find_releases(wish.releases)
    password = _read(wish.password_file).splitlines()[0] if wish.password_file else ""
    settings = Settings(
        data=wish.data,
        database=wish.database,
        url=wish.url,
        media_url=wish.media_url,
        names=wish.names,
        password_hash=hash_password(password, os.urandom) if password else "",
        token_keys=tuple(_read(path) for path in wish.token_keys),
        offers=_offers([offer for offer, _ in releases]),
        images=_images(wish.base_images, stack),
    )

    def find(version: str, architecture: str) -> Release:
        for offer, load in releases:
            if offer.version.lstrip("v") == version.lstrip("v") and architecture in offer.architectures:
                return load()
        there = ", ".join(sorted({offer.version for offer, _ in releases})) or "none"
        raise UserError(
            f"there is no release {version} for {architecture}; there are: {there}",
            hint="start the service with --release STORE that has it, or choose another version",
        )

    return settings, find


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip() + "\n"
    except (OSError, UnicodeDecodeError) as error:
        raise cannot("read", path, error if isinstance(error, OSError) else OSError(str(error))) from error


def _offers(found: list[Offer]) -> Offers:
    from muster import __version__
    from muster.service.offers import Offers

    return Offers(tuple(found), (("muster", __version__),))


def _find_releases(stores: tuple[Path, ...]) -> list[tuple[Offer, Callable[[], Release]]]:
    from muster.release.look import find_releases, load_release
    from muster.release.store.store import open_store
    from muster.service.offers import Offer

    names = {"amd64": ("x86_64",), "arm64": ("aarch64", "arm64")}
    found: list[tuple[Offer, Callable[[], Release]]] = []
    for place in stores:
        store = open_store(place)
        for each in find_releases(store):
            release = load_release(store, each)
            offer = Offer(
                version=release.version,
                image=each.name,
                architectures=names.get(release.architecture, (release.architecture,)),
                title=f"Kubernetes {release.version}",
                is_default=not found,
            )
            found.append((offer, lambda release=release: release))  # type: ignore[misc]
    return found


def _images(sources: tuple[str, ...], stack: ExitStack) -> dict[tuple[str, str], Callable[[], BaseImage]]:
    """Base images, by the architecture that each is for; the cache keeps them while the service runs."""
    if not sources:
        return {}
    from muster.cli.base_image import obtain, open_cache
    from muster.image.coreos.architecture import find_architecture
    from muster.image.iso.volume import Volume

    cache = stack.enter_context(open_cache(None))
    found: dict[tuple[str, str], Callable[[], BaseImage]] = {}
    for source in sources:
        image = obtain(options.BaseImageFlags(source=source), cache)
        with Volume.open(image.path) as volume:
            architecture = find_architecture(volume) or os.uname().machine
        found[architecture, ""] = lambda image=image: image  # type: ignore[misc]
    return found
