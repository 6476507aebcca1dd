# SPDX-License-Identifier: Apache-2.0
"""What the media server answers, over a tiny base image."""

from __future__ import annotations

import json
import logging
import random
from datetime import timedelta
from pathlib import Path

import pytest

from muster.errors import ExternalError
from muster.image.coreos.customize import Customization, read_contents
from muster.image.coreos.miniso import pack_minimal, render_recipe
from muster.image.cpio import parse_archives
from muster.service.media.bases import KnownImages
from muster.service.media.boot import boot_script, redirect_script
from muster.service.media.compose import Composer
from muster.service.media.desk import Asked, Desk, Offer, Reply
from muster.service.media.discovery import discovery_customization, discovery_ignition
from muster.service.media.order import Kind, MediumOrder
from muster.service.media.paths import Target, parse_target
from muster.serving.sending import FilePart
from tests import media
from tests.discovery import INFRA_ENV, NOW, OTHER, Site, base_of, order

ROOTFS = b"r" * 30_001
COMMON = {"images/pxeboot/vmlinuz": b"k" * 5000, "images/pxeboot/initrd.img": b"i" * 6001}
KARGS = {**media.KARGS, "size": 512}
AREA = b"coreos.liveiso=x ignition.firstboot\n".ljust(512, b"#")
GRUB = {"EFI/grub.cfg": b"linux " + AREA + b"\n", "isolinux/isolinux.cfg": b"append " + AREA + b"\n"}
LONG = {"images/ignition.img": bytes(16 << 10)}


def build_base() -> bytes:
    """A tiny live image with its minimal twin in it."""
    common = {**COMMON, **GRUB, **LONG}
    own = {"images/pxeboot/rootfs.img": ROOTFS, "coreos/miniso.dat": bytes(8192)}
    full, minimal = (media.build(kargs=KARGS, files=files) for files in ({**common, **own}, common))
    recipe = render_recipe(pack_minimal(media.volume(full), media.volume(minimal)), "muster 0")
    place = media.volume(full).find("coreos/miniso.dat")
    assert place is not None
    return media.replaced(full, place.offset, recipe)


BASE = build_base()


@pytest.fixture
def site(tmp_path: Path) -> Site:
    path = tmp_path / "live.iso"
    path.write_bytes(BASE)
    return Site(path)


def body(reply: Reply) -> bytes:
    parts = []
    for part in reply.parts:
        if isinstance(part, FilePart):
            part.file.seek(part.span.start)
            parts.append(part.file.read(part.span.count))
        else:
            parts.append(part)
    reply.close()
    return b"".join(parts)


