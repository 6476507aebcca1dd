# SPDX-License-Identifier: Apache-2.0
"""Figures of the service, in the words of Prometheus: what is known is counted when somebody asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final

from muster.service.engine import Engine
from muster.service.state import Cluster, Host

_PREFIX: Final = "service_assisted_installer_"


def render_metrics(
    engine: Engine,
    requests: Mapping[tuple[str, int], int],
    waiting: int,
    certificate_expires: datetime | None = None,
    warnings: int = 0,
) -> str:
    """The page that a collector reads."""
    clusters = engine.clusters()
    hosts = [host for realm in engine.realms.values() for host in realm.hosts.values()]
    lines = [
        *_family("cluster_hosts", "Hosts by state.", _by(hosts, lambda host: host.status, "status")),
        *_family("clusters", "Clusters by state.", _by(clusters, lambda each: each.status, "status")),
        *_family("cluster_host_cores", "Cores of all hosts.", [("", _sum_cores(hosts))]),
        *_family("cluster_host_ram_gb", "Memory of all hosts.", [("", _sum_memory(hosts))]),
        *_family("cluster_installation_started", "Installations begun.", [("", _started(clusters))]),
        *_family("cluster_installation_seconds", "How long installations took.", _durations(clusters)),
        *_family("host_validation_failed", "Hosts that fail a validation.", _failing(hosts)),
        *_family("waiting_hosts", "Hosts that wait for instructions.", [("", waiting)]),
        *_family(
            "certificate_expiry_timestamp_seconds",
            "When the certificate of the service expires.",
            [] if certificate_expires is None else [("", certificate_expires.timestamp())],
            exact=True,
        ),
        *_family("warnings", "What is wrong with the service itself.", [("", warnings)]),
        *_family("requests_total", "Answers by operation and status.", _requests(requests), kind="counter"),
    ]
    return "\n".join(lines) + "\n"


def _family(
    name: str, text: str, samples: Iterable[tuple[str, float]], *, kind: str = "gauge", exact: bool = False
) -> Iterator[str]:
    yield f"# HELP {_PREFIX}{name} {text}"
    yield f"# TYPE {_PREFIX}{name} {kind}"
    for labels, value in samples:
        yield f"{_PREFIX}{name}{labels} {value:.0f}" if exact else f"{_PREFIX}{name}{labels} {value:g}"


def _labels(**values: object) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in values.items()) + "}"


def _by(things: Iterable[object], word: object, label: str) -> list[tuple[str, float]]:
    counts = Counter(word(each) for each in things)  # type: ignore[operator]
    return [(_labels(**{label: key}), count) for key, count in sorted(counts.items())]


def _sum_cores(hosts: Iterable[Host]) -> int:
    return sum(
        host.inventory.cpu.count or 0 for host in hosts if host.inventory is not None and host.inventory.cpu
    )


def _sum_memory(hosts: Iterable[Host]) -> float:
    total = sum(
        host.inventory.memory.physical_bytes or 0
        for host in hosts
        if host.inventory is not None and host.inventory.memory
    )
    return round(total / (1 << 30), 1)


def _started(clusters: Iterable[Cluster]) -> int:
    return sum(1 for each in clusters if each.install_started_at is not None)


def _durations(clusters: Iterable[Cluster]) -> Iterator[tuple[str, float]]:
    for each in clusters:
        if each.install_started_at is not None and each.install_completed_at is not None:
            took = (each.install_completed_at - each.install_started_at).total_seconds()
            yield _labels(cluster_id=each.id, result=each.status), took


def _failing(hosts: Iterable[Host]) -> Iterator[tuple[str, float]]:
    counts = Counter(verdict.id for host in hosts for verdict in host.verdicts if verdict.status == "failure")
    for id, count in sorted(counts.items()):
        yield _labels(id=id), count


def _requests(requests: Mapping[tuple[str, int], int]) -> Iterator[tuple[str, float]]:
    for (operation, status), count in sorted(requests.items()):
        yield _labels(operation=operation or "unknown", status=status), count
