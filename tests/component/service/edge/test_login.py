# SPDX-License-Identifier: Apache-2.0
"""The login, by a browser and by a program, against a real server over TLS; and plain http beside it."""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from muster.service.api.call import Reply
from muster.service.api.login import LoginDesk
from muster.service.api.table import ROUTES
from muster.service.api.table.route import Route as Row
from muster.service.auth.credentials import Knock
from muster.service.auth.guard import Guard
from muster.service.auth.keys import load_key_ring
from muster.service.auth.login import Login, LoginSettings
from muster.service.auth.passwords import hash_password
from muster.service.auth.sessions import EndedSessions
from muster.service.auth.tokens import Tokens
from muster.service.edge.answers import render_error
from muster.service.edge.redirect import make_redirect
from tests.component.service.edge.serving import Served, Server, start_server
from tests.unit.service.auth.ties import Known

ROWS = {row.operation_id: row for row in ROUTES}
LOGIN, CLUSTERS = ROWS["v2Login"].path, ROWS["v2ListClusters"].path


@dataclass
class House:
    """A server with a login and one operation behind it."""

    served: Served
    login: Login


def response(reply: Reply) -> Response:
    assert isinstance(reply.body, bytes)
    return Response(reply.body, reply.status, dict(reply.headers), reply.media_type)


def guarded(row: Row, guard: Guard, desk: LoginDesk) -> Route:
    async def answer(request: Request) -> Response:
        knock = Knock(
            request.method, request.url.path, request.scope["query_string"], request.scope["headers"], {}
        )
        admission = guard.admit(row, knock, time.time())
        if not admission.verdict.is_allowed:
            verdict = admission.verdict
            return Response(render_error(verdict.status, verdict.reason), verdict.status)
        match row.operation_id:
            case "v2Login":
                address = request.client.host if request.client else ""
                return response(await desk.log_in(address, await request.body()))
            case "v2Logout":
                return response(await desk.log_out(admission.grant))
            case "v2GetLogin":
                return response(await desk.show(admission.grant))
            case _:
                return Response(b"[]", row.ok_status)

    return Route(row.path, answer, methods=[row.method])


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    tokens = Tokens(load_key_ring(tmp_path, os.urandom))
    login = Login(LoginSettings(hash_password("right", os.urandom)), tokens, os.urandom)
    ended = EndedSessions(tmp_path, time.time())
    desk, guard = LoginDesk(login, ended, time.time), Guard(tokens, ended, Known())
    names = ("v2Login", "v2Logout", "v2GetLogin", "v2ListClusters", "v2RegisterCluster")
    app = Starlette(routes=[guarded(ROWS[name], guard, desk) for name in names])
    with start_server(app, tmp_path / "tls") as served:
        yield House(served, login)


def body(**values: object) -> str:
    return json.dumps(values)


def test_a_program_logs_in_works_and_logs_out(house: House) -> None:
    ask = house.served.ask
    assert ask("GET", CLUSTERS).status == 401
    assert ask("GET", LOGIN).json == {"ways": ["password", "code"]}
    answer = ask("POST", LOGIN, body(password="right"))
    assert answer.status == 201
    assert "set-cookie" not in answer.headers
    token = f"Bearer {answer.json['token']}"
    assert ask("GET", CLUSTERS, Authorization=token).status == 200
    assert ask("POST", CLUSTERS, "{}", Authorization=token).status == 201
    assert ask("GET", LOGIN, Authorization=token).json["persona"] == "user"
    assert ask("DELETE", LOGIN, Authorization=token).status == 204
    assert ask("GET", CLUSTERS, Authorization=token).status == 401


def test_a_browser_logs_in_with_the_code_and_keeps_a_cookie(house: House) -> None:
    ask = house.served.ask
    assert house.login.code is not None
    answer = ask("POST", LOGIN, body(code=house.login.code.show(time.time()), cookie=True))
    assert answer.status == 201
    assert "token" not in answer.json, "no script gets to see it"
    cookie = answer.headers["set-cookie"].partition(";")[0]
    assert ask("GET", CLUSTERS, Cookie=cookie).status == 200
    assert ask("POST", CLUSTERS, "{}", Cookie=cookie).status == 403
    lock = ask("GET", LOGIN, Cookie=cookie).json["csrf_token"]
    assert lock == answer.json["csrf_token"]
    assert ask("POST", CLUSTERS, "{}", Cookie=cookie, X_CSRF_Token=lock).status == 201
    ended = ask("DELETE", LOGIN, Cookie=cookie, X_CSRF_Token=lock)
    assert ended.status == 204
    assert "Max-Age=0" in ended.headers["set-cookie"]
    assert ask("GET", CLUSTERS, Cookie=cookie).status == 401


def test_guesses(house: House) -> None:
    ask = house.served.ask
    answers = [ask("POST", LOGIN, body(password=f"wrong{each}")) for each in range(4)]
    assert [answer.status for answer in answers[:3]] == [401, 401, 401]
    assert answers[0].json.keys() == {"code", "message"}
    assert "wrong0" not in answers[0].body.decode()
    last = next(answer for answer in answers if answer.status == 429)
    assert int(last.headers["retry-after"]) >= 1


@pytest.mark.parametrize(
    "sent", ["", "[]", "{}", '{"password": 1}', '{"user": "x", "password": "y"}', "\xff"]
)
def test_odd_bodies(house: House, sent: str) -> None:
    answer = house.served.ask("POST", LOGIN, sent.encode("latin-1"))
    assert answer.status == 400
    assert answer.json["kind"] == "Error"


def test_plain_http_only_redirects() -> None:
    server = Server(uvicorn.Config(make_redirect(8443), log_config=None, lifespan="off", server_header=False))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            assert server.ready.wait(30)
            connection = http.client.HTTPConnection("127.0.0.1", listener.getsockname()[1], timeout=30)
            connection.request("POST", f"{CLUSTERS}?a=b", b"{}")
            response = connection.getresponse()
            assert response.status == 308
            assert response.getheader("location") == f"https://127.0.0.1:8443{CLUSTERS}?a=b"
            connection.close()
        finally:
            server.should_exit = True
            thread.join(30)
