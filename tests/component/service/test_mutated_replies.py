# SPDX-License-Identifier: Apache-2.0
"""Replies and uploads of hosts with broken parts: the service refuses them or takes them, and never fails.

Set MUTATED_REPLIES for more than the few that are sent by default, and MUTATED_SEED for others.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from tests.component.service.test_host_bounds import Host, enrol
from tests.component.service.whole import Whole, machines, open_service, play

COUNT = int(os.environ.get("MUTATED_REPLIES", "600"))
SEED = int(os.environ.get("MUTATED_SEED", "1"))
_ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1 << 62, 1 << 63, 1 << 64, -(1 << 70), 10**400, 0.5, 1e308, -1e308, 1e-320),
    *("", " ", "\ud800", "\0", "\u2028", "x" * 300, "x" * 9000, "9" * 30, "::", "0.0.0.0/0", "::/0", "1.2.3"),
    *("192.0.2.1/99", "192.0.2.1/24/24", "fe80::1%eth0/64", "::ffff:192.0.2.1/120", "2026-01-01T00:00:00Z"),
    *(
        "0001-01-01",
        "https://[",
        "{",
        "[]",
        "null",
        "{}",
        '{"storage":null}',
        '{"storage":{"files":{"a":1}}}',
    ),
    *([], {}, [None], [[]], [{}], {"": None}, ["a", 1], [["a"] * 50] * 2),
)
_INVENTORY = msgspec.json.encode(machines(1)[0].inventory)
_DEEP = ("[" * 100_000, '{"a":' * 50_000, "[" * 900 + "]" * 900)


def seeds(host_id: str) -> dict[str, Any]:
    """A reply that makes sense, for each step."""
    files = [{"path": "/etc/a", "contents": {"source": "data:,a"}}]
    luks = [{"name": "root", "clevis": {"tpm2": True}}]
    return {
        "inventory": json.loads(_INVENTORY),
        "connectivity-check": {
            "remote_hosts": [
                {
                    "host_id": host_id,
                    "l2_connectivity": [
                        {
                            "outgoing_nic": "ens3",
                            "remote_ip_address": "192.0.2.11",
                            "remote_mac": "52:54:00:00:00:09",
                            "successful": True,
                        }
                    ],
                    "l3_connectivity": [
                        {"remote_ip_address": "192.0.2.11", "successful": True, "average_rtt_ms": 120.5}
                    ],
                    "mtu_report": [{"remote_ip_address": "192.0.2.11", "mtu_successful": False}],
                }
            ]
        },
        "ntp-synchronizer": {"ntp_sources": [{"source_name": "a", "source_state": "synced"}]},
        "free-network-addresses": [{"network": "192.0.2.0/24", "free_addresses": ["192.0.2.9"]}],
        "verify-vips": [{"vip": "192.0.2.200", "vip_type": "api", "verification": "succeeded"}],
        "dhcp-lease-allocate": {
            "api_vip_address": "192.0.2.200",
            "ingress_vip_address": "192.0.2.201",
            "api_vip_lease": "a",
        },
        "installation-disk-speed-check": {"path": "/dev/vda", "io_sync_duration": 20},
        "tang-connectivity-check": {
            "is_success": True,
            "tang_server_response": [
                {"tang_url": "http://a", "payload": "a", "signatures": [{"protected": "a", "signature": "b"}]}
            ],
        },
        "api-vip-connectivity-check": {
            "is_success": True,
            "url": "http://a",
            "ignition": json.dumps({"storage": {"files": files, "luks": luks}}),
        },
        "domain-resolution": {"resolutions": [{"domain_name": "a", "ipv4_addresses": ["192.0.2.1"]}]},
        "container-image-availability": {"images": [{"name": "a", "result": "success"}]},
        "upgrade-agent": {"agent_image": "a", "result": "success"},
        "install": {},
        "execute": {},
    }


def mutate(value: Any, random: Random) -> Any:
    """The same with one part that is odd, gone, doubled or nested in itself."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        name = random.choice(sorted(value))
        if random.random() < 0.1:
            return {key: each for key, each in value.items() if key != name}
        return {**value, name: mutate(value[name], random)}
    if isinstance(value, list) and value and random.random() < 0.9:
        at = random.randrange(len(value))
        if random.random() < 0.2:
            return value * random.choice((2, 30))
        return [*value[:at], mutate(value[at], random), *value[at + 1 :]]
    if isinstance(value, str) and random.random() < 0.2:
        at = random.randrange(len(value) + 1)
        return value[:at] + random.choice(("\ud800", "\0", "/", "%", ",", '"', "9" * 20, "é")) + value[at:]
    return random.choice(_ODD)


