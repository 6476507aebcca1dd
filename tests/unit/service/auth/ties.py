# SPDX-License-Identifier: Apache-2.0
"""Hosts and infra-envs that tests know things about, and keys that are always the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from muster.service.auth.personas import Standing


@dataclass
class Known:
    """What is known about hosts; what is not named is unknown."""

    clusters: dict[tuple[str, str], str] = field(default_factory=dict)
    keyed: set[tuple[str, str]] = field(default_factory=set)
    control_plane: set[tuple[str, str]] = field(default_factory=set)
    statuses: dict[str, str] = field(default_factory=dict)
    """Of clusters and of hosts, by id."""
    releases: dict[str, str] = field(default_factory=dict)
    """The kinds of releases of clusters that are not of OpenShift, by id."""
    admits_keyless: bool = True
    epochs: dict[str, int] = field(default_factory=dict)
    enrolments: dict[tuple[str, str], int] = field(default_factory=dict)

    def cluster_of(self, infra_env_id: str, host_id: str) -> str | None:
        return self.clusters.get((infra_env_id, host_id))

    def clusters_of(self, infra_env_id: str) -> Collection[str]:
        return {cluster for (infra_env, _), cluster in self.clusters.items() if infra_env == infra_env_id}

    def standing_of(self, infra_env_id: str | None, host_id: str) -> Standing | None:
        known = {*self.clusters, *self.keyed, *self.control_plane}
        found = [each for each in known if each[1] == host_id and infra_env_id in (None, each[0])]
        if not found:
            return None
        place = max(found)  # A service knows one place of each host.
        return Standing(self.statuses.get(host_id, "known"), place in self.control_plane, place in self.keyed)

    def status_of(self, cluster_id: str) -> str:
        return self.statuses.get(cluster_id, "")

    def release_of(self, cluster_id: str) -> str:
        return self.releases.get(cluster_id, "openshift")

    def enrolment_of(self, infra_env_id: str, host_id: str) -> int:
        return self.enrolments.get((infra_env_id, host_id), 0)

    def epoch_of(self, infra_env_id: str) -> int:
        return self.epochs.get(infra_env_id, 0)


def repeatable(seed: str) -> Callable[[int], bytes]:
    """Random bytes that are the same in every run."""
    state = seed.encode()

    def give(count: int) -> bytes:
        nonlocal state
        out = b""
        while len(out) < count:
            state = hashlib.sha256(state).digest()
            out += state
        return out[:count]

    return give
