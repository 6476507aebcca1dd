# SPDX-License-Identifier: Apache-2.0
"""`muster host bundle`: one file that tells why this host is as it is."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from muster.cli import log, options
from muster.cli.host_rendezvous import DATA
from muster.cli.loop import run_async
from muster.errors import UserError

if TYPE_CHECKING:
    from muster.support.bundle import Made

_STREAM: Final = "-"


@click.command(
    epilog=options.examples(
        "muster host bundle --to /media/usb",
        "ssh core@192.0.2.10 sudo muster host bundle --to - > host.tar.gz",
    )
)
@click.option(
    "--to", metavar="PATH", required=True, help="A directory, the name of the file, or - for standard output."
)
@click.option(
    "--data", metavar="DIR", type=click.Path(path_type=Path), default=DATA, show_default=True,
    help="Where the service keeps its log, if this is its host.",
)  # fmt: skip
@options.log_level
@options.output
def bundle(to: str, data: Path, log_level: str | None, output_format: str) -> None:
    """Collect journals, inventory, network, disks and what the programs of this host say in one .tar.gz.

    On the rendezvous host the log of the service is in it, also when the service does not run. Secrets are
    taken out. 00-READ-ME-FIRST.txt in it says what most probably went wrong. What cannot be collected is
    named in it, and is no obstacle. The name of the file is printed at the end.
    """
    as_json = options.begin_without_site(log_level, output_format)
    if to == _STREAM and as_json:
        raise UserError(
            "standard output cannot be both the bundle and JSON", hint="name a file or directory with --to"
        )
    if os.geteuid() != 0:
        log.warn("without root much cannot be read, such as the journal")
    with _place(to) as archive:
        run_async(lambda: _make(archive, data, as_json=as_json, is_stream=to == _STREAM))


@contextmanager
def _place(to: str) -> Iterator[Path]:
    """Where the file is made; it is gone at the end when it is for standard output."""
    host = re.sub(r"[^\w.-]", "-", os.uname().nodename) or "host"
    name = f"muster-bundle-{host}-{datetime.now(UTC):%Y%m%d-%H%M%S}.tar.gz"
    if to == _STREAM:
        with tempfile.TemporaryDirectory(prefix="muster-bundle-") as folder:
            yield Path(folder) / name
    else:
        yield Path(to) / name if Path(to).is_dir() else Path(to)


async def _make(archive: Path, data: Path, *, as_json: bool, is_stream: bool) -> None:
    from muster.cli.bundle_parts import parts_beside
    from muster.machine import ThisMachine
    from muster.support.bundle import Wish, make_bundle
    from muster.support.first_page import About

    about = About(f"Bundle of host {os.uname().nodename}", datetime.now(UTC))
    top = archive.name.removesuffix(".gz").removesuffix(".tar").removesuffix(".tgz")
    scratch = Path(tempfile.gettempdir())
    made = await make_bundle(ThisMachine(), Wish(about, archive, top, scratch, tuple(parts_beside(data))))
    # Told here and now: a thread that hangs on a dead disk may keep the process from ending.
    _tell(made, as_json=as_json, is_stream=is_stream)


def _tell(made: Made, *, as_json: bool, is_stream: bool) -> None:
    if is_stream:
        with made.archive.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    cause = made.cause
    if as_json:
        from dataclasses import asdict

        size = made.archive.stat().st_size
        body = {"bundle": str(made.archive), "bytes": size, "cause": asdict(cause) if cause else None}
        click.echo(json.dumps(body, indent=2, ensure_ascii=False))
        return
    log.say("most probable cause: %s", cause.message if cause else "nothing stands out")
    click.echo(str(made.archive))
