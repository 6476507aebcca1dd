# SPDX-License-Identifier: Apache-2.0
"""Where operators join in: what one adds to the needs of its hosts, and its own two validations.

    register(Operator(name="lvm", adds=(Added("master", (4, 16), Extra(cpu_cores=1, ram_mib=100)),)),
             of_host=Part("lvm-requirements-satisfied", check, Reads(host={"inventory"})))

None is registered yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from muster.frozen import dataclass
from muster.service.validations.registry import CLUSTER, HOST, Answer, Reads, on_cluster, on_host


@dataclass(frozen=True)
class Extra:
    """What is needed besides."""

    cpu_cores: int = 0
    ram_mib: int = 0


NOTHING: Final = Extra()


@dataclass(frozen=True)
class Added:
    """What hosts of a role need from a version on."""

    role: str
    min_version: tuple[int, ...]
    extra: Extra


@dataclass(frozen=True)
class Operator:
    """Something that is installed on top of a cluster."""

    name: str
    adds: tuple[Added, ...] = ()

    def needs(self, role: str, version: tuple[int, ...]) -> Extra:
        """What it adds to a host of a role: the entry of the highest version that is not above."""
        fitting = [each for each in self.adds if each.role == role and each.min_version <= version]
        return max(fitting, key=lambda each: each.min_version).extra if fitting else NOTHING


@dataclass(frozen=True)
class Part:
    """A validation that an operator brings; the texts of its id are in texts.toml like all others."""

    id: str
    check: Callable[[Any], Answer]
    reads: Reads


OPERATORS: Final[dict[str | None, Operator]] = {}
_changes: Final = [0]


def version() -> int:
    """How often operators came or went: what is kept of the validations is made anew then."""
    return _changes[0]


def register(operator: Operator, of_host: Part | None = None, of_cluster: Part | None = None) -> None:
    """Make an operator known, with the validations that it brings."""
    _changes[0] += 1
    OPERATORS[operator.name] = operator
    if of_host is not None:
        on_host(of_host.id, "operators", of_host.reads)(of_host.check)
    if of_cluster is not None:
        on_cluster(of_cluster.id, "operators", of_cluster.reads)(of_cluster.check)


def forget(operator: Operator, *ids: str) -> None:
    """Take an operator and its validations out again."""
    _changes[0] += 1
    OPERATORS.pop(operator.name, None)
    for id in ids:
        HOST.pop(id, None)
        CLUSTER.pop(id, None)
