# SPDX-License-Identifier: Apache-2.0
"""Virtual addresses with the real keepalived: they are where somebody answers, and stay there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from muster.release.node.cluster import Cluster
from muster.release.node.vips import router_ids
from muster.run import Circumstances, run, start
from tests.clusters import CLUSTERS, DUAL
from tests.component.agent_steps.site import ROOT, Host, Site, batch
from tests.component.vips.hosts import Holder, wait

ALONE = replace(DUAL, members=DUAL.members[:1])
API, INGRESS = DUAL.api_vips, DUAL.ingress_vips


@pytest.fixture
def site(root: None) -> Iterator[Site]:
    made = Site()
    yield made
    made.clear()


@pytest.fixture
def holders(site: Site, tmp_path: Path) -> list[Holder]:
    """The first two hosts of a cluster; the third one is away."""
    return [Holder(DUAL, member, site, tmp_path) for member in DUAL.members[:2]]


def has_only(holder: Holder, vips: tuple[object, ...], others: list[Holder]) -> Callable[[], bool]:
    return lambda: (
        all(holder.has(vip) for vip in vips)
        and not any(other.has(vip) for vip in vips for other in others if other is not holder)
    )


def test_the_api_s_addresses_are_where_it_is_ready(site: Site, holders: list[Holder]) -> None:
    first, second = holders
    client = site.add("192.0.2.200/24", "2001:db8::200/64")
    for holder in holders:
        holder.hold()
    second.serve_api()
    wait(has_only(second, API, holders), *holders)
    for vip in API:
        client.run("ping", "-c", "1", "-W", "5", str(vip))
    first.serve_api()
    wait(lambda: all(f"(api_{each.version}) Entering BACKUP" in first.log.read_text() for each in API), first)
    assert has_only(second, API, holders)()
    second.end("api")
    wait(has_only(first, API, holders), *holders)
    for vip in API:
        client.run("ping", "-c", "1", "-W", "5", str(vip))
    second.serve_api()
    batch(site.switch, f"link set {first.host.port} down")
    wait(lambda: all(second.has(vip) for vip in API), *holders)


def test_nobody_has_them_while_no_api_is_ready(holders: list[Holder]) -> None:
    for holder in holders:
        holder.hold()
    # Those of ingress are held meanwhile, so that somebody had the time to take the others.
    wait(lambda: any(holder.has(INGRESS[0]) for holder in holders), *holders)
    assert not any(holder.has(vip) for vip in API for holder in holders)
    holders[0].serve_api()
    wait(has_only(holders[0], API, holders), *holders)


def test_ingress_s_addresses_are_held_and_go_where_requests_are_taken(holders: list[Holder]) -> None:
    first, second = holders
    for holder in holders:
        holder.hold()
    wait(lambda: all(sum(each.has(vip) for each in holders) == 1 for vip in INGRESS), *holders)
    second.take_requests()
    wait(has_only(second, INGRESS, holders), *holders)
    first.take_requests()
    wait(lambda: first.log.read_text().count("Changing effective priority from 100 to 150") == 2, first)
    assert has_only(second, INGRESS, holders)()
    second.end("ingress")
    wait(has_only(first, INGRESS, holders), *holders)


def test_what_a_crash_left_goes_away(holders: list[Holder]) -> None:
    first, second = holders
    first.serve_api()
    first.hold()
    wait(has_only(first, API, holders), first)
    first.crash()
    first.end("api")
    assert first.has(API[0])
    second.serve_api()
    second.hold()
    first.hold()
    wait(has_only(second, API, holders), *holders)


def claim(stranger: Host, own: str, ttl: int, targets: tuple[str, ...], log: Path) -> None:
    """Let a host claim the address of the API for as long as the test runs."""
    module = ("-m", "tests.component.vips.stranger", own, str(ttl), str(router_ids(ALONE.id)[0]), str(API[0]))
    argv = ["ip", "netns", "exec", stranger.namespace, sys.executable, *module, *targets]
    start(argv, log=log, circumstances=Circumstances(cwd=ROOT))


@pytest.mark.parametrize(
    ("own", "ttl"),
    [("192.0.2.66", 255), ("192.0.2.12", 64)],
    ids=["no peer", "the address of a peer, from another link"],
)
def test_a_stranger_does_not_take_an_address(
    own: str, ttl: int, site: Site, holders: list[Holder], tmp_path: Path
) -> None:
    first, second = holders
    for holder in holders:
        holder.hold()
    first.serve_api()
    wait(has_only(first, API, holders), *holders)
    before = [holder.dropped for holder in holders]
    claim(site.add(f"{own}/24"), own, ttl, ("192.0.2.10", "192.0.2.11", "224.0.0.18"), tmp_path / "log")
    wait(lambda: all(holder.dropped >= count + 20 for holder, count in zip(holders, before, strict=True)))
    assert has_only(first, API, holders)()
    second.serve_api()
    first.end("api")  # And it still moves between those that share it.
    wait(has_only(second, API, holders), *holders)


def test_a_stranger_does_not_take_an_address_from_a_host_without_peers(site: Site, tmp_path: Path) -> None:
    holder = Holder(ALONE, ALONE.first, site, tmp_path)
    holder.hold(guarded=False)
    holder.serve_api()
    wait(lambda: holder.has(API[0]), holder)
    claim(site.add("192.0.2.66/24"), "192.0.2.66", 255, ("224.0.0.18",), tmp_path / "log")
    wait(lambda: not holder.has(API[0]), holder)  # Without a firewall it does.
    holder.guard()
    wait(lambda: holder.has(API[0]), holder)


HOLDING = {name: cluster for name, cluster in CLUSTERS.items() if cluster.holds_vips}


@pytest.mark.parametrize("cluster", [*HOLDING.values(), ALONE], ids=[*HOLDING, "alone"])
def test_keepalived_accepts_its_configuration(cluster: Cluster, site: Site, tmp_path: Path) -> None:
    for member in {*cluster.control_plane, *cluster.schedulable}:
        run([*Holder(cluster, member, site, tmp_path).prepare(), "--config-test"])
