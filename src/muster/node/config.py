# SPDX-License-Identifier: Apache-2.0
"""What a host adds to its own Ignition config before it is written: how to tell the service of its end."""

from __future__ import annotations

from base64 import b64encode
from typing import Any, Final

import msgspec

from muster.errors import ExternalError
from muster.node.joining import AUTHORITY, FILE, Join

_PRIVATE: Final = 0o600
_PATHS: Final = frozenset({f"/{FILE}", f"/{AUTHORITY}"})


def add_join(config: bytes, join: Join, authority: str) -> bytes:
    """The config with what `muster host join` reads; what was in it stays as it is."""
    try:
        tree: dict[str, Any] = msgspec.json.decode(config, type=dict[str, Any])
        storage = {**(tree.get("storage") or {})}
        files = [each for each in storage.get("files") or () if each["path"] not in _PATHS]
    except (msgspec.DecodeError, TypeError, KeyError, AttributeError) as error:
        raise ExternalError(
            "what the service sent as the configuration of this host is not an Ignition config",
            hint="see the log of the service on the rendezvous host",
        ) from error
    storage["files"] = [*files, _file(FILE, msgspec.json.encode(join)), _file(AUTHORITY, authority.encode())]
    return msgspec.json.encode({**tree, "storage": storage})


def _file(path: str, data: bytes) -> dict[str, Any]:
    source = f"data:;base64,{b64encode(data).decode('ascii')}"
    return {"path": f"/{path}", "mode": _PRIVATE, "overwrite": True, "contents": {"source": source}}
