# SPDX-License-Identifier: Apache-2.0
"""The verbs of `muster`. A verb's module is imported only when the verb is used."""

from __future__ import annotations

from typing import Final

import click

from muster import __version__
from muster.cli import options
from muster.cli.lazy import LazyGroup

VERBS: Final = {
    "check": ("check:check", "Find every mistake in a site's files, and repair the mechanical ones."),
    "plan": ("plan:plan", "Show what will be installed, and where every value comes from."),
    "agent": ("agent:agent", "Make media and manifests for an agent-based installation."),
    "image-based": ("image_based:image_based", "Make media for an image-based installation."),
    "lab": ("lab:lab", "Rehearse a site on virtual machines."),
    "simulate": ("simulate:simulate", "Play the installation of a site in a few seconds, without a machine."),
    "serve": ("serve:serve", "Serve the API that clusters are installed through."),
    "events": ("events:events", "Read the log of the service, and its state at any time."),
    "os": ("machine_os:machine_os", "Build the machine OS: live ISO and disk image."),
    "release": ("release:release", "Build and look at releases: what is installed."),
    "store": ("store:store", "Look at, verify, fill and clean a content store of images."),
    "registry": ("registry:registry", "Serve a content store to those who pull images."),
    "cache": ("cache:cache", "Show, verify and prune the images that are kept between runs."),
    "media": ("media:media", "Look at finished media: content, checksums, secrets."),
    "host": ("host:host", "Play the parts of a host; the machine OS starts these."),
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
