# SPDX-License-Identifier: Apache-2.0
"""`muster serve`: the service that clusters are installed through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from muster.cli import log, options
from muster.cli.settings_file import read_settings
from muster.errors import ExternalError, UserError
from muster.frozen import dataclass

if TYPE_CHECKING:
    from muster.cli.serve_stock import Releases
    from muster.service.hosting import Settings, Sockets

F = TypeVar("F", bound=Callable[..., Any])
_PATH: Final = click.Path(path_type=Path)
_OPTIONS: Final = (
    click.option(
        "--settings", metavar="FILE", type=_PATH, is_eager=True, expose_value=False, callback=read_settings,
        envvar="MUSTER_SETTINGS", help="TOML file with any of the values below, by the names of their flags.",
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
        "--media-url", metavar="URL", default="", envvar="MUSTER_MEDIA_URL",
        help="The same for media.  [default: where --media-listen is, or --url]",
    ),
    click.option(
        "--name", "names", metavar="NAME", multiple=True, envvar="MUSTER_NAMES",
        help="Another name or address for the certificate. May be given several times.",
    ),
    click.option(
        "--certificate", metavar="FILE", type=_PATH, envvar="MUSTER_CERTIFICATE",
        help="The site's own certificate (PEM, those above it after it).  [default: the service makes one]",
    ),
    click.option(
        "--key", metavar="FILE", type=_PATH, envvar="MUSTER_KEY",
        help="The private key of --certificate (PEM).  [default: in the same file]",
    ),
    click.option(
        "--password-file", metavar="FILE", type=_PATH, envvar="MUSTER_PASSWORD_FILE",
        help="Its first line (a password, or its scrypt or bcrypt hash) lets people log in, too.",
    ),
    click.option(
        "--viewer-password-file", metavar="FILE", type=_PATH, envvar="MUSTER_VIEWER_PASSWORD_FILE",
        help="The same for people who may look at clusters, hosts and events, without secrets.",
    ),
    click.option(
        "--audit-log", metavar="FILE", type=_PATH, envvar="MUSTER_AUDIT_LOG",
        help="Also write the audit log here: JSON lines, 5 older files of 10 MiB.  [default: stderr alone]",
    ),
    click.option(
        "--token-key", "token_keys", metavar="FILE", type=_PATH, multiple=True, envvar="MUSTER_TOKEN_KEYS",
        help="Public key (PEM) whose tokens are accepted, too. May be given several times.",
    ),
    click.option(
        "--admit-keyless-hosts", "admits_keyless", is_flag=True, envvar="MUSTER_ADMIT_KEYLESS_HOSTS",
        help="Admit agents of the assisted installer: they have no key, so hosts of a medium look alike.",
    ),
    click.option(
        "--disable-validation", "disabled", metavar="ID", multiple=True,
        envvar="MUSTER_DISABLED_VALIDATIONS",
        help="Validation that is not asked, such as ntp-synced. May be given several times.",
    ),
    click.option(
        "--release", "releases", metavar="STORE", type=_PATH, multiple=True, envvar="MUSTER_RELEASES",
        help="Content store with releases that can be installed. May be given several times.",
    ),
    click.option(
        "--release-key", metavar="FILE", type=_PATH, envvar="MUSTER_RELEASE_KEY",
        help="Public key (PEM) that must have signed the releases; the service does not start without that.",
    ),
    click.option(
        "--base-image", "base_images", metavar="ISO", multiple=True, envvar="MUSTER_BASE_IMAGES",
        help="Live ISO (path or URL) that discovery media are made from. May be given several times.",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class _Wish:
    """What flags, environment and file say."""

    data: Path
    database: str
    listen: str
    media_listen: str
    redirect_listen: str
    url: str
    media_url: str
    names: tuple[str, ...]
    certificate: Path | None
    key: Path | None
    password_file: Path | None
    viewer_password_file: Path | None
    audit_log: Path | None
    token_keys: tuple[Path, ...]
    admits_keyless: bool
    disabled: tuple[str, ...]
    releases: tuple[Path, ...]
    release_key: Path | None
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
        "MUSTER_DATABASE=postgresql://muster@db.example.com/muster muster serve --settings serve.toml",
        "AI_URL=https://127.0.0.1:8090 AI_TOKEN=… aicli list clusters",
    )
)
@_serve_options
@click.option("--only-keys", is_flag=True, help="Make the keys and the authority in --data, and end.")
@click.option(
    "--discard-secrets", is_flag=True,
    help="Go on without secrets whose key (keys/secrets.key) is lost: they are removed from the database.",
)  # fmt: skip
@options.log_level
@options.output
def serve(
    wish: _Wish, only_keys: bool, discard_secrets: bool, log_level: str | None, output_format: str
) -> None:
    """Serve the assisted installer's API until Ctrl-C or SIGTERM.

    Clusters are created, hosts register by the discovery ISO that the service makes, and installations are
    driven from here. Everything that was answered is on the disk: the service can be killed at any moment and
    goes on where it was.

    People log in with the code that is printed, or with a password. A code works once and for ten minutes;
    SIGHUP prints another one, and has the certificate looked at again. Every change is an event of one log;
    `muster events` reads it. Logins, refusals and changes are in the audit log, a line of JSON each.

    Every flag can also be given in the environment (MUSTER_LISTEN for --listen; several values with spaces
    between them, several paths with colons) and in the file; flags go before the environment, and that
    before the file.
    """
    as_json = options.begin_without_site(log_level, output_format)
    _check_url("--url", wish.url, "https")
    _check_url("--media-url", wish.media_url, "https", "http")
    if only_keys:
        with _naming_own_flag():
            _make_keys(wish)
        return
    _warn_of_password(wish.database)
    if wish.audit_log is not None:
        log.open_audit_log(wish.audit_log)
    with ExitStack() as stack, _naming_own_flag():
        _serve(wish, stack, discard_secrets=discard_secrets, as_json=as_json)
    log.say("the service ended")


@contextmanager
def _naming_own_flag() -> Iterator[None]:
    """Errors about files name the flag of the commands that work on a site; here it is another one."""
    try:
        yield
    except ExternalError as error:
        error.hint = error.hint.replace("--dir", "--data")
        raise


def _check_url(flag: str, url: str, *schemes: str) -> None:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        is_good = parts.scheme in schemes and bool(parts.hostname) and not (parts.query or parts.fragment)
        _ = parts.port
    except ValueError:
        is_good = False
    if url and not is_good:
        raise UserError(
            f"{flag} {url} is no address of a service",
            hint=f"write {schemes[0]}://NAME:PORT, such as https://muster.example.com:8090",
        )


def _warn_of_password(database: str) -> None:
    from click.core import ParameterSource

    source = click.get_current_context().get_parameter_source("database")
    head, at, _ = database.rpartition("@")
    if at and ":" in head.partition("://")[2] and source is ParameterSource.COMMANDLINE:
        log.warn("everybody on this machine can read the password of --database: use MUSTER_DATABASE")


def _make_keys(wish: _Wish) -> None:
    """What several services have to have in common; the certificate of each is its own."""
    from muster.service.hosting import make_keys

    folder = make_keys(wish.data)
    log.say("%s has the keys: whoever has them can do everything, keep them safe", folder)


def _serve(wish: _Wish, stack: ExitStack, *, discard_secrets: bool, as_json: bool) -> None:
    import asyncio

    from muster.cli.serve_stock import Releases
    from muster.service.hosting import Sockets
    from muster.serving.listen import open_socket, parse_endpoint, raise_file_limit

    def listen(where: str, flag: str) -> Any:
        return stack.enter_context(open_socket(parse_endpoint(where), flag)) if where else None

    raise_file_limit()
    sockets = Sockets(
        listen(wish.listen, "--listen"),
        listen(wish.media_listen, "--media-listen"),
        listen(wish.redirect_listen, "--redirect-listen"),
    )
    releases = Releases(wish.releases, wish.release_key)
    settings = replace(_settings(wish, releases, stack), discard_secrets=discard_secrets)
    _collect_seldom()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_run(settings, sockets, releases, as_json=as_json))


def _settings(wish: _Wish, releases: Releases, stack: ExitStack) -> Settings:
    from muster.cli.serve_stock import find_certificate, find_images, load_password, read_text
    from muster.service.hosting import Settings
    from muster.service.house import House
    from muster.service.validations.disabled import check_disabled

    return Settings(
        data=wish.data,
        database=wish.database,
        url=wish.url,
        media_url=wish.media_url,
        names=wish.names,
        certificate=find_certificate(wish.certificate, wish.key),
        password_hash=load_password(wish.password_file),
        viewer_hash=load_password(wish.viewer_password_file),
        token_keys=tuple(read_text(path) for path in wish.token_keys),
        house=House(admits_keyless=wish.admits_keyless),
        disabled=check_disabled(wish.disabled),
        offers=releases.offers,
        images=find_images(wish.base_images, stack),
    )


def _collect_seldom() -> None:
    """Look for garbage that refers to itself less often: there is next to none, and all else is looked at."""
    import gc

    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def _loop_factory() -> Callable[[], Any]:
    import uvloop

    return uvloop.new_event_loop


async def _run(settings: Settings, sockets: Sockets, releases: Releases, *, as_json: bool) -> None:
    import asyncio
    import signal

    from muster.cli.notify import tell_systemd
    from muster.cli.serve_words import Words
    from muster.service.hosting import Running

    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    running = Running(settings, sockets, releases.find)
    words = Words(running, as_json=as_json)
    loop.add_signal_handler(signal.SIGHUP, words.tell_again)
    async with running.serve():
        words.tell_all()
        _tell_what_is_missing(settings)
        tell_systemd("READY=1")
        await ended.wait()
        tell_systemd("STOPPING=1")


def _tell_what_is_missing(settings: Settings) -> None:
    if not settings.offers.releases:
        log.warn("no release: clusters can be prepared but not installed; --release STORE names some")
    if not settings.images:
        log.warn("no base image: no discovery media can be made; --base-image ISO names one")
