# SPDX-License-Identifier: Apache-2.0
"""A node tells the service how far it is, also one that lost what it knew."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from muster.board import Board, read_notice
from muster.client.calls import Answer, Refused
from muster.client.persisting import Persistence
from muster.node.ear import ServiceEar
from muster.node.joining import Join
from tests.unit.service.running import finish

FACTS = Join("https://192.0.2.10:8090", "ie", "h", "c", "own", "master", alone=False, medium_token="medium")
NOW = datetime(2026, 3, 1, tzinfo=UTC)


class Service:
    """Takes what is told, unless it is to refuse; who spoke and what is remembered."""

    def __init__(self, *refusals: Refused | None, token: str = "own") -> None:
        self.token = token
        self._refusals = list(refusals)
        self.heard: list[tuple[str, str]] = []

    async def call(self, method: str, path: str, body: Any = None, **_: Any) -> Answer:
        text = body if isinstance(body, dict) else msgspec.to_builtins(body)
        self.heard.append((self.token, text.get("progress_info") or ""))
        refusal = self._refusals.pop(0) if self._refusals else None
        if refusal is not None:
            raise refusal
        return Answer(b"", {})


def tell(service: Service, folder: Path, facts: Join = FACTS) -> list[float]:
    naps: list[float] = []

    async def sleep(seconds: float) -> None:
        naps.append(seconds)

    persistence = Persistence(lambda: 0.5, lambda: sum(naps), sleep, 3600.0)
    board = Board(folder / "join.json", lambda: NOW)
    finish(ServiceEar(facts, service, persistence, board, "b").stage("Configuring"))  # type: ignore[arg-type]
    return naps


def test_a_service_that_knows_the_node_is_told_once(tmp_path: Path) -> None:
    service = Service()
    assert tell(service, tmp_path) == []
    assert service.heard == [("own", "")]


def test_one_that_lost_its_memory_is_told_who_this_is_and_the_board_says_what_to_do(tmp_path: Path) -> None:
    unknown = Refused(404, "there is no host h")
    service = Service(Refused(401, "the token was signed by somebody else"), unknown, unknown, None)
    assert tell(service, tmp_path) == [60.0, 60.0]
    assert service.heard == [("own", ""), ("medium", "b"), ("medium", "b"), ("medium", "b")]
    notice = read_notice(tmp_path / "join.json")
    assert notice is not None
    assert "lost its installation when the rendezvous host restarted" in notice.trouble
    assert notice.fix.startswith("boot this host from the medium again")


def test_it_gives_up_in_the_end(tmp_path: Path) -> None:
    service = Service(Refused(401, "no"), *[Refused(404, "there is no host h")] * 1000)
    assert sum(tell(service, tmp_path)) == 3600.0


def test_a_refusal_for_good_is_not_told_again(tmp_path: Path) -> None:
    service = Service(Refused(409, "host h is installed"), None)
    assert tell(service, tmp_path) == []
    assert len(service.heard) == 1
