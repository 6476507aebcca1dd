# SPDX-License-Identifier: Apache-2.0
"""The service as a node sees it that tells how far it is: it may be away, or have lost what it knew.

A service whose host lost power before it left has a new memory: it knows neither this node nor its token, and
the cluster that it makes has other keys. The node says who it is with the token of the medium, so that the
service can say which hosts have to be installed anew. It repeats this, each time with its own token first:
the database of the service may have been restored.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from muster.board import Board
from muster.client.calls import Calls, Refused, Unreachable
from muster.client.host import HostCalls
from muster.client.persisting import Persistence
from muster.model.setting_up import Told
from muster.model.wire.enums import FinalizingStage, HostStage
from muster.node.joining import Join

GIVE_UP_S: Final = 4 * 3600.0
"""A service that was away for so long does not come back; the cluster does not need it."""
_AGAIN_S: Final = 60.0
_UNBELIEVED: Final = (401, 403)
_UNKNOWN: Final = 404
_LOST: Final = (
    "the service does not know this node: it lost its installation when the rendezvous host restarted"
)
_FIX: Final = "boot this host from the medium again: it is installed anew, with all others"
_REFUSED: Final = "the service refuses the token of this node"
_REFUSED_FIX: Final = "look at the events of this host: another machine may have registered as this host"
_logger: Final = logging.getLogger(__name__)


class ServiceEar:
    """Tells the service, however often that takes; what it refuses for good is not told again."""

    def __init__(self, facts: Join, calls: Calls, persistence: Persistence, board: Board, name: str) -> None:
        self._facts, self._calls, self._board, self._name = facts, calls, board, name
        self._persistence = persistence
        self._host = HostCalls(calls, facts.infra_env_id, facts.host_id)

    async def stage(self, stage: HostStage, info: str = "") -> None:
        """The node is at a stage, and what keeps it there."""
        _logger.info("stage: %s%s", stage, f": {info}" if info else "")
        self._board.show(f"this node is at the stage {stage}", trouble=info)
        await self._insist(lambda: self._host.progress(stage, self._name if self._is_stranger else info))

    async def part(self, id: str, told: Told) -> None:
        """How far something of the cluster is."""
        _logger.info("%s: %s: %s", id, told.status, told.info)
        body = {"name": id, "status": told.status, "status_info": told.info}
        path = f"/clusters/{self._facts.cluster_id}/monitored-operators"
        await self._tell(lambda: self._calls.call("PUT", path, body))

    async def finalizing(self, stage: FinalizingStage) -> bool:
        """Whether it is accepted that the cluster is at a stage."""
        path = f"/clusters/{self._facts.cluster_id}/progress"
        try:
            await self._calls.call("PUT", path, {"finalizing_stage": stage})
        except (Refused, Unreachable):
            return False
        return True

    @property
    def _is_stranger(self) -> bool:
        return bool(self._facts.medium_token) and self._calls.token == self._facts.medium_token

    async def _tell(self, call: Callable[[], Awaitable[object]]) -> None:
        try:
            await self._persistence.tell(call)
        except (Refused, Unreachable) as error:
            _logger.warning("the service is not told: %s", error.message)

    async def _insist(self, call: Callable[[], Awaitable[object]]) -> None:
        """Tell it with the token of this node, or else with that of the medium, until one is accepted."""
        end = self._persistence.clock() + self._persistence.for_s
        while True:
            try:
                await self._persistence.tell(call)
            except Refused as error:
                if await self._try_again(error, end):
                    continue
                _logger.warning("the service is not told: %s", error.message)
            except Unreachable as error:
                _logger.warning("the service is not told: %s", error.message)
            break
        self._calls.token = self._facts.token

    async def _try_again(self, error: Refused, end: float) -> bool:
        """Whether it is worth to say it again, in another way or later."""
        if error.code in _UNBELIEVED and self._facts.medium_token and not self._is_stranger:
            self._calls.token = self._facts.medium_token
            return True
        is_lost = error.code == _UNKNOWN
        if not self._is_stranger or not (is_lost or error.code in _UNBELIEVED):
            return False
        if self._persistence.clock() >= end:
            return False
        trouble, fix = (_LOST, _FIX) if is_lost else (_REFUSED, _REFUSED_FIX)
        self._board.show("this node waits for its cluster", trouble=trouble, fix=fix)
        await self._persistence.sleep(_AGAIN_S)
        self._calls.token = self._facts.token
        return True
