# SPDX-License-Identifier: Apache-2.0
"""What is decided about requests without making any."""

from __future__ import annotations

import pytest

from muster.image.cache.records import PartRecord
from muster.image.download.trouble import refuse_status
from muster.release.oci.proxies import is_direct


@pytest.mark.parametrize(
    ("host", "no_proxy", "direct"),
    [
        ("h.example.com", "example.com", True),
        ("h.example.com", ".example.com", True),
        ("h.example.com", "*.example.com", True),
        ("H.Example.Com.", "h.example.com:443", True),
        ("badexample.com", "example.com", False),
        ("example.com", "", False),
        ("example.com", ", ,", False),
        ("anything", "*", True),
        ("10.1.2.3", "192.0.2.1, 10.0.0.0/8", True),
        ("10.1.2.3", "10.1.2.3", True),
        ("11.1.2.3", "10.0.0.0/8", False),
        ("[fd00::7]", "fd00::/16", True),
        ("10.1.2.3", "fd00::/16", False),
    ],
)
def test_no_proxy(host: str, no_proxy: str, direct: bool) -> None:
    assert is_direct(host, no_proxy) is direct


@pytest.mark.parametrize(
    ("status", "passing"),
    [(400, False), (401, False), (404, False), (407, False), (408, True), (429, True), (503, True)],
)
def test_which_answers_may_pass(status: int, passing: bool) -> None:
    assert refuse_status(status, "x", {}).passing is passing


@pytest.mark.parametrize(
    ("text", "wait"), [("5", 5), ("9999", 60), ("soon", 0), ("-1", 0), ("²", 0), ("", 0)]
)
def test_how_long_a_server_wants_to_be_left_alone(text: str, wait: int) -> None:
    assert refuse_status(503, "x", {"retry-after": text}).wait_s == wait


def test_weak_tags_validate_nothing() -> None:
    assert PartRecord(etag='"a"', last_modified="b").validator == '"a"'
    assert PartRecord(etag='W/"a"', last_modified="b").validator == "b"
    assert PartRecord(etag='W/"a"').validator == ""
