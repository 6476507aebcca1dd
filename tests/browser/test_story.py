# SPDX-License-Identifier: Apache-2.0
"""Somebody makes a cluster in a browser, from the login to its completion."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from playwright.sync_api import expect

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
        acts.make_cluster(page, stage, 1)
        desk.judge("03-operators")
        page.locator("#addon-metrics-server").check()
        acts.go_on(page, "host-discovery")
        expect(page.get_by_test_id("host")).to_have_count(1)
        desk.judge("04-host-discovery")
        acts.go_on(page, "storage")
        desk.judge("05-storage")
        acts.go_on(page, "networking")
        desk.judge("06-networking")
        acts.go_on(page, "custom-manifests")
        desk.judge("07-custom-manifests")
        acts.go_on(page, "credentials")
        desk.judge("08-credentials")
        with zipfile.ZipFile(io.BytesIO(acts.take_all(page))) as archive:
            assert {name.rpartition("/")[2] for name in archive.namelist()} >= {"kubeconfig", "hosts", "README.txt"}
        acts.go_on(page, "review")
        desk.judge("09-review")
        page.get_by_test_id("install").click()
        stage.until(lambda: stage.is_at("finalizing"), "all hosts are done")
        desk.judge("10-progress")
        stage.complete("metrics-server")
        stage.until(lambda: stage.is_at("installed"), "the cluster is complete")
        expect(page.get_by_text("Installed").first).to_be_visible()
        desk.judge("11-complete")
