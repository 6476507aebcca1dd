# SPDX-License-Identifier: Apache-2.0
"""A node tells the service how far it is, also one that lost what it knew."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from muster.board import Board, read_notice
from muster.client.calls import Answer, Refused
from muster.client.persisting import Persistence
from muster.model.setting_up import Told
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


def tell(
    service: Service,
    folder: Path,
    facts: Join = FACTS,
    act: Callable[[ServiceEar], Coroutine[Any, Any, None]] = lambda ear: ear.stage("Configuring"),
) -> list[float]:
    naps: list[float] = []

    async def sleep(seconds: float) -> None:
        naps.append(seconds)

    persistence = Persistence(lambda: 0.5, lambda: sum(naps), sleep, 3600.0)
    board = Board(folder / "join.json", lambda: NOW)
    finish(act(ServiceEar(facts, service, persistence, board, "b")))  # type: ignore[arg-type]
    return naps


def test_a_service_that_knows_the_node_is_told_once(tmp_path: Path) -> None:
    service = Service()
    assert tell(service, tmp_path) == []
    assert service.heard == [("own", "")]


def test_one_that_lost_its_memory_is_told_who_this_is_and_the_board_says_what_to_do(tmp_path: Path) -> None:
    foreign, unknown = (
        Refused(401, "the token was signed by somebody else"),
        Refused(404, "there is no host h"),
    )
    service = Service(foreign, unknown, foreign, unknown, foreign, None)
    assert tell(service, tmp_path) == [60.0, 60.0]
    assert service.heard == [("own", ""), ("medium", "b")] * 3
    notice = read_notice(tmp_path / "join.json")
    assert notice is not None
    assert "lost its installation when the rendezvous host restarted" in notice.trouble
    assert notice.fix.startswith("boot this host from the medium again")


@pytest.mark.parametrize("known", [False, True])
def test_its_own_token_is_tried_again_until_the_database_is_restored(tmp_path: Path, known: bool) -> None:
    refused = Refused(403, "this host has a token of its own") if known else Refused(404, "no host h")
    service = Service(Refused(403, "this host is not known any more"), refused, None)
    assert tell(service, tmp_path) == [60.0]
    assert service.heard == [("own", ""), ("medium", "b"), ("own", "")]


def test_it_gives_up_in_the_end_and_begins_with_its_own_token_next_time(tmp_path: Path) -> None:
    service = Service(*[Refused(401, "no"), Refused(404, "there is no host h")] * 1000)
    assert sum(tell(service, tmp_path)) == 3600.0
    assert service.token == "own"


def test_how_far_the_cluster_is_is_not_told_with_the_token_of_the_medium(tmp_path: Path) -> None:
    service = Service(Refused(403, "the cluster is installed"))
    told = Told("available", "it is ready")
    assert tell(service, tmp_path, act=lambda ear: ear.part("traefik", told)) == []
    assert [token for token, _ in service.heard] == ["own"]


def test_a_refusal_for_good_is_not_told_again(tmp_path: Path) -> None:
    service = Service(Refused(409, "host h is installed"), None)
    assert tell(service, tmp_path) == []
    assert len(service.heard) == 1
