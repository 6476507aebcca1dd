# SPDX-License-Identifier: Apache-2.0
"""Settings that the release does not do: the service refuses them or reports them, over TLS."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.component.service.interactive import CLUSTER, NEW, open_site
from tests.component.service.whole import PULL_SECRET, machines, open_service, play

ENCRYPTED: dict[str, Any] = {"disk_encryption": {"enable_on": "all", "mode": "tpmv2"}}
PLAIN: dict[str, Any] = {"disk_encryption": {"enable_on": "none", "mode": "tpmv2"}}


@pytest.mark.parametrize("asked", [ENCRYPTED, {"disk_encryption": {"enable_on": "workers", "mode": "tang"}}])
def test_refuses_disk_encryption_with_the_reason(asked: dict[str, Any], tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_site(tmp_path) as site:
            body = {**NEW, "openshift_version": site.version}
            refused = await site.ask("POST", "/clusters", {**body, **asked})
            assert refused.status == 400, refused.body
            assert refused.json["reason"].startswith("disk_encryption: not done by a release of Kubernetes")
            assert "LUKS" in refused.json["reason"]
            assert "enable_on to none" in refused.json["hint"]
            assert (await site.ask("GET", f"/clusters/{CLUSTER}")).status == 404
            made = await site.make(**PLAIN)
            assert made["disk_encryption"]["enable_on"] == "none"
            changed = await site.ask("PATCH", f"/clusters/{CLUSTER}", asked)
            assert changed.status == 400, changed.body
            shown = (await site.ask("GET", f"/clusters/{CLUSTER}")).json
            assert shown["disk_encryption"]["enable_on"] == "none"
            assert (await site.ask("PATCH", f"/clusters/{CLUSTER}", PLAIN)).status == 201

    play(scene)


def test_reports_settings_without_effect_by_an_event(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_site(tmp_path) as site:
            await site.make(schedulable_masters=True)
            path = f"/clusters/{CLUSTER}/install-config"
            refused = await site.ask("PATCH", path, json.dumps({"fips": True}))
            assert refused.status == 400, refused.body
            assert refused.json["reason"].startswith("fips: ")
            noted = await site.ask("PATCH", path, json.dumps({"cpuPartitioningMode": "AllNodes"}))
            assert noted.status == 201, noted.body
            events = (await site.ask("GET", f"/events?cluster_id={CLUSTER}")).json
            found = [each for each in events if each["name"] == "setting_without_effect"]
            assert [each["severity"] for each in found] == ["warning", "warning"]
            assert sorted(each["message"].split()[7] for each in found) == [
                "cpuPartitioningMode",
                "schedulable_masters",
            ]

    play(scene)


OVERRIDES: dict[str, Any] = {
    "networking": {"serviceNetwork": ["10.99.0.0/16"]},
    "sshKey": "ssh-ed25519 AAAAOVERRIDE x",
    "baseDomain": "override.example",
    "imageDigestSources": [{"source": "registry.example.com", "mirrors": ["mirror.override.example/x"]}],
    "additionalTrustBundle": "OVERRIDE",
    "nothingKnown": {"a": 1},
    "FIPS": True,
}


def test_refuses_overrides_of_the_install_config_that_no_host_gets(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_site(tmp_path) as site:
            await site.make()
            path = f"/clusters/{CLUSTER}/install-config"
            before = (await site.ask("GET", path)).json
            for key, value in OVERRIDES.items():
                refused = await site.ask("PATCH", path, json.dumps({key: value}))
                assert refused.status == 400, (key, refused.body)
                assert refused.json["reason"].lower().startswith(key.lower())
                assert refused.json["hint"], key
            assert (await site.ask("GET", path)).json == before

    play(scene)


def test_refuses_luks_in_ignition_configs_and_machine_configs_in_lists(tmp_path: Path) -> None:
    luks = {"luks": [{"name": "data", "device": "/dev/sdb", "clevis": {"tpm2": True}}]}
    text = json.dumps({"ignition": {"version": "3.2.0"}, "storage": luks})
    machine_config = {"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig"}
    listed = {"apiVersion": "v1", "kind": "List", "items": [machine_config]}

    async def scene() -> None:
        async with open_service(tmp_path) as site:
            made = await site.make_cluster()
            infra_env = f"/infra-envs/{made['infra_env_id']}"
            new = {"name": "other", "pull_secret": PULL_SECRET, "ignition_config_override": text}
            manifest = {
                "file_name": "a.json",
                "content": base64.b64encode(json.dumps(listed).encode()).decode(),
            }
            async with site.hosts(made["infra_env_id"], machines(1)):
                await site.until(made["id"], lambda each: len(each["hosts"]) == 1)
                host = (await site.cluster(made["id"]))["hosts"][0]["id"]
                for method, path, body, why in (
                    ("PATCH", f"{infra_env}/hosts/{host}/ignition", {"config": text}, "LUKS"),
                    ("PATCH", infra_env, {"ignition_config_override": text}, "LUKS"),
                    ("POST", "/infra-envs", new, "LUKS"),
                    ("POST", f"/clusters/{made['id']}/manifests", manifest, "MachineConfig"),
                ):
                    refused = await site.ask(method, path, body)
                    assert refused.status == 400, (path, refused.body)
                    assert why in refused.json["reason"], path

    play(scene)
