# SPDX-License-Identifier: Apache-2.0
"""URLs of proxies: judged without quoting them."""

from __future__ import annotations

import pytest

from muster.config.rules.proxy import proxy_fault


@pytest.mark.parametrize(
    "url",
    [
        "http://proxy.example.com",
        "http://proxy.example.com:3128/",
        "http://user:p%40ss@proxy.example.com:3128",
        "http://user:p@ss:word@192.0.2.1:3128",
        "http://[2001:db8::1]:3128",
        "HTTP://Proxy.example.com:3128",
    ],
)
def test_good_urls(url: str) -> None:
    assert proxy_fault(url, ("http",)) == ""


@pytest.mark.parametrize(
    "url",
    [
        "hunter2",
        "http//hunter2",
        "ftp://hunter2",
        "http://user:hunter2",
        "http://user:hunter2/3@proxy.example.com",
        "http://hunter 2",
        "http://bad%20hunter2",
        "http://[hunter2]:3128",
        "http://",
        "http://user:hunter2@",
        "http://proxy.example.com:99999",
    ],
)
def test_bad_urls(url: str) -> None:
    fault = proxy_fault(url, ("http",))
    assert fault
    assert "hunter2" not in fault
