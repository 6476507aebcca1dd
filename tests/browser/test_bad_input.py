# SPDX-License-Identifier: Apache-2.0
"""Nonsense in fields, files that are none, and a world that changes while somebody types."""

from __future__ import annotations

import json
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from muster.lab.sim.over_http import Pace
from tests.browser import acts
from tests.browser.blocked import Traveller
from tests.browser.conftest import Desk
from tests.browser.serving import CLUSTER
from tests.browser.stage import Stage, open_stage
from tests.component.service.whole import PULL_SECRET

LONG = "a" * 64
DETAILS = {
    "details-name": (
        ("Alpha", "lower-case letters only"),
        ("al_pha", "“_” cannot be part of it"),
        ("-alpha", "begin and end"),
        (LONG, "64 characters"),
    ),
    "details-base_dns_domain": (
        ("exa mple", "space"),
        ("example..com", "dot too many"),
        ("-example.com", "hyphen"),
        (f"{LONG}.com", "longer than 63"),
    ),
    "details-pull-secret": (
        ("nonsense", "not JSON"),
        ('{"auths": ', "not JSON"),
        ('{"token": "x"}', "no “auths”"),
    ),
    "details-http_proxy": (("ftp://proxy.example.com", "http:// or https://"), ("nonsense", "Write it as")),
    "details-https_proxy": (("http://", "Write it as"),),
    "details-no_proxy": (("http://example.com", "no name, address or network"),),
    "details-additional_ntp_source": (("192.0.2.1, ti_me", "ti_me is no time server"),),
}
NETWORKING = {
    "network-machine1-text": (("nonsense", "no network"), ("192.0.2.1/24", "bits behind its prefix")),
    "network-machine2-text": (("2001:db8::/129", "no network"),),
    "network-api1": (
        ("nonsense", "no IP address"),
        ("192.0.2.300", "no IP address"),
        ("198.51.100.1", "not an"),
    ),
    "network-api2": (("2001:db8:::1", "no IP address"),),
    "network-ingress1": (("192.0.2.255", "not an address that a machine can have"),),
    "network-ingress2": (("nonsense", "no IP address"),),
    "network-ssh": (("nonsense", "no public key"), ("-----BEGIN OPENSSH PRIVATE KEY-----", "private key")),
    "network-pods1": (("10.128.0.0", "no network"), ("172.30.0.0/20", "overlaps with 172.30.0.0/16")),
    "network-prefix1": (("many", "number between"), ("99", "number between")),
    "network-services1": (("172.30.0.1/16", "bits behind"),),
    "network-pods2": (("fd01::/x", "no network"),),
    "network-prefix2": (("0", "number between"),),
    "network-services2": (("nonsense", "no network"),),
}


@pytest.fixture
def page(desk: Desk) -> Page:
    return desk.page


def refuses_all(page: Page, wanted: dict[str, tuple[tuple[str, str], ...]], within: str) -> None:
    """Nonsense in every field that takes text; one for which nobody knows nonsense is a fault here."""
    fields = page.locator(f"{within} :is(input[type=text], textarea):visible")
    found = [each.get_attribute("id") for each in fields.all()]
    assert sorted(map(str, found)) == sorted(wanted)
    for id, tries in wanted.items():
        for text, words in tries:
            acts.is_refused(page.locator(f"#{id}"), text, words)


