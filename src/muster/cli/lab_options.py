# SPDX-License-Identifier: Apache-2.0
"""Flags that the verbs of `muster lab` share."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

from muster.cli import options
from muster.lab.store import Lab, choose_lab, labs_folder

F = TypeVar("F", bound=Callable[..., Any])

lab_name = click.option("--lab", "name", metavar="NAME", help="Which lab.  [default: the only one]")


def lab_options(command: F) -> F:
    """--lab, --log-level and --output."""
    return lab_name(options.log_level(options.output(command)))


def open_lab(name: str | None, log_level: str | None, output_format: str = "text") -> tuple[Lab, bool]:
    """Start a verb that works on a lab; True when it is to print JSON."""
    as_json = options.begin_without_site(log_level, output_format)
    return choose_lab(labs_folder(), name), as_json


def tell(as_json: bool, body: dict[str, Any], text: str) -> None:
    """Print a result for scripts or for people."""
    click.echo(json.dumps(body, indent=2, ensure_ascii=False) if as_json else text)
