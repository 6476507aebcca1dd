# SPDX-License-Identifier: Apache-2.0
"""Every reason that can hold somebody up: it is seen in a browser with why and fix, mended, and gone.

What reasons there are the service says itself: one that no story plays, and for which nobody says why it
cannot be played, fails here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec.structs import replace
from playwright.sync_api import Page, expect

from muster.lab.sim.machines import Machine
from muster.model.wire.inventory import Cpu, Disk, InventoryTruncation, Iscsi, Memory, SystemVendor
from muster.service.wizard import reasons
from tests.browser import acts
from tests.browser.blocked import Traveller
from tests.browser.conftest import Desk
from tests.browser.serving import CLUSTER, INFRA_ENV, RIVALS, STORE
from tests.browser.stage import Stage, open_stage
from tests.component.service.whole import PULL_SECRET

DETAILS = ("cluster/dns-domain-defined", "cluster/pull-secret-set", "cluster/release-available")
HARDWARE = (
    *("host/has-inventory", "host/inventory-not-fully-truncated", "host/has-min-cpu-cores"),
    *("host/has-min-memory", "host/has-cpu-cores-for-role", "host/has-memory-for-role"),
    *("host/hostname-unique", "host/hostname-valid", "host/compatible-with-cluster-platform"),
    "cluster/sufficient-masters-count",
)
DISKS = ("host/has-min-valid-disks", "host/vsphere-disk-uuid-enabled")
OWN_NETWORK = (
    *("host/has-default-route", "host/non-overlapping-subnets", "host/valid-platform-network-settings"),
)
AWAY = ("host/connected", "host/media-connected")
BETWEEN = (
    *("host/belongs-to-majority-group", "host/no-ip-collisions-in-network"),
    *("host/sufficient-network-latency-requirement-for-role", "host/time-synced-between-host-and-service"),
    *("host/sufficient-packet-loss-requirement-for-role", "host/dns-wildcard-not-configured"),
    *("cluster/api-vips-valid", "cluster/ingress-vips-valid", "cluster/ntp-server-configured"),
)
NOT_GIVEN = (
    *("cluster/api-vips-defined", "cluster/ingress-vips-defined"),
    *("cluster/machine-cidr-defined", "host/machine-cidr-defined"),
)
NO_RANGES = ("cluster/cluster-cidr-defined", "cluster/service-cidr-defined")
RANGES = (
    *("cluster/no-cidrs-overlapping", "cluster/networks-same-address-families"),
    *("cluster/network-prefix-valid", "cluster/network-type-valid"),
    *("cluster/machine-cidr-equals-to-calculated-cidr", "host/belongs-to-machine-cidr"),
)
PLUGIN = ("cluster/custom-manifests-requirements-satisfied",)
NAMES = (
    "host/api-domain-name-resolved-correctly",
    "host/api-int-domain-name-resolved-correctly",
    "host/apps-domain-name-resolved-correctly",
)
KEPT = ("host/no-skip-installation-disk",)
MISSING = ("host/no-skip-missing-disk",)
ISCSI = ("host/no-iscsi-nic-belongs-to-machine-cidr",)
SLOW = ("host/sufficient-installation-disk-speed",)
STRANGERS = ("cluster/no-hosts-left-behind",)
RIVAL = ("cluster/rendezvous-ip-unique",)
CREDENTIALS = ("cluster/credentials-downloaded",)
READY = ("cluster/all-hosts-are-ready-to-install",)
PLAYED = (
    *(DETAILS, HARDWARE, DISKS, OWN_NETWORK, AWAY, BETWEEN, NOT_GIVEN, NO_RANGES, RANGES, PLUGIN, NAMES),
    *(KEPT, MISSING, ISCSI, SLOW, STRANGERS, RIVAL, CREDENTIALS, READY),
)
UNPLAYED = {
    "host/disk-encryption-requirements-satisfied": "disk_encryption is refused when it is requested",
    "host/compatible-agent": "no service of ours wants a certain agent",
    "host/matches-site-files": "a site without files has none that a host could differ from",
    "cluster/release-fetched": "only a site that installs itself fetches its release beforehand",
    "host/ignition-downloadable": "only hosts that join a cluster which exists download its Ignition",
    "cluster/cluster-judged": "what is changed is judged before anybody is answered",
}

SECOND = Disk(
    name="vdb",
    path="/dev/vdb",
    id="/dev/disk/by-path/pci-0000:05:00.0",
    by_path="/dev/disk/by-path/pci-0000:05:00.0",
    drive_type="HDD",
    size_bytes=128_000_000_000,
    bootable=True,
)


def test_every_reason_that_the_service_has_is_played() -> None:
    played = {each for group in PLAYED for each in group}
    assert played.isdisjoint(UNPLAYED)
    assert played | UNPLAYED.keys() == {f"{of}/{id}" for of, id in reasons()}


@pytest.fixture
def page(desk: Desk) -> Page:
    return desk.page


def begin(page: Page, stage: Stage, control_planes: int) -> Traveller:
    """A cluster whose hosts have met."""
    acts.log_in(page, stage)
    acts.make_cluster(page, control_planes)
    stage.meet()
    return Traveller(page, stage)


def test_what_a_cluster_has_to_be_given(page: Page, tmp_path: Path) -> None:
    with open_stage(tmp_path, 1, is_hurried=True) as stage:
        body = {"name": "alpha", "openshift_version": stage.version, "pull_secret": ""}
        acts.log_in(page, stage)
        got = stage.ask("POST", "/clusters", {**body, "control_plane_count": 1})
        assert got.get("id") == CLUSTER, got
        store = stage.folder / STORE
        restart(stage, lambda: store.rename(store.with_name("away")))
        page.goto(stage.url)
        traveller = Traveller(page, stage)
        traveller.is_held_up("cluster-details", *DETAILS)
        page.get_by_label("Base domain").fill("example.com")
        page.locator("#details-secret-paste").check()
        page.locator("#details-pull-secret").fill(PULL_SECRET)
        traveller.is_held_up("cluster-details", "cluster/release-available")
        restart(stage, lambda: store.with_name("away").rename(store))
        traveller.goes_on("cluster-details")
        traveller.is_held_up("host-discovery", "cluster/sufficient-masters-count")
        stage.meet()
        traveller.goes_on("host-discovery")
        traveller.is_held_up("credentials", *CREDENTIALS)
        acts.take_all(page)
        traveller.goes_on("credentials")
        page.get_by_test_id("install").click()
        stage.until(lambda: stage.is_at("finalizing"), "all hosts are done")


def restart(stage: Stage, meanwhile: Any) -> None:
    """The service is killed, and something happens before it is there again."""
    stage.kill()
    meanwhile()
    stage.start()


def parts_of(stage: Stage, number: int) -> Any:
    return stage.hosts[number].inventory


def unfit(stage: Stage) -> dict[int, dict[str, Any]]:
    """What two of three hosts are made of, so that nearly nothing is right about them."""
    first, second = parts_of(stage, 1), parts_of(stage, 2)
    disk, card, memory = second.disks[0], second.interfaces[0], second.memory
    return {
        1: {
            "cpu": None,
            "hostname": "Node_One",
            "truncation": InventoryTruncation(type="full", reasons=("a thousand disks",)),
            "system_vendor": SystemVendor(
                manufacturer="VMware, Inc.", product_name="VMware Virtual Platform"
            ),
            "disks": (replace(first.disks[0], has_uuid=False),),
        },
        2: {
            "cpu": Cpu(count=0, architecture="x86_64"),
            "memory": Memory(physical_bytes=1 << 29, physical_bytes_method=memory.physical_bytes_method),
            "hostname": parts_of(stage, 0).hostname,
            "system_vendor": SystemVendor(manufacturer="Red Hat", product_name="OpenStack Compute"),
            "disks": (replace(disk, size_bytes=1_000_000_000),),
            "routes": (),
            "interfaces": (card, replace(card, name="enp2s0", mac_address="02:00:05:00:ff:01")),
        },
    }


def test_what_hosts_are_made_of(page: Page, tmp_path: Path) -> None:
    with open_stage(tmp_path, 3, is_hurried=True) as stage:
        traveller = begin(page, stage, 3)
        traveller.patch(api_vips=[{"ip": "192.0.2.200"}], ingress_vips=[{"ip": "192.0.2.201"}])
        traveller.goes_on("networking")
        for number, parts in unfit(stage).items():
            stage.crew.rebuild(number, **parts)
        traveller.patch(platform={"type": "vsphere"})
        traveller.is_held_up("host-discovery", *HARDWARE)
        traveller.is_held_up("storage", *DISKS)
        traveller.is_held_up("networking", *OWN_NETWORK)
        traveller.is_held_up("review", *READY)
        stage.crew.mend()
        traveller.patch(platform={"type": "baremetal"})
        for step in ("host-discovery", "storage", "networking"):
            traveller.goes_on(step)


def test_what_is_between_hosts(page: Page, tmp_path: Path) -> None:
    with open_stage(tmp_path, 4, is_hurried=True) as stage:
        traveller = begin(page, stage, 3)
        traveller.go("networking")
        acts.give_addresses(page)
        traveller.goes_on("networking")
        zero, one, two, three = (host.name for host in stage.hosts)
        stage.crew.disturb(f"media:{one}", f"power:{two}")
        traveller.is_held_up("host-discovery", *AWAY)
        stage.crew.mend()
        traveller.goes_on("host-discovery")
        own = parts_of(stage, 3).interfaces[0].mac_address
        stage.crew.disturb(
            *(f"delay:{one}=300ms", f"loss:{one}=40%", f"duplicate-ip:{zero}", f"skew:{two}=+90m"),
            *("vip-in-use:192.0.2.200", "vip-in-use:192.0.2.201"),
            names={"*.alpha.example.com": ("192.0.2.99",)},
            segments=segments(),
            ports={own: "apart"},
            is_routed=False,
        )
        assert three
        traveller.is_held_up("networking", *BETWEEN)
        stage.crew.mend()
        traveller.goes_on("networking")


def segments() -> Any:
    from muster.lab.sim.world import MAIN, Segment

    return (Segment(MAIN), Segment("apart"))


def test_the_networks_of_a_cluster(page: Page, tmp_path: Path) -> None:
    with open_stage(tmp_path, 3, is_hurried=True) as stage:
        traveller = begin(page, stage, 3)
        traveller.goes_on("host-discovery")
        traveller.is_held_up("networking", *NOT_GIVEN)
        acts.give_addresses(page)
        traveller.goes_on("networking")
        before = stage.cluster()
        traveller.patch(cluster_networks=[], service_networks=[])
        traveller.is_held_up("networking", *NO_RANGES)
        traveller.patch(
            cluster_networks=[{"cidr": "10.128.0.0/22", "host_prefix": 23}],
            service_networks=[{"cidr": "10.128.0.0/16"}, {"cidr": "fd02::/112"}],
            machine_networks=[{"cidr": "198.51.100.0/24"}],
            network_type="OpenShiftSDN",
        )
        traveller.is_held_up("networking", *RANGES)
        traveller.patch(
            cluster_networks=[{"cidr": "10.128.0.0/14", "host_prefix": 23}],
            service_networks=[{"cidr": "172.30.0.0/16"}],
            machine_networks=[],
            network_type=before["network_type"],
        )
        traveller.goes_on("networking")
        traveller.patch(network_type="Calico")
        traveller.is_held_up("custom-manifests", *PLUGIN)
        upload(page)
        traveller.goes_on("custom-manifests")
        traveller.go("networking")
        page.locator("#network-user").check()
        traveller.is_held_up("networking", *NAMES)
        stage.crew.disturb(
            names={
                "api.alpha.example.com": ("192.0.2.2",),
                "api-int.alpha.example.com": ("192.0.2.2",),
                "*.apps.alpha.example.com": ("192.0.2.3",),
            }
        )
        traveller.goes_on("networking")


def upload(page: Page) -> None:
    manifest = b"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: calico-system\n"
    page.locator("input[type=file]").set_input_files(
        {"name": "calico.yaml", "mimeType": "application/yaml", "buffer": manifest}
    )
    expect(page.get_by_text("calico.yaml")).to_be_visible()


def test_disks_that_cannot_be_taken(page: Page, tmp_path: Path) -> None:
    with open_stage(tmp_path, 1, is_hurried=True) as stage:
        traveller = begin(page, stage, 1)
        traveller.goes_on("host-discovery")
        first = parts_of(stage, 0).disks[0]
        stage.crew.rebuild(0, disks=(first, SECOND))
        traveller.go("storage")
        tick(page, "checkbox", "vdb")
        tick(page, "radio", "vdb")
        traveller.is_held_up("storage", *KEPT)
        tick(page, "radio", "vda")
        traveller.goes_on("storage")
        stage.crew.rebuild(0, disks=(first,))
        traveller.is_held_up("storage", *MISSING)
        page.get_by_role("checkbox", name="/dev/disk/by-path/pci-0000:05:00.0").click()
        traveller.goes_on("storage")


def test_disks_that_are_far_away_or_broken(page: Page, tmp_path: Path) -> None:
    with open_stage(tmp_path, 1, is_hurried=True) as stage:
        traveller = begin(page, stage, 1)
        traveller.goes_on("host-discovery")
        stage.crew.rebuild(0, disks=multipath(stage.hosts[0]))
        page.get_by_test_id("step-storage").click()
        tick(page, "radio", "mpatha")
        traveller.is_held_up("networking", *ISCSI)
        stage.crew.mend()
        traveller.go("storage")
        tick(page, "radio", "vda")
        traveller.goes_on("networking")
        traveller.go("credentials")
        acts.take_all(page)
        stage.crew.disturb(f"disk-full:{stage.hosts[0].name}")
        traveller.go("review")
        expect(page.locator("#why-not")).to_have_text("")
        page.get_by_test_id("install").click()
        stage.until(lambda: not stage.is_at("ready"), "it begins")
        expect(page.get_by_test_id("step-storage")).to_be_visible()
        traveller.is_held_up("storage", *SLOW)
        stage.crew.mend()
        traveller.goes_on("storage")


def tick(page: Page, role: Literal["checkbox", "radio"], name: str) -> None:
    """Choose something, which is so when the service has said so."""
    page.get_by_role(role, name=name).click()
    expect(page.get_by_role(role, name=name)).to_be_checked()


def multipath(machine: Machine) -> tuple[Disk, ...]:
    """A disk with two ways to it, over a card in the network of the machines."""
    own = (machine.inventory.interfaces or ())[0]
    address = (own.ipv4_addresses or ("",))[0].partition("/")[0]
    way = Disk(
        name="sda",
        path="/dev/sda",
        id="/dev/sda",
        drive_type="iSCSI",
        size_bytes=128_000_000_000,
        holders="mpatha",
        iscsi=Iscsi(host_ip_address=address),
    )
    above = Disk(
        name="mpatha",
        path="/dev/dm-0",
        id="/dev/disk/by-id/dm-uuid-mpath-0",
        by_id="/dev/disk/by-id/dm-uuid-mpath-0",
        drive_type="Multipath",
        size_bytes=128_000_000_000,
    )
    return (*(machine.inventory.disks or ()), way, above)


def test_others_that_are_in_the_way(page: Page, tmp_path: Path) -> None:
    with open_stage(tmp_path, 4, is_hurried=True) as stage:
        acts.log_in(page, stage)
        acts.make_cluster(page, 3)
        stage.meet(*stage.hosts[:3])
        traveller = Traveller(page, stage)
        traveller.patch(api_vips=[{"ip": "192.0.2.200"}], ingress_vips=[{"ip": "192.0.2.201"}])
        traveller.goes_on("host-discovery")
        left = stage.hosts[3]
        told = {"current_stage": "Joined", "progress_info": left.name}
        stage.ask("PUT", f"/infra-envs/{INFRA_ENV}/hosts/{left.host_id}/progress", told, as_host=True)
        traveller.is_held_up("host-discovery", *STRANGERS)
        stage.meet(left)
        traveller.goes_on("host-discovery")
        rivals = stage.folder / RIVALS
        restart(stage, lambda: rivals.write_text("02:00:00:00:00:99"))
        traveller.is_held_up("networking", *RIVAL)
        restart(stage, rivals.unlink)
        traveller.goes_on("networking")
