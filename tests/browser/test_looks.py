# SPDX-License-Identifier: Apache-2.0
"""The page without a mouse, in the dark, and on paper."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser import acts
from tests.browser.conftest import Desk
from tests.browser.keys import Keys
from tests.browser.serving import CLUSTER
from tests.browser.stage import Stage, open_stage


def test_a_single_node_by_keyboard_alone_and_in_the_dark(desk: Desk, tmp_path: Path) -> None:
    page, keys = desk.page, Keys(desk.page)
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    with open_stage(tmp_path, 1) as stage:
        page.goto(stage.url)
        expect(page.get_by_label("Code")).to_be_focused()
        is_dark(page)
        desk.judge("dark-01-login")
        page.keyboard.type(stage.code)
        page.keyboard.press("Enter")
        expect(page.get_by_test_id("link-state")).to_be_visible()
        stage.meet()
        describe(keys, desk)
        keys.press(page.locator("#addon-metrics-server"), "Space")
        expect(page.locator("#addon-metrics-server")).to_be_checked()
        desk.judge("dark-03-operators")
        walk(keys, desk)
        keys.press(page.get_by_test_id("install"))
        stage.until(lambda: stage.is_at("finalizing"), "all hosts are done")
        keys.press(page.get_by_role("button", name="Logs of hosts"))
        desk.judge("dark-10-progress")
        stage.complete("metrics-server")
        expect(page.get_by_text("Installed").first).to_be_visible()
        desk.judge("dark-11-complete")


def is_dark(page: Page) -> None:
    """Text is lighter than what it is on."""
    expect(page.locator("html")).to_have_class(re.compile("theme-dark"))


def describe(keys: Keys, desk: Desk) -> None:
    """The details of a single node."""
    page = keys.page
    keys.type(page.get_by_label("Cluster name"), "alpha")
    keys.type(page.get_by_label("Base domain"), "example.com")
    desk.judge("dark-02-start")
    keys.press(page.locator("#details-topology"), "ArrowUp")
    expect(page.locator("#details-topology")).to_have_value("1")
    keys.press(page.get_by_test_id("next"))
    expect(page).to_have_url(re.compile(f"{CLUSTER}/operators"))


def walk(keys: Keys, desk: Desk) -> None:
    """From the add-ons to the review, with a look at a host on the way."""
    page = keys.page
    for number, step in enumerate(acts.STEPS[2:], 4):
        if step == "review":
            with page.expect_download():
                keys.press(page.get_by_test_id("download-all"))
        expect(page.locator("#why-not")).to_have_text("")
        keys.press(page.get_by_test_id("next"))
        acts.is_at(page, step)
        expect(page.locator("#step-title")).to_be_focused()
        if step == "host-discovery":
            keys.press(page.get_by_role("button", name="Details").first)
            expect(page.get_by_text("Network cards").or_(page.get_by_label("Network cards"))).to_be_visible()
        desk.judge(f"dark-{number:02}-{step}")


def test_the_review_on_paper(desk: Desk, tmp_path: Path) -> None:
    page = desk.page
    page.emulate_media(color_scheme="dark")
    with open_stage(tmp_path, 3, is_hurried=True) as stage:
        acts.log_in(page, stage)
        acts.make_cluster(page, 3)
        stage.meet()
        page.get_by_test_id("step-networking").click()
        acts.give_addresses(page)
        page.get_by_test_id("step-credentials").click()
        acts.take_all(page)
        page.get_by_test_id("step-review").click()
        expect(page.locator("#why-not")).to_have_text("")
        page.emulate_media(media="print", color_scheme="dark")
        expect(page.locator("html")).not_to_have_class(re.compile("theme-dark"))
        expect(page.locator(":is(nav, button, .app-top, .app-wizard-foot):visible")).to_have_count(0)
        for fact in facts_of(stage):
            expect(page.locator(".app-review")).to_contain_text(fact)
        desk.judge("print-09-review")
        paper = page.evaluate("[document.documentElement.scrollHeight, innerHeight]")
        assert paper[0] > paper[1], "all of it is on paper, not what fits into the window"


def facts_of(stage: Stage) -> list[str]:
    """What somebody signs who signs the printed page."""
    cluster = stage.cluster()
    hosts = [
        word
        for host in stage.hosts
        for word in (
            host.name,
            next(iter((host.inventory.interfaces or ())[0].ipv4_addresses or ())).partition("/")[0],
            (host.inventory.disks or ())[0].name or "",
        )
    ]
    networks = [cluster["cluster_networks"][0]["cidr"], cluster["service_networks"][0]["cidr"]]
    addresses = ["192.0.2.0/24", "192.0.2.200", "192.0.2.201"]
    return ["alpha.example.com", stage.version, "x86_64", *networks, *addresses, *hosts]
