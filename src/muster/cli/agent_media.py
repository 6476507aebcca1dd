# SPDX-License-Identifier: Apache-2.0
"""`muster agent create image | pxe-files | config-image`: the media of an agent-based installation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from muster.cli import base_image as base_images
from muster.cli import options, progress, site
from muster.cli.medium import media_options, read_text, tell
from muster.cli.options import BaseImageFlags, Run
from muster.config.derive import signer_key
from muster.image.agent import Order
from muster.image.agent_media import (
    ARTIFACTS,
    CONFIG_ISO,
    Workshop,
    build_config_image,
    build_image,
    build_pxe_files,
    image_name,
)
from muster.image.generic import IGNITION_FILE, build_generic_image, generic_ignition, generic_image_name
from muster.image.iso.volume import Volume
from muster.image.making import Making, Manner, digest_inputs, start_making
from muster.image.product import Source
from muster.image.tokens import parse_duration
from muster.model.plan import Plan
from muster.model.site import Site

F = TypeVar("F", bound=Callable[..., Any])
Recipe = Callable[[Workshop, Source], tuple[str, ...]]
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


@dataclass(frozen=True)
class Call:
    """How the command was called."""

    run: Run
    manner: Manner
    valid_for: str
    override: str


def _agent_options(command: F) -> F:
    """The flags of a verb; the command is given them as `call`."""

    @wraps(command)
    def gathered(
        directory: str | None, log_level: str | None, output_format: str, *, manner: Manner, **kwargs: Any
    ) -> Any:
        run = options.begin(directory, log_level, output_format)
        override = read_text(kwargs.pop("ignition_override"))
        return command(call=Call(run, manner, kwargs.pop("valid_for"), override), **kwargs)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return options.site_options(media_options(gathered))  # type: ignore[return-value]


@click.command(
    epilog=options.examples(
        "muster agent create image --dir mysite --base-image rhcos-live.iso",
        "muster agent create image --dir mysite --base-image https://mirror.example.com/rhcos.iso?sha256=6b1f...",
        "muster agent create image --dir copy --secrets mysite --base-image rhcos-live.iso  # same bytes",
    )
)
@_agent_options
@options.base_image
def image(call: Call, base_image: BaseImageFlags) -> None:
    """Make the ISO that all hosts of the site boot.

    Writes agent.<arch>.iso with its checksum and bill of materials, rendezvousIP, auth/kubeconfig and
    auth/kubeadmin-password. Inputs stay as they are. Keys and tokens are made once and kept in
    .muster_state.json, so the same inputs give the same bytes; with nothing changed, nothing is done.
    """
    found, plan = site.load_cluster(call.run)
    _make(call, (found, plan), image_name(plan), base_image, build_image)


@click.command(
    "pxe-files",
    epilog=options.examples("muster agent create pxe-files --dir mysite --base-image rhcos-live.iso"),
)
@_agent_options
@options.base_image
def pxe_files(call: Call, base_image: BaseImageFlags) -> None:
    """Make the files for hosts that boot from the network.

    Writes kernel, initial RAM disk and root file system to boot-artifacts/, and a script for iPXE when
    agent-config.yaml says with bootArtifactsBaseURL where they will be.
    """
    found, plan = site.load_cluster(call.run)
    _make(call, (found, plan), ARTIFACTS, base_image, build_pxe_files)


@click.command("config-image", epilog=options.examples("muster agent create config-image --dir mysite"))
@_agent_options
def config_image(call: Call) -> None:
    """Make the small ISO that gives the site's configuration to hosts that booted a generic image.

    Writes agentconfig.noarch.iso (label agent_configimage). `muster agent create unconfigured-image` makes
    the generic image.
    """
    found, plan = site.load_cluster(call.run)
    with start_making(call.run.directory, CONFIG_ISO, call.manner) as making:
        order = _settle(call, found, plan, making)
        if not making.is_current(_inputs(call, found, order)):
            build_config_image(Workshop(order, making, progress))
            making.finish()
        tell(call.run, making, _advice(order, "attach it to every host"))


@click.command(
    "unconfigured-ignition",
    epilog=options.examples("muster agent create unconfigured-ignition --dir generic"),
)
@_agent_options
def unconfigured_ignition(call: Call) -> None:
    """Write the Ignition config of hosts that know no site yet.

    Writes unconfigured-agent.ign. Credentials, release and networks come from cluster-manifests/: infraenv,
    pull-secret, cluster-image-set and nmstateconfig, as far as they are there.
    """
    found = site.load_valid_site(call.run, may_be_empty=True)
    with start_making(call.run.directory, IGNITION_FILE, call.manner) as making:
        if not making.is_current(_inputs(call, found, None)):
            making.begin(None, (IGNITION_FILE,))
            making.save(IGNITION_FILE, generic_ignition(found, call.override))
            making.finish()
        tell(call.run, making)


@click.command(
    "unconfigured-image",
    epilog=options.examples(
        "muster agent create unconfigured-image --dir generic --base-image rhcos-live.iso"
    ),
)
@_agent_options
@options.base_image
def unconfigured_image(call: Call, base_image: BaseImageFlags) -> None:
    """Make an ISO for hosts of any site.

    They wait for a configuration ISO (`muster agent create config-image`). Reads what
    `unconfigured-ignition` reads, if it is there; an empty directory will do.
    """
    found = site.load_valid_site(call.run, may_be_empty=True)
    directory = call.run.directory
    with base_images.open_cache(base_image.cache_dir) as cache:
        base = base_images.obtain(base_image, cache)
        with (
            Volume.open(base.path) as volume,
            start_making(directory, generic_image_name(volume), call.manner) as making,
        ):
            if not making.is_current(_inputs(call, found, None, base.sha256)):
                ignition = generic_ignition(found, call.override)
                build_generic_image(making, Source(base, volume, cache), ignition, progress)
                making.finish()
            tell(
                call.run,
                making,
                ["next: boot any host from it, then attach the configuration ISO of its site"],
            )


def _make(
    call: Call, loaded: tuple[Site, Plan], name: str, base_image: BaseImageFlags, recipe: Recipe
) -> None:
    found, plan = loaded
    directory = call.run.directory
    with (
        base_images.open_cache(base_image.cache_dir) as cache,
        start_making(directory, name, call.manner) as making,
    ):
        base = base_images.obtain(base_image, cache, [plan.trust_bundle] if plan.trust_bundle else [])
        order = _settle(call, found, plan, making)
        replaced: tuple[str, ...] = ()
        if not making.is_current(_inputs(call, found, order, base.sha256)):
            with Volume.open(base.path) as volume:
                replaced = recipe(Workshop(order, making, progress), Source(base, volume, cache))
            making.finish()
        lines = [f"the Ignition config that was given replaced {place}" for place in replaced]
        tell(call.run, making, [*lines, *_advice(order, "boot all hosts from it")], replaced=list(replaced))


def _settle(call: Call, found: Site, plan: Plan, making: Making) -> Order:
    valid_for = parse_duration(call.valid_for)
    secrets = making.renew_tokens(making.settle_secrets(signer_key(found.install)), valid_for)
    return Order(plan, secrets, valid_for, call.override)


def _inputs(call: Call, found: Site, order: Order | None, base_sha256: str = "") -> dict[str, str]:
    given = {
        "the base image": base_sha256,
        "--ignition-override": call.override,
        "--valid-for": call.valid_for,
        "--sha256": str(call.manner.with_sha256),
        "--sign-key": read_text(call.manner.sign_key),
    }
    secrets = order.secrets if order else None
    return digest_inputs(found, secrets, {name: text for name, text in given.items() if text})


def _advice(order: Order, what: str) -> list[str]:
    ends = order.secrets.tokens_issued + order.valid_for
    where = f"; they meet at {order.plan.rendezvous.ip}" if order.plan.rendezvous else ""
    return [f"next: {what} before {ends:%Y-%m-%d %H:%M} UTC{where}"]
