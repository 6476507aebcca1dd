# SPDX-License-Identifier: Apache-2.0
"""The manifests of every operator, and of those that depend on the cluster or on each other, for people."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from muster.release.operators.catalogue import operators
from muster.release.operators.choose import choose_operators
from muster.release.operators.model import Choice
from muster.release.operators.render import render_operators
from tests.conftest import Golden

HERE = Path(__file__).parent
LARGE = Choice((4, 22), masters=3, workers=3, spare_disks=6)
COMPACT = replace(LARGE, workers=0, spare_disks=3)
SINGLE = Choice((4, 22), masters=1, spare_disks=1)
CASES = {
    "compact-odf": (COMPACT, ["odf"]),
    "odf-4.18": (replace(LARGE, version=(4, 18)), ["odf"]),
    "single-openshift-ai": (SINGLE, ["openshift-ai", "nvidia-gpu"]),
    "descheduler-with-cnv": (LARGE, ["cnv", "kube-descheduler"]),
    "descheduler-with-cnv-4.19": (replace(LARGE, version=(4, 19)), ["cnv", "kube-descheduler"]),
    "descheduler-with-cnv-4.18": (replace(LARGE, version=(4, 18)), ["cnv", "kube-descheduler"]),
    "descheduler-with-cnv-4.17": (replace(LARGE, version=(4, 17)), ["cnv", "kube-descheduler"]),
    "descheduler-with-cnv-4.16": (replace(LARGE, version=(4, 16)), ["cnv", "kube-descheduler"]),
    "availability": (LARGE, ["fence-agents-remediation", "self-node-remediation"]),
    "gpus": (LARGE, ["openshift-ai", "amd-gpu", "nvidia-gpu"]),
}


def listing(choice: Choice, names: list[str]) -> str:
    """Every file with its text, then what is applied later, in its order."""
    rendered = render_operators(choose_operators(names, choice), choice)
    parts = [f"file {name}\n{text}" for name, text in rendered.install]
    parts += [f"after {name}\n{text}" for name, text in rendered.post_install]
    return "".join(f"===== {part.rstrip()}\n" for part in parts)


@pytest.mark.parametrize("name", operators())
def test_operator(name: str, golden: Golden) -> None:
    golden(HERE / "operators" / f"{name}.txt", listing(LARGE, [name]))


@pytest.mark.parametrize("case", CASES)
def test_operators_together(case: str, golden: Golden) -> None:
    golden(HERE / "operators" / f"case-{case}.txt", listing(*CASES[case]))
