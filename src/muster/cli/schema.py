# SPDX-License-Identifier: Apache-2.0
"""`muster schema`: a JSON Schema for editors."""

from __future__ import annotations

import json

import click

from muster.cli import options
from muster.config.describe import json_schema
from muster.config.kinds import KINDS


@click.command(
    epilog=options.examples(
        "muster schema install-config > install-config.schema.json",
        "muster schema agent-config > agent-config.schema.json",
        "# then, at the top of the file, for editors with the YAML language server:",
        "# yaml-language-server: $schema=agent-config.schema.json",
    )
)
@click.argument(
    "kind", shell_complete=lambda _c, _p, start: [kind for kind in KINDS if kind.startswith(start)]
)
def schema(kind: str) -> None:
    """Print the JSON Schema of KIND, such as install-config or agent-config."""
    options.begin_without_site()
    click.echo(json.dumps(json_schema(kind.removesuffix(".yaml")), indent=2))
