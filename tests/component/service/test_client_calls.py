# SPDX-License-Identifier: Apache-2.0
"""The client package from PyPI: every operation that it has, called over TLS, on full and minimal objects."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from muster.lab.sim.stand_ins import INGRESS
from muster.service.api.views.clusters import NEVER
from muster.service.house import House
from tests.component.live import Live
from tests.component.service.calling import OPERATIONS, Caller, models
from tests.component.service.test_client_operations import NOT_OFFERED
from tests.component.service.whole import PULL_SECRET, SSH_KEY, Whole, machines, open_service, play
from tests.discovery import CA, NETWORK, base_of

NOTHING_TO_FIND: Final = ("v2_get_bundle", "v2_list_operator_properties")
"""There are no operators to choose from yet: the client gets a clear refusal."""
MANIFEST: Final = base64.b64encode(b"kind: Namespace\n").decode()
FULL_CLUSTER: Final[dict[str, Any]] = {
    "name": "full",
    "high_availability_mode": "Full",
    "ocp_release_image": "registry.example.com/release@sha256:" + "a" * 64,
    "os_stream": "stable",
    "pull_secret": PULL_SECRET,
    "base_dns_domain": "example.com",
    "cluster_network_cidr": "10.132.0.0/14",
    "cluster_network_host_prefix": 24,
    "service_network_cidr": "172.31.0.0/16",
    "api_vips": [models.ApiVip(ip="192.0.2.200")],
    "ingress_vips": [models.IngressVip(ip="192.0.2.201")],
    "ssh_public_key": SSH_KEY,
    "vip_dhcp_allocation": False,
    "http_proxy": "http://proxy.example.com:3128",
    "https_proxy": "http://proxy.example.com:3128",
    "no_proxy": "example.com",
    "user_managed_networking": False,
    "additional_ntp_source": "ntp.example.com",
    "ntp_sources": "ntp.example.com,192.0.2.1",
    "olm_operators": [],
    "operator_bundles": [],
    "hyperthreading": "all",
    "network_type": "OVNKubernetes",
    "schedulable_masters": True,
    "cluster_networks": [models.ClusterNetwork(cidr="10.132.0.0/14", host_prefix=24)],
    "service_networks": [models.ServiceNetwork(cidr="172.31.0.0/16")],
    "machine_networks": [models.MachineNetwork(cidr="192.0.2.0/24")],
    "platform": models.Platform(type="baremetal"),
    "cpu_architecture": "x86_64",
    "disk_encryption": models.DiskEncryption(enable_on="none", mode="tpmv2"),
    "ignition_endpoint": models.IgnitionEndpoint(url="https://ignition.example.com"),
    "tags": "a,b",
    "control_plane_count": 3,
    "load_balancer": models.LoadBalancer(type="cluster-managed"),
}
FULL_INFRA_ENV: Final[dict[str, Any]] = {
    "name": "full-env",
    "proxy": models.Proxy(http_proxy="http://proxy.example.com:3128", no_proxy="example.com"),
    "additional_ntp_sources": "ntp.example.com",
    "ntp_sources": "ntp.example.com",
    "ssh_authorized_key": SSH_KEY,
    "pull_secret": PULL_SECRET,
    "static_network_config": [
        models.HostStaticNetworkConfig(
            network_yaml=NETWORK.replace("{0}", "10"),
            mac_interface_map=[{"mac_address": "52:54:00:ad:00:0a", "logical_nic_name": "eth0"}],
        )
    ],
    "rendezvous_ip": "192.0.2.10",
    "image_type": "minimal-iso",
    "ignition_config_override": json.dumps({"ignition": {"version": "3.2.0"}}),
    "cpu_architecture": "x86_64",
    "os_stream": "stable",
    "kernel_arguments": [models.KernelArgument(operation="append", value="quiet")],
    "additional_trust_bundle": CA,
    "network_discovery_delay_seconds": 3,
}
LABEL: Final = models.NodeLabelParams(key="zone", value="a")


@contextlib.asynccontextmanager
async def opened(site: Whole, agent_token: str = "") -> AsyncIterator[Caller]:
    call = Caller(site, agent_token)
    try:
        yield call
    finally:
        call.close()


def test_every_operation(tmp_path: Path, build_x86: Live) -> None:
    """The table of calls is this story: an operation that it does not tell of makes it fail."""
    called: set[str] = set()

    async def scene() -> None:
        images = {("x86_64", ""): lambda: base_of(build_x86.path)}
        async with open_service(tmp_path, images=images, house=House(admits_keyless=True)) as site:
            async with opened(site) as call:
                await _catalogue(call, site.version)
                await _minimal(call, site.version)
                await _full(call, site.version)
                await _elsewhere(call)
                called.update(call.called)
            await _installation(site, called)

    play(scene)
    offered = {each.name for key, each in OPERATIONS_BY_KEY.items() if key not in NOT_OFFERED}
    assert called == offered


OPERATIONS_BY_KEY: Final = {(each.method, each.path): each for each in OPERATIONS.values()}


async def _catalogue(call: Caller, version: str) -> None:
    assert await call("v2_list_managed_domains") == []
    assert await call("v2_list_supported_operators") == []
    assert await call("v2_list_bundles", openshift_version=version, cpu_architecture="x86_64") == []
    assert await call("v2_list_release_sources") == []
    for name in NOTHING_TO_FIND:
        refusal = await call.refused(404, name, "odf")
        assert refusal["code"] == "404"
    versions = await call("v2_list_component_versions")
    assert versions.release_tag is not None
    await call("v2_list_supported_openshift_versions", version=version, only_latest=True)
    config = await call("v2_get_cluster_default_config")
    assert config.cluster_network_host_prefix == 23
    features = await call("get_supported_features", version, platform_type="baremetal")
    assert features.features["SNO"] == "supported"
    detailed = await call("get_detailed_supported_features", version)
    assert {each.feature_support_level_id for each in detailed.features} >= {"SNO"}
    levels = await call("get_supported_architectures", version)
    assert levels.architectures["X86_64_ARCHITECTURE"] == "supported"


async def _minimal(call: Caller, version: str) -> None:
    """Objects with nothing but what they cannot do without."""
    params = models.ClusterCreateParams(name="minimal", openshift_version=version, pull_secret=PULL_SECRET)
    cluster = await call("v2_register_cluster", params)
    assert (cluster.name, cluster.install_completed_at) == ("minimal", NEVER)
    env = await call(
        "register_infra_env", models.InfraEnvCreateParams(name="minimal-env", pull_secret=PULL_SECRET)
    )
    assert (env.name, env.type) == ("minimal-env", "full-iso")
    for name in ("v2_get_cluster", "list_cluster_hosts", "get_cluster_supported_platforms"):
        await call(name, cluster.id)
    await call("v2_get_preflight_requirements", cluster.id)
    assert await call("v2_list_cluster_manifests", cluster.id) == []
    assert await call("v2_get_cluster_ui_settings", cluster.id) == ""
    assert "apiVersion" in await call("v2_get_cluster_install_config", cluster.id)
    assert await call("v2_list_hosts", env.id) == []
    await call("get_infra_env", env.id)
    await call("v2_update_cluster", cluster.id, models.V2ClusterUpdateParams())
    await call("update_infra_env", env.id, models.InfraEnvUpdateParams())
    await call("v2_set_ignored_validations", cluster.id, models.IgnoredValidations())
    await call("v2_list_events", cluster_id=cluster.id)
    await call("deregister_infra_env", env.id)
    await call("v2_deregister_cluster", cluster.id)
    await call.refused(404, "v2_get_cluster", cluster.id)


def _is_whole(model: Any, values: dict[str, Any], *others: str) -> None:
    """Nothing that the client can say is left out."""
    assert set(values) | set(others) == set(model.swagger_types)


async def _full(call: Caller, version: str) -> None:
    """Objects with everything that they can have."""
    _is_whole(models.ClusterCreateParams, FULL_CLUSTER, "openshift_version")
    cluster = await call(
        "v2_register_cluster", models.ClusterCreateParams(**FULL_CLUSTER, openshift_version=version)
    )
    assert cluster.machine_networks == [models.MachineNetwork(cluster_id=cluster.id, cidr="192.0.2.0/24")]
    _is_whole(models.InfraEnvCreateParams, FULL_INFRA_ENV, "openshift_version", "cluster_id")
    params = models.InfraEnvCreateParams(**FULL_INFRA_ENV, openshift_version=version, cluster_id=cluster.id)
    env = await call("register_infra_env", params)
    assert (env.cluster_id, env.rendezvous_ip) == (cluster.id, "192.0.2.10")
    await _change_full(call, cluster.id, env.id)
    await _list_full(call, cluster.id, env.id)
    await _boot_files(call, env.id)
    await _manifests(call, cluster.id)
    await call("deregister_infra_env", env.id)
    await call("v2_deregister_cluster", cluster.id)


async def _change_full(call: Caller, cluster: str, env: str) -> None:
    known = {
        name: value
        for name, value in FULL_CLUSTER.items()
        if name in models.V2ClusterUpdateParams.swagger_types
    }
    more = {"api_vip_dns_name": "api.example.com", "machine_network_cidr": "192.0.2.0/24"}
    _is_whole(models.V2ClusterUpdateParams, {**known, **more})
    changed = await call("v2_update_cluster", cluster, models.V2ClusterUpdateParams(**known, **more))
    assert changed.tags == "a,b"
    known = {
        name: value
        for name, value in FULL_INFRA_ENV.items()
        if name in models.InfraEnvUpdateParams.swagger_types
    }
    _is_whole(models.InfraEnvUpdateParams, known, "openshift_version")
    assert (await call("update_infra_env", env, models.InfraEnvUpdateParams(**known))).type == "minimal-iso"
    ids = models.IgnoredValidations(cluster_validation_ids='["all"]', host_validation_ids='["ntp-synced"]')
    assert (await call("v2_set_ignored_validations", cluster, ids)).host_validation_ids == '["ntp-synced"]'
    assert (await call("v2_get_ignored_validations", cluster)).cluster_validation_ids == '["all"]'
    assert await call("v2_update_cluster_ui_settings", cluster, '{"a": 1}') == '{"a": 1}'
    assert await call("v2_get_cluster_ui_settings", cluster) == '{"a": 1}'
    refused = await call.refused(400, "v2_update_cluster_install_config", cluster, '{"fips": true}')
    assert refused["reason"].startswith("fips: not done")
    await call("v2_update_cluster_install_config", cluster, '{"featureSet": "TechPreviewNoUpgrade"}')
    assert '"featureSet": "TechPreviewNoUpgrade"' in await call("v2_get_cluster_install_config", cluster)


async def _list_full(call: Caller, cluster: str, env: str) -> None:
    listed = await call("v2_list_clusters", with_hosts=True, get_unregistered_clusters=False)
    assert [each["id"] for each in listed] == [cluster]
    assert [each["id"] for each in await call("list_infra_envs", cluster_id=cluster)] == [env]
    events = await call(
        "v2_list_events", cluster_id=cluster, severities=["info", "warning"], order="descending", limit=5
    )
    assert "cluster_registration_succeeded" in [each["name"] for each in events]


async def _boot_files(call: Caller, env: str) -> None:
    for name in ("discovery.ign", "static-network-config", "ipxe-script"):
        raw = await call("v2_download_infra_env_files", env, name, _preload_content=False)
        assert raw.data
        url = (await call("get_infra_env_presigned_file_url", env, name)).url
        assert "image_token=" in url
    assert (await call("get_infra_env_download_url", env)).url.startswith("https://")
    raw = await call("download_minimal_initrd", env, _preload_content=False)
    assert raw.data
    await call("regenerate_infra_env_signing_key", env)


async def _manifests(call: Caller, cluster: str) -> None:
    params = models.CreateManifestParams(file_name="a.yaml", content=MANIFEST, folder="openshift")
    assert (await call("v2_create_cluster_manifest", cluster, params)).manifest_source == "user"
    update = models.UpdateManifestParams(
        folder="openshift", file_name="a.yaml", updated_file_name="b.yaml", updated_folder="manifests"
    )
    assert (await call("v2_update_cluster_manifest", cluster, update)).file_name == "b.yaml"
    found = await call("v2_list_cluster_manifests", cluster, include_system_generated=True)
    assert [each["file_name"] for each in found] == ["b.yaml"]
    raw = await call("v2_download_cluster_manifest", cluster, "b.yaml", _preload_content=False)
    assert raw.data == b"kind: Namespace\n"
    await call("v2_delete_cluster_manifest", cluster, "b.yaml", folder="manifests")


async def _elsewhere(call: Caller) -> None:
    """Clusters that were, or are, installed without this service."""
    params = models.ImportClusterParams(
        name="older",
        api_vip_dnsname="192.0.2.200",
        openshift_cluster_id="0f8fad5b-d9cb-469f-a165-70867728950e",
    )
    assert (await call("v2_import_cluster", params)).status == "adding-hosts"
    alone = models.DisconnectedClusterCreateParams(name="alone", openshift_version="4.20")
    assert (await call("v2_register_disconnected_cluster", alone)).status == "unmonitored"
    for each in await call("v2_list_clusters"):
        await call("v2_deregister_cluster", each["id"])


async def _installation(site: Whole, called: set[str]) -> None:
    """A cluster from its hosts to its end, with what runs on them."""
    made = await site.make_cluster()
    id, env = made["id"], made["infra_env_id"]
    async with opened(site) as call, site.hosts(env, machines(3)):
        await site.until(id, lambda each: each["status"] == "ready")
        hosts = [each["id"] for each in await call("v2_list_hosts", env)]
        await _hosts(call, id, env, hosts[0])
        await site.until(id, lambda each: each["status"] == "ready")
        await call("v2_install_cluster", id)
        await site.until(id, lambda each: each["status"] == "finalizing")
        async with opened(site, await site.controller_token(id)) as controller:
            await _change_version(site, id, "4.22.0")  # Its controller calls more than nodes of Kubernetes.
            await _finish(controller, id, (await site.controller(id))["id"])
            await site.until(id, lambda each: each["status"] == "installed")
            await _after(controller, id, env)
            await _change_version(site, id, made["openshift_version"])
        called.update(call.called, controller.called)
    async with opened(site, site.agent_token(env)) as call:
        await _more_hosts(site, call, id, env)
        called.update(call.called)
    await _by_a_host(site, env, hosts[0], called)
    await _broken_off(site, called)


async def _change_version(site: Whole, id: str, version: str) -> None:
    """The cluster counts as one of another release."""
    service = site.running.service
    await service.change(
        lambda: service.engine.realm_of("cluster", id),
        lambda draft: draft.change(draft.cluster, openshift_version=version),
    )


async def _hosts(call: Caller, cluster: str, env: str, host: str) -> None:
    about = await call("v2_get_host", env, host)
    disk = about.installation_disk_id
    params = {
        "host_role": "master",
        "host_name": "zero",
        "disks_selected_config": [models.DiskConfigParams(id=disk, role="install")],
        "disks_skip_formatting": [models.DiskSkipFormattingParams(disk_id="other", skip_formatting=False)],
        "machine_config_pool_name": "special",
        "ignition_endpoint_token": "secret",
        "ignition_endpoint_http_headers": [{"key": "a", "value": "b"}],
        "node_labels": [LABEL],
        "fencing_credentials": models.FencingCredentialsParams(
            address="redfish+https://192.0.2.9/1", username="a", password="secret"
        ),
    }
    _is_whole(models.HostUpdateParams, params)
    refused = await call.refused(400, "v2_update_host", env, host, models.HostUpdateParams(**params))
    assert refused["reason"].startswith("fencing_credentials: not done")
    del params["fencing_credentials"]
    assert (
        await call("v2_update_host", env, host, models.HostUpdateParams(**params))
    ).requested_hostname == "zero"
    await call("v2_update_host", env, host, models.HostUpdateParams())
    args = models.InstallerArgsParams(args=["--append-karg", "quiet"])
    assert (await call("v2_update_host_installer_args", env, host, args)).installer_args
    config = models.HostIgnitionParams(config='{"ignition": {"version": "3.2.0"}}')
    await call("v2_update_host_ignition", env, host, config)
    assert (await call("v2_get_host_ignition", env, host)).config == config.config
    listed = await call(
        "list_cluster_hosts", cluster, with_inventory=True, with_connectivity=True, role="master"
    )
    assert len(listed) == 3
    await call("v2_reset_host_validation", env, host, "container-images-available")
    await call("unbind_host", env, host)
    await _until_host(call, env, host, "known-unbound")
    await call("bind_host", env, host, models.BindHostParams(cluster_id=cluster))
    await _until_host(call, env, host, "known")


async def _until_host(call: Caller, env: str, host: str, status: str) -> None:
    while True:
        if (host, status) in {(each["id"], each["status"]) for each in await call("v2_list_hosts", env)}:
            return
        await asyncio.sleep(0.05)


async def _finish(call: Caller, id: str, host: str) -> None:
    """What runs in the cluster says how far it is."""
    (operator,) = await call("v2_list_of_cluster_operators", id, operator_name="console")
    report = models.OperatorMonitorReport(name="console", status="available", status_info="up", version="1")
    assert operator["name"] == report.name
    await call("v2_report_monitored_operator_status", id, report_params=report)
    stage = models.ClusterFinalizingProgress(finalizing_stage="Adding router ca")
    await call("v2_update_cluster_finalizing_progress", id, stage)
    await call("v2_upload_cluster_ingress_cert", id, INGRESS)
    event = models.Event(
        host_id=host,
        severity="info",
        message="router ca is added",
        event_time=datetime.now(UTC),
        name="added",
    )
    await call("v2_trigger_event", event)
    await call("v2_complete_installation", id, models.CompletionParams(is_success=True))


async def _after(call: Caller, id: str, env: str) -> None:
    """What an installed cluster leaves."""
    assert (await call("v2_get_cluster", id, exclude_hosts=True)).status == "installed"
    assert (await call("v2_get_credentials", id)).username == "kubeadmin"
    for name in ("kubeadmin-password", "kubeconfig", "kubeconfig-noingress"):
        raw = await call("v2_download_cluster_credentials", id, name, _preload_content=False)
        assert raw.data
    assert "api_key=" in (await call("v2_get_presigned_for_cluster_credentials", id, "kubeconfig")).url
    raw = await call("v2_download_cluster_files", id, "metadata.json", _preload_content=False)
    assert json.loads(raw.data)["clusterName"] == "alpha"
    assert "api_key=" in (await call("v2_get_presigned_for_cluster_files", id, "install-config.yaml")).url
    await call("v2_update_cluster_logs_progress", id, models.LogsProgressParams(logs_state="requested"))
    (folder,) = {each["infra_env_id"] for each in await call("list_cluster_hosts", id)}
    assert folder == env


async def _more_hosts(site: Whole, call: Caller, id: str, env: str) -> None:
    """Hosts that come later."""
    assert (await call("transform_cluster_to_adding_hosts", id)).status == "adding-hosts"
    await call.refused(409, "transform_cluster_to_day2", id)
    async with site.hosts(env, machines(4)[3:], in_use={"192.0.2.200": "52:54:00:00:00:01"}):
        host = machines(4)[3].host_id
        await _until_host(call, env, host, "known")
        assert (await call("v2_install_host", env, host)).kind == "AddToExistingClusterHost"
    host = "0f8fad5b-d9cb-469f-a165-70867728950e"
    params = models.HostCreateParams(host_id=host, discovery_agent_version="a:1")
    assert (await call("v2_register_host", env, params)).next_step_runner_command.retry_seconds == 60
    steps = await call("v2_get_next_steps", env, host, timestamp=int(datetime.now(UTC).timestamp()))
    assert "inventory" in [each.step_type for each in steps.instructions]
    reply = models.StepReply(step_type="inventory", step_id="inventory-1", exit_code=1, output="", error="no")
    await call("v2_post_step_reply", env, host, reply=reply)
    assert (await call("v2_reset_host", env, host)).status == "resetting-pending-user-action"
    await call("v2_deregister_host", env, host)


async def _by_a_host(site: Whole, env: str, host: str, called: set[str]) -> None:
    """What a host does with the token that is its own."""
    token = site.running.service.around.host_tokens.issue(env, host)
    async with opened(site, token) as call:
        about = await call("v2_get_host", env, host)
        stage = models.HostProgress(current_stage="Done", progress_info=about.progress.progress_info)
        await call("v2_update_host_install_progress", env, host, stage)
        raw = await call("v2_download_host_ignition", env, host, _preload_content=False)
        assert json.loads(raw.data)["ignition"]["version"]
        await call(
            "v2_update_host_logs_progress", env, host, models.LogsProgressParams(logs_state="collecting")
        )
        await _send_logs(site, call, about.cluster_id, host)
        called.update(call.called)


async def _send_logs(site: Whole, call: Caller, cluster: str, host: str) -> None:
    path = site.running.settings.data / "logs.tar.gz"
    path.write_bytes(b"logs")
    await call("v2_upload_logs", cluster, "host", host_id=host, upfile=str(path))
    raw = await call(
        "v2_download_cluster_logs", cluster, logs_type="host", host_id=host, _preload_content=False
    )
    # The service in this process sends it in pieces: it must go on meanwhile.
    assert await asyncio.to_thread(lambda: raw.data) == b"logs"
    signed = await call("v2_get_presigned_for_cluster_files", cluster, "logs", logs_type="host", host_id=host)
    async with site.session.get(signed.url) as got:
        assert (got.status, await got.read()) == (200, b"logs")


async def _broken_off(site: Whole, called: set[str]) -> None:
    """An installation that people stop."""
    made = await site.make_cluster(
        name="beta", api_vips=[{"ip": "192.0.2.210"}], ingress_vips=[{"ip": "192.0.2.211"}]
    )
    async with opened(site) as call, site.hosts(made["infra_env_id"], machines(8)[5:]):
        await site.until(made["id"], lambda each: each["status"] == "ready")
        await call("v2_install_cluster", made["id"])
        await site.until(made["id"], lambda each: each["status"] == "installing")
        assert (await call("v2_cancel_installation", made["id"])).status == "cancelled"
        assert (await call("v2_reset_cluster", made["id"])).status == "insufficient"
        called.update(call.called)
