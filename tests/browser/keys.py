# SPDX-License-Identifier: Apache-2.0
"""Somebody without a mouse: goes from one thing to the next with Tab, and sees where they are."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

MOST = 150
"""So many things no screen has; who presses Tab more often goes in circles."""
_SEEN = """element => {
  const marks = each => {
    const style = getComputedStyle(each);
    const isOutlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    return isOutlined || style.boxShadow !== "none";
  };
  return element.matches(":focus-visible") && (marks(element) || marks(element.parentElement));
}"""


class Keys:
    """A keyboard."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def reach(self, wanted: Locator) -> None:
        """Press Tab until something has the focus; each stop on the way shows that it has it."""
        expect(wanted).to_be_visible()
        for _ in range(MOST):
            if wanted.evaluate("element => element === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
            focused = self.page.locator("*:focus")
            if focused.count():
                assert focused.evaluate(_SEEN), focused.evaluate("element => element.outerHTML")[:300]
        raise AssertionError(f"Tab never came to {wanted}")

    def press(self, wanted: Locator, key: str = "Enter") -> None:
        """Reach something, and press a key there."""
        self.reach(wanted)
        self.page.keyboard.press(key)

    def type(self, wanted: Locator, text: str) -> None:
        """Reach a field, and type into it."""
        self.reach(wanted)
        self.page.keyboard.type(text)
