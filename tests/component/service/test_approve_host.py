# SPDX-License-Identifier: Apache-2.0
"""`muster agent approve-host` against a service: it lists the hosts that wait, and approves one key."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import msgspec
import pytest

from muster.cli.approve_host import _approve, _choose, _words
from muster.cli.wait_for import Sought
from muster.client.target import Target
from muster.errors import UserError
from muster.image.tokens import build_tokens
from muster.model.wire.host import EnrolmentRequest, Host
from tests.component.service.test_personas import (
    HOSTS,
    fall_silent,
    furnish,
    key_of,
    register,
    set_states,
    try_to_register,
)
from tests.component.service.whole import open_service, play
from tests.seeds import NOW, fixed_secrets


def test_a_person_lists_and_approves_at_the_terminal(tmp_path: Path) -> None:
    secrets = fixed_secrets()

    async def scene() -> None:
        async with open_service(tmp_path, token_keys=(build_tokens(secrets).public_key,)) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            sought = cast(
                Sought,
                Stand(
                    Target(site.url),
                    site.running.identity.authority_pem,
                    replace(secrets, cluster_id=here.cluster_id),
                ),
            )
            await set_states(site, here, "installing")
            assert await _approve(sought, "", "") == []
            with pytest.raises(UserError, match="no host waits for an approval"):
                await _approve(sought, key_of("new").fingerprint, "")
            fall_silent(site, here.host_id)
            await set_states(site, here, "installing")
            assert (await try_to_register(site, here, key=key_of("new"))).status == 403
            (waiting,) = await _approve(sought, "", "")
            assert f"waits with the key {key_of('new').fingerprint}" in _words(waiting, "")
            (approved,) = await _approve(sought, key_of("new").fingerprint, "")
            assert approved.id == here.host_id
            await set_states(site, here, "installing")
            assert await register(site, here, key=key_of("new"))
            # Its place was taken: it does not wait, and is named.
            await set_states(site, here, "installing")
            assert (await try_to_register(site, here, key=key_of("newest"))).status == 503
            with pytest.raises(UserError, match="no host waits for an approval"):
                await _approve(sought, key_of("newest").fingerprint, "")
            (approved,) = await _approve(sought, key_of("newest").fingerprint, here.host_id)
            assert approved.id == here.host_id
            await set_states(site, here, "installing")
            assert await register(site, here, key=key_of("newest"))

    play(scene)


class Stand:
    """As far as the command looks at a site."""

    def __init__(self, target: Target, authority: str, secrets: object) -> None:
        self.target, self.authority, self.secrets = target, authority, secrets


def waiting(name: str, key: str, *differs: str) -> Host:
    request = EnrolmentRequest(key=key, address="192.0.2.9", requested_at=NOW, differs=differs)
    return Host(
        kind="Host",
        id=f"id-of-{name}",
        href="",
        status="installing",
        status_info="",
        requested_hostname=name,
        enrolment_request=request,
    )


ONE, TWO = waiting("one", "AAAA-0000-0000-0000-0001"), waiting("two", "AAAA-0000-0000-0000-0002")


def test_the_host_is_found_by_its_key_its_name_or_as_the_only_one() -> None:
    assert _choose([ONE, TWO], "AAAA-0000-0000-0000-0002", "") is TWO
    assert _choose([ONE], "BBBB-0000-0000-0000-0009", "") is ONE, "another key may be shown"
    assert _choose([ONE, TWO], "BBBB-0000-0000-0000-0009", "one") is ONE
    assert _choose([ONE, TWO], "BBBB-0000-0000-0000-0009", "id-of-two") is TWO
    with pytest.raises(UserError, match="2 hosts wait"):
        _choose([ONE, TWO], "BBBB-0000-0000-0000-0009", "")
    with pytest.raises(UserError, match="no host has the name three"):
        _choose([ONE, TWO], "AAAA-0000-0000-0000-0002", "three")
    quiet = msgspec.structs.replace(ONE, enrolment_request=None)
    assert _choose([quiet, TWO], "BBBB-0000-0000-0000-0009", "one") is quiet
    assert _choose([quiet, TWO], "BBBB-0000-0000-0000-0009", "") is TWO


def test_what_a_stranger_sent_does_not_reach_the_terminal_as_it_is() -> None:
    assert "\x1b" not in _words(waiting("one", "A", "its agent is \x1b[2J"), "")
