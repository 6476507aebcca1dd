# SPDX-License-Identifier: Apache-2.0
"""Events, manifests and credentials, as clients are shown them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, cast

from muster.model.wire.cluster import Credentials, IgnoredValidations
from muster.model.wire.files import Event as WireEvent
from muster.model.wire.files import Manifest
from muster.service.api.views.text import json_or_none, json_text
from muster.service.credentials import console_url_of
from muster.service.realm import Event
from muster.service.state import Cluster


def show_event(event: Event, *, cluster_id: str | None = None, infra_env_id: str | None = None) -> WireEvent:
    """An event; whoever asks says which cluster and infra-env its host is of."""
    return WireEvent(
        name=event.name or None,
        severity=event.severity,
        category=event.category,
        message=event.message,
        event_time=event.at,
        cluster_id=event.id if event.kind == "cluster" else cluster_id,
        host_id=event.id if event.kind == "host" else None,
        infra_env_id=event.id if event.kind == "infra-env" else infra_env_id,
        request_id=event.request_id or None,
        props=json_or_none({**event.props, "actor": event.actor} if event.actor else event.props),
    )


def show_manifests(cluster: Cluster) -> Iterator[Manifest]:
    """The manifests that users added."""
    for key in cluster.manifests:
        folder, _, name = key.partition("/")
        # Nothing else is ever stored.
        place = cast(Literal["manifests", "openshift"], folder)
        yield Manifest(folder=place, file_name=name, manifest_source="user")


def show_credentials(cluster: Cluster, username: str, password: str) -> Credentials:
    """How to log in, and where, if the cluster has a console."""
    return Credentials(username=username, password=password, console_url=console_url_of(cluster) or None)


def show_ignored(cluster: Cluster) -> IgnoredValidations:
    """The checks that do not count."""
    return IgnoredValidations(
        cluster_validation_ids=json_text(cluster.ignored_cluster_validations),
        host_validation_ids=json_text(cluster.ignored_host_validations),
    )
