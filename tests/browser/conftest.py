# SPDX-License-Identifier: Apache-2.0
"""A browser of Debian's, which finds no name but that of the service, and what it complains about."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from muster.service.edge.page import BUILT
from tests.browser import stage

CHROMIUM = "/usr/bin/chromium"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "muster/web"
ARGUMENTS = ("--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1")
"""Whatever the page asks of the outside fails, as it would where there is none."""
STILL = """() => Promise.allSettled(
  document.getAnimations()
    .filter(each => each.effect.getComputedTiming().endTime !== Infinity)
    .map(each => each.finished)
).then(() => undefined)"""
"""What opens or fades in is not all there yet: nobody could read it, and a part of it may have no name."""
_LEFT = r"Exception ignored in. (<socket|<function \w+Transport\.)"
EXPECTED = ("Failed to load resource",)
"""What browsers say when the service refuses something, or is away: the page has to bear it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--screens", metavar="DIR", type=Path, help="keep a picture of every screen")
    parser.addoption(
        "--patience",
        metavar="SECONDS",
        type=float,
        default=stage.PATIENCE_S,
        help="before something never comes",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A modelled host that is switched off amid a request may leave its connection to the collector.

    The page and its service are other processes; hosts over sockets are judged by tests of their own.
    """
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(
                pytest.mark.filterwarnings(f"ignore:{_LEFT}:pytest.PytestUnraisableExceptionWarning")
            )


def pytest_configure(config: pytest.Config) -> None:
    stage.PATIENCE_S = config.getoption("--patience")
    expect.set_options(timeout=stage.PATIENCE_S * 1000)


class Desk:
    """A page, and everything that went wrong in it."""

    def __init__(self, page: Page, screens: Path | None) -> None:
        self.page, self._screens = page, screens
        self.complaints: list[str] = []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", self._see)

    def _hear(self, message: Any) -> None:
        if message.type == "error" and not message.text.startswith(EXPECTED):
            self.complaints.append(message.text)

    def _see(self, request: Any) -> None:
        if not request.url.startswith(("https://127.0.0.1:", "data:", "blob:")):
            self.complaints.append(f"asked the outside for {request.url}")

    def judge(self, name: str) -> None:
        """Nothing went wrong so far, and everybody can use what is shown; with a picture if one is wanted."""
        page = self.page
        page.evaluate(STILL)
        if self._screens is not None:
            self._screens.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=self._screens / f"{name}.png")
        assert self.complaints == [], name
        page.evaluate((CACHE / "axe.min.js").read_text())
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        rules = {
            each["id"]: [node["html"][:200] for node in each["nodes"][:3]] for each in found["violations"]
        }
        assert rules == {}, f"{name}: {json.dumps(rules, indent=1)}"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not (BUILT / "index.html.gz").exists():
        pytest.fail("the page was not built: make web", pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def desk(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Desk]:
    """Somebody at a desk, with a screen as small as may be."""
    context = browser.new_context(
        ignore_https_errors=True, viewport={"width": 1024, "height": 768}, accept_downloads=True
    )
    context.set_default_timeout(stage.PATIENCE_S * 1000)
    yield Desk(context.new_page(), request.config.getoption("--screens"))
    context.close()
