# SPDX-License-Identifier: Apache-2.0
"""What the texts of states are filled in with, each only when a text asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from ipaddress import ip_interface
from typing import Any, Final

from muster.model.wire.operators import MonitoredOperator
from muster.service.state import Cluster, Host, Verdict

_MOST: Final = 3
"""So many causes fit into a sentence."""


_TIMES: Final = {1: "first", 2: "second", 3: "third", 4: "fourth"}


class Words(dict[str, Any]):
    """Words that are looked up when they are asked for."""

    def __init__(self, sources: Mapping[str, Callable[[], object]]) -> None:
        super().__init__()
        self._sources = sources

    def __missing__(self, name: str) -> str:
        return str(self._sources[name]())


def name_of(host: Host) -> str:
    """What people call a host."""
    if host.requested_hostname:
        return host.requested_hostname
    return host.inventory.hostname if host.inventory and host.inventory.hostname else host.id


def address_of(host: Host) -> str:
    """An address at which a host may be reached."""
    interfaces = host.inventory.interfaces if host.inventory else None
    for interface in interfaces or ():
        for each in (*(interface.ipv4_addresses or ()), *(interface.ipv6_addresses or ())):
            try:
                address = ip_interface(each).ip
            except ValueError:
                continue
            if not address.is_link_local:
                return str(address)
    return name_of(host)


def disk_of(host: Host) -> str:
    """The disk that a host is installed on."""
    return host.installation_disk_path or host.installation_disk_id or "that was chosen"


def missing(verdicts: Iterable[Verdict], failing: tuple[str, ...]) -> str:
    """What is missing, in the words of the validations; what several of them say is said once."""
    messages = {each.id: each.message for each in verdicts}
    found = [*dict.fromkeys(messages.get(id) or id for id in failing)]
    said = found[:_MOST]
    if len(found) > _MOST:
        said.append(f"and {len(found) - _MOST} more")
    return "; ".join(said) or "not everything was checked yet"


def span(of: timedelta) -> str:
    """A time span in words."""
    minutes = int(of.total_seconds() // 60)
    if minutes >= 120 and minutes % 60 == 0:
        return f"{minutes // 60} hours"
    return f"{minutes} minutes"


def host_words(host: Host, cluster: Cluster | None) -> Words:
    """What texts may say about a host."""
    return Words(
        {
            "id": lambda: host.id,
            "infra_env_id": lambda: host.infra_env_id,
            "cluster_id": lambda: cluster.id if cluster is not None else "",
            "name": lambda: name_of(host),
            "address": lambda: address_of(host),
            "disk": lambda: disk_of(host),
            "info": lambda: host.status_info,
            "stage": lambda: host.progress.current_stage or "before the first stage",
            "times": lambda: _TIMES.get(host.restarts + 1, "last"),
            "doing": lambda: f" ({host.progress.progress_info})" if host.progress.progress_info else "",
            "differs": lambda: "; ".join(host.enrolment_request.differs) if host.enrolment_request else "",
        }
    )


def cluster_words(cluster: Cluster) -> Words:
    """What texts may say about a cluster."""
    stage = cluster.progress.finalizing_stage
    return Words(
        {
            "id": lambda: cluster.id,
            "name": lambda: cluster.name,
            "info": lambda: cluster.status_info,
            "stage": lambda: stage or "before the first stage",
            "doing": lambda: _doing(cluster),
            "preparation": lambda: (
                cluster.preparation.reason or "what the hosts are to be given was not made"
            ),
            "broken": lambda: "; ".join(
                _operator(each) for each in cluster.monitored_operators if each.status == "failed"
            ),
        }
    )


def _doing(cluster: Cluster) -> str:
    """What a cluster that comes up is doing: the first thing that tells how far it is, else its stage."""
    operators = cluster.monitored_operators
    found = next((each for each in operators if each.status == "progressing" and each.status_info), None)
    stage = cluster.progress.finalizing_stage
    if found is not None:
        return f": {_operator(found)}"
    return f": {stage}" if stage else ""


def _operator(operator: MonitoredOperator) -> str:
    name = operator.name or "an operator"
    return f"{name} ({operator.status_info})" if operator.status_info else name
