# SPDX-License-Identifier: Apache-2.0
"""The installer of the rendezvous host: it copies the data of the service while it waits for the others."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import msgspec
import pytest

from muster.cli import host_install
from muster.cli.host_install import _Crew
from muster.model.wire.host import Host
from muster.model.wire.steps import InstallCmdRequest


class Calls:
    """A service that shows one other host."""

    status = "installing"

    async def read(self, *_: Any) -> tuple[Host, ...]:
        body = {"kind": "Host", "id": "h2", "href": "", "role": "master", "status_info": ""}
        return (msgspec.convert({**body, "status": self.status}, Host),)


def test_copy_that_failed_is_tried_again_although_no_host_got_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(host_install, "_LOOK_S", 0)
    monkeypatch.setattr(host_install, "_COPY_AGAIN_S", 0)
    calls, copies = Calls(), [False, False, True, True]

    async def keep(disk: str) -> bool:
        assert disk == "/dev/vda"
        is_copied = copies.pop(0)
        if is_copied:
            calls.status = "installed"
        return is_copied

    request = InstallCmdRequest(
        cluster_id="c1",
        infra_env_id="i1",
        host_id="h1",
        role="master",
        boot_device="/dev/vda",
        controller_image="",
        installer_image="",
    )
    crew = _Crew(cast("Any", calls), cast("Any", None), request, cast("Any", None))
    asyncio.run(asyncio.wait_for(crew.wait_for_others(keep), 10))
    assert copies == []
