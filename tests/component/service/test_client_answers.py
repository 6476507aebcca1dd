# SPDX-License-Identifier: Apache-2.0
"""The client package from PyPI: it reads every answer that the service makes of what it knows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, Final, get_args

import msgspec
import pytest

from muster.model.wire import cluster as wire_cluster
from muster.model.wire import enums
from muster.model.wire import files as wire_files
from muster.model.wire import host as wire_host
from muster.model.wire import infra_env as wire_infra_env
from muster.model.wire.operators import MonitoredOperator
from muster.service.api.table.shape import Shape
from muster.service.api.table.shapes import OUR_SHAPES, SHAPES
from muster.service.api.views.clusters import show_cluster
from muster.service.api.views.files import show_credentials, show_event, show_ignored, show_manifests
from muster.service.api.views.hosts import show_host, show_registration
from muster.service.api.views.infra_envs import show_infra_env
from muster.service.realm import Event
from muster.service.state import Cluster, Host, InfraEnv
from tests.component.service.client import ApiClient, client_models
from tests.component.service.samples import NOW, full, minimal
from tests.component.service.test_client_models import RENAMED

HOST: Final = full(Host, wire_host.Host, id="host-1", infra_env_id="infra-env-1")
CLUSTER: Final = full(Cluster, wire_cluster.Cluster, id="cluster-1", manifests=("openshift/a.yaml",))
SECRETS: Final = ("pull_secret", "ignition_endpoint_token", "fencing_credentials", "signing_key")


_OURS = ("enrolment_request", "key_fingerprint")


@pytest.fixture(scope="module")
def client() -> Iterator[ApiClient]:
    made = ApiClient()
    yield made
    made.pool.close()
    made.pool.join()


def read(client: ApiClient, answer: Any, name: str) -> None:
    """The client takes what was sent, and has the same; it may add defaults of its own."""
    body = msgspec.json.encode(answer)
    found = client.deserialize(SimpleNamespace(data=body.decode()), name)
    sent = _same_times(_without_ours(json.loads(body)))
    assert _part(_same_times(client.sanitize_for_serialization(found)), sent) == sent


def _without_ours(sent: Any) -> Any:
    """Without the fields that the client does not know and passes over."""
    if isinstance(sent, dict):
        return {key: _without_ours(each) for key, each in sent.items() if key not in _OURS}
    return [_without_ours(each) for each in sent] if isinstance(sent, list) else sent


def _part(found: Any, sent: Any) -> Any:
    """The part of what was found that was also sent."""
    if isinstance(found, dict) and isinstance(sent, dict):
        return {key: _part(each, sent[key]) for key, each in found.items() if key in sent}
    if isinstance(found, list) and isinstance(sent, list):
        return [_part(each, other) for each, other in zip(found, sent, strict=True)]
    return found


def read_shown(client: ApiClient, answer: Any, name: str) -> None:
    """The client takes what is shown of a state, and no secret is in it."""
    read(client, answer, name)
    body = msgspec.json.encode(answer)
    for secret in SECRETS:
        assert f"the {secret}".encode() not in body


def _same_times(value: Any) -> Any:
    """Times compare as times, whichever way they are written."""
    if isinstance(value, dict):
        return {key: _same_times(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_same_times(each) for each in value]
    try:
        return datetime.fromisoformat(value).astimezone(UTC)
    except (TypeError, ValueError):
        return value


@pytest.mark.parametrize("host", [HOST, minimal(Host, status="discovering-unbound")], ids=["full", "minimal"])
@pytest.mark.parametrize("cluster", [CLUSTER, None], ids=["bound", "pool"])
def test_hosts(client: ApiClient, host: Host, cluster: Cluster | None) -> None:
    read_shown(client, show_host(host, cluster), "Host")
    read_shown(client, show_host(host, cluster, heard_at=NOW, connectivity=b'{"remote_hosts":[]}'), "Host")


@pytest.mark.parametrize("status", get_args(enums.HostStatus))
def test_hosts_in_every_state(client: ApiClient, status: str) -> None:
    read_shown(client, show_host(minimal(Host, status=status), CLUSTER), "Host")


@pytest.mark.parametrize("hosts", [(), (HOST,), (HOST, minimal(Host, status="known"))], ids=len)
@pytest.mark.parametrize(
    "cluster", [CLUSTER, minimal(Cluster, status="insufficient")], ids=["full", "minimal"]
)
def test_clusters(client: ApiClient, cluster: Cluster, hosts: tuple[Host, ...]) -> None:
    read_shown(client, show_cluster(cluster, hosts, heard={HOST.id: NOW}), "Cluster")
    read_shown(client, show_cluster(cluster, hosts, with_hosts=False), "Cluster")


@pytest.mark.parametrize("status", get_args(enums.ClusterStatus))
def test_clusters_in_every_state(client: ApiClient, status: str) -> None:
    read_shown(client, show_cluster(minimal(Cluster, status=status), ()), "Cluster")


def test_a_cluster_with_bundles(client: ApiClient) -> None:
    operator = full(MonitoredOperator, source_bundles=("virtualization", "ai"))
    cluster = msgspec.structs.replace(CLUSTER, monitored_operators=(operator,))
    shown = show_cluster(cluster, ())
    assert [each.id for each in shown.operator_bundles or ()] == ["ai", "virtualization"]
    read_shown(client, shown, "Cluster")


@pytest.mark.parametrize(
    "infra_env",
    [full(InfraEnv, wire_infra_env.InfraEnv), minimal(InfraEnv)],
    ids=["full", "minimal"],
)
def test_infra_envs(client: ApiClient, infra_env: InfraEnv) -> None:
    read_shown(client, show_infra_env(infra_env), "InfraEnv")
    until = NOW + timedelta(hours=4)
    read_shown(client, show_infra_env(infra_env, "https://images.example.com/a.iso", until), "InfraEnv")


@pytest.mark.parametrize("kind", ["cluster", "host", "infra-env"])
def test_events(client: ApiClient, kind: Any) -> None:
    read_shown(client, show_event(full(Event, wire_files.Event, kind=kind, id="1"), cluster_id="2"), "Event")
    read_shown(client, show_event(minimal(Event, kind=kind, id="1")), "Event")


def test_files_and_credentials(client: ApiClient) -> None:
    assert [each.file_name for each in show_manifests(CLUSTER)] == ["a.yaml"]
    for manifest in show_manifests(CLUSTER):
        read_shown(client, manifest, "Manifest")
    read_shown(client, show_credentials(CLUSTER, "kubeadmin", "a password"), "Credentials")
    read_shown(client, show_ignored(CLUSTER), "IgnoredValidations")


def test_a_host_that_registers(client: ApiClient) -> None:
    answer = show_registration(show_host(HOST, CLUSTER), "agent:1", 60)
    body = msgspec.json.encode(answer)
    found = client.deserialize(SimpleNamespace(data=body.decode()), "HostRegistrationResponse")
    command = found.next_step_runner_command
    wanted = {"infra_env_id": "infra-env-1", "host_id": "host-1", "agent_version": "agent:1"}
    assert (json.loads(command.args[0]), command.retry_seconds) == (wanted, 60)
    # Whoever reads the host out of it finds it.
    read_shown(client, msgspec.json.decode(body, type=wire_host.Host), "Host")


def _answers() -> dict[str, type[msgspec.Struct]]:
    """The objects that operations answer with, by the client's name for them."""
    names = {ours: theirs for theirs, ours in RENAMED.items()}
    found = {}
    for shape in (shape for name, shape in SHAPES.items() if name not in OUR_SHAPES):
        for each in _structs(shape):
            found[names.get(each.__name__, each.__name__)] = each
    return found


def _structs(shape: Shape) -> Iterator[type[msgspec.Struct]]:
    for each in (shape.answer, *get_args(shape.answer), shape.body):
        if isinstance(each, type) and issubclass(each, msgspec.Struct):
            yield each


@pytest.mark.parametrize("name", sorted(set(_answers()) - {"HostRegistrationResponse"}))
def test_every_object_that_goes_in_or_out(client: ApiClient, name: str) -> None:
    kind = _answers()[name]
    assert name in client_models()
    for answer in (full(kind), minimal(kind)):
        read(client, answer, name)
        assert msgspec.json.decode(msgspec.json.encode(answer), type=kind) == answer
