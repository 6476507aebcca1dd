# SPDX-License-Identifier: Apache-2.0
"""Somebody makes a cluster in a browser, from the login to its completion."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from playwright.sync_api import expect

from muster.lab.sim.over_http import Pace
from tests.browser import acts
from tests.browser.conftest import Desk
from tests.browser.stage import open_stage


def test_a_single_node_from_the_login_to_its_completion(desk: Desk, tmp_path: Path) -> None:
    page = desk.page
    with open_stage(tmp_path, 1) as stage:
        page.goto(stage.url)
        expect(page.get_by_label("Code")).to_be_visible()
        desk.judge("01-login")
        acts.log_in(page, stage)
        desk.judge("02-start")
        stage.meet()
        acts.make_cluster(page, 1)
        page.locator("#addon-metrics-server").click()
        expect(page.locator("#addon-metrics-server")).to_be_checked()
        desk.judge("03-operators")
        for number, step in enumerate(acts.STEPS[2:], 4):
            if step == "review":
                acts.take_all(page)
            acts.go_on(page, step)
            desk.judge(f"{number:02}-{step}")
        page.get_by_test_id("install").click()
        stage.until(lambda: stage.is_at("finalizing"), "all hosts are done")
        desk.judge("10-progress")
        stage.complete("metrics-server")
        acts.see_the_end(page)
        desk.judge("11-complete")


def test_three_nodes_while_the_service_is_killed_at_every_step(desk: Desk, tmp_path: Path) -> None:
    page = desk.page
    with open_stage(tmp_path, 3) as stage:

        def killed() -> None:
            stage.kill()
            stage.start()
            expect(page.get_by_test_id("link-state")).to_have_text("Live")

        acts.log_in(page, stage)
        stage.meet()
        killed()
        acts.make_cluster(page, 3)
        for step in acts.STEPS[2:5]:
            killed()
            acts.go_on(page, step)
        desk.judge("three-06-networking-open")
        page.locator("#network-api1").fill("192.0.2.300")
        expect(page.locator("#network-api1")).to_have_attribute("aria-invalid", "true")
        acts.give_addresses(page)
        killed()
        for step in acts.STEPS[5:]:
            if step == "review":
                acts.take_all(page)
            acts.go_on(page, step)
            killed()
        page.get_by_test_id("install").click()
        stage.until(lambda: stage.cluster().get("status", "") not in ("", "ready"), "it begins")
        killed()
        stage.until(lambda: stage.is_at("finalizing"), "all hosts are done")
        stage.complete()
        acts.see_the_end(page)
        desk.judge("three-11-complete")


def password_in(archive: bytes) -> str:
    """The password, in what one takes along before the rendezvous host restarts."""
    with zipfile.ZipFile(io.BytesIO(archive)) as taken:
        (name,) = (each for each in taken.namelist() if each.endswith("password"))
        return taken.read(name).decode()


def test_the_page_stays_true_through_the_restart_of_the_rendezvous_host(desk: Desk, tmp_path: Path) -> None:
    page = desk.page
    with open_stage(tmp_path, 1, Pace(work=0.01, waits=0.02)) as stage:
        acts.log_in(page, stage)
        stage.meet()
        acts.make_cluster(page, 1)
        password = ""
        for step in acts.STEPS[2:]:
            if step == "review":
                password = password_in(acts.take_all(page))
            acts.go_on(page, step)
        page.get_by_test_id("install").click()
        stage.until(lambda: stage.stage_of_rendezvous() == "Rebooting", "the rendezvous host restarts")
        stage.leave()
        expect(page.get_by_test_id("link-state")).not_to_have_text("Live")
        desk.judge("reboot-1-away")
        stage.come_back()
        expect(page.get_by_test_id("link-state")).to_have_text("Live")
        stage.until(lambda: stage.is_at("finalizing"), "the host is back")
        page.reload()
        expect(page.get_by_test_id("link-state")).to_have_text("Live")
        desk.judge("reboot-2-back")
        other = page.context.browser.new_context(ignore_https_errors=True).new_page()  # type: ignore[union-attr]
        other.goto(stage.url)
        other.get_by_text("Use the password").click()
        other.locator("#login-proof").fill(password)
        other.get_by_role("button", name="Log in").click()
        expect(other.get_by_test_id("link-state")).to_have_text("Live")
        stage.complete()
        acts.see_the_end(page)
        acts.see_the_end(other)
        desk.judge("reboot-3-complete")


def test_all_begins_again_from_the_page(desk: Desk, tmp_path: Path) -> None:
    page = desk.page
    with open_stage(tmp_path, 1) as stage:
        acts.log_in(page, stage)
        stage.meet()
        acts.make_cluster(page, 1)
        acts.go_on(page, "host-discovery")
        expect(page.get_by_test_id("host")).to_have_count(1)
        page.get_by_test_id("start-over").click()
        desk.judge("start-over")
        page.get_by_test_id("start-over-yes").click()
        stage.until(lambda: stage.ask("GET", "/clusters") == [], "the cluster is gone")
        acts.make_cluster(page, 1)
        acts.go_on(page, "host-discovery")
        expect(page.get_by_test_id("host")).to_have_count(1)
