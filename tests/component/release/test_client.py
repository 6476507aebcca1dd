# SPDX-License-Identifier: Apache-2.0
"""Images come from a registry, however it behaves; and when they cannot, it is said why."""

from __future__ import annotations

import asyncio
import random
import re

import pytest

from muster.errors import MusterError
from muster.model.registries import Mirror, RegistriesConf, Registry
from muster.release.oci.client import Settings, open_client
from muster.release.oci.digest import digest_of
from muster.release.oci.logins import Login, Logins
from muster.release.oci.manifest import LARGEST_MANIFEST, OCI_MANIFEST, Descriptor
from muster.release.oci.reference import parse_reference
from muster.release.oci.trouble import Unreachable
from tests.component.release.meeting import LIMITS, Meeting, patience_of, play
from tests.component.release.rough_registry import REFRESH, start_registry

LAYER = random.Random(1).randbytes(300_000)


def refuse(scene_error: pytest.ExceptionInfo[MusterError]) -> str:
    """What was said, and what is to be done; no secret may be in it."""
    said = f"{scene_error.value.message} | {scene_error.value.hint}"
    assert "hunter2" not in said
    return said


def test_by_tag_and_by_digest() -> None:
    async def scene(at: Meeting) -> None:
        manifest = at.registry.add_image("a/b", "v1", [LAYER])
        by_tag = await at.client.manifest(at.registry.reference("a/b", "v1"))
        by_digest = await at.client.manifest(at.registry.reference("a/b", digest=manifest.digest))
        assert by_tag.manifest == by_digest.manifest == manifest
        assert by_tag.reference == at.registry.reference("a/b", "v1", manifest.digest)
        assert await at.read(by_tag.reference, manifest.layers[0]) == LAYER
        assert await at.read(by_tag.reference, manifest.layers[0], 299_000) == LAYER[299_000:]
        assert await at.client.manifest_there(at.registry.reference("a/b", "v2")) is None
        assert at.waits == []

    play(scene)


def test_an_empty_blob_is_not_asked_for() -> None:
    async def scene(at: Meeting) -> None:
        empty = Descriptor(OCI_MANIFEST, digest_of(b""), 0)
        assert await at.read(at.registry.reference("a"), empty) == b""
        assert at.registry.asked == []

    play(scene)


@pytest.mark.parametrize("login", ["basic", "bearer"])
def test_logins(login: str) -> None:
    async def scene(at: Meeting) -> None:
        manifest = at.registry.add_image("a/b", "v1", [LAYER])
        at.registry.faults.login = login
        found = await at.client.manifest(at.registry.reference("a/b", "v1"))
        await asyncio.gather(*(at.read(found.reference, manifest.layers[0]) for _ in range(6)))
        refused = [asked for asked in at.registry.asked if "authorization" not in asked.headers]
        # Only once is it tried without; the first of them is to find out whether TLS is spoken.
        assert [asked.path for asked in refused] == ["/v2/", "/v2/a/b/manifests/v1"]
        if login == "bearer":
            assert at.registry.paths()[2] == "/token?service=rough%2C%20one&scope=repository%3Aa%2Fb%3Apull"
            assert len(at.registry.tokens) == 1

    play(scene)


def test_a_token_of_the_other_name_that_expires() -> None:
    async def scene(at: Meeting) -> None:
        manifest = at.registry.add_image("a/b", "v1", [LAYER])
        at.registry.faults.login = "bearer"
        at.registry.faults.token_key = "access_token"
        found = await at.client.manifest(at.registry.reference("a/b", "v1"))
        at.registry.tokens = ["another"]  # Long before it was to.
        assert await at.read(found.reference, manifest.layers[0]) == LAYER
        assert len(at.registry.tokens) == 2

    play(scene)


def test_a_token_instead_of_a_password() -> None:
    async def scene(at: Meeting) -> None:
        manifest = at.registry.add_image("a/b", "v1", [LAYER])
        at.registry.faults.login = "bearer"
        login = Login(at.registry.host, "00000000", "", REFRESH)
        settings = Settings(
            logins=Logins({login.scope: login}), insecure=frozenset({at.registry.host}), limits=LIMITS
        )
        async with open_client(settings) as client:
            assert (await client.manifest(at.registry.reference("a/b", "v1"))).manifest == manifest
        assert at.registry.paths("POST") == ["/token"]

    play(scene)


