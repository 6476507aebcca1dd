# SPDX-License-Identifier: Apache-2.0
"""The steps that are plain checks, and how one is run so that there always is something to reply.

What changes the host or the agent itself (inventory, install, logs, stopping, upgrades) is not here: the
agent's loop does that.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from muster.agent.steps.outcome import BAD_STEP, BadArguments, Outcome, StepFunction
from muster.frozen import dataclass
from muster.machine import Machine
from muster.redact import printable, redact
from muster.run import LATE

FAILED: Final = 1
_logger: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class StepKind:
    """A kind of step."""

    module: str
    """Where its function ``run`` is."""
    deadline_s: float
    """When it is given up, whatever limits it has of its own."""

    @property
    def run(self) -> StepFunction:
        """Its function; the module is loaded when it is needed, as some bring a lot along."""
        function: StepFunction = importlib.import_module(self.module).run
        return function


def _kinds(deadlines: Mapping[str, float]) -> Mapping[str, StepKind]:
    """Each is in the module that is called like it."""
    return MappingProxyType(
        {
            name: StepKind(f"{__package__}.{name.replace('-', '_')}", limit)
            for name, limit in deadlines.items()
        }
    )


STEPS: Final = _kinds(
    {
        "connectivity-check": 120,
        "free-network-addresses": 300,
        "verify-vips": 60,
        "ntp-synchronizer": 120,
        "domain-resolution": 60,
        "dhcp-lease-allocate": 120,
        "api-vip-connectivity-check": 60,
        "tang-connectivity-check": 60,
        "container-image-availability": 1000,
        "installation-disk-speed-check": 500,
    }
)
"""By the names that the service has for them."""


async def run_step(
    machine: Machine, step_type: str, args: Sequence[str], steps: Mapping[str, StepKind] = STEPS
) -> Outcome:
    """Run a step. Whatever happens in it is an outcome; nothing is raised but that we are cancelled."""
    kind = steps.get(step_type)
    if kind is None:
        return Outcome(exit_code=BAD_STEP, error=f"this agent knows no step {step_type[:100]!r}")
    limit = asyncio.timeout(kind.deadline_s)
    try:
        async with limit:
            return await kind.run(machine, args)
    except BadArguments as error:
        return Outcome(exit_code=BAD_STEP, error=_sentence(str(error)))
    except Exception as error:
        if limit.expired():
            return Outcome(
                exit_code=LATE, error=f"the step {step_type} did not end within {kind.deadline_s:g} s"
            )
        _logger.exception("the step %s failed", step_type)
        reason = _sentence(str(first_of(error))) or type(first_of(error)).__name__
        return Outcome(exit_code=FAILED, error=f"the step {step_type} failed: {reason}")


def first_of(error: Exception) -> Exception:
    """The first of several errors that came at once; they may be nested."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def _sentence(text: str) -> str:
    """In one line, without secrets."""
    return " ".join(printable(redact(text)).split())
