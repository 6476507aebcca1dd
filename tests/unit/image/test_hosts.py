# SPDX-License-Identifier: Apache-2.0
"""What a medium says about each host."""

from __future__ import annotations

from dataclasses import replace

from muster.config.document.folder import Directory
from muster.image.credentials import credentials_of
from muster.image.ignition.hosts import hosts
from muster.image.tokens import VALID_FOR
from tests.golden.test_examples import ROOT, resolve
from tests.seeds import fixed_secrets


def test_a_host_without_a_name_takes_no_folder_of_another() -> None:
    plan = resolve(Directory(ROOT / "examples/compact-baremetal"))
    first, second, *rest = plan.hosts
    named, nameless = replace(first, hostname="host-1"), replace(second, hostname="")
    plan = replace(plan, hosts=(named, nameless, *rest))
    config = hosts(plan, credentials_of(plan, fixed_secrets(), VALID_FOR))
    files = {file.path.removeprefix("/etc/assisted/hostconfig/"): file.data.decode() for file in config.files}
    assert len(files) == len(config.files)
    assert files["host-1/mac_addresses"] == f"{first.cards[0].mac_address.lower()}\n"
    assert files["_host-1/mac_addresses"] == f"{second.cards[0].mac_address.lower()}\n"
