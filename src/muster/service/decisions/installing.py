# SPDX-License-Identifier: Apache-2.0
"""An installation begins: what was a suggestion until now is settled."""

from __future__ import annotations

from muster.service.derive.names import effective_name
from muster.service.derive.roles import choose_bootstrap, effective_role
from muster.service.realm import Draft
from muster.service.state import Cluster
from muster.service.states import cluster as states


def begin_installation(draft: Draft, rendezvous_ip: str = "") -> Cluster:
    """Prepare a cluster that is ready: every host has a role now, and one of them begins."""
    states.prepare(draft)
    for host in list(draft.hosts.values()):
        if host.role == "auto-assign" and host.status == "known":
            draft.change(host, role=effective_role(host))
    chosen = choose_bootstrap(draft.hosts.values(), rendezvous_ip)
    if chosen is not None and not chosen.host.bootstrap:
        draft.change(chosen.host, bootstrap=True)
        name = effective_name(chosen.host)
        draft.tell(chosen.host, "host_bootstrap_set", f"Host {name}: it begins, because {chosen.reason}")
    return draft.cluster
