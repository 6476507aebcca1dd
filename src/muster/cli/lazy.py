# SPDX-License-Identifier: Apache-2.0
"""Groups of verbs whose modules are imported only when the verb is used."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A group whose commands are named, with their one-line help, and imported on use."""

    def __init__(self, *args: Any, verbs: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._verbs = verbs

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self._verbs, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._verbs:
            return super().get_command(ctx, cmd_name)
        module, _, name = self._verbs[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(f"muster.cli.{module}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            close = get_close_matches(args[0], self.list_commands(ctx), n=1)
            if not close:
                raise
            message = f"there is no verb {args[0]!r}; did you mean {close[0]!r}?"
            raise click.UsageError(message, ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        with formatter.section("Commands"):
            rows = [(name, text) for name, (_, text) in self._verbs.items()]
            rows += [(name, each.get_short_help_str(80)) for name, each in self.commands.items()]
            formatter.write_dl(rows)