def test_nonsense_in_every_field(page: Page, tmp_path: Path) -> None:
    with open_stage(tmp_path, 3, is_hurried=True) as stage:
        page.goto(stage.url)
        page.get_by_label("Code").fill("00000 00000")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_text("The password or code is wrong, or has expired")).to_be_visible()
        acts.log_in(page, stage)
        page.locator("#details-secret-paste").check()
        page.get_by_role("button", name="Proxy and time servers").click()
        refuses_all(page, DETAILS, "main")
        page.get_by_test_id("next").click()
        expect(page.locator("#details-name")).to_be_focused()
        assert stage.ask("GET", "/clusters") == []
        page.reload()
        acts.make_cluster(page, 3)
        stage.meet()
        Traveller(page, stage).go("networking")
        expect(page.locator("#network-machine1 option")).to_have_count(3)
        page.locator("label[for=network-dual]").click()
        page.get_by_role("button", name="Advanced: ranges inside of the cluster").click()
        for number in (1, 2):
            page.locator(f"#network-machine{number}").select_option("other")
        refuses_all(page, NETWORKING, "main")
        expect(page.get_by_test_id("save-state")).to_contain_text("What is marked is not saved")
        page.get_by_test_id("next").click()
        expect(page).to_have_url(re.compile("/networking$"))


def begin(page: Page, stage: Stage) -> Traveller:
    """Three hosts that have met, and somebody who looks at them."""
    acts.log_in(page, stage)
    acts.make_cluster(page, 3)
    stage.meet()
    traveller = Traveller(page, stage)
    traveller.go("host-discovery")
    return traveller


def test_nonsense_about_hosts(page: Page, tmp_path: Path) -> None:
    with open_stage(tmp_path, 3, is_hurried=True) as stage:
        begin(page, stage)
        expect(page.get_by_test_id("host")).to_have_count(3)
        one, two = stage.hosts[1], stage.hosts[2]
        # Two hosts with one name: both rows say so, and the dialog refuses a name that is taken.
        stage.crew.rebuild(2, hostname=one.name)
        expect(page.get_by_text("Another host has this name; rename one of them.")).to_have_count(2)
        page.get_by_role("button", name=f"Rename {one.name}").last.click()
        name = page.locator("#rename-name")
        for text, words in (
            (stage.hosts[0].name, "Another host has this name."),
            ("Node_Two", "lower-case letters only"),
            ("localhost", "No host can be called localhost"),
            (LONG, "64 characters"),
        ):
            acts.is_refused(name, text, words)
        name.fill(two.name)
        page.get_by_role("dialog").get_by_role("button", name="Rename").click()
        expect(page.get_by_text("Another host has this name; rename one of them.")).to_have_count(0)
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_host_that_disappears_while_somebody_renames_it(page: Page, tmp_path: Path) -> None:
    with open_stage(tmp_path, 3, is_hurried=True) as stage:
        traveller = begin(page, stage)
        two, name = stage.hosts[2], page.locator("#rename-name")
        expect(page.get_by_test_id("host")).to_have_count(3)
        stage.crew.disturb(f"power:{two.name}")
        row = page.locator(f"[data-testid=host][data-host={two.name}]")
        expect(row).to_contain_text("Does not answer")
        page.get_by_role("button", name=f"Rename {two.name}").click()
        stage.ask("DELETE", f"/infra-envs/{stage.infra_env_id()}/hosts/{two.host_id}")
        name.fill("somebody")
        page.get_by_role("dialog").get_by_role("button", name="Rename").click()
        expect(page.get_by_role("dialog")).to_contain_text("The host was not renamed")
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        expect(row).to_have_count(0)
        traveller.is_held_up("host-discovery", "cluster/sufficient-masters-count")


def test_a_pull_secret_with_line_breaks_is_taken(page: Page, tmp_path: Path) -> None:
    wrapped = '{"auths": {"registry.exam\nple.com": {"auth": "dXNlcjpz\r\n   ZWNyZXQ="}}}\n'
    with open_stage(tmp_path, 1) as stage:
        acts.log_in(page, stage)
        page.locator("#details-secret-paste").check()
        page.locator("#details-pull-secret").fill(wrapped)
        expect(page.locator("#details-pull-secret")).not_to_have_attribute("aria-invalid", "true")
        with page.expect_request(lambda each: each.method == "POST") as sent:
            acts.make_cluster(page, 1)
        given: Any = sent.value.post_data_json
        assert json.loads(given["pull_secret"]) == json.loads(PULL_SECRET)
        assert stage.cluster()["pull_secret_set"] is True


MIB = 1 << 20
HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: large\ndata:\n"


