# SPDX-License-Identifier: Apache-2.0
"""The kernel arguments that a site asks for."""

from __future__ import annotations

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
    wanted: dict[str, list[str]] = {"append": [], "delete": [], "replace": []}
    if plan.settings.get("fips") is True:
        wanted["append"].append("fips=1")
    if plan.platform == "external" and _external_name(plan) == "oci":
        wanted["append"].append("console=ttyS0")
    infra_env = plan.manifest_settings.get("InfraEnv")
    given: Any = infra_env.get("kernelArguments") if isinstance(infra_env, dict) else None
    for entry in given or ():
        wanted[str(entry.get("operation") or "append")].append(str(entry.get("value") or ""))
    return KernelArguments(*(tuple(wanted[name]) for name in ("append", "delete", "replace")))


def _external_name(plan: Plan) -> str:
    section = plan.settings.get("platform")
    external = section.get("external") if isinstance(section, dict) else None
    return str(external.get("platformName", "")) if isinstance(external, dict) else ""
