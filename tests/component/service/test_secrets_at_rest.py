# SPDX-License-Identifier: Apache-2.0
"""Secrets at rest: nothing secret is in the files of the database, and a lost key stops the start."""

from __future__ import annotations

import asyncio
import base64
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from muster.errors import UserError
from muster.service.realm import Realm
from muster.service.replay import check_store
from muster.service.secret_store import open_secret_store
from muster.service.store.open import FILE, open_store
from muster.service.store.port import Change, StoreError
from muster.service.store.sealed import is_secret
from muster.service.store.sqlite import SqliteStore
from tests.component.service.test_installation import finish
from tests.component.service.whole import Whole, machines, open_service, play
from tests.realms import begin

CANARY = "canary-7f3a9c"
MANIFEST = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\nstringData: {{key: {CANARY}}}\n"


def raw_bytes(data: Path) -> bytes:
    """All that is in the files of the database."""
    files = [each for each in data.iterdir() if each.name.startswith(FILE)]
    assert {f"{FILE}-wal", FILE} <= {each.name for each in files}
    return b"".join(each.read_bytes() for each in files)


def forms(secret: str) -> list[bytes]:
    """A text as it is, and as it looks within base64, wherever it begins there."""
    found = [secret.encode()]
    for shift in range(3):
        packed = base64.b64encode(b"-" * shift + secret.encode())
        start, spoiled = (0, 2, 3)[shift], (4 if (len(secret) + shift) % 3 else 0)
        found.append(packed[start : len(packed) - spoiled])
    return found


async def install(site: Whole) -> dict[str, Any]:
    cluster = await site.make_cluster()
    path = f"/clusters/{cluster['id']}"
    await add_manifest(site, cluster, "a.yaml")
    async with site.hosts(cluster["infra_env_id"], machines(3)):
        await site.until(cluster["id"], lambda each: each["status"] == "ready")
        assert (await site.ask("POST", f"{path}/actions/install")).status == 202
        await site.until(cluster["id"], lambda each: each["status"] == "finalizing")
        await finish(site, cluster)
        return await site.until(cluster["id"], lambda each: each["status"] == "installed") | cluster


async def ignition_of(site: Whole, cluster: dict[str, Any]) -> bytes:
    host = (await site.cluster(cluster["id"]))["hosts"][0]
    path = f"/infra-env/{cluster['infra_env_id']}/hosts/{host['id']}/downloads/ignition"
    got = await site.ask("GET", path)
    assert got.status == 200, got.body
    return got.body


def unseal(data: Path) -> None:
    """Make the database what an older Muster wrote: files in clear, and no notes."""
    opened = open_secret_store(data, data / "keys", os.urandom)
    with closing(opened.store), closing(sqlite3.connect(data / FILE)) as db:
        for realm in opened.store.versions():
            for subject, name in opened.store.documents(realm):
                body = opened.store.document(realm, subject, name)
                values = (body, realm, subject, name)
                db.execute("UPDATE documents SET body=? WHERE realm=? AND subject=? AND name=?", values)
        db.execute("DROP TABLE notes")
        db.execute("PRAGMA user_version=1")
        db.commit()
    assert opened.claim is not None
    opened.claim.release()


