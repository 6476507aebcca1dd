# SPDX-License-Identifier: Apache-2.0
"""Numbers with more digits than Python converts are wrong values, not crashes."""

from __future__ import annotations

import json

from muster.config.formats.ignition import ignition_fault
from muster.config.rules.bgp import _duration_fault
from muster.config.rules.proxy import proxy_fault
from muster.config.spelling import is_typo

DIGITS = "9" * 5000


def test_port_of_a_proxy() -> None:
    assert proxy_fault(f"http://proxy.example.com:{DIGITS}", ("http",)) != ""
    assert proxy_fault("http://proxy.example.com:65536", ("http",)) != ""
    assert proxy_fault("http://proxy.example.com:65535", ("http",)) == ""


def test_duration() -> None:
    assert _duration_fault(f"{DIGITS}s") != ""
    assert _duration_fault(f"1.{DIGITS}s") != ""
    assert _duration_fault("90s") == ""


def test_names() -> None:
    assert not is_typo(f"eno{DIGITS}", "eno1")
    assert is_typo(f"eno0{DIGITS}", f"eno{DIGITS}")
    assert is_typo("eno01", "eno1")
    assert is_typo("en01", "eno1")
    assert not is_typo("eno2", "eno1")


def test_version_of_an_ignition_config() -> None:
    assert ignition_fault(json.dumps({"ignition": {"version": f"3.{DIGITS}.0"}})) != ""
