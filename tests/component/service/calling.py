# SPDX-License-Identifier: Apache-2.0
"""The client package from PyPI, calling the whole service; it notes which of its operations were called."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any, Final, get_args

import pytest

# The package has no types.
from assisted_service_client import ApiClient, Configuration, api, models  # type: ignore[import-untyped]
from assisted_service_client.rest import ApiException  # type: ignore[import-untyped]

from muster.service.api.table import ROUTES
from muster.service.api.table.route import PREFIX
from muster.service.edge.tls import AUTHORITY
from tests.component.service.client import ClientOperation, client_operations
from tests.component.service.test_client_models import ALIASES
from tests.component.service.whole import Whole

__all__ = ["Caller", "models"]

_APIS: Final = (
    "InstallerApi",
    "EventsApi",
    "ManifestsApi",
    "OperatorsApi",
    "VersionsApi",
    "ManagedDomainsApi",
)
OPERATIONS: Final[dict[str, ClientOperation]] = {each.name: each for each in client_operations().values()}
_STATUS: Final[dict[tuple[str, str], int]] = {
    (each.method, each.path.removeprefix(PREFIX)): each.ok_status for each in ROUTES
}


class Caller:
    """One who calls, as a person and as a host, with the tokens where the client puts them."""

    def __init__(self, site: Whole, agent_token: str = "") -> None:
        config = Configuration()
        config.host = f"{site.running.url}{PREFIX}"
        config.ssl_ca_cert = str(site.running.settings.data / "keys" / AUTHORITY)
        config.api_key = {"Authorization": f"Bearer {site.token}", "X-Secret-Key": agent_token}
        self._client = ApiClient(configuration=config)
        self._apis = [getattr(api, name)(self._client) for name in _APIS]
        self.called: set[str] = set()

    async def __call__(self, name: str, *words: Any, **values: Any) -> Any:
        """What an operation answers, as the client reads it; its status is that of the table."""
        answer, status, _ = await self._call(name, words, values)
        operation = OPERATIONS[name]
        assert status == _STATUS[operation.method, operation.path], name
        self._read_list(operation, answer)
        return answer

    async def refused(self, status: int, name: str, *words: Any, **values: Any) -> dict[str, Any]:
        """What the service says to something that it does not do."""
        with pytest.raises(ApiException) as caught:
            await self._call(name, words, values)
        assert caught.value.status == status, (name, caught.value.body)
        found: dict[str, Any] = json.loads(caught.value.body)
        return found

    async def _call(self, name: str, words: Any, values: Any) -> Any:
        method = next(getattr(each, f"{name}_with_http_info") for each in self._apis if hasattr(each, name))
        self.called.add(name)
        return await asyncio.to_thread(method, *words, **values)

    def _read_list(self, operation: ClientOperation, answer: Any) -> None:
        """The client does not look into lists that have a name of their own: make it do so."""
        kind = get_args(ALIASES.get(operation.answer))
        if not kind or answer is None or operation.answer not in _LISTS:
            return
        data = json.dumps(answer, default=str)
        self._client.deserialize(SimpleNamespace(data=data), f"list[{kind[0].__name__}]")

    def close(self) -> None:
        self._client.pool.close()
        self._client.pool.join()


_LISTS: Final = (
    "ClusterList",
    "EventList",
    "HostList",
    "InfraEnvList",
    "ListManifests",
    "MonitoredOperatorsList",
)