def test_an_installation_leaves_no_secret_in_the_database(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            cluster = await install(site)
            raw = raw_bytes(tmp_path / "data")
            for secret in ("PRIVATE KEY", CANARY, "dXNlcjpzZWNyZXQ="):
                assert not [each for each in forms(secret) if each in raw], secret
            config = await ignition_of(site, cluster)
            assert any(each in config for each in forms("PRIVATE KEY"))
            names = {name for _, name in site.running.store.documents(cluster["id"])}
            assert any(name.startswith("file/host/") for name in names)
            got = await site.ask(
                "GET", f"/clusters/{cluster['id']}/manifests/files?folder=manifests&file_name=a.yaml"
            )
            assert got.body.decode() == MANIFEST
            assert check_store(site.running.store) == []

    play(scene)


def test_files_that_an_older_version_wrote_in_clear_are_sealed_at_the_start(tmp_path: Path) -> None:
    async def scene() -> None:
        data = tmp_path / "data"
        async with open_service(tmp_path) as site:
            cluster = await install(site)
        await asyncio.to_thread(unseal, data)
        assert CANARY.encode() in (data / FILE).read_bytes()
        async with open_service(tmp_path) as site:
            assert CANARY.encode() not in raw_bytes(data)
            got = await site.ask(
                "GET", f"/clusters/{cluster['id']}/manifests/files?folder=manifests&file_name=a.yaml"
            )
            assert got.body.decode() == MANIFEST
            assert check_store(site.running.store) == []

    play(scene)


def test_clear_text_is_removed_by_the_next_start_when_the_first_one_could_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    connect, scrub = SqliteStore._connect, SqliteStore.scrub

    def without_secure_delete(store: SqliteStore) -> sqlite3.Connection:
        """Debian's SQLite overwrites what is deleted; others do not."""
        found = connect(store)
        found.execute("PRAGMA secure_delete=OFF")
        return found

    def on_full_disk(_: SqliteStore) -> None:
        raise StoreError("the disk is full")

    def is_clear() -> bool:
        return any(CANARY.encode() in each.read_bytes() for each in tmp_path.glob(f"{FILE}*"))

    def start() -> int:
        opened = open_secret_store(tmp_path, tmp_path / "keys", os.urandom)
        opened.store.close()
        assert opened.claim is not None
        opened.claim.release()
        return opened.sealed

    monkeypatch.setattr(SqliteStore, "_connect", without_secure_delete)
    with closing(open_store(tmp_path)) as store:
        store.commit([begin(Realm("c1"))])
        files = {("c1", f"file/host/{number}.ign"): (CANARY * 500).encode() for number in range(20)}
        store.commit([Change("c1", 2, (), {}, dict(files))])
    monkeypatch.setattr(SqliteStore, "scrub", on_full_disk)
    assert start() == 20
    assert is_clear()
    assert "could not be removed (the disk is full); it is tried again at the next start" in caplog.text
    monkeypatch.setattr(SqliteStore, "scrub", scrub)
    assert start() == 0
    assert not is_clear()


def other_key(letter: bytes) -> bytes:
    return base64.urlsafe_b64encode(letter * 32) + b"\n"


@pytest.mark.parametrize("other", [b"", other_key(b"k")])
def test_a_lost_key_stops_the_start_until_it_is_back(tmp_path: Path, other: bytes) -> None:
    async def scene() -> None:
        key = tmp_path / "data/keys/secrets.key"
        async with open_service(tmp_path) as site:
            cluster = await site.make_cluster()
        kept = key.read_bytes()
        key.unlink()
        if other:
            key.write_bytes(other)
            key.chmod(0o600)
        lost = r"secrets\.key .* key that secrets .*pull secret of cluster alpha"
        with pytest.raises(UserError, match=lost) as no:
            async with open_service(tmp_path):
                raise AssertionError("it started")
        assert "restore" in no.value.hint
        assert "--discard-secrets" in no.value.hint
        assert key.exists() == bool(other)
        key.write_bytes(kept)
        key.chmod(0o600)
        async with open_service(tmp_path) as site:
            assert (await site.cluster(cluster["id"]))["pull_secret_set"]

    play(scene)


def test_secrets_of_a_lost_key_can_be_discarded(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            cluster = await site.make_cluster()
            path = f"/clusters/{cluster['id']}"
            assert (await site.ask("GET", f"{path}/credentials")).status == 200
        (tmp_path / "data/keys/secrets.key").write_bytes(other_key(b"n"))
        async with open_service(tmp_path, discard_secrets=True) as site:
            assert not (await site.cluster(cluster["id"]))["pull_secret_set"]
            events = (await site.ask("GET", f"/events?cluster_id={cluster['id']}")).json
            (told,) = [each for each in events if each["name"] == "secrets_discarded"]
            assert "pull secret of cluster alpha" in told["message"]
            assert (await site.ask("GET", f"{path}/credentials")).status == 200, "they are made again"
        async with open_service(tmp_path) as site:
            assert (await site.cluster(cluster["id"]))["name"] == "alpha"

    play(scene)


async def add_manifest(site: Whole, cluster: dict[str, Any], name: str) -> None:
    content = base64.b64encode(MANIFEST.encode()).decode()
    body = {"folder": "manifests", "file_name": name, "content": content}
    got = await site.ask("POST", f"/clusters/{cluster['id']}/manifests", body)
    assert got.status == 201, got.body


def test_discarded_manifests_are_gone_and_named(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            cluster = await site.make_cluster()
            path = f"/clusters/{cluster['id']}"
            for number in range(7):
                await add_manifest(site, cluster, f"a{number}.yaml")
            assert (await site.ask("GET", f"{path}/credentials")).status == 200
        (tmp_path / "data/keys/secrets.key").write_bytes(other_key(b"n"))
        async with open_service(tmp_path, discard_secrets=True) as site:
            assert (await site.ask("GET", f"{path}/manifests")).json == []
            events = (await site.ask("GET", f"/events?cluster_id={cluster['id']}")).json
            (told,) = [each["message"] for each in events if each["name"] == "secrets_discarded"]
            assert "pull secret of cluster alpha; files manifest manifests/a0.yaml, manifest" in told
            assert "manifest manifests/a6.yaml, kubeadmin-password and 2 more. Set the secrets again" in told
            await add_manifest(site, cluster, "a0.yaml")
            got = await site.ask("GET", f"{path}/manifests")
            assert [each["file_name"] for each in got.json] == ["a0.yaml"]

    play(scene)


def test_missing_manifest_stops_the_preparation_with_a_way_out(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            cluster = await site.make_cluster()
            path = f"/clusters/{cluster['id']}"
            await add_manifest(site, cluster, "a.yaml")
            await asyncio.to_thread(remove_document, tmp_path / "data", "manifest/manifests/a.yaml")
            async with site.hosts(cluster["infra_env_id"], machines(3)):
                await site.until(cluster["id"], lambda each: each["status"] == "ready")
                assert (await site.ask("GET", f"{path}/install-config")).status == 200
                assert (await site.ask("GET", f"{path}/credentials")).status == 200
                assert (await site.ask("POST", f"{path}/actions/install")).status == 202
                found = await site.until(cluster["id"], lambda each: "failed" in each["status_info"])
                assert found["status"] == "ready"
                lost = "no content of manifest manifests/a.yaml of cluster alpha; add the manifest again"
                assert lost in found["status_info"]
                await add_manifest(site, cluster, "a.yaml")
                assert (await site.ask("POST", f"{path}/actions/install")).status == 202
                await site.until(cluster["id"], lambda each: each["status"] == "finalizing")

    play(scene)


def remove_document(data: Path, name: str) -> None:
    """Lose a file of a cluster while the service runs."""
    with closing(sqlite3.connect(data / FILE)) as db:
        db.execute("DELETE FROM documents WHERE name=?", (name,))
        db.commit()


def test_a_lost_key_of_a_store_without_secrets_is_no_obstacle(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path):
            pass
        (tmp_path / "data/keys/secrets.key").unlink()
        async with open_service(tmp_path) as site:
            assert (await site.ask("GET", "/ready")).status == 200

    play(scene)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("tokens.pem", "the key for tokens is new"),
        ("authority.key", "the authority of the service's certificate is new"),
    ],
)
def test_a_new_key_in_place_of_a_lost_one_is_reported(tmp_path: Path, name: str, what: str) -> None:
    async def scene() -> None:
        for _ in range(2):
            async with open_service(tmp_path) as site:
                assert "warnings" not in (await site.ask("GET", "/service")).json
        (tmp_path / "data/keys" / name).unlink()
        async with open_service(tmp_path) as site:
            (warning,) = (await site.ask("GET", "/service")).json["warnings"]
            assert what in warning

    play(scene)


def test_files_that_all_users_can_read_are_closed_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        data = tmp_path / "data"
        async with open_service(tmp_path) as site:
            await site.make_cluster()
        (data / FILE).chmod(0o644)
        (data / f"{FILE}.last-commit").chmod(0o666)
        (data / "keys").chmod(0o755)
        async with open_service(tmp_path):
            for each in (data / FILE, *data.glob(f"{FILE}-*"), data / f"{FILE}.last-commit"):
                assert stat.S_IMODE(each.stat().st_mode) == 0o600
            assert stat.S_IMODE((data / "keys").stat().st_mode) & 0o007 == 0
        assert f"{data / FILE} was accessible to all users (mode 0644)" in caplog.text

    play(scene)


def test_a_database_of_another_user_is_refused(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("files can be given to another user by root alone")
    open_store(tmp_path).close()
    os.chown(tmp_path / FILE, 12345, -1)
    with pytest.raises(UserError, match="belongs to user 12345, but the service runs as user 0"):
        open_secret_store(tmp_path, tmp_path / "keys", os.urandom)


def test_logs_and_reports_can_be_read_without_the_key() -> None:
    names = ("logs/controller", "connectivity", "connectivity-3", "file/host/a.ign", "manifest/manifests/a")
    assert [is_secret(name) for name in names] == [False, False, False, True, True]
