# SPDX-License-Identifier: Apache-2.0
"""A verb that only obtains a base image, as the builders do: `python -m tests.component.image.obtain`."""

from __future__ import annotations

import json
import sys

import click

from muster.cli import __main__ as command
from muster.cli import base_image as door
from muster.cli import options
from muster.cli.app import muster


@muster.command()
@options.base_image
@options.log_level
@options.output
@click.option("--wait", is_flag=True, help="Keep the image in use until standard input ends.")
def obtain(
    base_image: options.BaseImageFlags, log_level: str | None, output_format: str, *, wait: bool
) -> None:
    """Obtain a base image."""
    as_json = options.begin_without_site(log_level, output_format)
    with door.open_cache(base_image.cache_dir) as cache:
        image = door.obtain(base_image, cache)
        body = {"path": str(image.path), "sha256": image.sha256, "origin": image.origin}
        click.echo(json.dumps(body) if as_json else f"{image.sha256} {image.path}")
        sys.stdout.flush()
        if wait:
            sys.stdin.read()


if __name__ == "__main__":
    sys.argv.insert(1, "obtain")
    command.main()
