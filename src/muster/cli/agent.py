# SPDX-License-Identifier: Apache-2.0
"""`muster agent create ... | wait-for ... | approve-host | gather | timeline`: media, and installations."""

from __future__ import annotations

from typing import Final

import click

from muster.cli import options
from muster.cli.lazy import LazyGroup

_VERBS: Final = {
    "image": ("agent_media:image", "Make the ISO that all hosts of the site boot."),
    "pxe-files": ("agent_media:pxe_files", "Make the files for hosts that boot from the network."),
    "host-image": ("host_image:host_image", "Make the ISO that replaces a lost control-plane host."),
    "config-image": ("agent_media:config_image", "Make the ISO that configures hosts of a generic image."),
    "unconfigured-image": ("agent_media:unconfigured_image", "Make an ISO for hosts of any site."),
    "unconfigured-ignition": (
        "agent_media:unconfigured_ignition",
        "Write the Ignition config of hosts that know no site yet.",
    ),
    "cluster-manifests": ("manifests:cluster_manifests", "Write the site as ZTP manifests."),
    "agent-config-template": (
        "templates:agent_config_template",
        "Write a commented agent-config.yaml to start from.",
    ),
}
_WAITS: Final = {
    "bootstrap-complete": ("wait_for:bootstrap_complete", "Wait until the Kubernetes API is ready."),
    "install-complete": ("wait_for:install_complete", "Wait until the cluster is installed."),
}


_DIAGNOSE: Final = {
    "timeline": ("timeline:timeline", "Show how long each host took for each phase."),
    "approve-host": (
        "approve_host:approve_host",
        "Let a host that restarted during its installation register again.",
    ),
    "gather": ("gather:gather_", "Gather what tells how it went in one archive, without secrets."),
}


@click.group(
    cls=LazyGroup,
    verbs=_DIAGNOSE,
    epilog=options.examples("muster agent create image --dir mysite --base-image live.iso"),
)
def agent() -> None:
    """Make media and manifests for an agent-based installation, follow it, and find out what went wrong."""


@agent.group(
    cls=LazyGroup,
    verbs=_VERBS,
    epilog=options.examples("muster agent create image --dir mysite --base-image live.iso"),
)
def create() -> None:
    """Create files in the site's directory. Inputs are never changed or removed."""


@agent.group(
    "wait-for",
    cls=LazyGroup,
    verbs=_WAITS,
    epilog=options.examples("muster agent wait-for install-complete --dir mysite"),
)
def wait_for() -> None:
    """Follow an installation until it is done, or failed."""
