# SPDX-License-Identifier: Apache-2.0
"""Answers about the service itself: its document, its figures, and who is logged in."""

from __future__ import annotations

from functools import cache
from typing import Final

import msgspec

from muster import __version__
from muster.service.api.call import Call, Reply, answers
from muster.service.api.openapi import build_openapi
from muster.service.api.table import ROUTES
from muster.service.metrics import render_metrics

_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"


@cache
def _document() -> bytes:
    return msgspec.json.encode(build_openapi(ROUTES, __version__))


@answers("openapi")
async def openapi(_call: Call) -> Reply:
    return Reply(200, _document())


@answers("metrics")
async def metrics(call: Call) -> Reply:
    service = call.service
    around = service.around
    body = render_metrics(
        service.engine,
        service.requests,
        service.news.waiting,
        around.certificate_expires(),
        len(around.warnings()),
    )
    return Reply(200, body.encode(), _TEXT)


@answers("v2GetLogin")
async def get_login(call: Call) -> Reply:
    assert call.login is not None
    return await call.login.show(call.grant)


@answers("v2Login")
async def log_in(call: Call) -> Reply:
    assert call.login is not None
    return await call.login.log_in(call.client, call.body)


@answers("v2Logout")
async def log_out(call: Call) -> Reply:
    assert call.login is not None
    return await call.login.log_out(call.grant)
