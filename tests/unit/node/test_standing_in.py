# SPDX-License-Identifier: Apache-2.0
"""A machine becomes a lost host only when it is the right one, and the host is gone."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from muster.errors import MusterError
from muster.model.replacement import CONFIG_FILE, REPLACEMENT_FILE, Replacement
from muster.node.standing_in import (
    AGAIN_S,
    KeptConfig,
    Obstacle,
    check_cards,
    check_rivals,
    load_replacement,
    make_request,
    wait_until_clear,
)
from tests.unit.service.running import finish

WANTED = Replacement(
    id="medium", hostname="master-2", role="master", macs=("52:54:00:00:00:02",), addresses=("192.0.2.12",)
)


def test_the_right_machine_has_one_of_the_cards() -> None:
    assert check_cards(WANTED, ["52:54:00:00:00:99", "52:54:00:00:00:02".upper()]) is None
    assert check_cards(msgspec.structs.replace(WANTED, macs=()), ["52:54:00:00:00:99"]) is None


@pytest.mark.parametrize(
    ("macs", "has"), [(["52:54:00:00:00:99"], "has 52:54:00:00:00:99"), ([], "has none")]
)
def test_another_machine_is_not_touched(macs: list[str], has: str) -> None:
    found = check_cards(WANTED, macs)
    assert found is not None
    assert has in found.trouble
    assert "52:54:00:00:00:02" in found.trouble


def test_a_host_that_still_answers_is_not_lost() -> None:
    assert check_rivals(WANTED, "192.0.2.12", ()) is None
    found = check_rivals(WANTED, "192.0.2.12", ("52:54:00:00:00:07",))
    assert found is not None
    assert found.trouble == "52:54:00:00:00:07 still answers at 192.0.2.12: master-2 is not gone"


def test_it_waits_until_nothing_is_in_the_way_and_looks_at_all_of_it_again() -> None:
    bad = Obstacle("bad", "mend it")
    first, second = iter([bad, None, None]), iter([bad, None])
    shown: list[Obstacle | None] = []
    pauses: list[float] = []

    async def look_first() -> Obstacle | None:
        return next(first)

    async def look_second() -> Obstacle | None:
        return next(second)

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    finish(wait_until_clear([look_first, look_second], shown.append, pause))
    assert shown == [bad, bad, None]
    assert pauses == [AGAIN_S, AGAIN_S]
    assert next(first, "asked three times") == "asked three times"


def test_what_the_medium_says_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / REPLACEMENT_FILE.lstrip("/")
    with pytest.raises(MusterError, match="which host this machine becomes"):
        load_replacement(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_bytes(msgspec.json.encode(WANTED))
    assert load_replacement(tmp_path) == WANTED
    request = make_request(WANTED, "/dev/sda")
    assert (request.role, request.boot_device, request.control_plane_count) == ("master", "/dev/sda", None)


def test_the_configuration_is_on_the_medium(tmp_path: Path) -> None:
    service = KeptConfig(tmp_path)
    with pytest.raises(MusterError, match="has no configuration for this host"):
        finish(service.host_ignition())
    path = tmp_path / CONFIG_FILE.lstrip("/")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"config")
    assert finish(service.host_ignition()) == b"config"
    assert finish(service.control_plane_ready())
