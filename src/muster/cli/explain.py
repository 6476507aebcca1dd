# SPDX-License-Identifier: Apache-2.0
"""`muster explain`: a field of a file, or a rule by its id."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator

import click

from muster.cli import options
from muster.config.describe import Described, describe, notes, type_name
from muster.config.kinds import KINDS
from muster.errors import UserError
from muster.model.catalogue import Rule, find_rule
from muster.model.schema import fields_of


@click.command(
    epilog=options.examples(
        "muster explain install-config",
        "muster explain install-config.platform.baremetal.apiVIPs",
        "muster explain rendezvousIP",
        "muster explain MC101",
    )
)
@click.argument("what", required=False, shell_complete=lambda _c, _p, start: _complete(start))
@options.output
def explain(what: str | None, output_format: str) -> None:
    """Explain WHAT: a field (file.field.field, or its end if that is enough), or a rule by its id or name.

    Without WHAT, list the files that Muster reads.
    """
    as_json = options.begin_without_site(output_format=output_format)
    if what is None:
        listing = {kind: file for kind, (file, _) in KINDS.items()}
        lines = [f"{kind:<36}{file}" for kind, file in listing.items()]
        click.echo(json.dumps(listing, indent=2) if as_json else "\n".join(lines))
        return
    rule = find_rule(what)
    if rule is not None:
        click.echo(json.dumps(_rule_json(rule), indent=2) if as_json else _render_rule(rule))
        return
    if re.fullmatch(r"[Mm][Cc]\d+", what):
        raise UserError(f"there is no rule {what}", hint="docs/reference/rules.md lists them all")
    found = describe(what)
    click.echo(json.dumps(_field_json(found), indent=2) if as_json else "\n".join(_render_field(found)))


def _rule_json(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.id,
        "name": rule.slug,
        "severity": str(rule.severity),
        "message": rule.message,
        "why": rule.why,
        "fix": rule.fix,
        "repairable": rule.repair,
    }


def _render_rule(rule: Rule) -> str:
    repair = "\nREPAIR:    `muster check --fix` can do it" if rule.repair else ""
    return (
        f"RULE:      {rule.id} {rule.slug} ({rule.severity})\n"
        f"MESSAGE:   {_indented(rule.message)}\nWHY:       {_indented(rule.why)}\n"
        f"FIX:       {_indented(rule.fix)}{repair}"
    )


def _indented(text: str) -> str:
    return textwrap.fill(text, width=89, subsequent_indent=" " * 11)


def _render_field(found: Described) -> Iterator[str]:
    yield f"FILE:      {found.file}"
    yield f"FIELD:     {found.path}"
    yield f"TYPE:      {found.type_name}"
    entry = found.entry
    if entry is not None:
        if entry.required:
            yield "REQUIRED:  yes"
        if entry.default:
            yield f"DEFAULT:   {entry.default}"
        if entry.example:
            yield f"EXAMPLE:   {entry.key}: {f'[{entry.example}]' if entry.many else entry.example}"
    yield f"MEANING:   {_indented(found.doc)}"
    if entry is not None:
        for note in notes(entry):
            yield f"           {note}"
    if found.model is not None:
        yield "FIELDS:"
        for key, field in fields_of(found.model).items():
            mark = " (required)" if field.required else ""
            yield f"  {key}  <{type_name(field)}>{mark}"
            yield textwrap.fill(field.doc, width=96, initial_indent=" " * 6, subsequent_indent=" " * 6)


def _field_json(found: Described) -> dict[str, object]:
    entry = found.entry
    body: dict[str, object] = {
        "path": found.path,
        "file": found.file,
        "type": found.type_name,
        "meaning": found.doc,
    }
    if entry is not None:
        body |= {"required": entry.required, "default": entry.default, "example": entry.example}
        body |= {"notes": list(notes(entry))}
    if found.model is not None:
        body["fields"] = {key: type_name(field) for key, field in fields_of(found.model).items()}
    return body


def _complete(start: str) -> list[str]:
    head, dot, _ = start.rpartition(".")
    if not dot:
        return [kind for kind in KINDS if kind.startswith(start)]
    try:
        found = describe(head)
    except UserError:
        return []
    keys = fields_of(found.model) if found.model else ()
    return [name for key in keys if (name := f"{head}.{key}").startswith(start)]
