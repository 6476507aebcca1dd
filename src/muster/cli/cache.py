# SPDX-License-Identifier: Apache-2.0
"""`muster cache`: what is kept between runs, whether it is still right, and how it goes away."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import click

from muster.cli import log, options, progress
from muster.cli.base_image import open_cache
from muster.errors import ExitStatus, UserError
from muster.frozen import dataclass
from muster.image.cache.places import NOWHERE
from muster.image.cache.records import render_time
from muster.image.cache.stock import (
    Item,
    Kind,
    Verdict,
    choose_items,
    find_items,
    remove_item,
    sweep,
    verify_item,
)
from muster.image.cache.store import Cache
from muster.units import parse_span, render_age, render_size

_MANY: Final = {Kind.PACKAGE: "Debian packages", Kind.WHEEL: "Python packages"}
"""One line for all of them."""


@click.group(epilog=options.examples("muster cache list", "muster cache prune --older-than 30d --dry-run"))
def cache() -> None:
    """Show, verify and prune what is kept between runs: images, builds, tools, packages.

    The cache is ~/.cache/muster ($XDG_CACHE_HOME, MUSTER_CACHE and --cache-dir change it). Deleting all of
    it is safe: what is needed again is fetched again.
    """


@cache.command(epilog=options.examples("muster cache path", "du -sh $(muster cache path)"))
@options.cache_dir
@options.output
def path(cache_dir: str | None, output_format: str) -> None:
    """Print where the cache is; it need not exist yet."""
    as_json = options.begin_without_site(output_format=output_format)
    root = _open(cache_dir).root
    click.echo(json.dumps({"path": str(root)}, indent=2) if as_json else str(root))


@cache.command("list", epilog=options.examples("muster cache list", "muster cache list --output json"))
@options.cache_dir
@options.output
def list_(cache_dir: str | None, output_format: str) -> None:
    """List what is kept: sizes, origins, last use, and downloads that can go on."""
    as_json = options.begin_without_site(output_format=output_format)
    store = _open(cache_dir)
    items = find_items(store)
    if as_json:
        click.echo(json.dumps(_body(store, items), indent=2, ensure_ascii=False))
    elif items:
        click.echo("\n".join(_table(items, store.clock())))
        click.echo(f"{render_size(_sum(items))} in {store.root}")
    else:
        click.echo(f"nothing is kept in {store.root}")


@cache.command(epilog=options.examples("muster cache verify", "muster cache verify --output json"))
@options.cache_dir
@options.log_level
@options.output
def verify(cache_dir: str | None, log_level: str | None, output_format: str) -> ExitStatus:
    """Hash every image and machine OS that is kept; damaged ones are removed, and come again when needed.

    Debian packages and wheels are hashed whenever they are used.

    Exit status: 0 when all are right, 1 when one was not.
    """
    as_json = options.begin_without_site(log_level, output_format)
    store = _open(cache_dir)
    verdicts = [
        (item, verdict)
        for item in find_items(store)
        if (verdict := verify_item(store, item, progress)) is not None
    ]
    if as_json:
        body = [{**_item(item), "verdict": str(verdict)} for item, verdict in verdicts]
        click.echo(json.dumps({"path": str(store.root), "images": body}, indent=2, ensure_ascii=False))
    else:
        for item, verdict in verdicts:
            words = {
                Verdict.GOOD: "good",
                Verdict.REMOVED: "damaged: removed, the next run makes or fetches it again",
                Verdict.DAMAGED: "damaged, and in use: run this again later",
            }
            click.echo(f"{item.key[:12]}  {words[verdict]}")
        click.echo(f"{_plural(len(verdicts), 'image')} verified in {store.root}")
    good = all(verdict is Verdict.GOOD for _, verdict in verdicts)
    return ExitStatus.OK if good else ExitStatus.FAILED


@dataclass(frozen=True)
class _Wish:
    """What is to be pruned, and how."""

    older_than: timedelta | None
    is_dry: bool
    asks: bool
    as_json: bool


def _wish(command: options.F) -> options.F:
    for option in (
        click.option("--dry-run", is_flag=True, help="Only tell what would go."),
        click.option("--all", "everything", is_flag=True, help="All of it, however new."),
        click.option(
            "--older-than", metavar="AGE", help="Not used for so long: 12h, 30d, 4w.  [default: 30d]"
        ),
    ):
        command = option(command)
    return command


@cache.command(
    epilog=options.examples(
        "muster cache prune                        # asks; what was not used for 30 days",
        "muster cache prune --older-than 7d --dry-run",
        "muster cache prune --all --yes            # for scripts",
    )
)
@_wish
@options.yes
@options.cache_dir
@options.output
def prune(cache_dir: str | None, output_format: str, **flags: Any) -> None:
    """Remove what was not used for a while. What another run is using stays.

    Images, downloads that were not completed, what was derived from images, and remembered hashes; builds of
    the machine OS, the toolbox, and the packages that both are made of; releases that were built, and what
    they were built from. Of the builds, only the last ones are kept anyway: a new one removes those before
    the last three that nobody used for two hours.
    """
    as_json = options.begin_without_site(output_format=output_format)
    wish = _parse_wish(flags, as_json=as_json)
    store = _open(cache_dir)
    chosen = choose_items(find_items(store), store.clock(), wish.older_than)
    if wish.asks and chosen:
        _ask(chosen, store)
    outcome = [(item, Verdict.GOOD if wish.is_dry else remove_item(store, item)) for item in chosen]
    swept = 0 if wish.is_dry else sweep(store, store.clock(), wish.older_than)
    log.note("pruned %s; %d small files", [(item.key, str(verdict)) for item, verdict in outcome], swept)
    _tell(store, outcome, wish)


def _parse_wish(flags: dict[str, Any], *, as_json: bool) -> _Wish:
    age, everything, dry, yes = (flags[name] for name in ("older_than", "everything", "dry_run", "yes"))
    if everything and age is not None:
        raise UserError("--all and --older-than exclude each other", hint="leave one of them out")
    asks = not yes and not dry
    if asks and as_json:
        raise UserError("--output json cannot ask", hint="add --yes or --dry-run, or leave --output json out")
    return _Wish(None if everything else parse_span(age or "30d"), dry, asks, as_json)


def _ask(chosen: Sequence[Item], store: Cache) -> None:
    click.echo("\n".join(_table(chosen, store.clock())), err=True)
    question = f"Remove {_plural(len(chosen), 'item')}, {render_size(_sum(chosen))}?"
    try:
        agreed = click.confirm(question, default=False, err=True)
    except click.Abort:
        if sys.stdin is not None and sys.stdin.isatty():
            raise
        agreed = False  # There is nobody to ask.
    if not agreed:
        raise UserError("nothing was removed", hint="run again and answer y, or add --yes")


def _tell(store: Cache, outcome: Sequence[tuple[Item, Verdict]], wish: _Wish) -> None:
    gone = [item for item, verdict in outcome if verdict is not Verdict.IN_USE]
    stay = [item for item, verdict in outcome if verdict is Verdict.IN_USE]
    if wish.as_json:
        body = {
            "path": str(store.root),
            "dryRun": wish.is_dry,
            "removed": [_item(item) for item in gone],
            "inUse": [_item(item) for item in stay],
            "freedBytes": _sum(gone),
        }
        click.echo(json.dumps(body, indent=2, ensure_ascii=False))
        return
    if wish.is_dry and gone:
        click.echo("\n".join(_table(gone, store.clock())))
    for item in stay:
        click.echo(f"{item.key[:12]} is in use, and stays")
    if not gone:
        click.echo(f"nothing to remove in {store.root}")
    else:
        verb = "would be removed" if wish.is_dry else "removed"
        click.echo(f"{_plural(len(gone), 'item')}, {render_size(_sum(gone))} {verb} from {store.root}")


def _open(cache_dir: str | None) -> Cache:
    store = open_cache(cache_dir)
    if store.root == NOWHERE:
        raise UserError(
            "there is no cache: neither HOME nor XDG_CACHE_HOME is set",
            hint="name a directory with --cache-dir or MUSTER_CACHE",
        )
    return store


def _body(store: Cache, items: Sequence[Item]) -> dict[str, Any]:
    return {"path": str(store.root), "sizeBytes": _sum(items), "items": [_item(item) for item in items]}


def _item(item: Item) -> dict[str, Any]:
    body: dict[str, Any] = {"kind": str(item.kind), "key": item.key, "path": str(item.path)}
    body |= {"sizeBytes": item.size_bytes, "usedAt": render_time(item.used_at)}
    body["names" if item.kind is Kind.DERIVED else "origins"] = list(item.origins)
    if item.kind is Kind.PARTIAL:
        body["totalBytes"] = item.total_bytes or None
    return body


def _table(items: Sequence[Item], now: datetime) -> list[str]:
    rows = [("KIND", "KEY", "SIZE", "LAST USED", "ORIGIN")]
    few = [item for item in items if item.kind not in _MANY]
    rows += [_row(item, now) for item in few]
    for kind, origin in _MANY.items():
        files = [item for item in items if item.kind is kind]
        if files:
            span = render_age(now - max(item.used_at for item in files))
            rows.append((f"{kind}s", f"{len(files)} files", render_size(_sum(files)), span, origin))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]])
        for row in rows
    ]


def _row(item: Item, now: datetime) -> tuple[str, str, str, str, str]:
    size = render_size(item.size_bytes)
    if item.total_bytes:
        size += f" of {render_size(item.total_bytes)}"
    key = item.key.removeprefix("root-").removeprefix("apt-")[:12]
    return str(item.kind), key, size, render_age(now - item.used_at), ", ".join(item.origins) or "unknown"


def _sum(items: Sequence[Item]) -> int:
    return sum(item.size_bytes for item in items)


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
