# SPDX-License-Identifier: Apache-2.0
"""What the page for browsers costs the processor of whoever looks at it, in Debian's Chromium.

    python benchmarks/page.py [--hosts 200] [--rounds 5]

All figures are CPU time of the page's main thread (Chromium's own count, in ticks of the thread), so that
what else the machine does counts little; the least of several rounds for the first load, the mean of several
changes for the table. Goals: interactive after 1.5 s, a change of one host of 200 shown after 50 ms.

Baselines in the same run: an empty page of the same service, and one with nothing but PatternFly's style
sheet, for the first load; a table of 10 hosts for the table of many.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, CDPSession, Page, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.browser.serving import CLUSTER
from tests.browser.stage import Stage, open_stage

from muster.service.edge.page import BUILT

FEW = 10
WARM_UP = 5
CHANGES = 20
PATIENCE_MS = 600_000
GOAL_LOAD_S = 1.5
GOAL_CHANGE_MS = 50.0
_PARTS = ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration")
_WATCH = """name => {
  const shown = () => document.querySelector(`[data-testid=host][data-host=${name}]`);
  window.shown = new Promise((done) => {
    const observer = new MutationObserver(() => {
      if (!shown()) return;
      observer.disconnect();
      requestAnimationFrame(() => requestAnimationFrame(done));
    });
    observer.observe(document.body, { subtree: true, attributes: true, attributeFilter: ["data-host"] });
  });
}"""
"""Waits for a row by news of the browser's own, until it was drawn: to look again and again would count."""


def tell(what: str, found: str, baseline: str = "", goal: str = "") -> None:
    """One line of the table."""
    print(f"  {what:<52}{found:>12}{baseline:>22}{goal:>12}", flush=True)


