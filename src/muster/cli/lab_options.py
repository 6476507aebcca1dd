# SPDX-License-Identifier: Apache-2.0
"""Flags that the verbs of `muster lab` share."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from muster.cli import options
from muster.frozen import dataclass
from muster.lab.store import Lab, choose_lab, labs_folder

F = TypeVar("F", bound=Callable[..., Any])

_lab_name = click.option("--lab", "name", metavar="NAME", help="Which lab.  [default: the only one]")


@dataclass(frozen=True)
class Call:
    """How a verb was called: which lab it is about, and how it answers."""

    lab: Lab
    as_json: bool = False

    def tell(self, body: dict[str, Any], text: str) -> None:
        """Print a result."""
        tell(self.as_json, body, text)


def lab_options(command: F) -> F:
    """--lab, --log-level and --output; the command is given them as `call`."""

    @wraps(command)
    def gathered(name: str | None, log_level: str | None, output_format: str, **kwargs: Any) -> Any:
        as_json = options.begin_without_site(log_level, output_format)
        return command(call=Call(choose_lab(labs_folder(), name), as_json), **kwargs)

    return _lab_name(options.log_level(options.output(gathered)))  # type: ignore[return-value]


def terminal_options(command: F) -> F:
    """--lab and --log-level, for verbs whose output is somebody else's."""

    @wraps(command)
    def gathered(name: str | None, log_level: str | None, **kwargs: Any) -> Any:
        options.begin_without_site(log_level)
        return command(call=Call(choose_lab(labs_folder(), name)), **kwargs)

    return _lab_name(options.log_level(gathered))  # type: ignore[return-value]


def tell(as_json: bool, body: dict[str, Any], text: str) -> None:
    """Print a result for scripts or for people."""
    click.echo(json.dumps(body, indent=2, ensure_ascii=False) if as_json else text)
