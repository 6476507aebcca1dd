# SPDX-License-Identifier: Apache-2.0
"""`muster host ...`: what the units of the machine OS run on a host; people need it only to look closer."""

from __future__ import annotations

from typing import Final

import click

from muster.cli import options
from muster.cli.lazy import LazyGroup

_VERBS: Final = {
    "meet": ("host_meet:meet", "Have somebody say where the hosts meet, if the medium does not."),
    "rendezvous": ("host_rendezvous:rendezvous", "Serve the site, on the host that has the rendezvous IP."),
    "agent": ("host_agent:agent", "Register this host, and do what the service asks."),
    "install": ("host_install:install", "Write this host's disk, and boot from it."),
    "replace": ("host_replace:replace", "Install this machine in the place of a lost host."),
    "images": ("host_images:images", "Hand the images on the disk to containerd."),
    "bundle": ("host_bundle:bundle", "Collect what tells how this host is in one file, without secrets."),
    "member": ("host_member:member", "Find this host's place among the members of etcd."),
    "setup": ("host_setup:setup", "Set up what is done once for the whole cluster."),
    "console": ("host_console:console", "Show what this host does, on its screen and serial lines."),
    "join": ("host_join:join", "Tell the service how far this node is, until the cluster is complete."),
}


@click.group(
    cls=LazyGroup,
    verbs=_VERBS,
    epilog=options.examples(
        "systemctl status muster-agent.service", "journalctl -u muster-rendezvous.service"
    ),
)
def host() -> None:
    """Play the parts of a host. The units of the machine OS start these; their logs are in the journal."""
