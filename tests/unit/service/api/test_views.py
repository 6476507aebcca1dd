# SPDX-License-Identifier: Apache-2.0
"""What clients are shown: what is computed, what is put into strings, and what is kept back."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from muster.model.wire.cluster import ClusterNetwork, MachineNetwork, ServiceNetwork
from muster.model.wire.host import HostProgressInfo
from muster.model.wire.infra_env import HostStaticNetworkConfig, KernelArgument
from muster.model.wire.inventory import Inventory
from muster.model.wire.reports import (
    ContainerImageAvailability,
    DiskSpeed,
    DomainResolution,
    FreeNetworkAddresses,
    NtpSource,
)
from muster.service.api.views.clusters import show_cluster
from muster.service.api.views.files import show_credentials, show_event, show_ignored, show_manifests
from muster.service.api.views.hosts import show_host
from muster.service.api.views.infra_envs import show_infra_env
from muster.service.api.views.text import show_verdicts
from muster.service.realm import Event
from muster.service.state import Cluster, Host, InfraEnv, Verdict
from muster.service.validations.registry import Reads, Validation, passed

NOW: Final = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def make_host(id: str = "a", **values: Any) -> Host:
    times = {"status_updated_at": NOW, "created_at": NOW, "registered_at": NOW, "updated_at": NOW}
    return Host(**{"id": id, "infra_env_id": "e", "status": "known", **times, **values})


def make_cluster(**values: Any) -> Cluster:
    times = {"status_updated_at": NOW, "created_at": NOW, "updated_at": NOW}
    return Cluster(**{"id": "c", "name": "site", "status": "ready", **times, **values})


def wire(answer: msgspec.Struct) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(answer))
    return found


def test_a_new_host_shows_little() -> None:
    shown = wire(show_host(make_host(status="discovering"), None))
    assert shown["href"] == "/api/assisted-install/v2/infra-envs/e/hosts/a"
    assert (shown["status_info"], shown["progress"], shown["role"]) == ("", {}, "auto-assign")
    for name in (
        "inventory",
        "cluster_id",
        "validations_info",
        "checked_in_at",
        "progress_stages",
        "disks_info",
    ):
        assert name not in shown


def test_what_a_host_told_is_json_in_strings() -> None:
    host = make_host(
        inventory=Inventory(hostname="a.example.com"),
        ntp_sources=(NtpSource(source_name="192.0.2.1", source_state="synced"),),
        free_addresses=(FreeNetworkAddresses(network="192.0.2.0/24", free_addresses=("192.0.2.7",)),),
        resolutions=(DomainResolution(domain_name="api.example.com", ipv4_addresses=("192.0.2.9",)),),
        disk_speeds={"/dev/sda": DiskSpeed(tested=True, exit_code=0, speed_ms=4)},
        images=(ContainerImageAvailability(name="registry.example.com/a:1", result="success"),),
        disks_to_be_formatted=("disk-1", "disk-2"),
    )
    shown = wire(show_host(host, None, connectivity=b'{"remote_hosts":[]}'))
    assert json.loads(shown["inventory"]) == {"hostname": "a.example.com"}
    assert json.loads(shown["ntp_sources"]) == [{"source_name": "192.0.2.1", "source_state": "synced"}]
    assert json.loads(shown["free_addresses"])[0]["free_addresses"] == ["192.0.2.7"]
    assert json.loads(shown["domain_name_resolutions"])["resolutions"][0]["domain_name"] == "api.example.com"
    assert json.loads(shown["disks_info"])["/dev/sda"]["disk_speed"]["speed_ms"] == 4
    assert json.loads(shown["images_status"])["registry.example.com/a:1"]["result"] == "success"
    assert json.loads(shown["connectivity"]) == {"remote_hosts": []}
    assert shown["disks_to_be_formatted"] == "disk-1,disk-2"
    assert "inventory" not in wire(show_host(host, None, inventory=False))


def test_when_a_host_was_heard_by_both_clocks() -> None:
    shown = show_host(make_host(clock_offset_s=-30), None, heard_at=NOW)
    assert (shown.checked_in_at, shown.timestamp) == (NOW, int(NOW.timestamp()) - 30)
    assert show_host(make_host(), None, heard_at=NOW).timestamp is None


def test_when_a_stage_began_is_shown_twice() -> None:
    host = make_host(progress=HostProgressInfo(current_stage="Installing", stage_started_at=NOW))
    shown = show_host(host, make_cluster())
    assert shown.progress is not None
    assert shown.stage_started_at == shown.progress.stage_started_at == NOW


def test_secrets_are_kept_back() -> None:
    host = make_host(ignition_endpoint_token="sealed-1", fencing_credentials="sealed-2")
    cluster = make_cluster(pull_secret="sealed-3")
    infra_env = make_infra_env(pull_secret="sealed-4", signing_key="sealed-5")
    body = b"".join(map(msgspec.json.encode, (show_cluster(cluster, (host,)), show_infra_env(infra_env))))
    assert b"sealed" not in body
    assert show_host(host, None).ignition_endpoint_token_set
    assert show_cluster(cluster, ()).pull_secret_set
    assert show_infra_env(infra_env).pull_secret_set


def test_checks_are_shown_by_category() -> None:
    check = Validation("a", "hardware", lambda _: passed(), Reads(), False, True, False)
    verdicts = (
        Verdict(id="a", status="failure", message="too small"),
        Verdict(id="b", status="suppressed"),
        Verdict(id="c", status="success", message="fine"),
    )
    assert json.loads(show_verdicts(verdicts, {"a": check}) or "") == {
        "hardware": [{"id": "a", "status": "failure", "message": "too small"}],
        "operators": [{"id": "c", "status": "success", "message": "fine"}],
    }
    assert show_verdicts((), {}) is None


def test_what_a_cluster_shows_of_its_hosts() -> None:
    hosts = [
        make_host("b", networks=("192.0.2.0/24",), groups=("192.0.2.0/24", "IPv4")),
        make_host("a", networks=("192.0.2.0/24", "198.51.100.0/24"), groups=("IPv4",)),
        make_host("d", status="disabled"),
        make_host("e", status="insufficient"),
    ]
    shown = wire(show_cluster(make_cluster(), hosts, with_hosts=False))
    counts = [shown[f"{name}_host_count"] for name in ("total", "enabled", "ready")]
    assert counts == [4, 3, 2]
    assert shown["host_networks"] == [
        {"cidr": "192.0.2.0/24", "host_ids": ["a", "b"]},
        {"cidr": "198.51.100.0/24", "host_ids": ["a"]},
    ]
    assert json.loads(shown["connectivity_majority_groups"]) == {"192.0.2.0/24": ["b"], "IPv4": ["a", "b"]}
    assert "hosts" not in shown


def test_addresses_that_collide_are_shown_with_their_macs() -> None:
    hosts = [
        make_host("a", collisions=("192.0.2.5 52:54:00:00:00:01 52:54:00:00:00:02",)),
        make_host("b", collisions=("192.0.2.5 52:54:00:00:00:02 52:54:00:00:00:03",)),
        make_host("d"),
    ]
    shown = json.loads(show_cluster(make_cluster(), hosts).ip_collisions or "")
    assert shown == {"192.0.2.5": [f"52:54:00:00:00:0{last}" for last in (1, 2, 3)]}


def test_older_names_follow_from_newer_ones() -> None:
    cluster = make_cluster(
        control_plane_count=1,
        cluster_networks=(
            ClusterNetwork(cidr="10.128.0.0/14", host_prefix=23),
            ClusterNetwork(cidr="fd01::/48"),
        ),
        service_networks=(ServiceNetwork(cidr="172.30.0.0/16"),),
        machine_networks=(MachineNetwork(cidr="192.0.2.0/24"),),
    )
    shown = show_cluster(cluster, ())
    assert (shown.cluster_network_cidr, shown.cluster_network_host_prefix) == ("10.128.0.0/14", 23)
    assert (shown.service_network_cidr, shown.machine_network_cidr) == ("172.30.0.0/16", "192.0.2.0/24")
    assert shown.high_availability_mode == "None"
    bare = show_cluster(make_cluster(), ())
    assert (bare.machine_network_cidr, bare.high_availability_mode) == (None, "Full")


def test_a_cluster_shows_its_hosts_and_when_they_were_heard() -> None:
    shown = show_cluster(make_cluster(), (make_host("a"), make_host("b")), heard={"a": NOW})
    assert [(each.id, each.checked_in_at) for each in shown.hosts or ()] == [("a", NOW), ("b", None)]


def test_stages_are_shown_once_the_role_is_known() -> None:
    cluster = make_cluster()
    assert show_host(make_host(), cluster).progress_stages is None
    assert show_host(make_host(role="master"), None).progress_stages is None
    for host in (make_host(role="master"), make_host(suggested_role="master")):
        assert (show_host(host, cluster).progress_stages or ())[-3:] == ("Configuring", "Joined", "Done")


def make_infra_env(**values: Any) -> InfraEnv:
    return InfraEnv(id="e", name="site", created_at=NOW, updated_at=NOW, **values)


def test_an_infra_env() -> None:
    infra_env = make_infra_env(
        static_network_config=(HostStaticNetworkConfig(network_yaml="interfaces: []"),),
        kernel_arguments=(KernelArgument(operation="append", value="quiet"),),
    )
    shown = wire(show_infra_env(infra_env, "https://images.example.com/e.iso", NOW))
    assert json.loads(shown["static_network_config"]) == [{"network_yaml": "interfaces: []"}]
    assert json.loads(shown["kernel_arguments"]) == [{"operation": "append", "value": "quiet"}]
    assert (shown["download_url"], shown["kind"]) == ("https://images.example.com/e.iso", "InfraEnv")
    assert shown["expires_at"] == "2026-03-01T12:00:00Z"
    bare = wire(show_infra_env(make_infra_env()))
    assert not {"static_network_config", "download_url", "expires_at", "size_bytes"} & set(bare)


def test_an_event_says_whose_it_is() -> None:
    event = Event(
        at=NOW, kind="host", id="a", name="host_role_updated", message="m", props={"role": "master"}
    )
    shown = show_event(event, cluster_id="c", infra_env_id="e")
    assert (shown.host_id, shown.cluster_id, shown.infra_env_id) == ("a", "c", "e")
    assert json.loads(shown.props or "") == {"role": "master"}
    cluster = show_event(Event(at=NOW, kind="cluster", id="c"))
    assert (cluster.host_id, cluster.cluster_id, cluster.infra_env_id) == (None, "c", None)


def test_manifests_credentials_and_ignored_checks() -> None:
    cluster = make_cluster(manifests=("manifests/a.yaml",), base_dns_domain="example.com")
    assert [(each.folder, each.file_name) for each in show_manifests(cluster)] == [("manifests", "a.yaml")]
    assert show_credentials(cluster, "kubeadmin", "x").console_url is None
    ignored = show_ignored(make_cluster(ignored_host_validations=("all",)))
    assert (ignored.host_validation_ids, ignored.cluster_validation_ids) == ('["all"]', "[]")
