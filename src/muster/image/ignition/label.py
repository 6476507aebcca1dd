# SPDX-License-Identifier: Apache-2.0
"""What the medium says about itself, to tools and to whoever stands before the screen."""

from __future__ import annotations

import json

from muster import __version__
from muster.image.credentials import Credentials
from muster.model.ignition import PUBLIC, Config, File
from muster.model.plan import Plan

PATH = "/etc/assisted/medium.json"


def label(plan: Plan, credentials: Credentials) -> Config:
    """Who the medium is for and what made it, once for programs and once for the login screen."""
    meeting = str(plan.rendezvous.ip) if plan.rendezvous else ""
    body = {
        "cluster": plan.domain,
        "clusterID": credentials.cluster_id,
        "hosts": [host.label for host in plan.hosts],
        "madeBy": f"muster {__version__}",
        "platform": plan.platform,
        "release": plan.release_image,
        "rendezvousIP": meeting,
        "topology": str(plan.topology),
    }
    issue = f"Muster {__version__}: this host boots to become a part of {plan.domain}\n"
    if meeting:
        issue += f"The hosts meet at {meeting}\n"
    return Config(
        (
            File(PATH, (json.dumps(body, indent=2, sort_keys=True) + "\n").encode(), PUBLIC),
            File("/etc/issue.d/10-muster.issue", issue.encode(), PUBLIC),
            File("/etc/motd.d/10-muster", issue.encode(), PUBLIC),
        )
    )
