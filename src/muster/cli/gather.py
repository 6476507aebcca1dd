# SPDX-License-Identifier: Apache-2.0
"""`muster agent gather`: one bundle of a site's installation, from its service and all its hosts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from muster.cli import log, options, site
from muster.cli.loop import run_async
from muster.cli.options import Run
from muster.cli.reaching import Login, login_options, make_reach, planned_hosts
from muster.client.target import Caller, Target
from muster.config.state import STATE_FILE, load_state
from muster.errors import cannot
from muster.image.kept import find_secrets
from muster.image.pki import build_service_authority
from muster.image.secrets import SiteSecrets, renew_tokens
from muster.image.tokens import Tokens, build_tokens
from muster.model.meeting import service_url
from muster.model.plan import Plan
from muster.support.bundle import Made, Wish, finish, open_folder
from muster.support.first_page import About
from muster.support.gathering import Extra, Gathered, Order, gather, known_words
from muster.support.room import Room
from muster.support.secrets import words_of_logins
from muster.support.sink import Sink

_ROOM: Final = 1 << 30
"""Bytes before they are packed; this machine has a disk."""


@click.command(
    "gather",
    epilog=options.examples(
        "muster agent gather --dir mysite",
        "muster agent gather --dir mysite --host master-1 --host 192.168.10.14 --key ~/.ssh/site",
        "muster lab exec -- muster agent gather --dir mysite --lab mysite",
    ),
)
@click.option(
    "--host",
    "hosts",
    metavar="NAME|ADDRESS",
    multiple=True,
    help="Only this host; may be repeated.  [default: all]",
)
@click.option(
    "--to", metavar="DIR", type=click.Path(path_type=Path, file_okay=False),
    help="Where the archive goes.  [default: the site's directory]",
)  # fmt: skip
@login_options("Reach the hosts as machines of this lab, and add what it recorded.")
@options.site_options
def gather_(
    directory: str | None,
    log_level: str | None,
    output_format: str,
    login: Login,
    **how: Any,
) -> None:
    """Gather what tells how the installation of a site went in one archive, without secrets.

    The service is asked for events, hosts, checks and what it waits for, with the credentials of the site's
    directory; each host makes its own bundle and sends it over ssh (`muster host bundle`). Who does not
    answer is named, and is no obstacle: it works when the service is dead, and when hosts are.
    00-READ-ME-FIRST.txt in the archive says what most probably went wrong, and where that is seen.

    Keys of hosts are not known beforehand, and new after each installation: the first one that a host shows
    is taken, for this run only.
    """
    run = options.begin(directory, log_level, output_format)
    _, plan = site.load_cluster(run)
    now = datetime.now(UTC)
    name = f"muster-gather-{plan.name}-{now:%Y%m%d-%H%M%S}"
    archive = _make_place(how["to"] or run.directory) / f"{name}.tar.gz"
    about = About(f"Installation of {plan.domain}", now)
    with tempfile.TemporaryDirectory(prefix="muster-gather-") as scratch:
        wish = Wish(about, archive, name, Path(scratch))
        made, gathered = run_async(lambda: _gather(run, plan, how["hosts"], login, wish))
    _tell(run, made, gathered)


def _make_place(folder: Path) -> Path:
    """Where the archive goes; that it cannot go there is said before anybody is asked."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise cannot("write", folder, error) from error


async def _gather(
    run: Run, plan: Plan, hosts: Sequence[str], login: Login, wish: Wish
) -> tuple[Made, Gathered]:
    secrets = find_secrets(load_state(run.directory), run.directory)
    tokens = build_tokens(renew_tokens(secrets, datetime.now(UTC))) if secrets is not None else None
    order = Order(
        target=_target(run, plan, (secrets, tokens), wish.scratch),
        cluster_id=secrets.cluster_id if secrets is not None else "",
        planned=planned_hosts(plan),
        wanted=tuple(hosts),
        reach=make_reach(login, wish.scratch / "known_hosts"),
        extras=_extras(login),
    )
    with open_folder(wish.scratch) as folder:
        sink = Sink(folder, _words(plan, secrets, tokens), Room(_ROOM))
        gathered = await gather(order, sink, lambda line: log.say("%s", line))
        about = replace(wish.about, asked=gathered.asked)
        return await finish(folder, replace(wish, about=about), gathered.kept), gathered


def _target(
    run: Run, plan: Plan, known: tuple[SiteSecrets | None, Tokens | None], scratch: Path
) -> Target | str:
    """The service, with the credentials of the site; or why it cannot be asked."""
    secrets, tokens = known
    if secrets is None or tokens is None:
        return (
            f"no medium was made in {run.directory}: it has no {STATE_FILE}, and the service asks for a token"
        )
    if plan.rendezvous is None:
        return "the files of the site do not say where the hosts meet"
    authority = scratch / "service-ca.crt"
    authority.write_text(build_service_authority(secrets).pem, "ascii")
    url = service_url(plan.rendezvous.ip)
    return Target(url, Caller.USER, tokens.user, authority)


def _extras(login: Login) -> tuple[tuple[str, Extra], ...]:
    if login.lab is None:
        return ()
    from muster.cli.gather_lab import keep_lab

    return (("lab", partial(keep_lab, name=login.lab)),)


def _words(plan: Plan, secrets: SiteSecrets | None, tokens: Tokens | None) -> tuple[str, ...]:
    """What this site keeps secret, word by word."""
    own = (secrets.kubeadmin_password, secrets.kubeadmin_password_hash) if secrets is not None else ()
    given = (tokens.agent, tokens.user, tokens.watcher) if tokens is not None else ()
    return known_words(own, given, tuple(words_of_logins(plan.pull_secret.reveal())))


def _tell(run: Run, made: Made, gathered: Gathered) -> None:
    cause = made.cause
    if run.as_json:
        body = {
            "archive": str(made.archive),
            "bytes": made.archive.stat().st_size,
            "cause": asdict(cause) if cause is not None else None,
            "asked": [{"who": who, "what": what} for who, what in gathered.asked],
        }
        click.echo(json.dumps(body, indent=2, ensure_ascii=False))
        return
    if cause is not None:
        hosts = f" ({', '.join(cause.hosts)})" if cause.hosts else ""
        log.say(
            "most probable cause: %s%s\n  fix: %s", cause.message, hosts, cause.fix or "see the first page"
        )
    else:
        log.say("nothing stands out; the first page in the archive says what to read")
    click.echo(str(made.archive))
