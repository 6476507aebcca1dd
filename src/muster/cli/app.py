# SPDX-License-Identifier: Apache-2.0
"""The verbs of `muster`. A verb's module is imported only when the verb is used."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

import click

from muster import __version__
from muster.cli import options


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
            formatter.write_dl([(name, text) for name, (_, text) in self._verbs.items()])


VERBS: Final = {
    "check": ("check:check", "Find every mistake in a site's files, and repair the mechanical ones."),
    "plan": ("plan:plan", "Show what will be installed, and where every value comes from."),
    "agent": ("agent:agent", "Make media and manifests for an agent-based installation."),
    "image-based": ("image_based:image_based", "Make media for an image-based installation."),
    "explain": ("explain:explain", "Explain a field of a file, or a rule by its id."),
    "schema": ("schema:schema", "Print the JSON Schema of a file, for editors."),
    "completion": ("completion:completion", "Print a shell completion script."),
    "version": ("version:version", "Print the version."),
}


@click.group(
    cls=LazyGroup,
    verbs=VERBS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=options.examples(
        "muster check --dir examples/compact-baremetal",
        "muster plan --dir examples/compact-baremetal",
        "muster explain install-config.platform.baremetal.apiVIPs",
    ),
)
@options.directory
@options.log_level
@click.version_option(__version__, prog_name="muster", message="%(prog)s %(version)s")
@click.pass_context
def muster(context: click.Context, directory: str | None, log_level: str | None) -> None:
    """Install a site's first cluster from bare machines, with nothing else in the room.

    Muster reads install-config.yaml and agent-config.yaml (or the ZTP manifests) from a directory,
    tells every mistake with its line and a fix, and resolves them into the plan that media are made from.
    """
    context.obj = options.Globals(directory, log_level)
