# SPDX-License-Identifier: Apache-2.0
"""Whether somebody listens at a place, asked over a real socket."""

from __future__ import annotations

import asyncio
import socket

import pytest

from muster.client.listening import somebody_listens


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_somebody_and_nobody(family: socket.AddressFamily, host: str) -> None:
    with socket.create_server((host, 0), family=family) as server:
        shown = f"[{host}]" if ":" in host else host
        url = f"https://{shown}:{server.getsockname()[1]}/v2"
        assert asyncio.run(somebody_listens(url))
    assert not asyncio.run(somebody_listens(url))
