# SPDX-License-Identifier: Apache-2.0
"""The smaller checks, as agents answer them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec
import pytest

from muster.model.wire.cluster import ApiVip, MachineNetwork
from muster.model.wire.inventory import Interface
from muster.model.wire.reports import ApiVipConnectivityResponse, StepReply, TangConnectivityResponse
from muster.service.decisions.replies import take_reply
from muster.service.realm import Draft, Realm
from muster.service.refusals import BadRequest
from muster.service.state import Host
from tests.unit.service.hosts import (
    NOW,
    all_told,
    answer,
    host_id,
    mac,
    make_disk,
    make_realm,
    tell_inventory,
)


def me(realm: Realm) -> Host:
    return realm.hosts[host_id(1)]


def test_time_sources() -> None:
    realm = all_told(1)
    sources = [
        {"source_name": "ntp.example.com", "source_state": "synced"},
        {"source_name": "192.0.2.1", "source_state": "bewildered"},
    ]
    answer(realm, 1, "ntp-synchronizer", {"ntp_sources": sources})
    assert [(each.source_name, each.source_state) for each in me(realm).ntp_sources or ()] == [
        ("192.0.2.1", "error"),
        ("ntp.example.com", "synced"),
    ]
    assert answer(realm, 1, "ntp-synchronizer", {"ntp_sources": sources[::-1]}).events == []
    answer(realm, 1, "ntp-synchronizer", {"ntp_sources": None})
    assert me(realm).ntp_sources == ()


def test_names_resolve_in_any_order() -> None:
    realm = all_told(1)
    asked = {"api.example.com"}
    found = [{"domain_name": "api.example.com", "ipv4_addresses": ["192.0.2.2", "192.0.2.1"]}]
    answer(realm, 1, "domain-resolution", {"resolutions": found}, asked=asked)
    found[0]["ipv4_addresses"] = ["192.0.2.1", "192.0.2.2"]
    assert answer(realm, 1, "domain-resolution", {"resolutions": found}, asked=asked).events == []
    assert answer(realm, 1, "domain-resolution", {"resolutions": None}, asked=asked).events != []


def test_free_addresses_and_none_yet() -> None:
    realm = all_told(1)
    nic = Interface(name="eth0", mac_address=mac(1), ipv4_addresses=("192.0.2.1/30",))
    tell_inventory(realm, 1, interfaces=(nic,))
    answer(realm, 1, "free-network-addresses", [{"network": "192.0.2.0/30", "free_addresses": ["192.0.2.2"]}])
    assert answer(realm, 1, "free-network-addresses", "").events == []
    assert [each.network for each in me(realm).free_addresses or ()] == ["192.0.2.0/30"]


def test_a_slow_disk_is_told_once() -> None:
    realm = all_told(1)
    slow = {"path": "/dev/sda", "io_sync_duration": 23}
    draft = answer(realm, 1, "installation-disk-speed-check", slow)
    assert me(realm).disk_speeds["/dev/sda"].speed_ms == 23
    assert [each.severity for each in draft.events if each.name] == ["warning"]
    assert "takes 23 ms" in draft.events[-1].message
    assert answer(realm, 1, "installation-disk-speed-check", slow).events == []
    assert answer(realm, 1, "installation-disk-speed-check", "").events == []


def test_a_disk_that_could_not_be_measured() -> None:
    realm = all_told(1)
    answer(realm, 1, "installation-disk-speed-check", "", exit_code=124)
    assert me(realm).disk_speeds["/dev/sda"].exit_code == 124


def test_images_are_merged_and_not_measured_again() -> None:
    realm = all_told(1)
    first = {"name": "a", "result": "success", "size_bytes": 10, "download_rate": 3.5}
    answer(realm, 1, "container-image-availability", {"images": [first]}, asked="ab")
    more = [{"name": "a", "result": "success"}, {"name": "b", "result": "failure"}]
    draft = answer(realm, 1, "container-image-availability", {"images": more}, exit_code=2, asked="ab")
    assert [(each.name, each.result, each.download_rate) for each in me(realm).images] == [
        ("a", "success", 3.5),
        ("b", "failure", None),
    ]
    assert [each.severity for each in draft.events if each.name] == ["error"]
    again = answer(realm, 1, "container-image-availability", {"images": more}, exit_code=2, asked="ab")
    assert again.events == []


def test_tang() -> None:
    realm = all_told(1)
    answer(realm, 1, "tang-connectivity-check", {"is_success": True, "tang_server_response": None})
    assert me(realm).tang_connectivity == TangConnectivityResponse(is_success=True)
    answer(realm, 1, "tang-connectivity-check", "no such host", exit_code=1)
    assert me(realm).tang_connectivity == TangConnectivityResponse(is_success=False)


def test_what_a_cluster_hands_out_is_kept_in_outline_only() -> None:
    realm = all_told(1)
    ignition = {
        "storage": {
            "luks": [{"name": "root", "clevis": {"tpm2": True}, "keyFile": {"source": "data:,secret"}}],
            "files": [{"path": "/etc/kubernetes/kubeconfig", "contents": {"source": "data:,secret"}}],
        }
    }
    body = {"is_success": True, "url": "http://api", "ignition": msgspec.json.encode(ignition).decode()}
    answer(realm, 1, "api-vip-connectivity-check", body)
    found = me(realm).api_vip_connectivity
    assert found is not None
    assert found.ignition is not None
    assert "secret" not in found.ignition
    assert msgspec.json.decode(found.ignition) == {
        "storage": {
            "files": [{"path": "/etc/kubernetes/kubeconfig"}],
            "luks": [{"name": "root", "clevis": {"tpm2": True}}],
        }
    }
    answer(realm, 1, "api-vip-connectivity-check", {"is_success": True, "ignition": "garbage"})
    assert me(realm).api_vip_connectivity == ApiVipConnectivityResponse(is_success=True)


def leases(api: str, ingress: str) -> dict[str, str]:
    return {"api_vip_address": api, "ingress_vip_address": ingress}


def with_leases(hosts: int = 1, **cluster: Any) -> Realm:
    networks = (MachineNetwork(cidr="198.18.0.0/16"),)
    return all_told(hosts, vip_dhcp_allocation=True, machine_networks=networks, **cluster)


def lease(realm: Realm, number: int, api: str, ingress: str, asked: Collection[str] = ("request",)) -> Draft:
    return answer(realm, number, "dhcp-lease-allocate", leases(api, ingress), asked=asked)


def vips(realm: Realm) -> list[str | None]:
    assert realm.cluster is not None
    api, ingress = realm.cluster.api_vips, realm.cluster.ingress_vips
    return [*(each.ip for each in api), *(each.ip for each in ingress)]


def test_leases_become_virtual_addresses() -> None:
    realm = with_leases()
    lease(realm, 1, "198.18.3.3", "198.18.3.4")
    assert vips(realm) == ["198.18.3.3", "198.18.3.4"]
    assert lease(realm, 1, "198.18.3.3", "198.18.3.4").events == []
    with pytest.raises(BadRequest, match=r"192\.0\.2\.9 is not in the machine network"):
        lease(realm, 1, "192.0.2.9", "198.18.3.4")


def test_leases_that_were_not_asked_for_are_not_taken() -> None:
    realm = with_leases()
    assert lease(realm, 1, "198.18.3.3", "198.18.3.4", asked=()).events == []
    assert vips(realm) == []


@pytest.mark.parametrize(
    "status", ["preparing-for-installation", "installing", "finalizing", "installed", "error", "cancelled"]
)
def test_leases_are_settled_when_the_installation_begins(status: str) -> None:
    realm = with_leases()
    lease(realm, 1, "198.18.3.3", "198.18.3.4")
    assert realm.cluster is not None
    realm.cluster = msgspec.structs.replace(realm.cluster, status=status)
    assert not [each for each in lease(realm, 1, "198.18.6.6", "198.18.6.7").events if each.name]
    assert vips(realm) == ["198.18.3.3", "198.18.3.4"]


def test_the_first_lease_counts_until_a_person_changes_it() -> None:
    realm = with_leases(2)
    lease(realm, 1, "198.18.3.3", "198.18.3.4")
    other = lease(realm, 2, "198.18.6.6", "198.18.3.4")
    (told,) = (each for each in other.events if each.name)
    assert (told.name, told.severity) == ("other_vip_lease", "warning")
    assert "198.18.6.6" in told.message
    assert "keeps 198.18.3.3" in told.message
    assert vips(realm) == ["198.18.3.3", "198.18.3.4"]
    assert realm.cluster is not None
    realm.cluster = msgspec.structs.replace(realm.cluster, ingress_vips=())
    lease(realm, 2, "198.18.3.3", "198.18.6.7")
    assert vips(realm) == ["198.18.3.3", "198.18.6.7"]


def test_leases_of_another_machine_network_are_replaced() -> None:
    realm = with_leases(api_vips=(ApiVip(ip="203.0.113.3"),))
    lease(realm, 1, "198.18.3.3", "198.18.3.4")
    assert vips(realm) == ["198.18.3.3", "198.18.3.4"]


def test_an_upgrade_is_told() -> None:
    realm = all_told(1)
    asked = {"agent:2"}
    done = answer(realm, 1, "upgrade-agent", {"agent_image": "agent:2", "result": "success"}, asked=asked)
    assert [each.name for each in done.events] == ["upgrade_agent_finished"]
    failed = answer(realm, 1, "upgrade-agent", {"agent_image": "agent:2", "result": "failure"}, asked=asked)
    assert [each.name for each in failed.events] == ["upgrade_agent_failed"]


def install(realm: Realm, **reply: Any) -> list[str]:
    why: list[str] = []
    draft = Draft(realm, NOW)
    take_reply(
        draft,
        me(realm),
        StepReply(step_type="install", **reply),
        lambda draft, host, text: why.append(text),
        frozenset(),
    )
    return why


def test_an_installation_that_could_not_be_started() -> None:
    realm = all_told(1)
    assert install(realm, exit_code=0) == []
    assert install(realm, exit_code=1, error="no such image") == ["no such image"]
    assert install(realm, exit_code=1) == ["the installer ended with status 1"]
    assert install(realm, exit_code=125, error='the container name "x" is already in use') == []
    assert install(realm, exit_code=125, error="no space left") == ["no space left"]


def test_a_lost_medium_and_its_return() -> None:
    realm = all_told(1)
    answer(realm, 1, "inventory", "cannot read /dev/sr0", exit_code=256)
    assert me(realm).media_status == "disconnected"
    answer(realm, 1, "ntp-synchronizer", {"ntp_sources": []})
    assert me(realm).media_status == "connected"


@pytest.mark.parametrize("status", ["installing", "installing-in-progress"])
def test_a_medium_that_is_lost_while_it_installs_fails_it_at_once(status: str) -> None:
    realm = all_told(1, status="installing")
    realm.put("host", me(realm).id, msgspec.structs.replace(me(realm), status=status))
    reply = StepReply(step_type="inventory", exit_code=256, error="cannot read /dev/sr0\n")
    draft = Draft(realm, NOW)
    take_reply(draft, me(realm), reply, lambda draft, host, text: None, frozenset())
    host = draft.hosts[me(realm).id]
    assert (host.status, host.media_status) == ("error", "disconnected")
    assert host.status_info == "The host cannot read the medium that it booted from: cannot read /dev/sr0"
    lost = StepReply(step_type="inventory", exit_code=256)
    take_reply(draft, host, lost, lambda draft, host, text: None, frozenset())
    assert draft.hosts[host.id].status_info == host.status_info, "the first reason counts"


@pytest.mark.parametrize("step_type", ["inventory", "connectivity-check", "verify-vips", "logs-gather"])
def test_a_failed_step_says_nothing(step_type: str) -> None:
    assert answer(all_told(1), 1, step_type, "Traceback", exit_code=1).events == []


def test_a_reply_to_nothing_is_refused() -> None:
    realm = all_told(1)
    with pytest.raises(BadRequest, match="does not say to which step"):
        take_reply(Draft(realm, NOW), me(realm), StepReply(), lambda draft, host, text: None, frozenset())


LONG = "x" * 100_000


def test_only_images_that_were_asked_for_are_taken() -> None:
    realm = all_told(1)
    images = [{"name": f"image-{at}", "result": "failure"} for at in range(1000)]
    draft = answer(realm, 1, "container-image-availability", {"images": images * 2}, asked={"image-7"})
    assert [each.name for each in me(realm).images] == ["image-7"]
    assert [each.name for each in draft.events if each.name] == ["image_status_updated"]


def test_only_disks_that_are_there_are_measured() -> None:
    realm = make_realm(1)
    tell_inventory(realm, 1, disks=(make_disk("sda"), make_disk("sdb")))
    for path in ("/dev/sda", "/dev/sdb"):
        answer(realm, 1, "installation-disk-speed-check", {"path": path, "io_sync_duration": 1})
    with pytest.raises(BadRequest, match="the host has no disk"):
        answer(realm, 1, "installation-disk-speed-check", {"path": f"/dev/{LONG}", "io_sync_duration": 1})
    tell_inventory(realm, 1, disks=(make_disk("sdb"), make_disk("sdc")))
    answer(realm, 1, "installation-disk-speed-check", {"path": "/dev/sdc", "io_sync_duration": 1})
    assert me(realm).disk_speeds.keys() == {"/dev/sdb", "/dev/sdc"}, "one that is gone is forgotten"


def test_only_names_that_were_asked_for_are_taken() -> None:
    realm = all_told(1)
    addresses = [f"192.0.2.{at}" for at in range(200)]
    found = [{"domain_name": f"n{at}", "ipv4_addresses": addresses} for at in range(100)]
    answer(realm, 1, "domain-resolution", {"resolutions": found * 2}, asked={"n3", "n4"})
    (first, second) = me(realm).resolutions or ()
    assert (first.domain_name, second.domain_name) == ("n3", "n4")
    assert len(first.ipv4_addresses or ()) == 64
    with pytest.raises(BadRequest, match="text of more than 255 bytes"):
        answer(
            realm,
            1,
            "domain-resolution",
            {"resolutions": [{"domain_name": "a", "cnames": ["x" * 300]}]},
            asked="a",
        )


def test_only_virtual_addresses_of_the_cluster_are_taken() -> None:
    realm = all_told(1, api_vips=(ApiVip(ip="198.18.3.3"),))
    told = [{"vip": vip, "vip_type": "api", "verification": "failed"} for vip in ("198.18.3.3", LONG, None)]
    answer(realm, 1, "verify-vips", told * 5)
    assert [each.vip for each in me(realm).verified_vips or ()] == ["198.18.3.3"]


def test_only_free_addresses_of_own_networks_are_taken() -> None:
    realm = all_told(1)
    mine = {
        "network": "198.18.0.0/16",
        "free_addresses": [f"198.18.{at >> 8}.{at & 255}" for at in range(9000)],
    }
    answer(realm, 1, "free-network-addresses", [mine, {"network": LONG, "free_addresses": [LONG]}])
    (free,) = me(realm).free_addresses or ()
    assert (free.network, len(free.free_addresses or ())) == ("198.18.0.0/16", 1024)
    with pytest.raises(BadRequest, match="text of more than 64 bytes"):
        answer(realm, 1, "free-network-addresses", [{"network": "198.18.0.0/16", "free_addresses": [LONG]}])


def test_no_more_is_told_of_an_upgrade_than_what_was_asked_for() -> None:
    realm = all_told(1)
    told = {"agent_image": LONG, "result": "success"}
    assert answer(realm, 1, "upgrade-agent", told).events == []
    draft = answer(realm, 1, "upgrade-agent", told, asked={"agent:2"})
    assert [each.message for each in draft.events] == ["Host host-1: could not fetch agent agent:2"]


@pytest.mark.parametrize(
    ("step_type", "output"),
    [
        ("ntp-synchronizer", {"ntp_sources": [{"source_name": LONG}]}),
        ("ntp-synchronizer", {"ntp_sources": [{"source_name": "a"}] * 129}),
        ("tang-connectivity-check", {"tang_server_response": [{"payload": LONG}]}),
        ("tang-connectivity-check", {"tang_server_response": [{"payload": "x" * 9000}] * 9}),
        ("api-vip-connectivity-check", {"ignition": f'{{"storage":{{"files":[{{"path":"{LONG * 3}"}}]}}}}'}),
        ("verify-vips", "[" + " " * (1 << 20) + "]"),
        ("connectivity-check", "{" + " " * (4 << 20) + "}"),
    ],
)
def test_more_than_a_host_needs_to_say_is_refused(step_type: str, output: object) -> None:
    realm = all_told(1)
    before = me(realm)
    with pytest.raises(BadRequest):
        answer(realm, 1, step_type, output)
    assert me(realm) is before


def test_what_went_wrong_is_kept_in_short() -> None:
    realm = all_told(1)
    answer(realm, 1, "api-vip-connectivity-check", {"url": LONG, "download_error": LONG})
    found = me(realm).api_vip_connectivity
    assert found is not None
    assert (len(found.url or ""), len(found.download_error or "")) == (2048, 500)


@pytest.mark.parametrize(
    "ignition", ["[" * 90_000, '{"a":' * 90_000, '{"storage":{"files":"[' + "[" * 90_000], ids=str.__len__
)
def test_an_ignition_that_is_nested_too_deeply_is_not_kept(ignition: str) -> None:
    realm = all_told(1)
    answer(realm, 1, "api-vip-connectivity-check", {"is_success": True, "ignition": ignition})
    assert me(realm).api_vip_connectivity == ApiVipConnectivityResponse(is_success=True)


@pytest.mark.parametrize("item", ["{},", "[],", "1,"])
@pytest.mark.parametrize(
    "step", ["inventory", "connectivity-check", "api-vip-connectivity-check", "verify-vips"]
)
def test_items_are_counted_in_the_text_that_is_decoded(step: str, item: str) -> None:
    """The limit of bodies sees an escaped comma as an ordinary character."""
    realm = all_told(1)
    with pytest.raises(BadRequest, match="items"):
        answer(realm, 1, step, f'{{"disks":[{item * 200_001}1]}}')
    ignition = f"[{item * 100_001}1]"
    with pytest.raises(BadRequest, match="items"):
        answer(realm, 1, "api-vip-connectivity-check", {"is_success": True, "ignition": ignition})
