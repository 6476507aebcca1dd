# SPDX-License-Identifier: Apache-2.0
"""Single files come out of images, through links and removals, and nothing else touches the disk."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import hashlib
import io
import random
import resource
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from muster.errors import ExternalError, UserError
from muster.release.at_registry import RegistrySource
from muster.release.copying import pull
from muster.release.in_store import StoreSource
from muster.release.layers import Pick, extract, read_files
from muster.release.oci.digest import digest_of
from muster.release.oci.trouble import Damaged, Unreachable
from muster.release.store.store import create_store
from tests.component.release.meeting import Meeting, play

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ISO = random.Random(5).randbytes(3_000_000)
ISO_PATH = "coreos/coreos-x86_64.iso"


def plain(data: bytes) -> bytes:
    return data


PACKERS: list[Callable[[bytes], bytes]] = [plain, gzip.compress, zstd.compress]


def tar(files: Mapping[str, bytes | str | tarfile.TarInfo]) -> bytes:
    """A layer: content, where a symbolic link leads, or an entry as it is."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            if isinstance(content, tarfile.TarInfo):
                info = content
            elif isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
            else:
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
    return out.getvalue()


def special(name: str, kind: bytes, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def source_of(at: Meeting, layers: list[bytes], name: str = "a") -> RegistrySource:
    at.registry.add_image(name, "v1", layers, "amd64")
    return RegistrySource(at.client, at.registry.reference(name, "v1"))


@contextlib.contextmanager
def file_limit(size_bytes: int) -> Iterator[None]:
    """No file may grow beyond this, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def names_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("pack", PACKERS)
def test_a_base_image_comes_out(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    async def scene(at: Meeting) -> None:
        below = pack(tar({"etc/os-release": b"x" * 1000, ISO_PATH: b"old"}))
        top = pack(tar({ISO_PATH: ISO, "coreos/other": b"1"}))
        source = source_of(at, [below, top])
        at.registry.faults.cuts[digest_of(top)] = [len(top) // 2]
        pick = Pick(f"/{ISO_PATH}", tmp_path / "new" / "base.iso")
        extracted = await extract(source, pick, architecture="amd64")
        assert extracted.path.read_bytes() == ISO
        assert extracted.sha256 == hashlib.sha256(ISO).hexdigest()
        assert extracted.size_bytes == len(ISO)
        assert names_in(tmp_path) == ["new", "new/base.iso"]
        assert at.registry.served[digest_of(below)] == 0, "what is not needed is not fetched"
        assert at.registry.served[digest_of(top)] == len(top), "and what is, once"

    play(scene)


def test_small_files_beside_it_come_in_the_same_go(tmp_path: Path) -> None:
    files: dict[str, bytes | str | tarfile.TarInfo] = {
        ISO_PATH: ISO,
        f"{ISO_PATH}.sha256": b"a hash",
        "coreos/link": f"{Path(ISO_PATH).name}.sha256",
    }

    async def scene(at: Meeting) -> None:
        layer = gzip.compress(tar(files))
        source = source_of(at, [layer])
        pick = Pick(ISO_PATH, tmp_path / "out.iso", (f"{ISO_PATH}.sha256", "coreos/none"))
        found = await extract(source, pick, architecture="amd64")
        assert found.beside == {f"{ISO_PATH}.sha256": b"a hash"}
        assert found.path.read_bytes() == ISO
        assert at.registry.served[digest_of(layer)] == len(layer)
        linked = Pick(ISO_PATH, tmp_path / "again.iso", ("coreos/link",))
        assert (await extract(source, linked, architecture="amd64")).beside == {"coreos/link": b"a hash"}

    play(scene)


def test_a_link_to_the_file_itself_lies_not_beside_it(tmp_path: Path) -> None:
    async def scene(at: Meeting) -> None:
        source = source_of(at, [tar({ISO_PATH: ISO, "coreos/link": Path(ISO_PATH).name})])
        with pytest.raises(UserError, match="is a link to what it should lie beside"):
            await extract(
                source, Pick(ISO_PATH, tmp_path / "out.iso", ("coreos/link",)), architecture="amd64"
            )
        assert names_in(tmp_path) == []

    play(scene)


def test_one_of_several_architectures(tmp_path: Path) -> None:
    async def scene(at: Meeting) -> None:
        images = {
            name: at.registry.add_image("a", "", [tar({"which": name.encode()})], name)
            for name in ("amd64", "arm64")
        }
        at.registry.add_index("a", "v1", images)
        source = RegistrySource(at.client, at.registry.reference("a", "v1"))
        assert await read_files(source, ["which"], architecture="arm64") == {"which": b"arm64"}
        with pytest.raises(UserError, match="no image for linux/s390x"):
            await read_files(source, ["which"], architecture="s390x")

    play(scene)


def test_several_small_files_in_one_pass() -> None:
    async def scene(at: Meeting) -> None:
        below = tar(
            {
                "release-manifests/image-references": b"{}",
                "gone": b"1",
                "usr/bin/oc": b"ELF",
                "bin": "usr/bin",
            }
        )
        top = tar({"release-manifests/release-metadata": b"{1}", ".wh.gone": b""})
        source = source_of(at, [below, top])
        wanted = [
            "/release-manifests/image-references",
            "release-manifests/release-metadata",
            "gone",
            "nowhere",
        ]
        assert await read_files(source, wanted, architecture="amd64") == {wanted[0]: b"{}", wanted[1]: b"{1}"}
        assert at.registry.served == {digest_of(below): len(below), digest_of(top): len(top)}
        # Nobody can know that a link leads to a file before the link was seen.
        assert await read_files(source, ["bin/oc"], architecture="amd64") == {"bin/oc": b"ELF"}
        with pytest.raises(UserError, match=r"usr/bin/oc in .* has 3 bytes, more than the 2"):
            await read_files(source, ["usr/bin/oc"], architecture="amd64", limit=2)
        with pytest.raises(UserError, match=r"usr in .* is a directory, not a plain file"):
            await read_files(source, ["usr"], architecture="amd64")

    play(scene)


def test_the_last_of_several_entries_counts(tmp_path: Path) -> None:
    async def scene(at: Meeting) -> None:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            for content in (b"first", b"second"):
                info = tarfile.TarInfo("a")
                info.size, info.mode = len(content), 0o755
                archive.addfile(info, io.BytesIO(content))
        source = source_of(at, [out.getvalue()])
        extracted = await extract(source, Pick("a", tmp_path / "a"), architecture="amd64")
        assert extracted.path.read_bytes() == b"second"
        assert extracted.path.stat().st_mode & 0o777 == 0o755
        assert names_in(tmp_path) == ["a"]

    play(scene)


EVIL: dict[str, bytes | str | tarfile.TarInfo] = {
    "../../outside": b"evil",
    "/absolute": b"evil",
    "device": special("device", tarfile.CHRTYPE),
    "pipe": special("pipe", tarfile.FIFOTYPE),
    "out": "../../../../etc/passwd",
    "shadow": "/etc/shadow",
    "hard": special("hard", tarfile.LNKTYPE, "../../etc/passwd"),
    "circle": "circle",
}


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("../../outside", "has no file"),
        ("device", "is a device or pipe, not a plain file"),
        ("pipe", "is a device or pipe, not a plain file"),
        ("out", "has no file"),
        ("shadow", "has no file"),
        ("hard", "has no file"),
        ("circle", "lead in circles"),
        ("", "is a directory"),
    ],
)
def test_nothing_leads_out_of_an_image(path: str, why: str, tmp_path: Path) -> None:
    async def scene(at: Meeting) -> None:
        source = source_of(at, [tar(EVIL)])
        with pytest.raises(UserError, match=why):
            await extract(source, Pick(path, tmp_path / "it"), architecture="amd64")
        assert names_in(tmp_path) == []

    play(scene)


def spoil_digest(at: Meeting, layer: bytes) -> None:
    at.registry.faults.instead[digest_of(layer)] = layer[:-1000] + bytes(1000)[:-1] + b"1"


def spoil_size(at: Meeting, layer: bytes) -> None:
    at.registry.faults.instead[digest_of(layer)] = layer[:-1]


def spoil_connection(at: Meeting, layer: bytes) -> None:
    at.registry.faults.cuts[digest_of(layer)] = [len(layer) - 1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (spoil_digest, "the layer sha256:.* of .*/a:v1 is not what it should be: it has the digest"),
        (spoil_size, "is not what its manifest says"),
        (spoil_connection, "broke the connection off; gave up after 3 tries"),
    ],
)
def test_a_bad_layer_leaves_nothing(
    spoil: Callable[[Meeting, bytes], None], why: str, tmp_path: Path
) -> None:
    async def scene(at: Meeting) -> None:
        layer = tar({ISO_PATH: ISO, "more": b"x" * 5000})
        source = source_of(at, [layer])
        spoil(at, layer)
        (tmp_path / "base.iso").write_bytes(b"what was there before")
        with pytest.raises((Damaged, Unreachable), match=why):
            await extract(source, Pick(ISO_PATH, tmp_path / "base.iso"), architecture="amd64")
        assert names_in(tmp_path) == ["base.iso"]
        assert (tmp_path / "base.iso").read_bytes() == b"what was there before"

    play(scene)


@pytest.mark.parametrize(
    ("layer", "why"),
    [
        (b"<html>not a layer</html>" * 100, "it is not a tar archive"),
        (gzip.compress(tar({ISO_PATH: ISO}))[:-5], "cannot be unpacked as gzip"),
        (zstd.compress(tar({ISO_PATH: ISO}))[:-5], "cannot be unpacked as zstd"),
        (tar({ISO_PATH: ISO})[:9999], "it ends too early"),
    ],
)
def test_layers_that_are_broken_at_their_source(layer: bytes, why: str, tmp_path: Path) -> None:
    async def scene(at: Meeting) -> None:
        source = source_of(at, [layer])
        with pytest.raises(Damaged, match=rf"the layer {digest_of(layer)} of .*{why}"):
            await extract(source, Pick(ISO_PATH, tmp_path / "base.iso"), architecture="amd64")
        assert names_in(tmp_path) == []

    play(scene)


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    async def scene(at: Meeting) -> None:
        source = source_of(at, [tar({ISO_PATH: ISO})])
        with pytest.raises(UserError, match="is a directory"):
            await extract(source, Pick(ISO_PATH, tmp_path), architecture="amd64")
        (tmp_path / "file").touch()
        with pytest.raises(ExternalError, match="cannot write"):
            await extract(source, Pick(ISO_PATH, tmp_path / "file" / "base.iso"), architecture="amd64")
        with (
            file_limit(1 << 20),
            pytest.raises(ExternalError, match=r"cannot write .*base.iso: file too large"),
        ):
            await extract(source, Pick(ISO_PATH, tmp_path / "base.iso"), architecture="amd64")
        assert names_in(tmp_path) == ["file"]

    play(scene)


@pytest.mark.parametrize("seed", range(3))
def test_an_interrupt_leaves_nothing(seed: int, tmp_path: Path) -> None:
    async def scene(at: Meeting) -> None:
        layer = gzip.compress(tar({ISO_PATH: ISO, "more": ISO}), 1)
        source = source_of(at, [layer])
        at.registry.alarm_at = random.Random(seed).randrange(len(layer))
        work = extract(source, Pick(ISO_PATH, tmp_path / "base.iso"), architecture="amd64")
        task = asyncio.create_task(work)
        await at.registry.alarm.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert names_in(tmp_path) == []

    play(scene)


def test_from_a_store_as_from_a_registry(tmp_path: Path) -> None:
    async def scene(at: Meeting) -> None:
        manifest = at.registry.add_image("a", "v1", [gzip.compress(tar({ISO_PATH: ISO}))], "amd64")
        store = create_store(tmp_path / "store")
        await pull(at.client, at.registry.reference("a", "v1"), store)
        at.registry.forget()
        source = StoreSource(store, manifest.descriptor)
        extracted = await extract(source, Pick(ISO_PATH, tmp_path / "base.iso"), architecture="amd64")
        assert extracted.sha256 == hashlib.sha256(ISO).hexdigest()
        assert not at.registry.asked

    play(scene)
