# SPDX-License-Identifier: Apache-2.0
"""A secret is shown nowhere: not in messages, excerpts, JSON, diffs or plans."""

from __future__ import annotations

import json

import pytest

from muster.config.check import check_folder
from muster.config.document.folder import Memory
from muster.config.repair import render_diff, repair_folder
from muster.config.report import problems_json, render_problems
from muster.config.resolve import resolve_site
from muster.config.show import plan_json, render_plan
from muster.model.site import Environment
from tests.sites import Shape, build_site

SECRET = "hunter2"


def shown(files: dict[str, bytes | None]) -> str:
    """Everything that a user can be shown about a site."""
    folder = Memory(files)
    _, problems = check_folder(folder, Environment())
    repaired = repair_folder(folder, Environment())
    report = json.dumps(problems_json(problems)) + json.dumps(problems_json(repaired.remaining))
    return report + render_problems(problems) + render_diff(repaired) + render_problems(repaired.remaining)


@pytest.mark.parametrize(
    "host",
    [
        f"BMC:\n    pasword: {SECRET}",
        f"BMC:\n    pwd: {SECRET}",
        f"BMC: {{usrname: me, password: correct {SECRET}}}",
        f'BMC: {{usrname: me, password: "x\\"{SECRET}"}}',
        f"BMC: {{usrname: me, password: {SECRET}, pasword: {SECRET}}}",
        f"BMC:\n    password:\n      {SECRET}\n    usrname: me",
        f"networkConfig: {{interfaces: [{{name: eno1, 802.1x: {{private-key-password: {SECRET}}}}}]}}",
        f"BMC:\n    address: https://me:{SECRET}@198.51.100.9/redfish",
    ],
)
def test_of_a_host(host: str) -> None:
    files = build_site(Shape(static=False))
    agent = files["agent-config.yaml"] or b""
    text = agent.decode().replace("- hostname: host-0\n", f"- hostname: host-0\n  {host}\n")
    assert SECRET in text
    assert SECRET not in shown({**files, "agent-config.yaml": text.encode()})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("pullSecret: '", f"pullSecret: '{SECRET}"),
        ("pullSecret: '", f"pulSecret: '{SECRET}"),
        ("pullSecret: '", f"pullSecret: ''{SECRET}"),
        ("pullSecret: '", f"pullSecret: 'x\n{SECRET} "),
        (
            "apiVersion: v1",
            f"apiVersion: v1\nimageDigestSources:\n- source: https://me:{SECRET}@h.example.com/x",
        ),
        ("apiVersion: v1", f"apiVersion: v1\nproxy:\n  httpProxy: ftp://me:{SECRET}@h.example.com"),
        ("apiVersion: v1", f"apiVersion: v1\nproxy:\n  noProxy: http://me:{SECRET}@h.example.com"),
    ],
)
def test_of_the_cluster(old: str, new: str) -> None:
    files = build_site(Shape())
    install = (files["install-config.yaml"] or b"").decode().replace(old, new, 1)
    assert SECRET in install
    assert SECRET not in shown({**files, "install-config.yaml": install.encode()})


def test_a_mask_stands_on_the_right_line() -> None:
    files = build_site(Shape(bmc=True))
    agent = (files["agent-config.yaml"] or b"").decode().replace("not-real", SECRET)
    agent = agent.replace("apiVersion: v1beta1", "# a\u2028b\x85c\napiVersion: v1beta1\nmetadaat: {}")
    assert SECRET not in shown({**files, "agent-config.yaml": agent.encode()})


def test_plans() -> None:
    files = build_site(Shape(bmc=True))
    agent = (files["agent-config.yaml"] or b"").decode().replace("not-real", SECRET)
    agent = agent.replace(
        "      state: up\n",
        f"      state: up\n      802.1x: {{identity: me, password: {SECRET}, eap-methods: [md5]}}\n",
        1,
    )
    site, _ = check_folder(Memory({**files, "agent-config.yaml": agent.encode()}), Environment())
    plan = resolve_site(site)
    assert SECRET in str(plan.hosts[0].network)
    assert SECRET not in render_plan(plan) + json.dumps(plan_json(plan)) + repr(plan)