def bodies(random: Random, host_id: str) -> Iterator[tuple[str, bytes]]:
    """Replies, each with its step."""
    known = seeds(host_id)
    while True:
        step = random.choice(sorted(known))
        value = known[step]
        for _ in range(random.choice((1, 1, 2, 4))):
            value = mutate(value, random)
        text = random.choice(_DEEP) if random.random() < 0.05 else json.dumps(value)
        if step == "api-vip-connectivity-check" and random.random() < 0.3:
            text = json.dumps({"is_success": True, "ignition": random.choice((*_DEEP, text))})
        reply: Any = {"step_type": step, "step_id": f"{step}-1", "output": text}
        if random.random() < 0.2:
            reply["exit_code"] = random.choice((0, 1, -1, 125, 256, 1 << 62))
            reply["error"] = random.choice(("", "\ud800", "in use", "x" * 5000))
        if random.random() < 0.1:
            reply = mutate(reply, random)
        yield step, json.dumps(reply).encode()


def archive(random: Random) -> bytes:
    """The logs of a host, with bytes that are others."""
    packed = io.BytesIO()
    mode: Any = random.choice(("w", "w:gz"))
    with tarfile.open(fileobj=packed, mode=mode, format=tarfile.PAX_FORMAT) as tar:
        entry = tarfile.TarInfo(random.choice(("logs/journal.txt", "../a", "a" * 300, "\u2028.log")))
        entry.size = 2000
        tar.addfile(entry, io.BytesIO(b"line\n" * 400))
    body = bytearray(packed.getvalue())
    for _ in range(random.choice((0, 1, 3))):
        body[random.randrange(min(1500, len(body)))] = random.randrange(256)
    return bytes(body[: random.choice((len(body), len(body), 700, 0))])


async def upload(whole: Whole, host: Host, cluster_id: str, random: Random) -> list[int]:
    """Send logs and read them; also a certificate of an ingress, and lines of the journal."""
    logs = f"/clusters/{cluster_id}/logs?logs_type=host&host_id={host.id}"
    log = f"/clusters/{cluster_id}/hosts/{host.id}/log"
    own = {"X-Secret-Key": host.token}
    form = {"Content-Type": random.choice(("", "multipart/form-data; boundary=a", "text/plain"))}
    kind = random.choice(("logs", "lines", "progress", "certificate", "view"))
    api = f"{whole.url}/api/assisted-install/v2"
    if kind == "logs":
        url, data, headers = api + logs, archive(random), own | form
    elif kind == "lines":
        lines = mutate({"lines": ["a", "b"]}, random)
        url, data, headers = f"{api}{host.path}/log-lines", json.dumps(lines).encode(), own
    elif kind == "progress":
        told = mutate({"current_stage": "Installing", "progress_info": "1%"}, random)
        url, data, headers = f"{api}{host.path}/progress", json.dumps(told).encode(), own
    elif kind == "certificate":
        text = random.choice(
            (b'"-----BEGIN CERTIFICATE-----"', b'"\\ud800"', b"{}", b'"' + b"[" * 9000 + b'"')
        )
        url, data, headers = f"{api}/clusters/{cluster_id}/uploads/ingress-cert", text, own
    else:
        needle = random.choice(("", "?filter=line", "?filter=%ff", "?lines=1", "?lines=99999999999"))
        return [(await whole.ask("GET", log + needle)).status]
    method = "PUT" if kind in ("progress", "lines") else "POST"
    async with whole.session.request(method, url, data=io.BytesIO(data), headers=headers) as got:
        await got.read()
    return [got.status, (await whole.ask("GET", f"{log}?filter=line")).status]


async def send(host: Host, body: bytes) -> int:
    url = f"{host.whole.url}/api/assisted-install/v2{host.path}/instructions"
    async with host.whole.session.post(
        url, data=io.BytesIO(body), headers={"X-Secret-Key": host.token}
    ) as got:
        await got.read()
        return got.status


def test_no_mutated_reply_and_no_upload_makes_the_service_fail(tmp_path: Path) -> None:
    async def scene() -> None:
        random = Random(SEED)
        answers: Counter[int] = Counter()
        async with open_service(tmp_path) as whole:
            cluster = await whole.make_cluster()
            first = await enrol(whole, cluster["infra_env_id"], 1)
            second = await enrol(whole, cluster["infra_env_id"], 2)
            for host in (first, second):
                known = {"step_type": "inventory", "output": _INVENTORY.decode()}
                assert await send(host, json.dumps(known).encode()) == 204
            made = bodies(random, second.id)
            for number in range(COUNT):
                step, body = next(made)
                status = await send(first, body)
                answers[status] += 1
                assert status < 500 or status == 507, (number, step, body[:2000])
                if number % 10 == 0:
                    shown = [(await whole.ask("GET", path)).status for path in (
                        f"/clusters/{cluster['id']}", first.path, f"{first.path}/instructions",
                        f"/clusters/{cluster['id']}/why",
                    )]  # fmt: skip
                    assert max(shown) < 500, (number, step, body[:2000], shown)
                if number % 5 == 0:
                    found = await upload(whole, first, cluster["id"], random)
                    assert max(found) < 500, (number, found)
                    answers.update(found)
        assert answers[204] > COUNT // 10, "some are taken"
        assert answers[400] > COUNT // 10, "some are refused"

    play(scene, 600)
