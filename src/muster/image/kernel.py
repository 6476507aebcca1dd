# SPDX-License-Identifier: Apache-2.0
"""The kernel arguments that a site asks for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from muster.frozen import dataclass
from muster.model.plan import Plan


@dataclass(frozen=True)
class KernelArguments:
    """What becomes of the base image's arguments."""

    append: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()
    replace: tuple[str, ...] = ()
    """As KEY=OLD=NEW."""


def kernel_arguments(plan: Plan) -> KernelArguments:
    """Those that follow from the plan, then those of InfraEnv in their order."""
    implied = []
    if plan.settings.get("fips") is True:
        implied.append("fips=1")
    if plan.platform == "external" and _external_name(plan) == "oci":
        implied.append("console=ttyS0")
    infra_env = plan.manifest_settings.get("InfraEnv")
    given: Any = infra_env.get("kernelArguments") if isinstance(infra_env, dict) else None
    pairs = [(str(entry.get("operation") or ""), str(entry.get("value") or "")) for entry in given or ()]
    return edit_arguments(pairs, implied)


def edit_arguments(given: Iterable[tuple[str, str]], implied: Iterable[str] = ()) -> KernelArguments:
    """Operations and arguments, as InfraEnv names them, behind those that follow from something else."""
    wanted: dict[str, list[str]] = {"append": [*implied], "delete": [], "replace": []}
    for operation, argument in given:
        wanted[operation or "append"].append(argument)
    return KernelArguments(*(tuple(wanted[name]) for name in ("append", "delete", "replace")))


def _external_name(plan: Plan) -> str:
    section = plan.settings.get("platform")
    external = section.get("external") if isinstance(section, dict) else None
    return str(external.get("platformName", "")) if isinstance(external, dict) else ""