def ask(site: Site, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    path, _, query = path.partition("?")
    pairs = dict(pair.split("=", 1) for pair in query.split("&")) if query else {}
    named = {name.replace("_", "-").lower(): value for name, value in headers.items()}
    reply = site.desk.answer(Asked(method, path, pairs, named))
    data = body(reply)
    assert method == "HEAD" or len(data) == reply.head.length
    return reply.head.status, dict(reply.head.headers), data


def get(site: Site, name: str) -> bytes:
    status, _, data = ask(site, site.path(name))
    assert status == 200, data
    return data


def test_a_full_iso_holds_the_ignition_config(site: Site) -> None:
    data = get(site, "full.iso")
    contents = read_contents(media.volume(data))
    assert contents.ignition == discovery_ignition(order())
    assert contents.kargs == "coreos.liveiso=x ignition.firstboot console=ttyS0"
    assert contents.default_kargs == "coreos.liveiso=x ignition.firstboot"


def test_a_minimal_iso_fetches_its_root_file_system(site: Site) -> None:
    data = get(site, "minimal.iso")
    contents = read_contents(media.volume(data))
    assert contents.ignition == discovery_ignition(order())
    url = "http://service.example.com:8091/boot-artifacts/any/x86_64/rootfs.img"
    assert contents.kargs == f"ignition.firstboot coreos.live.rootfs_url={url} console=ttyS0"
    assert contents.default_kargs == "ignition.firstboot"
    assert "etc/assisted/network/host0/eth0.nmconnection" in {each.path for each in contents.initrd}
    assert media.volume(data).find("images/pxeboot/rootfs.img") is None
    target = parse_target("/boot-artifacts/any/x86_64/rootfs.img", {})
    assert target == Target(Kind.ROOTFS, "", "x86_64")


def test_files_of_the_base_are_not_copied(site: Site) -> None:
    for kind in (Kind.FULL, Kind.MINIMAL):
        medium = site.composer.compose(order(), kind)
        from_base = sum(each.length for each in medium.assembly.stretches if each.data is None)
        assert from_base > 5000 + 6001
        assert medium.assembly.memory_bytes < 100_000


def test_files_for_network_boot(site: Site) -> None:
    assert ask(site, "/boot-artifacts/any/x86_64/vmlinuz")[2] == COMMON["images/pxeboot/vmlinuz"]
    assert ask(site, "/boot-artifacts/kernel?arch=x86_64&version=4.19")[2] == COMMON["images/pxeboot/vmlinuz"]
    status, headers, data = ask(site, "/boot-artifacts/any/x86_64/rootfs.img", Range="bytes=-1")
    assert (status, data) == (206, b"r")
    assert "Last-Modified" not in headers
    initrd = get(site, "pxe-initrd")
    own = COMMON["images/pxeboot/initrd.img"]
    assert initrd.startswith(own + bytes(3))
    members = {member.path: member.data for member in parse_archives(initrd[len(own) :], "x")}
    assert members["config.ign"] == discovery_ignition(order())
    assert "etc/assisted/network/host1/mac_interface.ini" in members


def test_scripts(site: Site) -> None:
    script = boot_script(order(), "key-1", site.composer, site.signer)
    lines = script.splitlines()
    assert lines[0] == "#!ipxe"
    initrd = lines[1].split()[-1].removeprefix("http://service.example.com:8091")
    assert ask(site, initrd)[2] == get(site, "pxe-initrd")
    kernel = lines[2].split()[1].removeprefix("http://service.example.com:8091")
    assert ask(site, kernel)[2] == COMMON["images/pxeboot/vmlinuz"]
    for word in ("initrd=initrd", "ignition.platform.id=metal", "ignition.firstboot", "console=ttyS0"):
        assert word in lines[2].split()
    assert "coreos.live.rootfs_url=" in lines[2]
    assert "liveiso" not in script
    redirect = redirect_script("https://example.com/files?image_token=x")
    assert redirect == "#!ipxe\nchain https://example.com/files?image_token=x&mac=${net0/mac}\n"


@pytest.mark.parametrize("name", ["full.iso", "minimal.iso", "pxe-initrd"])
def test_ranges_are_parts_of_the_whole(site: Site, name: str) -> None:
    path = site.path(name)
    data = get(site, name)
    noise = random.Random(name)
    for _ in range(50):
        start = noise.randrange(len(data))
        end = min(start + noise.choice((0, 1, 100, 5000, len(data))), len(data) - 1)
        status, headers, part = ask(site, path, Range=f"bytes={start}-{end}")
        assert status == 206
        assert headers["Content-Range"] == f"bytes {start}-{end}/{len(data)}"
        assert part == data[start : end + 1]
    assert ask(site, path, Range=f"bytes={len(data)}-")[0] == 416


def test_validators(site: Site) -> None:
    status, headers, data = ask(site, site.path(), "HEAD")
    assert (status, data) == (200, b"")
    etag = headers["ETag"]
    assert headers["Last-Modified"] == "Wed, 04 Mar 2026 05:06:07 GMT"
    assert headers["Content-Disposition"] == f'attachment; filename="{INFRA_ENV}-discovery.iso"'
    assert ask(site, site.path(), If_None_Match=etag)[0] == 304
    assert ask(site, site.path(), If_Modified_Since=headers["Last-Modified"])[0] == 304
    assert ask(site, site.path(), Range="bytes=1-2", If_Range=etag)[0] == 206
    site.offers[INFRA_ENV] = Offer(order(ssh_key="ssh-ed25519 BBBB"), "key-1")
    assert ask(site, site.path(), Range="bytes=1-2", If_Range=etag)[0] == 200
    assert ask(site, site.path(), "HEAD")[1]["ETag"] != etag


def test_another_base_is_another_medium(site: Site) -> None:
    before = ask(site, site.path(), "HEAD")[1]["ETag"]
    other = site.base.with_name("new.iso")
    other.write_bytes(BASE.replace(b"k" * 5000, b"l" * 5000))
    other.replace(site.base)
    after = ask(site, site.path(), "HEAD")[1]["ETag"]
    assert before != after
    assert b"l" * 5000 in get(site, "full.iso")


def test_media_are_made_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def make(order: MediumOrder, rootfs_url: str = "") -> Customization:
        made.append(rootfs_url)
        return discovery_customization(order, rootfs_url)

    monkeypatch.setattr("muster.service.media.compose.discovery_customization", make)
    for _ in range(3):
        get(site, "full.iso")
    assert len(made) == 1


@pytest.mark.parametrize("name", ["full.iso", "pxe-initrd"])
def test_addresses_that_are_refused(site: Site, name: str) -> None:
    path = site.path(name)
    assert ask(site, path)[0] == 200
    tampered = path.replace(".", ".A", 1)
    status, _, data = ask(site, tampered)
    assert (status, json.loads(data)["code"]) == (403, 403)
    site.now.pass_by(timedelta(hours=4))
    assert ask(site, path)[0] == 403
    fresh = site.path(name)
    assert ask(site, fresh)[0] == 200
    site.offers[INFRA_ENV] = Offer(order(), "key-2")
    assert ask(site, fresh)[0] == 403
    assert ask(site, site.path(name))[0] == 200
    gone = site.path(name)
    del site.offers[INFRA_ENV]
    assert ask(site, gone)[0] == 403


def test_a_token_opens_one_infra_env(site: Site) -> None:
    site.offers[OTHER] = Offer(order(infra_env_id=OTHER), "key-1")
    token = site.token()
    assert ask(site, f"/images/{INFRA_ENV}?api_key={token}")[0] == 200
    assert ask(site, f"/images/{INFRA_ENV}?image_token={token}&type=minimal-iso")[0] == 200
    assert ask(site, f"/images/{INFRA_ENV}/pxe-initrd?api_key={token}")[0] == 200
    assert ask(site, f"/images/{OTHER}?api_key={token}")[0] == 403
    assert ask(site, f"/images/{OTHER}/pxe-initrd?image_token={token}")[0] == 403
    assert ask(site, f"/bytoken/{token}/any/x86_64/full.iso")[0] == 200


def test_without_a_token(site: Site) -> None:
    for path in (f"/byid/{INFRA_ENV}/any/x86_64/full.iso", f"/images/{INFRA_ENV}", f"/images/{OTHER}"):
        assert ask(site, path)[0] == 403
    free = Site(site.base, is_open=True)
    assert ask(free, f"/byid/{INFRA_ENV}/any/x86_64/full.iso")[0] == 200
    assert ask(free, f"/byid/{OTHER}/any/x86_64/full.iso")[0] == 404


@pytest.mark.parametrize(
    "path",
    ["/", "/byid", "/byapikey/t/v/x86_64/other.iso", "/images/a/b", "/boot-artifacts/x", "/images/a?type=x",
     "/boot-artifacts/any/../rootfs.img/x", "/boot-artifacts/" + "v" * 200 + "/x86_64/vmlinuz"],
)  # fmt: skip
def test_nothing_there(site: Site, path: str) -> None:
    assert ask(site, path)[0] == 404


def test_only_reading(site: Site) -> None:
    status, headers, _ = ask(site, site.path(), "POST")
    assert (status, headers["Allow"]) == (405, "GET, HEAD")


def test_images_that_are_not_there(site: Site) -> None:
    assert ask(site, "/boot-artifacts/any/s390x/rootfs.img")[0] == 404
    token = site.token()
    assert ask(site, f"/byapikey/{token}/any/aarch64/full.iso")[0] == 404
    assert ask(site, f"/byapikey/{token}/any/x86_64/disconnected.iso")[0] == 404


def test_a_base_that_cannot_be_used(site: Site) -> None:
    image = base_of(site.base)
    path = site.path()
    site.base.write_bytes(bytes(100_000))
    assert ask(site, path)[0] == 500
    site.base.unlink()
    gone = Desk(site, Composer(KnownImages({("x86_64", ""): lambda: image})), site.signer)
    status = gone.answer(Asked("GET", path)).head.status
    assert status == 500


def test_a_bad_override_is_told(site: Site) -> None:
    site.offers[INFRA_ENV] = Offer(order(ignition_override="{"), "key-1")
    status, _, data = ask(site, site.path())
    assert (status, "ignition_config_override" in json.loads(data)["reason"]) == (500, True)
    assert site.offers[INFRA_ENV].order.updated_at == NOW


def test_refused_requests_write_few_lines(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    """A stranger asks as often as it likes; each reason is written once a minute."""
    caplog.set_level(logging.INFO, "muster.service.media.desk")
    for _ in range(50):
        assert ask(site, f"/byid/{INFRA_ENV}/any/x86_64/full.iso")[0] == 403
        assert ask(site, f"/images/{INFRA_ENV}?version=any&arch=x86_64&type=full-iso&api_key=a")[0] == 403
    assert 1 <= len(caplog.records) <= 4


def test_a_base_that_cannot_be_read_is_reported_once_a_minute(
    site: Site, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ExternalError("it is gone", hint="bring it back")

    monkeypatch.setattr(site.composer, "open_public", fail)
    for _ in range(50):
        assert ask(site, "/boot-artifacts/any/x86_64/rootfs.img")[0] == 500
    assert len(caplog.records) == 1