@pytest.mark.parametrize("login", ["basic", "bearer"])
def test_no_login(login: str) -> None:
    async def scene(at: Meeting) -> None:
        at.registry.faults.login = login
        with pytest.raises(Unreachable) as caught:
            await at.client.manifest(at.registry.reference("a/b", "v1"))
        assert f"{at.registry.host} wants a login to pull from a/b, and there is none" in refuse(caught)
        assert at.waits == []

    play(scene, logins=Logins())


@pytest.mark.parametrize("login", ["basic", "bearer"])
def test_a_login_that_is_refused(login: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(at: Meeting) -> None:
        at.registry.faults.login = login
        monkeypatch.setattr("tests.component.release.rough_registry.BASIC", "Basic else")
        with pytest.raises(Unreachable) as caught:
            await at.client.manifest(at.registry.reference("a/b", "v1"))
        assert f"{at.registry.host} refused the login for {at.registry.host} to pull" in refuse(caught)
        assert at.waits == []

    play(scene)


def test_a_token_server_that_everybody_could_listen_to() -> None:
    async def scene(at: Meeting) -> None:
        at.registry.faults.login = "bearer"
        at.registry.faults.realm = "ftp://tokens.example.com/"
        with pytest.raises(Unreachable, match="names a token server that cannot be used"):
            await at.client.manifest(at.registry.reference("a/b", "v1"))

    play(scene)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_trouble_that_passes(status: int) -> None:
    async def scene(at: Meeting) -> None:
        manifest = at.registry.add_image("a", "v1", [LAYER])
        at.registry.faults.statuses = [status, status]
        at.registry.faults.retry_after = "7"
        found = await at.client.manifest(at.registry.reference("a", "v1"))
        assert at.waits == [8, 9]
        at.registry.faults.statuses = [status]
        assert await at.read(found.reference, manifest.layers[0]) == LAYER

    play(scene)


def test_trouble_that_stays() -> None:
    async def scene(at: Meeting) -> None:
        manifest = at.registry.add_image("a", "v1", [LAYER])
        at.registry.faults.statuses = [500] * 9
        with pytest.raises(Unreachable) as caught:
            await at.client.manifest(at.registry.reference("a", "v1"))
        said = refuse(caught)
        assert "answered 500 (TROUBLE: there is trouble, password: ••••" in said
        assert "gave up after 3 tries" in said
        at.registry.faults.statuses = [500] * 9
        with pytest.raises(Unreachable, match=r"the blob sha256:.* of .*/a: .*500.*gave up after 3 tries"):
            await at.read(at.registry.reference("a", "v1"), manifest.layers[0])

    play(scene)


@pytest.mark.parametrize(
    ("status", "why"), [(404, "is not there"), (403, "answered 403"), (400, "answered 400")]
)
def test_trouble_that_does_not_pass(status: int, why: str) -> None:
    async def scene(at: Meeting) -> None:
        at.registry.faults.statuses = [status]
        with pytest.raises(Unreachable, match=why):
            await at.client.manifest(at.registry.reference("a", "v1"))
        assert at.waits == []

    play(scene)


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1:1", "[::1]:1"])
@pytest.mark.parametrize("insecure", [False, True])
def test_a_registry_that_is_down(host: str, insecure: bool) -> None:
    async def scene(at: Meeting) -> None:
        why = f"cannot get {host}/a:v1: cannot reach {host}: connection refused; gave up after 3 tries"
        with pytest.raises(Unreachable, match=f"^{re.escape(why)}$"):
            await at.client.manifest(parse_reference(f"{host}/a:v1"))
        assert at.waits == [1, 2]

    play(scene, insecure=frozenset({host} if insecure else ()))


def test_a_connection_that_breaks_goes_on() -> None:
    async def scene(at: Meeting) -> None:
        manifest = at.registry.add_image("a", "v1", [LAYER])
        blob = manifest.layers[0]
        at.registry.faults.cuts[blob.digest] = [100_000, 50_000, 0, 0, 10]
        assert await at.read(at.registry.reference("a", "v1"), blob) == LAYER
        assert at.registry.served[blob.digest] == len(LAYER), "nothing comes twice"
        assert at.waits == [1, 1, 1, 2, 1], "whoever brings something is trusted again"

    play(scene)


def test_a_connection_that_stalls_goes_on() -> None:
    async def scene(at: Meeting) -> None:
        manifest = at.registry.add_image("a", "v1", [LAYER])
        blob = manifest.layers[0]
        at.registry.faults.stalls[blob.digest] = [100_000]
        assert await at.read(at.registry.reference("a", "v1"), blob) == LAYER
        assert at.registry.served[blob.digest] == len(LAYER)

    play(scene)


@pytest.mark.parametrize("fault", ["no ranges", "wrong range", "no length"])
def test_a_rest_that_does_not_come_as_asked(fault: str) -> None:
    async def scene(at: Meeting) -> None:
        manifest = at.registry.add_image("a", "v1", [LAYER])
        blob = manifest.layers[0]
        at.registry.faults.cuts[blob.digest] = [100_000]
        at.registry.faults.ranges = fault != "no ranges"
        at.registry.faults.announces_length = fault != "no length"
        if fault == "wrong range":
            at.registry.faults.content_range = f"bytes 99999-299999/{len(LAYER)}"
        assert await at.read(at.registry.reference("a", "v1"), blob) == LAYER

    play(scene)


@pytest.mark.parametrize(
    ("size", "why"),
    [(len(LAYER) - 1, "the registry has 300000"), (len(LAYER) + 1, "the registry has 300000")],
)
@pytest.mark.parametrize("offset", [0, 1000])
def test_a_manifest_that_lies_about_sizes(size: int, why: str, offset: int) -> None:
    async def scene(at: Meeting) -> None:
        blob = at.registry.add_blob(LAYER)
        lie = Descriptor(blob.media_type, blob.digest, size)
        with pytest.raises(Unreachable, match=rf"{blob.digest} of .* is not what its manifest says.*{why}"):
            await at.read(at.registry.reference("a", "v1"), lie, offset)

    play(scene)


def test_a_blob_without_end() -> None:
    async def scene(at: Meeting) -> None:
        blob = at.registry.add_blob(LAYER)
        at.registry.faults.endless = {blob.digest}
        with pytest.raises(Unreachable, match=r"is not what its manifest says: 300000 bytes; more are sent"):
            await at.read(at.registry.reference("a", "v1"), blob)

    play(scene)


def test_a_blob_that_is_always_too_short() -> None:
    async def scene(at: Meeting) -> None:
        blob = at.registry.add_blob(LAYER)
        at.registry.faults.announces_length = at.registry.faults.ranges = False
        at.registry.faults.instead[blob.digest] = LAYER[:1000]
        with pytest.raises(Unreachable, match="ended after 1000 of 300000 bytes; gave up after 3 tries"):
            await at.read(at.registry.reference("a", "v1"), blob)

    play(scene)


def test_manifests_that_are_others() -> None:
    async def scene(at: Meeting) -> None:
        manifest = at.registry.add_image("a", "v1", [LAYER])
        at.registry.faults.announced_digest = digest_of(b"")
        with pytest.raises(Unreachable, match=rf"has the digest {manifest.digest}, not {digest_of(b'')}"):
            await at.client.manifest(at.registry.reference("a", "v1"))
        at.registry.faults.announced_digest = ""
        at.registry.faults.instead[manifest.digest] = b"{}"
        with pytest.raises(Unreachable, match=rf"not {manifest.digest}"):
            await at.client.manifest(at.registry.reference("a", digest=manifest.digest))
        at.registry.faults.instead["v1"] = b"<html>"
        with pytest.raises(Unreachable, match="it is not JSON"):
            await at.client.manifest(at.registry.reference("a", "v1"))
        at.registry.faults.instead["v1"] = bytes(LARGEST_MANIFEST + 1)
        with pytest.raises(Unreachable, match="sent more than"):
            await at.client.manifest(at.registry.reference("a", "v1"))

    play(scene)


def test_blobs_that_are_elsewhere() -> None:
    async def scene(at: Meeting) -> None:
        async with start_registry() as storage:
            manifest = at.registry.add_image("a", "v1", [LAYER])
            blob = storage.add_blob(LAYER)
            at.registry.faults.login = "basic"
            at.registry.faults.elsewhere = storage.url
            storage.faults.cuts[blob.digest] = [1000]
            found = await at.client.manifest(at.registry.reference("a", "v1"))
            assert await at.read(found.reference, manifest.layers[0]) == LAYER
            assert len(storage.asked) == 2
            assert not [asked for asked in storage.asked if "authorization" in asked.headers]
            assert storage.asked[1].headers["range"] == "bytes=1000-"
            assert storage.asked[0].path.endswith("?a=b%2Fc"), "a signed link is not written anew"

    play(scene)


@pytest.mark.parametrize("where", ["file:///etc/passwd", "http://[", "gopher://x"])
def test_redirects_to_nowhere(where: str) -> None:
    async def scene(at: Meeting) -> None:
        blob = at.registry.add_blob(LAYER)
        at.registry.faults.elsewhere = where
        with pytest.raises(Unreachable, match="redirects to"):
            await at.read(at.registry.reference("a", "v1"), blob)

    play(scene)


def test_redirects_in_circles() -> None:
    async def scene(at: Meeting) -> None:
        blob = at.registry.add_blob(LAYER)
        at.registry.faults.elsewhere = f"{at.registry.url}/v2/a/blobs/{blob.digest}?"
        with pytest.raises(Unreachable, match="redirects in circles"):
            await at.read(at.registry.reference("a", "v1"), blob)

    play(scene)


def test_tags_come_in_pages() -> None:
    async def scene(at: Meeting) -> None:
        for number in range(7):
            at.registry.add_image("a", f"v{number}", [])
        at.registry.page = 3
        assert await at.client.tags(at.registry.reference("a")) == tuple(f"v{number}" for number in range(7))
        assert len(at.registry.paths()) == 4

    play(scene)


def test_mirrors_are_asked_in_order() -> None:
    async def scene(at: Meeting) -> None:
        async with start_registry() as second:
            manifest = second.add_image("copy/a", "v1", [LAYER])
            conf = RegistriesConf(
                (
                    Registry(
                        "registry.example.com",
                        blocked=True,
                        mirrors=(
                            Mirror(f"{at.registry.host}/copy", insecure=True),
                            Mirror(f"{second.host}/copy", insecure=True),
                        ),
                    ),
                )
            )
            waits: list[float] = []
            settings = Settings(registries=conf, limits=LIMITS, patience=patience_of(waits))
            async with open_client(settings) as client:
                wanted = parse_reference(f"registry.example.com/a@{manifest.digest}")
                found = await client.manifest(wanted)
                assert found.reference == second.reference("copy/a", digest=manifest.digest)
                assert at.registry.paths() == ["/v2/", f"/v2/copy/a/manifests/{manifest.digest}"]
                assert waits == [], "the next place is asked at once"
                second.faults.statuses = [500] * 9
                with pytest.raises(Unreachable) as caught:
                    await client.manifest(wanted)
                first, *lines = caught.value.message.splitlines()
                assert first == f"cannot get {wanted} from any of 2 places:"
                assert lines[0].startswith(f"  {at.registry.host}/copy/a: ")
                assert "is not there (MANIFEST_UNKNOWN" in lines[0]
                assert lines[1].startswith(f"  {second.host}/copy/a: ")
                assert "answered 500" in lines[1]

    play(scene)


def test_ipv6() -> None:
    async def go() -> None:
        async with start_registry(address="::1") as registry:
            manifest = registry.add_image("a", "v1", [LAYER])
            settings = Settings(insecure=frozenset({registry.host}), limits=LIMITS)
            async with open_client(settings) as client:
                found = await client.manifest(parse_reference(f"{registry.host}/a:v1"))
                assert found.manifest == manifest

    asyncio.run(go())
