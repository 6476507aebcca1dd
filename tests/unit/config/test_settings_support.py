# SPDX-License-Identifier: Apache-2.0
"""Every setting has a row that says what becomes of it, and what the rows say is true."""

from __future__ import annotations

import pytest

from muster.config.settings_page import (
    DOCUMENTS,
    OVERRIDES,
    PARAMS,
    fields_of_document,
    is_marked,
    render_settings,
)
from muster.model.catalogue import Severity, rules
from muster.model.release import KUBERNETES, OPENSHIFT, kind_of_image
from muster.model.settings_support import Setting, Support, documents, find_setting, settings


def uncovered(document: str) -> list[str]:
    """The fields without a row; what the model marks as ignored, forbidden or replaced needs none."""
    marked: list[str] = []
    found = []
    for path, field in fields_of_document(document):
        if is_marked(field):
            marked.append(f"{path}.")
        elif not path.startswith(tuple(marked)) and find_setting(document, path) is None:
            found.append(path)
    return found


@pytest.mark.parametrize("document", [*DOCUMENTS, *OVERRIDES, *PARAMS])
def test_every_field_has_a_row(document: str) -> None:
    assert uncovered(document) == []


def test_a_field_without_a_row_is_found() -> None:
    assert find_setting("install-config", "encryptEverything") is None
    assert find_setting("install-config", "networking.encryptEverything") is None


@pytest.mark.parametrize("document", documents())
def test_every_row_is_about_fields_that_exist(document: str) -> None:
    known = {path for path, _ in fields_of_document(document)}
    assert {row.path for row in settings(document)} <= known
    switches = {f"{row.path}.{row.switch}" for row in settings(document) if row.switch}
    assert switches <= known


def every_row() -> list[Setting]:
    return [row for document in documents() for row in settings(document)]


def test_rows_say_why_and_what_to_do() -> None:
    for row in every_row():
        classes = set(row.support.values())
        is_file = row.document in DOCUMENTS
        kinds = OVERRIDES[row.document][1] if row.document in OVERRIDES else ()
        assert row.support.keys() == {KUBERNETES, *((OPENSHIFT,) if is_file else kinds)}, row
        if classes - {Support.HONOURED, Support.PASSED_ON}:
            assert row.reason, row
        if classes & {Support.NOTED, Support.REFUSED} and not row.rule and is_file:
            assert row.fix, row
        if Support.REFUSED in classes and not is_file:
            assert row.fix, row


def test_rules_that_report_a_setting_are_as_severe_as_its_row_says() -> None:
    for row in every_row():
        if row.rule:
            wanted = Severity.ERROR if row.support[KUBERNETES] is Support.REFUSED else Severity.WARNING
            assert rules()[row.rule].severity is wanted, row


def test_the_page_names_every_class() -> None:
    page = render_settings()
    assert all(f"| {each} |" in page for each in Support)


@pytest.mark.parametrize(
    ("image", "kind"),
    [
        ("muster.local/kubernetes/release:v1.36.2-amd64", KUBERNETES),
        ("mirror.example.com:5000/k8s/release:1.36.2-arm64", KUBERNETES),
        ("quay.io/openshift-release-dev/ocp-release@sha256:0123", OPENSHIFT),
        ("registry.example.com/ocp/release:4.22.0-x86_64", OPENSHIFT),
        ("quay.io/okd/scos-release:5.0.0", OPENSHIFT),
        ("registry.example.com/site/release@sha256:0123", ""),
        ("registry.example.com/site/release:latest", ""),
    ],
)
def test_kind_of_a_release_by_its_name(image: str, kind: str) -> None:
    assert kind_of_image(image) == kind
