# SPDX-License-Identifier: Apache-2.0
"""What people may say about hosts."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from muster.model.wire.host import HostUpdateParams
from muster.model.wire.inventory import DiskInstallationEligibility
from muster.service.decisions import hosts as decide
from muster.service.realm import Draft
from muster.service.refusals import BadRequest, StateConflict
from muster.service.state import Host
from tests.unit.service.hosts import NOW, host_id, make_disk, make_host, make_inventory, make_realm

SMALL = DiskInstallationEligibility(eligible=False, not_eligible_reasons=("it is too small",))


def draft_with(**values: Any) -> Draft:
    realm = make_realm(0)
    disks = (
        make_disk("sda", id="/dev/disk/by-id/a"),
        make_disk("sdb", id="b", installation_eligibility=SMALL),
    )
    host = make_host(1, inventory=make_inventory(1, disks=disks), **values)
    realm.put("host", host.id, host)
    return Draft(realm, NOW)


def update(draft: Draft, **values: Any) -> Host:
    params = msgspec.convert(values, HostUpdateParams)
    return decide.update_host(draft, draft.hosts[host_id(1)], params, lambda *words: f"sealed {words[1]}")


def test_role_name_and_disk_are_taken_with_who_said_so() -> None:
    chosen = [{"id": "/dev/disk/by-id/a", "role": "install"}, {"id": "b", "role": "none"}]
    host = update(draft_with(), host_role="worker", host_name="w1", disks_selected_config=chosen)
    assert (host.role, host.role_reason, host.requested_hostname) == ("worker", "given", "w1")
    assert (host.installation_disk_path, host.disk_reason) == ("/dev/sda", "given")


def test_disks_that_are_not_formatted_add_up() -> None:
    draft = draft_with()
    update(draft, disks_skip_formatting=[{"disk_id": "a", "skip_formatting": True}])
    host = update(
        draft,
        disks_skip_formatting=[
            {"disk_id": "b", "skip_formatting": True},
            {"disk_id": "a", "skip_formatting": False},
        ],
    )
    assert host.skip_formatting_disks == ("b",)


@pytest.mark.parametrize(
    "values",
    [
        {"ignition_endpoint_token": "(hidden)"},
        {"ignition_endpoint_http_headers": [{"key": "X-Token", "value": "••••"}]},
        {"fencing_credentials": {"address": "a", "username": "u", "password": "(hidden)"}},
    ],
)
def test_what_is_shown_in_the_place_of_a_secret_is_not_taken_for_one(values: dict[str, Any]) -> None:
    with pytest.raises(BadRequest, match="it is what is shown in the place of a secret"):
        update(draft_with(), **values)


def test_secrets_are_sealed() -> None:
    host = update(
        draft_with(),
        ignition_endpoint_token="hush",
        fencing_credentials={"address": "a", "username": "u", "password": "hush"},
    )
    assert (host.ignition_endpoint_token, host.fencing_credentials) == (
        "sealed ignition_endpoint_token",
        "sealed fencing_credentials",
    )


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"host_name": "Has Blanks"}, "is no host name"),
        ({"host_name": "localhost"}, "every machine is called"),
        ({"disks_selected_config": [{"id": "c", "role": "install"}]}, "has no disk c"),
        ({"disks_selected_config": [{"id": "b", "role": "install"}]}, "/dev/sdb: it is too small"),
        ({"disks_selected_config": []}, "0 disks are chosen"),
    ],
)
def test_what_cannot_be_is_refused(values: dict[str, Any], why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        update(draft_with(), **values)


@pytest.mark.parametrize("status", ["installing", "installed", "preparing-for-installation", "error"])
def test_a_host_under_way_is_left_alone(status: str) -> None:
    with pytest.raises(StateConflict, match=f"is {status} and cannot be changed"):
        update(draft_with(status=status), host_name="a")


def test_words_for_the_installer() -> None:
    draft = draft_with()
    host = decide.update_installer_args(draft, draft.hosts[host_id(1)], ("--append-karg", "a=b"))
    assert host.installer_args == '["--append-karg","a=b"]'
    with pytest.raises(BadRequest, match="--image-url=x is not for users"):
        decide.update_installer_args(draft, host, ("--image-url=x",))
    for words, why in (
        (("--insecure",), "coreos-installer is not given --insecure: an image that nobody signed"),
        (("--console", "ttyS0"), "coreos-installer is not given --console: it is not one of"),
        (("--append-karg",), "coreos-installer is not given --append-karg: no value follows it"),
    ):
        with pytest.raises(BadRequest, match=f"args: {why}"):
            decide.update_installer_args(draft, host, words)
    for config in ("{", '{"ignition": {"version": "9.9.9"}}'):
        with pytest.raises(BadRequest, match="config: it is no Ignition config"):
            decide.update_ignition(draft, host, config)


def test_a_check_can_be_done_again() -> None:
    draft = draft_with()
    with pytest.raises(BadRequest, match="hostname-valid cannot be reset"):
        decide.reset_validation(draft, draft.hosts[host_id(1)], "hostname-valid")
    assert decide.reset_validation(draft, draft.hosts[host_id(1)], "container-images-available").images == ()