class Watched:
    """A page whose main thread is watched."""

    def __init__(self, browser: Browser) -> None:
        viewport = {"width": 1280, "height": 900}
        self._context = browser.new_context(ignore_https_errors=True, viewport=viewport)  # type: ignore[arg-type]
        self._context.set_default_timeout(PATIENCE_MS)
        self.page: Page = self._context.new_page()
        self._session: CDPSession = self._context.new_cdp_session(self.page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def used(self) -> dict[str, float]:
        """Seconds of its thread since it was made: all, and by what."""
        found = self._session.send("Performance.getMetrics")["metrics"]
        return {each["name"]: each["value"] for each in found}

    def close(self) -> None:
        self._context.close()


def load(browser: Browser, rounds: int, visit: Callable[[Page], None]) -> dict[str, float]:
    """What a visit costs a browser that has never been here: the least of some."""
    found: list[dict[str, float]] = []
    for _ in range(rounds):
        watched = Watched(browser)
        visit(watched.page)
        found.append(watched.used())
        watched.close()
    return min(found, key=lambda each: each["TaskDuration"])


def first_load(browser: Browser, stage: Stage, rounds: int) -> None:
    """From nothing to a form that can be typed into, and to the table of hosts."""
    style = next(path.name.removesuffix(".gz") for path in (BUILT / "assets").glob("index-*.css.gz"))

    def bare(head: str) -> Callable[[Page], None]:
        def visit(page: Page) -> None:
            body = f"<!doctype html><html><head>{head}</head><body><p id=there>there</p></body></html>"
            page.route("**/bare", lambda route: route.fulfill(body=body, content_type="text/html"))
            page.goto(f"{stage.url}/bare")
            expect(page.locator("#there")).to_be_visible(timeout=PATIENCE_MS)

        return visit

    def form(page: Page) -> None:
        page.goto(stage.url)
        page.get_by_label("Code").fill("1234")

    def table(page: Page) -> None:
        page.context.add_cookies([stage.cookie(3600)])
        page.goto(f"{stage.url}/clusters/{CLUSTER}/host-discovery")
        expect(page.get_by_test_id("host").first).to_be_visible(timeout=PATIENCE_MS)

    empty = load(browser, rounds, bare(""))["TaskDuration"]
    plain = load(browser, rounds, bare(f'<link rel="stylesheet" href="/assets/{style}">'))["TaskDuration"]
    tell("empty page", f"{empty:.3f} s")
    tell("PatternFly's style sheet alone", f"{plain:.3f} s", f"{plain / empty:.1f} x empty")
    for name, visit in (("the login, usable", form), (f"the wizard with {FEW} hosts", table)):
        found = load(browser, rounds, visit)
        whole = found["TaskDuration"]
        tell(name, f"{whole:.3f} s", f"{whole / plain:.1f} x style alone", f"{GOAL_LOAD_S} s")
        for part in _PARTS:
            tell(f"  of it {part.removesuffix('Duration').lower()}", f"{found[part]:.3f} s")


def changes(browser: Browser, stage: Stage, hosts: int) -> dict[str, float]:
    """Milliseconds that one change of one host costs the page that shows all of them: all, and by what."""
    watched = Watched(browser)
    page = watched.page
    page.context.add_cookies([stage.cookie(3600)])
    page.goto(f"{stage.url}/clusters/{CLUSTER}/host-discovery")
    expect(page.get_by_test_id("host")).to_have_count(hosts, timeout=PATIENCE_MS)
    expect(page.get_by_test_id("link-state")).to_have_text("Live", timeout=PATIENCE_MS)
    host = stage.cluster()["hosts"][hosts // 2]
    path = f"/infra-envs/{host['infra_env_id']}/hosts/{host['id']}"
    before: dict[str, float] = {}
    for number in range(WARM_UP + CHANGES):
        page.evaluate(_WATCH, f"renamed-{number}")
        stage.ask("PATCH", path, {"host_name": f"renamed-{number}"})
        page.evaluate("() => window.shown")
        if number == WARM_UP - 1:  # What the table itself takes to be shown is over, and all is compiled.
            page.evaluate("() => new Promise((done) => requestIdleCallback(done))")
            before = watched.used()
    after = watched.used()
    watched.close()
    return {name: (after[name] - before[name]) / CHANGES * 1000 for name in ("TaskDuration", *_PARTS)}


def with_hosts(browser: Browser, count: int, rounds: int = 0) -> dict[str, float]:
    """A service with so many hosts; what a change costs, and the first load if that is wanted."""
    with tempfile.TemporaryDirectory() as folder, open_stage(Path(folder), count) as stage:
        made = {"name": "alpha", "openshift_version": stage.version, "pull_secret": '{"auths":{}}'}
        stage.ask("POST", "/clusters", {**made, "base_dns_domain": "example.com"})
        stage.meet()
        stage.until(lambda: is_quiet(stage, count), f"all {count} hosts are there", patience_s=1800)
        stage.crew.close()
        if rounds:
            first_load(browser, stage, rounds)
        return changes(browser, stage, count)


def is_quiet(stage: Stage, count: int) -> bool:
    """Whether all hosts have told what they are."""
    found = stage.cluster().get("hosts", ())
    return len(found) == count and all(each["status"] == "pending-for-input" for each in found)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", default=200, type=int)
    parser.add_argument("--rounds", default=5, type=int)
    given = parser.parse_args()
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        print(f"first load, CPU of the main thread; Chromium {re.split(' ', browser.version)[0]}")
        few = with_hosts(browser, FEW, given.rounds)
        print("a change of one host, CPU of the main thread")
        tell(f"{FEW} hosts", f"{few['TaskDuration']:.1f} ms")
        many = with_hosts(browser, given.hosts)
        whole, base = many["TaskDuration"], few["TaskDuration"]
        tell(
            f"{given.hosts} hosts",
            f"{whole:.1f} ms",
            f"{whole / base:.1f} x {FEW} hosts",
            f"{GOAL_CHANGE_MS:g} ms",
        )
        for part in _PARTS:
            tell(f"  of it {part.removesuffix('Duration').lower()}", f"{many[part]:.1f} ms")
        browser.close()


if __name__ == "__main__":
    main()
