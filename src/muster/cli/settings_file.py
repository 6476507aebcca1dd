# SPDX-License-Identifier: Apache-2.0
"""Values of flags from a TOML file, by the names of the flags; environment and command line go before."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import click

from muster.errors import UserError, cannot


def read_settings(context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    """Callback of the flag that names the file."""
    if path is not None:
        found = _options(context.command)
        values = {found[name].name: value for name, value in _read(path, found).items()}
        context.default_map = {**(context.default_map or {}), **values}
    return path


def _options(command: click.Command) -> dict[str, click.Option]:
    """What can stand in the file: every flag that has a value, but the one that names the file."""
    options = [each for each in command.params if isinstance(each, click.Option)]
    return {_flag(each): each for each in options if not (each.is_eager or each.is_flag)}


def _flag(option: click.Option) -> str:
    return next(each for each in option.opts if each.startswith("--"))[2:]


def _read(path: Path, options: dict[str, click.Option]) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise cannot("read", path, error) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path} is not TOML: {error}", hint='write lines such as listen = ":8090"'
        ) from error
    return {name: _check(path, name, value, options) for name, value in values.items()}


def _check(path: Path, name: str, value: Any, options: dict[str, click.Option]) -> Any:
    option = options.get(name)
    if option is None:
        from difflib import get_close_matches

        close = get_close_matches(name.replace("_", "-"), options, n=1)
        raise UserError(
            f"{path}: there is no setting {name}" + (f"; did you mean {close[0]}?" if close else ""),
            hint=f"there are: {', '.join(options)}",
        )
    if option.multiple:
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
            raise UserError(f"{path}: {name} is not a list of texts", hint=f'write {name} = ["…", "…"]')
        return values
    if not isinstance(value, str):
        raise UserError(f"{path}: {name} is not a text", hint=f'write {name} = "…", in quotes')
    return value
