# SPDX-License-Identifier: Apache-2.0
"""Options that are handed on to coreos-installer: the few that are allowed, each with a value of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from muster.config.document.edit import in_flow, newline
from muster.model.problem import Edit, Problem, problem
from muster.model.schema import Items
from muster.model.tree import Node

_OPTIONS: Final = ("--append-karg", "--delete-karg", "--save-partlabel", "--save-partindex")
_VALUE: Final = re.compile(r"""[A-Za-z0-9@!#$%*()_+,./:;<=\-"'{}\[\]]+\Z""")
_INDEX: Final = re.compile(r"\d+(?:-\d*)?\Z|-\d+\Z")


def check_installer_args(arguments: Items[str]) -> Iterator[Problem]:
    """Options and values take turns."""
    option: tuple[str, Node] | None = None
    unknown = False
    for text, node in arguments.located():
        if unknown and not text.startswith("-"):
            unknown = False
            continue
        if option is not None and (not text.startswith("--") or option[0] == "--save-partindex"):
            yield from _check_value(option[0], text, node)
            option = None
            continue
        if option is not None:
            yield _alone(*option)
        option, unknown = None, False
        name, equals, value = text.partition("=")
        if not text.startswith("-"):
            yield problem("bad-installer-args", node, value=text, reason="no option stands in front of it")
        elif name not in _OPTIONS:
            unknown = not equals
            yield problem(
                "bad-installer-args", node, value=text, reason="it is not one of " + ", ".join(_OPTIONS)
            )
        elif equals:
            reason = "the option and its value have to be two entries"
            yield problem(
                "bad-installer-args", node, edits=_split(node, name, value), value=text, reason=reason
            )
        else:
            option = (text, node)
    if option is not None:
        yield _alone(*option)


def _alone(option: str, node: Node) -> Problem:
    return problem("bad-installer-args", node, value=option, reason="no value follows it")


def _check_value(option: str, text: str, node: Node) -> Iterator[Problem]:
    if not _VALUE.match(text):
        reason = "it has a space or another character that is not allowed"
        yield problem("bad-installer-args", node, value=text, reason=reason)
    elif option == "--save-partindex" and not _INDEX.match(text):
        yield problem(
            "bad-installer-args", node, value=text, reason="it is no number or range, like 6, 5-7 or 5-"
        )


def _split(node: Node, name: str, value: str) -> tuple[Edit, ...]:
    """Make two entries of ``--option=value``, in the style of the list."""
    if not _VALUE.match(value) or '"' in value:
        return ()
    source = node.source
    line, column = source.position(node.start)
    before = source.line(line)[: column - 1]
    if in_flow(node) or "[" in before:
        return (Edit(source, node.start, node.end, f'"{name}", "{value}"'),)
    if not re.fullmatch(r"[ ]*- +", before):
        return ()
    end = node.start + len(source.text[node.start : node.end].rstrip())
    return (Edit(source, node.start, end, f'{name}{newline(source)}{before}"{value}"'),)
