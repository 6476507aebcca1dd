# SPDX-License-Identifier: Apache-2.0
"""What tuning.toml says, and what it must not say."""

from __future__ import annotations

from importlib.resources import files

import pytest

from muster.errors import UserError
from muster.model.host import Role
from muster.release.node.tuning import load_tuning, parse_tuning

TEXT = files("muster.release.node").joinpath("tuning.toml").read_text("utf-8")


def test_a_profile_changes_what_it_names() -> None:
    plain, emulated = load_tuning("default").programs["etcd"], load_tuning("emulated").programs["etcd"]
    assert (plain.flags["log-level"], emulated.flags["log-level"]) == ("warn", "error")
    assert plain.service["OOMScoreAdjust"] == emulated.service["OOMScoreAdjust"]
    assert "election-timeout" not in plain.flags
    assert emulated.flags["election-timeout"] == 10 * emulated.flags["heartbeat-interval"]


def test_who_is_alone_elects_nobody() -> None:
    manager = load_tuning("emulated").programs["kube-controller-manager"]
    several, one = manager.flags_of(alone=False), manager.flags_of(alone=True)
    assert several["leader-elect-lease-duration"] == "120s"
    assert "leader-elect" not in several
    assert {name: each for name, each in one.items() if name.startswith("leader")} == {"leader-elect": False}
    assert one["node-monitor-grace-period"] == several["node-monitor-grace-period"]


@pytest.mark.parametrize("profile", ["default", "emulated"])
def test_roles(profile: str) -> None:
    roles = load_tuning(profile).roles
    assert {*roles} == {*Role}
    assert "etcd" in roles[Role.ARBITER].programs
    assert "kube-apiserver" not in roles[Role.ARBITER].programs
    assert {*roles[Role.WORKER].programs} == {"kubelet", "kube-proxy"}


def test_no_profile_gives_up_what_etcd_promises() -> None:
    assert "fsync" not in TEXT


def test_a_profile_that_is_not_there() -> None:
    with pytest.raises(UserError, match="no tuning profile 'fast'") as caught:
        load_tuning("fast")
    assert "default, emulated" in caught.value.hint


def test_a_program_that_is_not_there_is_our_mistake() -> None:
    with pytest.raises(ValueError, match="kube-apiservr"):
        parse_tuning(f"{TEXT}\n[profile.emulated.kube-apiservr]\nflags = {{}}\n", "emulated")
