# SPDX-License-Identifier: Apache-2.0
"""What callers are told of an error: no file of the service, and no flag that does not exist."""

from __future__ import annotations

import ast
import errno
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import muster.service
from muster.cli.serve import serve
from muster.errors import ExternalError, MusterError, UserError, cannot
from muster.service.refusals import BadRequest, for_callers
from muster.service.store.port import StoreError

SOURCE = Path(muster.service.__file__).parent
FLAG = re.compile(r"(?<!\S)\(?(--[a-z][a-z-]+)")
ALSO = {"--kind", "--help"}
"""Of other programs."""


@pytest.mark.parametrize(
    "path", ["/var/lib/muster/keys/ended-sessions.json", "muster-data/keys/server.pem", "/srv/my data/a.db"]
)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
def test_paths_of_the_service_are_not_told(path: str, number: int) -> None:
    message, hint = for_callers(cannot("write", Path(path), OSError(number, "it failed")))
    for part in Path(path).parts[1:]:
        assert part.split()[-1] not in message
    assert "it failed" in message
    assert "--" not in hint


def test_the_reason_of_a_store_is_told_without_its_path() -> None:
    error = StoreError("/var/lib/muster/muster.db: database or disk is full", hint="free some space there")
    assert for_callers(error) == (
        "a file of the service: database or disk is full",
        "free some space there",
    )


@pytest.mark.parametrize(
    "error",
    [
        BadRequest("192.0.2.0/24 and 192.0.2.0/25 overlap", hint="see /openapi.json"),
        UserError("192.0.2.0/24 is too small", hint="see /v2/clusters"),
        UserError("image registry.example.com/a/b is not there", hint="see https://example.com/a/b"),
        ExternalError("https://registry.example.com/v2/ does not answer", hint="try again"),
    ],
)
def test_what_callers_wrote_themselves_is_told(error: MusterError) -> None:
    assert for_callers(error) == (error.message, error.hint)


def test_a_user_error_about_a_file_of_the_service() -> None:
    message, hint = for_callers(UserError("/var/lib/muster/keys/a.key is damaged", hint="chmod 600 /root/a"))
    assert message == "a file of the service is damaged"
    assert "/root" not in hint


def flags() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.keyword) and node.arg == "hint":
                for part in ast.walk(node.value):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield from (
                            (path.name, flag)
                            for flag in re.findall(r"(?<!\S)\(?(--[a-z][a-z-]+)", part.value)
                        )


def test_every_flag_that_a_hint_names_exists() -> None:
    known = {name for each in serve.params for name in (*each.opts, *each.secondary_opts)} | ALSO
    found = list(flags())
    assert found
    assert [(name, flag) for name, flag in found if flag not in known] == []
