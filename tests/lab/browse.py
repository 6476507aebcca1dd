# SPDX-License-Identifier: Apache-2.0
"""Somebody with a browser beside the machines, who makes a cluster of one of them.

python -m tests.lab.browse URL CODE FOLDER [HOSTS]: pictures of the steps, as the tutorial has them, and the
kubeconfig go to the folder.
It ends when the page says that the cluster is installed; with HOSTS, when it shows so many hosts.
"""

from __future__ import annotations

import io
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from tests.browser import acts
from tests.browser.conftest import CHROMIUM

PATIENCE_MS = 60 * 60 * 1000
"""Emulated machines take their time; who started us has a deadline of its own."""
_PICTURES = {"operators": "add-ons", "host-discovery": "hosts", "custom-manifests": "manifests"}
"""What the tutorial calls the pictures of steps."""


@dataclass(frozen=True)
class Console:
    """What a console says of the page."""

    url: str
    code: str


def make_cluster(page: Page, console: Console, folder: Path) -> None:
    """The whole way, from the login to the end, over the restart of the host that serves the page."""

    def keep(name: str) -> None:
        expect(page.get_by_text("Loading this step")).to_have_count(0)
        page.screenshot(path=folder / f"{_PICTURES.get(name, name)}.png")

    page.goto(console.url)
    expect(page.get_by_label("Code")).to_be_visible()
    page.wait_for_load_state("networkidle")
    keep("login")
    acts.log_in(page, console)
    acts.give_details(page, 1)
    keep("details")
    acts.make_cluster(page, 1)
    acts.is_at(page, "operators")
    keep("operators")
    for step in acts.STEPS[2:]:
        if step == "review":
            _keep_kubeconfig(acts.take_all(page), folder)
        acts.go_on(page, step)
        keep(step)
    page.get_by_test_id("install").click()
    expect(page.get_by_text("Writing image to disk").first).to_be_visible()
    keep("progress")
    expect(page.get_by_test_id("link-state")).not_to_have_text("Live")
    expect(page.get_by_test_id("cancel")).to_be_disabled()
    keep("away")
    acts.see_the_end(page)
    keep("end")


def see_hosts(page: Page, console: Console, count: int, folder: Path) -> None:
    """That hosts are there, with their hardware."""
    acts.log_in(page, console)
    acts.make_cluster(page, 3)
    acts.go_on(page, acts.STEPS[2])
    expect(page.get_by_test_id("host")).to_have_count(count)
    expect(page.get_by_test_id("host").get_by_text("GiB")).to_have_count(count)
    page.screenshot(path=folder / "hosts.png")


def _keep_kubeconfig(archive: bytes, folder: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(archive)) as taken:
        (name,) = (each for each in taken.namelist() if each.endswith("kubeconfig"))
        (folder / "kubeconfig").write_bytes(taken.read(name))


def main(url: str, code: str, folder: str, hosts: str = "") -> None:
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(ignore_https_errors=True, viewport={"width": 1024, "height": 768})
        context.set_default_timeout(PATIENCE_MS)
        page, console = context.new_page(), Console(url, code)
        if hosts:
            see_hosts(page, console, int(hosts), Path(folder))
        else:
            make_cluster(page, console, Path(folder))
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
