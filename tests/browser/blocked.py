# SPDX-License-Identifier: Apache-2.0
"""Somebody who is held up: what the page says about it, and that it lets go when that is mended."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page, expect

from muster.service.wizard import STEPS
from tests.browser.serving import CLUSTER
from tests.browser.stage import Stage


class Traveller:
    """One who goes through the steps."""

    def __init__(self, page: Page, stage: Stage) -> None:
        self.page, self.stage = page, stage

    def go(self, step: str) -> None:
        """To a step, by the list at the side."""
        self.page.get_by_test_id(f"step-{step}").click()
        expect(self.page).to_have_url(re.compile(f"/clusters/{CLUSTER}/{step}$"))

    def is_held_up(self, step: str, *reasons: str) -> None:
        """At a step by some reasons, each of which is explained; and no click gets any further."""
        self.go(step)
        said = ""

        def is_explained() -> bool:
            nonlocal said
            blocks = self._blocks(step)
            said = f"{sorted(blocks)}: {self.page.locator('#blocks').all_inner_texts()}"
            wanted = [text for each in reasons for text in self._texts(blocks, each)]
            return set(reasons) <= blocks.keys() and all(each in said.casefold() for each in wanted)

        self.stage.until(is_explained, f"{step} is held up by {', '.join(reasons)}", lambda: said)
        expect(self.page.locator("#why-not")).not_to_have_text("")
        forward = "install" if step == "review" else "next"
        self.page.get_by_test_id(forward).click()
        expect(self.page.locator("#blocks")).to_be_focused()
        expect(self.page).to_have_url(re.compile(f"/clusters/{CLUSTER}/{step}$"))

    def _blocks(self, step: str) -> dict[str, Any]:
        steps = self.stage.ask("GET", f"/clusters/{CLUSTER}/steps") or []
        found: dict[str, Any] = next((each for each in steps if each["id"] == step), {})
        return {
            f"{each['of']}/{each['id']}": each
            for each in found.get("blocked_by", ())
            if each["status"] != "pending"
        }

    @staticmethod
    def _texts(blocks: dict[str, Any], reason: str) -> list[str]:
        """What has to be read of a reason; what is said of the cluster need not be said of its hosts."""
        of_cluster = f"cluster/{reason.partition('/')[2]}"
        block = blocks.get(of_cluster) or blocks.get(reason)
        if block is None:
            return []
        messages = [each["message"] for each in block.get("hosts", ())] or [block["message"]]
        return [text.casefold() for text in (*messages, block["why"], block["fix"])]

    def goes_on(self, step: str) -> None:
        """From a step at which nothing stands in the way any more to the next one."""
        self.go(step)
        expect(self.page.locator("#why-not")).to_have_text("")
        expect(self.page.locator("#blocks")).to_have_count(0)
        self.page.get_by_test_id("next").click()
        expect(self.page).to_have_url(re.compile(f"/clusters/{CLUSTER}/{STEPS[STEPS.index(step) + 1]}$"))

    def patch(self, **values: Any) -> None:
        """Change the cluster beside the browser: what the page has no field for."""
        got = self.stage.ask("PATCH", f"/clusters/{CLUSTER}", values)
        assert "status_code" not in got, got
