# SPDX-License-Identifier: Apache-2.0
"""`muster agent create image | pxe-files | config-image | unconfigured-*`: the verbs and their flags.

What carries them out is imported by the verb that needs it, so that a base image is being copied meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from muster.cli import options
from muster.cli.ahead import copy_ahead
from muster.cli.medium import media_options, read_text
from muster.cli.options import BaseImageFlags, Run
from muster.frozen import dataclass
from muster.image.manner import Manner

F = TypeVar("F", bound=Callable[..., Any])
_OPTIONS: Final = (
    click.option(
        "--valid-for", metavar="TIME", default="7d", show_default=True,
        help="How long hosts may register with the medium, for example 36h.",
    ),
    click.option(
        "--ignition-override", metavar="FILE", type=click.Path(path_type=Path),
        help="Ignition config (JSON, spec 3.0 to 3.2) that is merged into the medium's; it wins.",
    ),
)  # fmt: skip
_embed_release = click.option(
    "--embed-release", "with_release", is_flag=True,
    help="Put the release on the medium, with all its images: hosts need no registry then.",
)  # fmt: skip


@dataclass(frozen=True)
class Call:
    """How the command was called."""

    run: Run
    manner: Manner
    valid_for: str
    override: str
    with_release: bool = False


def _agent_options(command: F) -> F:
    """The flags of a verb; the command is given them as `call`."""

    @wraps(command)
    def gathered(
        directory: str | None, log_level: str | None, output_format: str, *, manner: Manner, **kwargs: Any
    ) -> Any:
        run = options.begin(directory, log_level, output_format)
        override = read_text(kwargs.pop("ignition_override"))
        with_release = kwargs.pop("with_release", False)
        return command(call=Call(run, manner, kwargs.pop("valid_for"), override, with_release), **kwargs)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return options.site_options(media_options(gathered))  # type: ignore[return-value]


@click.command(
    epilog=options.examples(
        "muster agent create image --dir mysite --release registry.example.com/ocp/release:4.22.0-x86_64",
        "muster agent create image --dir mysite --release ./store --embed-release  # no registry needed",
        "muster agent create image --dir mysite --release ./store --release-key sign.pub  # hosts check it",
        "muster agent create image --dir mysite --base-image rhcos-live.iso",
        "muster agent create image --dir mysite --base-image https://mirror.example.com/rhcos.iso?sha256=6b1f...",
        "muster agent create image --dir copy --secrets mysite --base-image rhcos-live.iso  # same bytes",
    )
)
@_agent_options
@options.base_image
@options.release_trust
@_embed_release
def image(call: Call, base_image: BaseImageFlags) -> None:
    """Make the ISO that all hosts of the site boot.

    The base image is the one that is named, else that of the release, else Muster's machine OS.
    Writes agent.<arch>.iso with its checksum and bill of materials, rendezvousIP, auth/kubeconfig and
    auth/kubeadmin-password. Inputs stay as they are. Keys and tokens are made once and kept in
    .muster_state.json, so the same inputs give the same bytes; with nothing changed, nothing is done.

    The medium names the release by digest, so hosts install that one only. If the digest cannot be looked
    up, nothing is made: name the release by digest, or as a content store, or accept its tag with
    --release-by-tag.
    """
    with copy_ahead(call.run.directory, base_image) as draft:
        from muster.cli.agent_build import make_image

        make_image(call, base_image, draft)


@click.command(
    "pxe-files",
    epilog=options.examples("muster agent create pxe-files --dir mysite --base-image rhcos-live.iso"),
)
@_agent_options
@options.base_image
@options.release_trust
def pxe_files(call: Call, base_image: BaseImageFlags) -> None:
    """Make the files for hosts that boot from the network.

    Writes kernel, initial RAM disk and root file system to boot-artifacts/, and a script for iPXE when
    agent-config.yaml says with bootArtifactsBaseURL where they will be.
    """
    from muster.cli.agent_build import make_pxe_files

    make_pxe_files(call, base_image)


@click.command(
    "config-image",
    epilog=options.examples(
        "muster agent create config-image --dir mysite",
        "muster agent create config-image --dir mysite --release ./store  # as for the generic image",
    ),
)
@_agent_options
@options.release
@options.release_trust
def config_image(call: Call, base_image: BaseImageFlags) -> None:
    """Make the small ISO that gives the site's configuration to hosts that booted a generic image.

    Writes agentconfig.noarch.iso (label agent_configimage). `muster agent create unconfigured-image` makes
    the generic image. Name the same release for both: a host refuses the configuration of another one.
    """
    from muster.cli.agent_build import make_config_image

    make_config_image(call, base_image)


@click.command(
    "unconfigured-ignition",
    epilog=options.examples("muster agent create unconfigured-ignition --dir generic"),
)
@_agent_options
@options.release
@options.release_trust
def unconfigured_ignition(call: Call, base_image: BaseImageFlags) -> None:
    """Write the Ignition config of hosts that know no site yet.

    Writes unconfigured-agent.ign. Credentials, release and networks come from cluster-manifests/: infraenv,
    pull-secret, cluster-image-set and nmstateconfig; mirrors and their authorities from mirror/; as far as
    they are there.
    """
    from muster.cli.agent_build import make_unconfigured_ignition

    make_unconfigured_ignition(call, base_image)


@click.command(
    "unconfigured-image",
    epilog=options.examples(
        "muster agent create unconfigured-image --dir generic --release ./store --embed-release",
        "muster agent create unconfigured-image --dir generic --base-image rhcos-live.iso",
    ),
)
@_agent_options
@options.base_image
@options.release_trust
@_embed_release
def unconfigured_image(call: Call, base_image: BaseImageFlags) -> None:
    """Make an ISO for hosts of any site: the interactive installation.

    Whoever stands before a host says on its console where the hosts meet, and does the rest in a browser; or
    a configuration ISO (`muster agent create config-image`) says it all. Reads what `unconfigured-ignition`
    reads, if it is there; an empty directory will do.
    """
    from muster.cli.agent_build import make_unconfigured_image

    make_unconfigured_image(call, base_image)
