# SPDX-License-Identifier: Apache-2.0
"""`muster completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from muster.cli import options


@click.command(
    epilog=options.examples(
        "source <(muster completion bash)",
        "muster completion zsh > ~/.zfunc/_muster",
        "muster completion fish > ~/.config/fish/completions/muster.fish",
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a completion script for SHELL."""
    root = click.get_current_context().find_root()
    maker = get_completion_class(shell)
    assert maker is not None
    click.echo(maker(root.command, {}, "muster", "_MUSTER_COMPLETE").source())
