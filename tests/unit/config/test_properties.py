# SPDX-License-Identifier: Apache-2.0
"""What has to hold for all sites, valid or broken."""

from __future__ import annotations

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster.config.check import check_folder
from muster.config.document.folder import Memory
from muster.config.manifests import render_manifests
from muster.config.report import render_problems
from muster.config.resolve import resolve_site
from muster.model.plan import Plan
from muster.model.site import Environment
from tests.mutations import YAML_PIECES, folder_of, load_examples, mutate
from tests.properties import check_properties
from tests.sites import Shape, build_site

SITES = load_examples()
SLOW = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@SLOW
@given(st.sampled_from(sorted(SITES)), st.integers(0, 2**32))
def test_a_broken_site_never_breaks_muster(name: str, seed: int) -> None:
    check_properties(folder_of(mutate(SITES[name], random.Random(seed))))


@SLOW
@given(st.binary(max_size=400))
def test_any_bytes_are_answered(data: bytes) -> None:
    check_properties(Memory({"install-config.yaml": data, "agent-config.yaml": data[::-1]}))


@settings(SLOW, max_examples=400)
@given(st.lists(st.sampled_from(YAML_PIECES), max_size=14).map("".join))
def test_any_yaml_is_answered_whatever_ends_its_lines(text: str) -> None:
    check_properties(Memory({"install-config.yaml": text.encode()}))


SHAPES = st.builds(
    Shape,
    name=st.sampled_from(["site1", "edge-7", "x"]),
    masters=st.sampled_from([3, 5]),
    workers=st.integers(0, 3),
    platform=st.sampled_from(["baremetal", "none"]),
    static=st.booleans(),
    ipv6=st.booleans(),
    roles=st.booleans(),
    mirrors=st.booleans(),
    proxy=st.booleans(),
    ntp=st.booleans(),
    bmc=st.booleans(),
    namespace=st.sampled_from(["", "sites"]),
    hosts_in_install_config=st.booleans(),
)


@SLOW
@given(SHAPES)
def test_manifests_give_the_same_plan(shape: Shape) -> None:
    files = build_site(shape)
    plan = _resolve(Memory(files))
    written: dict[str, bytes | None] = {name: text.encode() for name, text in render_manifests(plan).items()}
    assert _resolve(Memory({**files, **written})) == plan
    assert _resolve(Memory({**files, **written, "install-config.yaml": None})) == plan


def _resolve(folder: Memory) -> Plan:
    site, problems = check_folder(folder, Environment())
    assert "error" not in render_problems(problems).replace("0 errors", "")
    return resolve_site(site)
