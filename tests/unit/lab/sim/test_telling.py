# SPDX-License-Identifier: Apache-2.0
"""What a simulation tells: what happened, what the end waited for, what is in the way, and where that is."""

from __future__ import annotations

import pytest

from muster.lab.sim.blockers import Blocker
from muster.lab.sim.telling import as_json, render
from tests.sites import Shape
from tests.unit.lab.sim.sites import told_of


def test_the_path_leads_from_the_beginning_to_the_end() -> None:
    told = told_of(Shape(workers=1))
    assert told.path[0].since_s == 0
    assert told.path[-1].until_s == pytest.approx(told.seconds, abs=0.01)
    for before, after in zip(told.path, told.path[1:], strict=False):
        assert after.since_s == pytest.approx(before.until_s)
    stages = [leg.what for leg in told.path]
    assert "Waiting for control plane" in stages
    assert stages[-1] == "the cluster comes up"


def test_what_happened_is_told_in_order() -> None:
    told = told_of(Shape())
    assert [moment.at_s for moment in told.moments] == sorted(moment.at_s for moment in told.moments)
    said = [(moment.subject, moment.what) for moment in told.moments]
    for host in ("host-0", "host-1", "host-2"):
        assert next(what for subject, what in said if subject == host) == "registered"
        assert (host, "Done") in said
    assert said[-1] == ("", "is installed")
    assert render(told).splitlines()[0] == "site1: 3 hosts, seed 0"
    assert render(told).splitlines()[-1].startswith("installed after ")


def test_many_hosts_are_told_of_together() -> None:
    told = told_of(Shape(), hosts=20, until_s=300.0)
    lines = render(told).splitlines()
    assert any(line.split()[2:] == ["20", "hosts", "registered"] for line in lines)


@pytest.mark.parametrize(
    ("fault", "id", "key"),
    [
        ("vip-in-use:192.0.2.210", "api-vips-valid", "apiVIPs"),
        ("duplicate-ip:host-1", "no-ip-collisions-in-network", "networkConfig"),
        ("link:host-2", "not-registered", "hostname"),
        ("skew:host-1=+2h", "time-synced-between-host-and-service", "hostname"),
        ("disk-full:host-1", "sufficient-installation-disk-speed", "hostname"),
    ],
)
def test_what_is_in_the_way_and_where(fault: str, id: str, key: str) -> None:
    told = told_of(Shape(), fault)
    found: Blocker = next(each for each in told.blockers if each.id == id)
    assert found.place is not None
    line = found.place.source.line(found.place.line)
    assert key in line
    assert found.why
    assert found.fix
    assert found.faults
    assert str(found.place) in render(told)


def test_who_only_waits_for_others_is_not_in_the_way() -> None:
    told = told_of(Shape(), "lost:host-1=rebooting")
    assert {name for each in told.blockers for name in each.hosts} == {"host-1"}


def test_json_has_no_secret() -> None:
    told = told_of(Shape(), "image:*")
    text = str(as_json(told)) + render(told)
    assert "ZmFrZTpmYWtl" not in text
    assert as_json(told)["outcome"] == "waits"
