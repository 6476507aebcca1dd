# SPDX-License-Identifier: Apache-2.0
"""The page about states."""

from __future__ import annotations

import re

from muster.service.states.cluster_table import CLUSTERS
from muster.service.states.diagram import render_mermaid, render_states
from muster.service.states.host_table import HOSTS
from muster.service.states.table import Row


def test_every_row_is_on_the_page() -> None:
    page = render_states()
    for row in (*HOSTS.rows, *CLUSTERS.rows):
        assert f"| {row.trigger} | {', '.join(row.sources())} |" in page
        assert row.reason in page


def test_conditions_and_effects_are_explained() -> None:
    assert not re.search(r"^\|[^|]*\| \|$", render_states(), re.MULTILINE)
    assert "| connected | It was heard of lately" in render_states()


def test_an_arrow_has_all_its_triggers_and_no_state_an_arrow_to_itself() -> None:
    rows = (Row("refresh", "a-b c", "c"), Row("cancel", "a-b", "c"), Row("reset", "c"))
    arrows = [line.strip() for line in render_mermaid(rows).splitlines() if "-->" in line]
    assert arrows == ["a_b --> c: refresh, cancel"]