def large(size: int) -> str:
    """A manifest of exactly so many bytes."""
    line = "  key-{:06}: " + "x" * 80 + "\n"
    text = HEAD + "".join(
        line.format(number) for number in range((size - len(HEAD)) // len(line.format(0)) - 1)
    )
    last = "  the-last: "
    return text + last + "x" * (size - len(text) - len(last) - 1) + "\n"


def test_manifests_that_are_large_or_none(page: Page, tmp_path: Path) -> None:
    with open_stage(tmp_path, 1) as stage:
        acts.log_in(page, stage)
        acts.make_cluster(page, 1)
        Traveller(page, stage).go("custom-manifests")

        def upload(name: str, text: str) -> None:
            body = {"name": name, "mimeType": "application/yaml", "buffer": text.encode()}
            page.locator("input[type=file]").set_input_files(body)  # type: ignore[arg-type]

        upload("too-large.yaml", large(MIB + 1))
        expect(page.get_by_text("too-large.yaml has 1048577 bytes; at most 1048576")).to_be_visible()
        upload("none.yaml", "a: [1, 2\nb: {")
        expect(page.get_by_text("The manifest was not saved")).to_be_visible()
        expect(page.locator(".app-failure")).to_contain_text("none.yaml")
        assert names_of(stage) == []
        upload("large.yaml", large(MIB))
        expect(page.get_by_text("large.yaml", exact=True)).to_be_visible()
        page.get_by_role("button", name="Edit large.yaml").click()
        editor = page.get_by_test_id("editor")
        expect(editor.get_by_text("apiVersion")).to_be_visible()
        page.get_by_test_id("manifest-save").click()
        expect(page.get_by_test_id("manifest-add")).to_be_visible()
        assert names_of(stage) == ["large.yaml"]
        refuses_manifests(page)
        assert names_of(stage) == ["large.yaml"]


def names_of(stage: Stage) -> list[str]:
    """The manifests that the service has."""
    found = stage.ask("GET", f"/clusters/{CLUSTER}/manifests")
    return [each["file_name"] for each in found if each["manifest_source"] != "system"]


def refuses_manifests(page: Page) -> None:
    """Names and contents that are none, each with a word of its own."""
    page.get_by_test_id("manifest-add").click()
    for name, words in (
        ("no name.yaml", "Use letters, digits"),
        ("large.yaml", "There is a manifest of this name"),
    ):
        acts.is_refused(page.locator("#manifest-name"), name, words)
    page.locator("#manifest-name").fill("mine.yaml")
    box = page.get_by_test_id("editor").get_by_role("textbox")
    for text, words in (
        ("", "There is nothing in it"),
        ("a: [1, 2", "Line 1:"),
        ("just words", "Document 1 has no kind and apiVersion"),
    ):
        box.fill(text)
        page.get_by_test_id("manifest-save").click()
        expect(page.locator(".app-manifest")).to_contain_text(words)


def test_an_address_that_somebody_else_has(page: Page, tmp_path: Path) -> None:
    taken = {"192.0.2.200": "02:00:00:00:00:77"}
    with open_stage(tmp_path, 3, is_hurried=True, in_use=taken) as stage:
        traveller = begin(page, stage)
        traveller.goes_on("host-discovery")
        traveller.go("networking")
        acts.give_addresses(page)
        said = page.get_by_test_id("says-api-vips-valid")
        expect(said).to_contain_text("192.0.2.200 in 192.0.2.0/24 is in use")
        expect(page.get_by_test_id("says-ingress-vips-valid")).to_contain_text("free")
        traveller.is_held_up("networking", "cluster/api-vips-valid")
        page.locator("#network-api1").fill("192.0.2.202")
        expect(said).to_contain_text("free: 192.0.2.202")
        traveller.goes_on("networking")


def test_a_service_that_is_away_when_it_is_asked_which_versions_there_are(page: Page, tmp_path: Path) -> None:
    with open_stage(tmp_path, 1) as stage:
        page.route("**/openshift-versions", lambda route: route.abort("connectionrefused"))
        acts.log_in(page, stage)
        page.get_by_label("Cluster name").fill("alpha")
        page.get_by_label("Base domain").fill("example.com")
        page.get_by_test_id("next").click()
        expect(page.locator("#details-openshift_version")).to_be_focused()
        expect(page.locator("#details-openshift_version-help")).to_contain_text("not known yet")
        page.unroute("**/openshift-versions")
        acts.make_cluster(page, 1)
        assert stage.cluster()["openshift_version"] == stage.version


def test_what_is_typed_outlives_service_and_session(page: Page, tmp_path: Path) -> None:
    with open_stage(tmp_path, 3, is_hurried=True) as stage:
        traveller = begin(page, stage)
        traveller.goes_on("host-discovery")
        traveller.go("networking")
        stage.kill()
        api, ingress = page.locator("#network-api1"), page.locator("#network-ingress1")
        api.fill("192.0.2.210")
        expect(page.get_by_text("This could not be saved")).to_be_visible()
        stage.start()
        stage.until(lambda: vips_of(stage, "api") == ["192.0.2.210"], "what was typed is saved")
        # Now a session that ends at the service, by its own clock, while somebody types.
        ends = time.time() + 2
        page.context.add_cookies([stage.cookie(2)])
        stage.until(lambda: time.time() > ends, "the session is over")
        ingress.fill("192.0.2.211")
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("log in again", ignore_case=True)
        assert vips_of(stage, "ingress") == []
        expect(ingress).to_have_value("192.0.2.211")
        dialog.get_by_label("Code").fill(stage.code)
        dialog.get_by_role("button", name="Log in").click()
        expect(dialog).to_have_count(0)
        stage.until(lambda: vips_of(stage, "ingress") == ["192.0.2.211"], "what was typed is saved")
        expect(ingress).to_have_value("192.0.2.211")
        traveller.goes_on("networking")


def vips_of(stage: Stage, kind: str) -> list[str]:
    return [each["ip"] for each in stage.cluster().get(f"{kind}_vips") or ()]


@pytest.mark.parametrize("year", [2001, 2051])
def test_a_browser_whose_clock_is_wrong_by_years(page: Page, tmp_path: Path, year: int) -> None:
    page.clock.install(time=datetime(year, 2, 3, 4, 5, tzinfo=UTC))
    with open_stage(tmp_path, 1, Pace(work=0.02, waits=0.02)) as stage:
        acts.log_in(page, stage)
        assert page.evaluate("new Date().getFullYear()") == year
        stage.meet()
        acts.make_cluster(page, 1)
        for step in acts.STEPS[2:]:
            if step == "review":
                acts.take_all(page)
            acts.go_on(page, step)
        began = time.monotonic()
        page.get_by_test_id("install").click()
        since = page.get_by_text(re.compile(r"^Since \d\d:\d\d:\d\d: "))
        expect(since).to_be_visible()
        row = page.get_by_test_id("timeline").locator("td").last
        expect(row).to_have_text(re.compile(r"^\d"))
        most = time.monotonic() - began + 5
        for text in (since.inner_text().partition(": ")[2], row.inner_text()):
            assert seconds_in(text) <= most, (text, most)
        stage.until(lambda: stage.is_at("finalizing"), "all hosts are done")
        stage.complete()
        took = page.get_by_text(re.compile(r"^Took "))
        expect(took).to_be_visible()
        assert seconds_in(took.inner_text()) <= time.monotonic() - began + 5


def seconds_in(text: str) -> float:
    """The first duration of a text."""
    found = re.search(r"(?:(\d+) h )?(?:(\d+) min ?)?(?:(\d+) s)?", text[re.search(r"\d", text).start() :])  # type: ignore[union-attr]
    assert found is not None
    assert found[0], text
    hours, minutes, seconds = (int(each or 0) for each in found.groups())
    return hours * 3600.0 + minutes * 60 + seconds
