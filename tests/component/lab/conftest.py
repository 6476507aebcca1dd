# SPDX-License-Identifier: Apache-2.0
"""Networks for the lab's tests, in namespaces that are gone with everything in them after the test."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest

from muster.run import run

NewNamespace: TypeAlias = Callable[[], str]


@pytest.fixture
def new_namespace(root: None) -> Iterator[NewNamespace]:
    """Makes network namespaces; what still runs in them is ended when the test is."""
    made: list[str] = []

    def make() -> str:
        name = f"test-{secrets.token_hex(4)}"
        run(["ip", "netns", "add", name])
        made.append(name)
        batch(name, "link set lo up")
        return name

    yield make
    for name in made:
        for pid in run(["ip", "netns", "pids", name]).split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        run(["ip", "netns", "delete", name])


def batch(namespace: str, *lines: str) -> None:
    """Change the links of a namespace."""
    run(["ip", "-n", namespace, "-batch", "-"], feed="\n".join(lines) + "\n")
