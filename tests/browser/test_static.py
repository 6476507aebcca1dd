# SPDX-License-Identifier: Apache-2.0
"""Static addresses of hosts: as a form for most, as NMState for the rest, judged while they are typed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Locator, Page, expect

from tests.browser import acts
from tests.browser.blocked import Traveller
from tests.browser.conftest import Desk
from tests.browser.stage import Stage, open_stage

CARDS = "52:54:00:00:00:01\n52:54:00:00:00:02"
VALUES = {
    "address4": "192.0.2.20/24",
    "gateway4": "192.0.2.1",
    "dns": "192.0.2.53, 192.0.2.54",
    "vlan": "42",
}
WORDS = {
    "cards": (("52:54", "52:54 is not a MAC address"),),
    "address4": (("192.0.2.20", "with its prefix"), ("192.0.2.0/24", "a network or its broadcast address")),
    "gateway4": (("198.51.100.1", "not in the network"), ("nonsense", "not an address of this family")),
    "address6": (("192.0.2.1/24", "IPv6 address with its prefix"),),
    "gateway6": (("2001:db8::1", "needs an address of the same family"),),
    "dns": (("dns.example.com", "cannot be found by name"),),
    "vlan": (("4095", "from 1 to 4094"),),
}


@pytest.fixture
def page(desk: Desk) -> Page:
    return desk.page


def saved(stage: Stage) -> list[dict[str, Any]]:
    env = stage.ask("GET", f"/infra-envs/{stage.infra_env_id()}")
    hosts: list[dict[str, Any]] = json.loads(env.get("static_network_config") or "[]")
    return hosts


def unfold(page: Page) -> None:
    page.get_by_role("button", name="Static addresses of hosts").click()
    expect(page.get_by_test_id("static-save")).to_be_visible()


def field(page: Page, name: str) -> Locator:
    return page.locator(f":is(input, textarea, select)[id^=static-{name}-]")


@contextmanager
def at_networking(page: Page, folder: Path) -> Iterator[Stage]:
    with open_stage(folder, 3, is_hurried=True) as stage:
        acts.log_in(page, stage)
        acts.make_cluster(page, 3)
        stage.meet()
        Traveller(page, stage).go("networking")
        unfold(page)
        page.get_by_test_id("static-add").click()
        yield stage


def test_nonsense_is_named_and_nothing_of_it_is_saved(page: Page, tmp_path: Path) -> None:
    with at_networking(page, tmp_path) as stage:
        page.get_by_test_id("static-save").click()
        expect(page.get_by_text("Host 1: A MAC address is missing.")).to_be_visible()
        for name, tries in WORDS.items():
            for text, words in tries:
                acts.is_refused(field(page, name), text, words)
            field(page, name).fill("192.0.2.20/24" if name == "address4" else "")
        assert saved(stage) == []


def test_a_host_gets_its_addresses_without_yaml(desk: Desk, page: Page, tmp_path: Path) -> None:
    with at_networking(page, tmp_path) as stage:
        field(page, "cards").fill(CARDS)
        field(page, "mode").select_option("802.3ad")
        for name, text in VALUES.items():
            field(page, name).fill(text)
        expect(page.get_by_test_id("static-state")).to_have_text("Nothing is wrong with it.")
        desk.judge("static")
        page.get_by_test_id("static-save").click()
        expect(page.get_by_test_id("static-state")).to_contain_text("Saved")
        (host,) = saved(stage)
        tree = yaml.safe_load(host["network_yaml"])
        assert [each["name"] for each in tree["interfaces"]] == ["eth0", "eth1", "bond0", "bond0.42"]
        assert tree["interfaces"][3]["ipv4"]["address"] == [{"ip": "192.0.2.20", "prefix-length": 24}]
        assert [each["mac_address"] for each in host["mac_interface_map"]] == CARDS.split()

        # Somebody else, or the same one tomorrow, finds the form again; and YAML for what it does not know.
        page.reload()
        unfold(page)
        expect(field(page, "address4")).to_have_value("192.0.2.20/24")
        page.get_by_role("button", name="Edit as YAML").click()
        editor = page.get_by_role("textbox", name="NMState of host 1")
        expect(editor).to_contain_text("link-aggregation")
        page.get_by_role("button", name="Edit as a form").click()
        page.get_by_role("button", name="Edit as YAML").click()
        editor.fill("interfaces:\n  - name: eth0\n    type: ethernot\n")
        expect(page.get_by_role("button", name="The form does not know all of this")).to_be_visible()
        expect(page.get_by_text("Line 3", exact=False)).to_be_visible()
