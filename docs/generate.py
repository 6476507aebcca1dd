# SPDX-License-Identifier: Apache-2.0
"""Writes the generated part of docs/reference, from what the code has as data.

Rules, files and commands come from the catalogue, the models and the command line; pages about the service
from its table of operations, its tables of states, and its validations.

python docs/generate.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from muster import __version__
from muster.cli.app import muster
from muster.config.describe import doc_of, notes, type_name, walk_fields
from muster.config.kinds import KINDS
from muster.model.catalogue import rules
from muster.service.api.openapi import build_openapi
from muster.service.api.openapi_page import render_api
from muster.service.api.table import ROUTES
from muster.service.api.table.render import render_table
from muster.service.states.diagram import render_states
from muster.service.validations.page import render_validations

HERE = Path(__file__).parent / "reference"
NOTICE = "<!-- Written by docs/generate.py (`make docs`); do not edit. -->\n"


def pages() -> dict[str, str]:
    """Every generated page by its name."""
    found = {"rules.md": _rules(), "commands.md": _commands()}
    for kind in KINDS:
        found[f"files/{kind}.md"] = _file(kind)
    found["files/README.md"] = _files()
    found |= {
        "api.md": render_api(build_openapi(ROUTES, __version__)),
        "access.md": _access(),
        "states.md": render_states(),
        "validations.md": render_validations(),
    }
    return {name: f"{NOTICE}\n{text}" for name, text in found.items()}


def _rules() -> str:
    lines = [
        "# Rules",
        "",
        "Every rule that `muster check` knows; `muster explain MC101` prints one. Those marked *repair*",
        "are mended by `muster check --fix`, at least in their common form. Words in braces are filled in.",
        "",
        "| id | name | severity | message |",
        "|---|---|---|---|",
    ]
    for rule in rules().values():
        severity = f"{rule.severity}, repair" if rule.repair else str(rule.severity)
        lines.append(
            f"| [{rule.id}](#{rule.id.lower()}) | {rule.slug} | {severity} | {_cell(rule.message)} |"
        )
    for rule in rules().values():
        lines += ["", f"## {rule.id}", f"**{rule.slug}** ({rule.severity})", ""]
        lines += [f"> {_text(rule.message)}", "", _text(rule.why), "", f"Fix: {_text(rule.fix)}"]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return _text(text).replace("|", "\\|").replace("\n", " ")


def _text(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;").replace("*", "\\*")


def _files() -> str:
    lines = [
        "# Files",
        "",
        "The files that Muster reads from a site's directory.",
        "",
        "| kind | file | what it says |",
        "|---|---|---|",
    ]
    lines += [
        f"| [{kind}]({kind}.md) | `{file}` | {doc_of(model)} |" for kind, (file, model) in KINDS.items()
    ]
    lines += [
        "| | `mirror/registries.conf` | Where images are pulled from (containers-registries.conf(5)). |",
        "| | `mirror/ca-bundle.crt` | Certificates of authorities that hosts trust. |",
        "| | `openshift/*.yaml` | Manifests that are handed to the cluster as they are. |",
    ]
    return "\n".join(lines) + "\n"


def _file(kind: str) -> str:
    file, model = KINDS[kind]
    lines = [f"# {file}", "", doc_of(model), "", "| field | type | meaning |", "|---|---|---|"]
    for path, entry in walk_fields(model):
        words = [entry.doc]
        if entry.required:
            words.append("**Required.**")
        if entry.default:
            words.append(f"Default: {entry.default}.")
        if entry.example:
            words.append(f"Example: `{entry.example}`.")
        words += notes(entry)
        lines.append(f"| `{path}` | {_cell(type_name(entry))} | {_cell_with_code(' '.join(words))} |")
    return "\n".join(lines) + "\n"


def _cell_with_code(text: str) -> str:
    return text.replace("|", "\\|")


def _access() -> str:
    return _ACCESS + "\n" + render_table(ROUTES)


_ACCESS = """\
# Who may call what

Every operation of the service, and whose token it takes; a test calls all of them as everybody. What each
takes and answers is in [the interface](api.md).

| who | has its token from | and it is for |
|---|---|---|
| user | a login with the code that `muster serve` prints, or with the password | everything that people do |
| agent | the discovery medium; then, when it registers, one of its own | one infra-env; then one host |
| watcher | whoever has a key that `--token-key` names: `wait-for`, a dashboard, metrics | looking |
| image | a signed address, which expires | the media of one infra-env, or one file |

"anyone" needs no token at all.
"""


def _commands() -> str:
    lines = ["# Commands", "", "The output of `--help` of every verb."]
    # As wide as in a terminal of 80 characters, whatever the terminal is that this runs in.
    root = click.Context(muster, info_name="muster", **{**muster.context_settings, "terminal_width": 78})
    for path, context in _walk(root):
        lines += ["", f"## {path}", "", "```text", context.get_help().rstrip(), "```"]
    return "\n".join(lines) + "\n"


def _walk(context: click.Context) -> Iterator[tuple[str, click.Context]]:
    yield context.command_path, context
    command = context.command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from _walk(click.Context(child, parent=context, info_name=name))


def main() -> None:
    """Write all pages."""
    for name, text in pages().items():
        path = HERE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
