# SPDX-License-Identifier: Apache-2.0
"""`aicli` from PyPI, unmodified: everything it knows to do, against the whole service over TLS."""

from __future__ import annotations

import asyncio
import base64
import json
import tarfile
from pathlib import Path
from typing import Any

import yaml

from muster.model.meeting import AGENT_TOKEN
from muster.service.house import House
from tests.component.live import Live, coreos_installer
from tests.component.service.aicli import Aicli, settle_in
from tests.component.service.test_installation import finish
from tests.component.service.whole import Whole, machines, open_service, play
from tests.discovery import NETWORK, base_of

VIPS = ("-P", "api_vip=192.0.2.200", "-P", "ingress_vip=192.0.2.201")
MANIFEST = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n"


def the_one(things: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (found,) = (each for each in things if each["name"] == name)
    return found


def named(site: Whole, *more: str) -> tuple[str, ...]:
    return ("-P", f"openshift_version={site.version}", "-P", "base_dns_domain=example.com", *more)


def test_clusters_and_infra_envs(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            aicli = settle_in(site, tmp_path / "home")
            out = await aicli("create", "cluster", *named(site), *VIPS, "alpha")
            assert f"Using version {site.version}" in out
            await aicli("create", "cluster", *named(site, "-P", "sno=true", "-P", "infraenv=false"), "solo")
            assert "already there" in await aicli("create", "cluster", *named(site), "alpha", fails=True)
            await _look_at_clusters(aicli)
            await _change_clusters(aicli)
            await _infra_envs(site, aicli)
            await aicli("delete", "cluster", "-y", "alpha", "solo")
            assert await aicli.clusters() == []
            assert "alpha_infra-env" not in await aicli("list", "infraenv")

    play(scene)


async def _look_at_clusters(aicli: Aicli) -> None:
    alpha, solo = the_one(await aicli.clusters(), "alpha"), the_one(await aicli.clusters(), "solo")
    assert [each["ip"] for each in alpha["api_vips"]] == ["192.0.2.200"]
    assert (solo["high_availability_mode"], solo["user_managed_networking"]) == ("None", True)
    table = await aicli("list", "cluster")
    assert " alpha " in table
    assert "pending-for-input" in table or "insufficient" in table
    about = await aicli.info("cluster", "alpha")
    assert (about["id"], about["base_dns_domain"]) == (alpha["id"], "example.com")
    assert "cpu_cores" in await aicli("info", "cluster", "--preflight", "alpha")
    assert "sufficient-masters-count" in await aicli("info", "validation", "alpha")
    exported = yaml.safe_load((await aicli("export", "cluster", "alpha")).split("\n", 1)[1])
    assert exported["name"] == "alpha"
    assert "Registered cluster alpha" in await aicli("list", "event", "alpha")
    assert "supported openshift versions" in await aicli("info", "service")


async def _change_clusters(aicli: Aicli) -> None:
    change = ("-P", "additional_ntp_source=ntp.example.com", "-P", "tags=[a,b]", "-P", "fips=false")
    networks = ("-P", "machine_networks=[192.0.2.0/24]", "-P", "cluster_networks=[10.132.0.0/14]")
    await aicli("update", "cluster", *change, *networks, "-P", "ignore_validations=true", "alpha")
    about = the_one(await aicli.clusters(), "alpha")
    assert (about["additional_ntp_source"], about["tags"]) == ("ntp.example.com", "a,b")
    assert about["machine_networks"] == [{"cluster_id": about["id"], "cidr": "192.0.2.0/24"}]
    assert about["cluster_networks"][0]["host_prefix"] == 23
    assert json.loads(about["ignored_cluster_validations"]) == ["all"]
    config = yaml.safe_load(await aicli("download", "installconfig", "--stdout", "alpha"))
    assert not config.get("fips")
    await aicli("update", "installconfig", "-P", "network_type=Calico", "alpha")
    config = yaml.safe_load(await aicli("download", "installconfig", "--stdout", "alpha"))
    assert config["networking"]["networkType"] == "Calico"
    await aicli("update", "cluster", "-P", "manifests=[{'a.yaml':'kind: A'}]", "-P", "mtu=8900", "alpha")
    listed = await aicli("list", "manifest", "alpha")
    assert "a.yaml" in listed
    assert "99-ovn.yaml" in listed


async def _infra_envs(site: Whole, aicli: Aicli) -> None:
    networks = [
        {
            "network_yaml": NETWORK.replace("{0}", "10"),
            "mac_interface_map": [{"mac_address": "52:54:00:ad:00:0a", "logical_nic_name": "eth0"}],
        }
    ]
    (aicli.home / "network.yaml").write_text(yaml.safe_dump({"static_network_config": networks}))
    more = ("-P", "minimal=true", "-P", "proxy=proxy.example.com:3128", "-P", "noproxy=example.com")
    await aicli("create", "infraenv", *named(site, *more), "--paramfile", "network.yaml", "pool")
    assert "minimal-iso" in await aicli("list", "infraenv")
    about = await aicli.info("infraenv", "pool")
    assert about["type"] == "minimal-iso"
    assert "http://proxy.example.com:3128" in about["proxy"]
    assert "52:54:00:ad:00:0a" in await aicli("info", "static-network-config", "pool")
    await aicli("update", "infraenv", "-P", "kernel_arguments=quiet rd.debug", "-P", "minimal=false", "pool")
    about = await aicli.info("infraenv", "pool")
    assert about["type"] == "full-iso"
    assert [each["value"] for each in json.loads(about["kernel_arguments"])] == ["quiet", "rd.debug"]
    await aicli("update", "iso", "-P", "password=true", "pool")
    assert "aicli" in (await aicli.info("infraenv", "pool"))["ignition_config_override"]
    await aicli("delete", "infraenv", "-y", "pool")
    assert "pool" not in await aicli("list", "infraenv")


def test_an_installation(tmp_path: Path, build_x86: Live) -> None:
    async def scene() -> None:
        images = {("x86_64", ""): lambda: base_of(build_x86.path)}
        async with open_service(tmp_path, images=images) as site:
            aicli = settle_in(site, tmp_path / "home")
            await aicli("create", "cluster", *named(site), *VIPS, "alpha")
            cluster = the_one(await aicli.clusters(), "alpha")
            infra_env = (await site.ask("GET", "/infra-envs")).json[0]["id"]
            await _media(aicli)
            await _manifests(aicli)
            async with site.hosts(infra_env, machines(3)):
                await aicli("wait", "hosts", "alpha_infra-env")
                await _change_hosts(aicli)
                await aicli("wait", "cluster", "-s", "ready", "alpha")
                await aicli("start", "cluster", "alpha")
                assert "clusters" in await aicli("download", "kubeconfig", "--wait", "-s", "alpha")
                await site.until(cluster["id"], lambda each: each["status"] == "finalizing")
                async with asyncio.TaskGroup() as tasks:
                    waiting = tasks.create_task(aicli("wait", "cluster", "alpha"))
                    await finish(site, {**cluster, "infra_env_id": infra_env})
                assert "to reach state installed" in waiting.result()
            await _look_at_the_end(site, aicli)

    play(scene)


async def _media(aicli: Aicli) -> None:
    await aicli("download", "iso", "alpha")
    path = aicli.home / "alpha.iso"
    booted = json.loads(coreos_installer("iso", "ignition", "show", path))
    await aicli("download", "discovery-ignition", "alpha")
    assert booted == json.loads((aicli.home / "discovery.ign.alpha").read_text())
    await aicli("download", "ipxe-script", "alpha")
    assert (aicli.home / "ipxe-script.alpha").read_text().startswith("#!ipxe")
    await aicli("download", "static-network-config", "alpha")
    with tarfile.open(aicli.home / "static-network-config.alpha.tar") as tar:
        assert tar.getnames() == []
    assert "https://" in await aicli("info", "iso", "alpha")


async def _manifests(aicli: Aicli) -> None:
    folder = aicli.home / "manifests"
    folder.mkdir()
    for name in ("a.yaml", "b.yml", "c.yaml"):
        (folder / name).write_text(MANIFEST)
    await aicli("create", "manifests", "--dir", folder, "alpha")
    await aicli("create", "manifests", "--dir", folder, "--openshift", "alpha")
    listed = await aicli("list", "manifests", "alpha")
    assert (listed.count("a.yaml"), listed.count("openshift")) == (2, 3)
    await aicli("delete", "manifests", "-y", "alpha", "a.yaml")
    listed = await aicli("list", "manifests", "alpha")
    assert (listed.count("a.yaml"), listed.count("b.yml")) == (1, 2)
    target = aicli.home / "got"
    target.mkdir()
    await aicli("download", "manifests", "--path", target, "alpha")
    assert {each.name: each.read_text() for each in target.iterdir()} == dict.fromkeys(
        ("a.yaml", "b.yml", "c.yaml"), MANIFEST
    )
    # Names alone: it takes away what it finds in the first folder only, and so does not find the rest.
    await aicli("delete", "manifests", "-y", "alpha", "b.yml", "c.yaml")


async def _change_hosts(aicli: Aicli) -> None:
    hosts = await aicli.hosts()
    first = hosts[0]
    assert {each["requested_hostname"] for each in hosts} == {f"kvm-libvirt-{number}" for number in range(3)}
    await aicli("update", "host", "-P", "role=master", "-P", "name=zero", first["id"])
    labels = ("-P", "labels=[zone=a,x]", "-P", "extra_args=--append-karg quiet")
    await aicli("update", "host", *labels, "-P", "mcp=special", "zero")
    await aicli("update", "host", "-P", f"disk={first['installation_disk_path']}", "zero")
    about = await aicli.info("host", "zero")
    assert (about["id"], about["role"], about["machine_config_pool_name"]) == (
        first["id"],
        "master",
        "special",
    )
    assert json.loads(about["node_labels"]) == {"zone": "a", "x": ""}
    assert json.loads(about["installer_args"]) == ["--append-karg", "quiet"]
    assert about["ip"].startswith("192.0.2.")
    assert " zero " in await aicli("list", "host")


async def _look_at_the_end(site: Whole, aicli: Aicli) -> None:
    assert (await aicli.info("cluster", "alpha"))["status"] == "installed"
    await aicli("download", "kubeconfig", "--no-noingress", "alpha")
    assert yaml.safe_load((aicli.home / "kubeconfig.alpha").read_text())["kind"] == "Config"
    assert len((await aicli("download", "kubeadmin-password", "-s", "alpha")).strip()) > 10
    assert "installed" in await aicli("list", "events", "alpha")
    await aicli("update", "cluster", "-P", "day2=true", "-P", "infraenv=false", "alpha")
    assert (await aicli.info("cluster", "alpha"))["status"] == "adding-hosts"
    assert "Skipping installed Host" in await aicli("start", "cluster", "alpha")
    await aicli("delete", "cluster", "-y", "alpha")
    assert await aicli.hosts() == []


def test_a_pool_of_hosts(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path, house=House(admits_keyless=True)) as site:
            aicli = settle_in(site, tmp_path / "home")
            await aicli("create", "infraenv", *named(site), "pool")
            await aicli("create", "cluster", *named(site, "-P", "infraenv=false"), *VIPS, "alpha")
            pool = (await site.ask("GET", "/infra-envs")).json[0]["id"]
            cluster = the_one(await aicli.clusters(), "alpha")["id"]
            async with site.hosts(pool, machines(3)):
                await _until(aicli, "known-unbound", 3)
                await aicli("bind", "host", "kvm-libvirt-0", "alpha")
                await _until(aicli, "insufficient", 1)
                await aicli("bind", "infraenv", "pool", "alpha")
                await aicli("wait", "hosts", "pool")
                assert {each["cluster_id"] for each in await aicli.hosts()} == {cluster}
                await aicli("unbind", "host", "kvm-libvirt-0")
                await _until(aicli, "known-unbound", 1)
                await aicli("unbind", "infraenv", "pool")
                await _until(aicli, "known-unbound", 3)
            await aicli("delete", "host", "-y", "kvm-libvirt-1")
            names = {each["requested_hostname"] for each in await aicli.hosts()}
            assert names == {"kvm-libvirt-0", "kvm-libvirt-2"}
            await _fake_hosts(aicli)
            await aicli("delete", "infraenv", "-y", "--force", "pool")
            assert await aicli.hosts() == []

    play(scene)


async def _until(aicli: Aicli, status: str, count: int) -> None:
    while True:
        if [each["status"] for each in await aicli.hosts()].count(status) >= count:
            return
        await asyncio.sleep(0.1)


async def _fake_hosts(aicli: Aicli) -> None:
    """Hosts that are only said to be there, by one who has what the medium carries."""
    await aicli("download", "discovery-ignition", "pool")
    ignition = json.loads((aicli.home / "discovery.ign.pool").read_text())
    (carried,) = (each for each in ignition["storage"]["files"] if each["path"] == AGENT_TOKEN)
    token = base64.b64decode(carried["contents"]["source"].partition(",")[2]).decode()
    login = {"auths": {"cloud.openshift.com": {"auth": token}}}
    (aicli.home / "fake.json").write_text(json.dumps(login))
    await aicli("create", "fakehost", "-c", "2", "-P", "pull_secret=fake.json", "pool")
    assert [each["status"] for each in await aicli.hosts()].count("discovering-unbound") == 2


def test_an_installation_that_is_stopped(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            aicli = settle_in(site, tmp_path / "home")
            await aicli("create", "cluster", *named(site), *VIPS, "alpha")
            infra_env = (await site.ask("GET", "/infra-envs")).json[0]["id"]
            cluster = the_one(await aicli.clusters(), "alpha")["id"]
            async with site.hosts(infra_env, machines(3)):
                await aicli("wait", "cluster", "-s", "ready", "alpha")
                await aicli("start", "cluster", "alpha")
                await site.until(cluster, lambda each: each["status"] == "installing")
            await aicli("stop", "cluster", "alpha")
            hosts = await aicli.hosts()
            assert {each["status"] for each in hosts} == {"resetting-pending-user-action"}
            await aicli("stop", "infraenv", "alpha")
            await aicli("delete", "cluster", "-y", "alpha")
            assert await aicli.clusters() == []

    play(scene)
