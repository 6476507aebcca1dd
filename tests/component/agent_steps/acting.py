# SPDX-License-Identifier: Apache-2.0
"""Does one step on the machine it runs on, or in the network namespace it was started in.

python -m tests.component.agent_steps.acting STEP ARGUMENT; it prints what came of it as JSON.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys

from muster.agent.steps.outcome import Outcome, StepFunction
from muster.machine import ThisMachine


def act(step: str, argument: str) -> Outcome:
    run: StepFunction = importlib.import_module(f"muster.agent.steps.{step}").run

    async def wait() -> Outcome:
        return await run(ThisMachine(), [argument])

    return asyncio.run(wait())


if __name__ == "__main__":
    done = act(sys.argv[1], sys.argv[2])
    sys.stdout.write(json.dumps({"output": done.output, "exit_code": done.exit_code, "error": done.error}))
