# SPDX-License-Identifier: Apache-2.0
"""What could not be read is reported once, and nothing is concluded from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.config.check import check_folder
from muster.config.document.folder import Directory, Memory
from muster.model.site import Environment

BASES = Path(__file__).parents[3] / "golden" / "base"
NETWORKS = "  machineNetwork:\n  - cidr: 192.0.2.0/24\n"
COMPUTE = "compute:\n- name: worker\n  replicas: 0\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (NETWORKS, "  machineNetwork: 192.0.2.0/24\n"),
        (NETWORKS, "  machineNetwork:\n  - 192.0.2.0/24\n"),
        (NETWORKS, "  machineNetwork: {cidr: 192.0.2.0/24}\n"),
        (COMPUTE, "compute: 0\n"),
        (COMPUTE, "compute: {name: worker, replicas: 0}\n"),
    ],
)
def test_list_of_another_form(old: str, new: str) -> None:
    folder = Directory(BASES / "compact")
    text = (BASES / "compact" / "install-config.yaml").read_text("utf-8")
    assert text.count(old) == 1
    _, problems = check_folder(
        Memory({"install-config.yaml": text.replace(old, new).encode()}, folder), Environment()
    )
    assert [problem.rule.slug for problem in problems] == ["wrong-kind"]
