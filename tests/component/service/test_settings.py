# SPDX-License-Identifier: Apache-2.0
"""Settings that the release does not do: the service refuses them or reports them, over TLS."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.component.service.interactive import CLUSTER, NEW, open_site
from tests.component.service.whole import play

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
