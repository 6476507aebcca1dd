# SPDX-License-Identifier: Apache-2.0
"""What somebody does at the page, step by step."""

from __future__ import annotations

import re
from typing import Protocol

from playwright.sync_api import Locator, Page, expect

STEPS = (
    *("cluster-details", "operators", "host-discovery", "storage", "networking"),
    *("custom-manifests", "credentials", "review"),
)


_CLUSTER = "/clusters/[0-9a-f-]{36}"


class Console(Protocol):
    """What consoles say of the page."""

    @property
    def url(self) -> str: ...

    @property
    def code(self) -> str: ...


def log_in(page: Page, console: Console) -> None:
    """With the code that the consoles show."""
    page.goto(console.url)
    page.get_by_label("Code").fill(console.code)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_test_id("link-state")).to_be_visible()


def give_details(page: Page, control_planes: int) -> None:
    """What the cluster is called, and how many hosts lead it."""
    page.get_by_label("Cluster name").fill("alpha")
    page.get_by_label("Base domain").fill("example.com")
    page.locator("#details-topology").select_option(str(control_planes))
    expect(page.locator("#details-openshift_version")).not_to_have_value("")


def make_cluster(page: Page, control_planes: int) -> None:
    """The details, and on to the next step."""
    give_details(page, control_planes)
    page.get_by_test_id("next").click()
    expect(page).to_have_url(re.compile(f"{_CLUSTER}/operators"))


def is_at(page: Page, step: str) -> None:
    """That a step is shown."""
    expect(page).to_have_url(re.compile(f"{_CLUSTER}/{step}"))
    expect(page.get_by_test_id("next").or_(page.get_by_test_id("install")).first).to_be_visible()


def go_on(page: Page, step: str) -> None:
    """Next, as soon as nothing stands in the way; the step that is then shown."""
    expect(page.locator("#why-not")).to_have_text("")
    page.get_by_test_id("next").click()
    is_at(page, step)


def give_addresses(page: Page) -> None:
    """The virtual addresses of a cluster of several hosts."""
    page.locator("#network-api1").fill("192.0.2.200")
    page.locator("#network-ingress1").fill("192.0.2.201")


def take_all(page: Page) -> bytes:
    """Everything that is to be kept, as one file."""
    with page.expect_download() as taken:
        page.get_by_test_id("download-all").click()
    return taken.value.path().read_bytes()


def see_the_end(page: Page) -> None:
    """Wait until the page says that the cluster is there."""
    expect(page.get_by_test_id("outcome")).to_contain_text("alpha is installed")


def is_refused(field: Locator, text: str, words: str) -> None:
    """At once, at the field itself, in words that a screen reader finds."""
    field.fill(text)
    expect(field).to_have_attribute("aria-invalid", "true", timeout=2000)
    said = field.page.locator(f"#{field.get_attribute('aria-describedby')}")
    expect(said).to_contain_text(words, timeout=2000)
