# SPDX-License-Identifier: Apache-2.0
"""A site is gathered from a real service with modelled hosts, and from hosts that answer ssh or do not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from muster.cli.bundle_parts import parts_beside
from muster.cli.gather_lab import keep_lab
from muster.client.calls import open_calls
from muster.client.host import HostCalls
from muster.client.target import Caller, Target
from muster.errors import MusterError
from muster.image.pki import build_service_authority
from muster.image.tokens import build_tokens
from muster.lab.plan import LabPlan
from muster.lab.store import make_lab
from muster.support.bundle import Wish, finish, make_bundle, open_folder
from muster.support.first_page import About
from muster.support.gathering import Gathered, Order, gather
from muster.support.reaching import Known, ssh_argv
from muster.support.room import Room as Space
from muster.support.sink import Sink
from tests.component.agent_machine_steps.machines import RecordedMachine
from tests.component.client.scene import Papers, make_papers
from tests.component.service.processes import free_port, person, served, until, watched_hosts
from tests.component.service.whole import machines, open_service, play
from tests.component.support.scene import SECRET, Room, put_bundle, read_archive, save

DMESG = "fine\nI/O error, dev sdb, sector 1 op 0x0:(READ)\n"


def target_of(papers: Papers, url: str, folder: Path) -> Target:
    authority = folder / "ca.crt"
    authority.write_text(build_service_authority(papers.secrets).pem)
    return Target(url, Caller.USER, build_tokens(papers.secrets).user, authority)


def order_of(target: Target | str, folder: Path, *hosts: Known, wanted: tuple[str, ...] = ()) -> Order:
    key, known = folder / "key", folder / "known_hosts"
    return Order(
        target,
        "",
        hosts,
        wanted,
        lambda _name, address: ssh_argv(address, "core", key, known) if address else (),
    )


async def collect(order: Order, folder: Path) -> tuple[dict[str, str], Gathered, list[str]]:
    """The files of the archive, what came of it, and what was told."""
    told: list[str] = []
    with open_folder(folder / "scratch") as place:
        found = await gather(order, Sink(place, (SECRET,), Space()), told.append)
        about = About("Installation of alpha", datetime.now(UTC), found.asked)
        wish = Wish(about, folder / "all.tar.gz", "all", folder)
        made = await finish(place, wish, found.kept)
    return read_archive(made.archive), found, told


@pytest.fixture(scope="module")
def gathered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """A cluster of three hosts that do not fit, with logs that one has sent, and one that answers ssh."""
    folder = tmp_path_factory.mktemp("gathered")

    async def scene() -> None:
        papers = make_papers(folder / "papers")
        async with open_service(folder, **papers.settings) as site:
            cluster = await site.make_cluster(api_vips=[{"ip": "203.0.113.7"}])
            async with site.hosts(cluster["infra_env_id"], machines(3)):
                await site.until(cluster["id"], lambda it: it["total_host_count"] == 3 and _fails(it))
            first = (await site.cluster(cluster["id"]))["hosts"][0]["id"]
            target = target_of(papers, site.url, folder)
            own = site.running.service.around.host_tokens.issue(cluster["infra_env_id"], first)
            agent = replace(target, caller=Caller.AGENT, token=own)
            put_bundle(folder / "sent.tar.gz", {"dmesg.txt": f"sent, token={SECRET}\n"})
            async with open_calls(agent) as calls:
                host = HostCalls(calls, cluster["infra_env_id"], first)
                await host.logs(cluster["id"], folder / "sent.tar.gz")
            whole.hosts = (await site.cluster(cluster["id"]))["hosts"]
            room.put("192.0.2.77", {"dmesg.txt": f"{SECRET}\n{DMESG}"})
            order = order_of(target, folder, Known("extra", ("192.0.2.77",)))
            whole.files, whole.found, whole.told = await collect(order, folder)

    whole = Whole()
    with pytest.MonkeyPatch.context() as monkeypatch:
        room = Room(folder, monkeypatch)
        play(scene, 180)
        yield whole


@dataclass
class Whole:
    """What came of asking a service and hosts."""

    files: dict[str, str] = field(default_factory=dict)
    found: Gathered = field(default_factory=lambda: Gathered(()))
    told: list[str] = field(default_factory=list)
    hosts: list[dict[str, Any]] = field(default_factory=list)


def name_of(host: dict[str, Any]) -> str:
    return str(host.get("requested_hostname") or host["id"])


def test_what_the_service_knows(gathered: Whole) -> None:
    files = gathered.files
    events = [json.loads(line) for line in files["service/events.jsonl"].splitlines()]
    assert any("registered" in each["message"].lower() for each in events)
    assert len(files["service/events.txt"].splitlines()) == len(events)
    assert json.loads(files["service/cluster.json"])["name"] == "alpha"
    assert "machine-cidr-defined: " in files["service/checks.txt"].partition("success ")[0]
    known = [name_of(host) for host in gathered.hosts if host.get("inventory")]
    assert len(known) >= 2
    assert {f"service/inventory/{name}.json" for name in known} <= files.keys()
    (sent,) = [name for name in files if name.startswith("service/logs/")]
    assert files[sent] == "sent, token=••••\n"


def test_what_hosts_send_and_who_is_silent(gathered: Whole) -> None:
    assert gathered.files["hosts/extra/dmesg.txt"] == f"••••\n{DMESG}"
    asked = dict(gathered.found.asked)
    assert asked["service"] == "answered"
    assert asked["extra"].endswith(" B")
    for host in gathered.hosts:
        name = name_of(host)
        assert asked[name].startswith("silent: ")
        assert f"{name}: {asked[name]}" in gathered.told


def test_nothing_secret_is_in_it(gathered: Whole) -> None:
    assert not [name for name, text in gathered.files.items() if SECRET in text]


def test_the_page_across_hosts(gathered: Whole) -> None:
    why, summary = (json.loads(gathered.files[name]) for name in ("service/why.json", "summary.json"))
    assert why["summary"] in gathered.files["00-READ-ME-FIRST.txt"].replace("\n    ", " ")
    assert summary["cause"]["id"] == "disk-fails"
    assert summary["cause"]["hosts"] == ["extra"]
    (evidence,) = summary["cause"]["evidence"]
    assert (evidence["file"], evidence["line"]) == ("hosts/extra/dmesg.txt", 3)
    told = {each["id"]: each for each in summary["causes"]}
    (reason, *_) = [each for each in why["reasons"] if each["who"] == "user"]
    assert (told[reason["id"]]["message"], told[reason["id"]]["fix"]) == (reason["message"], reason["fix"])


def _fails(cluster: dict[str, Any]) -> bool:
    info = json.loads(cluster.get("validations_info") or "{}")
    failed = {each["id"] for group in info.values() for each in group if each["status"] == "failure"}
    return "machine-cidr-defined" in failed


def test_the_service_is_dead(tmp_path: Path, room: Room) -> None:
    async def scene() -> None:
        papers = make_papers(tmp_path / "papers")
        url = f"https://127.0.0.1:{free_port()}"
        room.put("192.0.2.2", {"dmesg.txt": "fine\n"})
        hosts = (Known("a", ("192.0.2.1",)), Known("b", ("192.0.2.9", "192.0.2.2")), Known("c", ()))
        files, found, _ = await collect(
            order_of(target_of(papers, url, tmp_path), tmp_path, *hosts), tmp_path
        )
        asked = dict(found.asked)
        assert "connection refused" in asked["service"]
        assert asked["a"] == "silent: ssh: connect to host 192.0.2.1 port 22: No route to host"
        assert asked["c"] == "silent: nobody knows an address of it"
        assert files["hosts/b/dmesg.txt"] == "fine\n"
        page = files["00-READ-ME-FIRST.txt"]
        assert "MOST PROBABLE CAUSE\n  the service does not answer: no service at" in page
        assert "a host could not be asked: ssh: connect to host 192.0.2.1" in page
        assert f"service: {asked['service']}" in page.replace("\n    ", " ")

    play(scene, 60)
    assert "BatchMode=yes" in room.calls[0]
    assert "StrictHostKeyChecking=accept-new" in room.calls[0]
    assert any(call.endswith("-- 192.0.2.1 sudo -n muster host bundle --to -") for call in room.calls)


def test_only_the_hosts_that_are_named(tmp_path: Path, room: Room) -> None:
    async def scene() -> None:
        hosts = (Known("a.example.com", ("192.0.2.1",)), Known("b", ("192.0.2.2",)))
        for address in ("192.0.2.1", "192.0.2.2", "192.0.2.3"):
            room.put(address, {"dmesg.txt": "fine\n"})
        order = order_of("no token", tmp_path, *hosts, wanted=("a", "192.0.2.3", "192.0.2.1"))
        files, found, _ = await collect(order, tmp_path)
        assert [who for who, _ in found.asked] == ["service", "a.example.com", "192.0.2.3"]
        assert "hosts/b/dmesg.txt" not in files
        with pytest.raises(MusterError, match="neither a host of the site nor an address"):
            await collect(order_of("no token", tmp_path, *hosts, wanted=("-oProxyCommand=x",)), tmp_path)

    play(scene, 60)


def test_a_host_that_breaks_off_is_kept_so_far(tmp_path: Path, room: Room) -> None:
    async def scene() -> None:
        room.put("192.0.2.1", {"dmesg.txt": "fine\n"})
        (room.folder / "192.0.2.1.status").write_text("1")
        files, found, _ = await collect(order_of("no token", tmp_path, Known("a", ("192.0.2.1",))), tmp_path)
        assert files["hosts/a/dmesg.txt"] == "fine\n"
        assert "but it ended with status 1" in dict(found.asked)["a"]

    play(scene, 60)


def test_a_host_that_sends_something_else(tmp_path: Path, room: Room) -> None:
    async def scene() -> None:
        for address, data in (("192.0.2.1", b"\x1f\x8bno bundle"), ("192.0.2.2", b"Welcome!\n")):
            (room.folder / f"{address}.tar.gz").write_bytes(data)
        hosts = (Known("a", ("192.0.2.1",)), Known("b", ("192.0.2.2",)))
        with pytest.raises(
            MusterError, match="nothing could be gathered: service: no token; a: silent: what it"
        ):
            await collect(order_of("no token", tmp_path, *hosts), tmp_path)
        assert not (tmp_path / "all.tar.gz").exists()

    play(scene, 60)


def test_the_log_of_a_service_that_was_killed(tmp_path: Path) -> None:
    """What `muster host bundle` takes from the host that served."""

    async def scene() -> None:
        root = tmp_path / "root"
        data = root / "var/lib/muster/service"
        data.parent.mkdir(parents=True)
        with served(tmp_path, data=data) as service:
            async with person(tmp_path, service) as someone:
                cluster = await someone.make_cluster(api_vips=[{"ip": "203.0.113.7"}])
                async with watched_hosts(someone, cluster["infra_env_id"], machines(3)):
                    await until(someone, cluster["id"], "pending-for-input")
            service.kill()
        parts = tuple(parts_beside(Path("/var/lib/muster/service")))
        about = About("Bundle of host a", datetime.now(UTC))
        wish = Wish(about, tmp_path / "a.tar.gz", "a", tmp_path / "scratch", parts)
        made = await make_bundle(RecordedMachine(root), wish)
        files = read_archive(made.archive)
        assert "alpha" in files["service/events.txt"]
        why = json.loads(files[f"service/why-{cluster['id']}.json"])
        assert made.cause is not None
        assert made.cause.id in {each["id"] for each in why["reasons"]}
        assert made.cause.fix
        assert json.loads(files[f"service/cluster-{cluster['id']}.json"])["name"] == "alpha"
        assert "dXNlcjpzZWNyZXQ" not in "".join(files.values())
        assert "inventory.json" in files

    play(scene, 180)


def test_what_a_lab_has_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    lab = make_lab(tmp_path / "muster/labs/t1", LabPlan("t1", "", "amd64", "", (), (), ()))
    save(
        lab.machine_folder("a") / "serial.log",
        f"login: token={SECRET}\nOut of memory: Killed process 7 (muster) x\n",
    )

    async def scene() -> None:
        extra = ("lab", partial(keep_lab, name="t1"))
        files, found, _ = await collect(replace(order_of("no token", tmp_path), extras=(extra,)), tmp_path)
        assert found.asked[-1] == ("lab", "kept")
        assert files["lab/a/serial.log"].startswith("login: token=••••\n")
        assert json.loads(files["lab/plan.json"])["name"] == "t1"
        cause = json.loads(files["summary.json"])["cause"]
        assert (cause["id"], cause["hosts"]) == ("out-of-memory", ["a"])

    play(scene, 60)


def test_a_lab_that_is_not_there(tmp_path: Path, room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    room.put("192.0.2.1", {"dmesg.txt": "fine\n"})

    async def scene() -> None:
        extra = ("lab", partial(keep_lab, name="t1"))
        order = replace(order_of("no token", tmp_path, Known("a", ("192.0.2.1",))), extras=(extra,))
        _, found, _ = await collect(order, tmp_path)
        assert found.asked[-1] == ("lab", "there is no lab t1")

    play(scene, 60)
