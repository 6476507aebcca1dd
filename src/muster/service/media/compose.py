# SPDX-License-Identifier: Apache-2.0
"""Media over a base image: tables of where their bytes are, made once per order and kept in memory.

Nothing is written. What of a medium is not in the base's file is small: the Ignition config and its files,
packed, and the kernel arguments.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import BinaryIO, Final
from urllib.parse import quote

from muster.errors import cannot
from muster.frozen import dataclass
from muster.image.agent_media import pxe_arguments
from muster.image.assembly import Assembly, Stretch
from muster.image.base_image import BaseImage
from muster.image.cache.hashes import fingerprint
from muster.image.coreos.architecture import check_architecture
from muster.image.coreos.customize import Contents, customize, read_contents, render_initrd
from muster.image.coreos.miniso import minimal_iso
from muster.image.iso.volume import Volume
from muster.image.pxe import BootFiles, find_boot_files
from muster.service.media.bases import BaseImages, rpm_name
from muster.service.media.discovery import discovery_customization
from muster.service.media.keeping import Keeping
from muster.service.media.order import Kind, MediumOrder
from muster.serving.ranges import Entity

_MOST_BYTES: Final = 64 << 20
"""Of media that are kept."""
_MOST_GROUNDS: Final = 32
_ALIGNMENT: Final = 4
"""Archives of an initial RAM disk begin at such offsets."""


@dataclass(frozen=True)
class Medium:
    """What hosts boot or fetch: which of its bytes are in the base's file, and which are its own."""

    assembly: Assembly
    etag: str
    modified: datetime | None = None
    """None for what belongs to no infra-env."""

    @property
    def entity(self) -> Entity:
        return Entity(self.assembly.size_bytes, self.etag, self.modified)


@dataclass(frozen=True)
class Ground:
    """What is known of a base image, so that it need not be read again."""

    whole: Assembly
    contents: Contents
    boot: BootFiles


class Composer:
    """Makes media, and keeps what was asked for lately; for several threads."""

    def __init__(self, bases: BaseImages, most_bytes: int = _MOST_BYTES) -> None:
        self._bases = bases
        self._grounds: Keeping[Ground] = Keeping(_MOST_GROUNDS, lambda _: 1)
        self._media: Keeping[Medium] = Keeping(most_bytes, lambda each: each.assembly.memory_bytes)

    @contextmanager
    def open(self, order: MediumOrder, kind: Kind) -> Iterator[tuple[Medium, BinaryIO]]:
        """A medium, and the base's file, open: whatever becomes of its name, these belong together."""
        image = self._bases.find(rpm_name(order.architecture), order.version, kind)
        with _opened(image) as (file, mark):
            key = (order.digest(), kind, image.sha256, mark)
            yield self._media.get(key, lambda: self._make(order, kind, image, mark)), file

    def compose(self, order: MediumOrder, kind: Kind) -> Medium:
        """A medium without its file: to know its size."""
        with self.open(order, kind) as (medium, _):
            return medium

    @contextmanager
    def open_public(self, architecture: str, version: str, kind: Kind) -> Iterator[tuple[Medium, BinaryIO]]:
        """Kernel or root file system, which are the same for everybody."""
        image = self._bases.find(rpm_name(architecture), version, kind)
        with _opened(image) as (file, mark):
            boot = self._ground(image, mark, Kind.FULL).boot
            extent = boot.vmlinuz if kind is Kind.KERNEL else boot.rootfs
            assembly = Assembly.of_base(extent.offset, extent.length)
            yield Medium(assembly, _etag(assembly, image)), file

    def kernel_arguments(self, order: MediumOrder) -> str:
        """Those of hosts that boot from the network."""
        image = self._bases.find(rpm_name(order.architecture), order.version, Kind.INITRD)
        with _opened(image) as (_, mark):
            ground = self._ground(image, mark, Kind.FULL)
        wanted = discovery_customization(order, rootfs_url(order))
        return pxe_arguments(ground.contents.default_kargs or "", wanted)

    def _make(self, order: MediumOrder, kind: Kind, image: BaseImage, mark: str) -> Medium:
        ground = self._ground(image, mark, Kind.MINIMAL if kind is Kind.MINIMAL else Kind.FULL)
        if kind is Kind.INITRD:
            assembly = _compose_initrd(order, ground, image)
        else:
            assembly = _compose_iso(order, kind, ground, image)
        return Medium(assembly, _etag(assembly, image), order.updated_at)

    def _ground(self, image: BaseImage, mark: str, kind: Kind) -> Ground:
        return self._grounds.get((image.path, mark, kind), lambda: _read_ground(image, kind))


def rootfs_url(order: MediumOrder) -> str:
    """Where hosts of an infra-env fetch the root file system. It is a kernel argument: no & and no blank."""
    version, architecture = quote(order.version or "any", safe=""), rpm_name(order.architecture)
    return f"{order.media_url.rstrip('/')}/boot-artifacts/{version}/{architecture}/rootfs.img"


def _read_ground(image: BaseImage, kind: Kind) -> Ground:
    with Volume.open(image.path) as volume:
        boot = find_boot_files(volume)
        whole = Assembly.of_base(0, volume.file_size)
        if kind is Kind.MINIMAL:
            minimal = minimal_iso(volume, None)
            whole = minimal.assembly.under(minimal.overlay)
        return Ground(whole, read_contents(volume), boot)


def _compose_iso(order: MediumOrder, kind: Kind, ground: Ground, image: BaseImage) -> Assembly:
    wanted = discovery_customization(order, rootfs_url(order) if kind is Kind.MINIMAL else "")
    with Volume.open(image.path) as volume:
        check_architecture(volume, rpm_name(order.architecture))

        def read(offset: int, length: int) -> bytes:
            return ground.whole.read(volume.read, offset, length)

        result = Volume(volume.name, read, ground.whole.size_bytes)
        return ground.whole.under(customize(result, wanted))


def _compose_initrd(order: MediumOrder, ground: Ground, image: BaseImage) -> Assembly:
    """That of the base, and behind it the archive with what the medium would hold."""
    wanted = discovery_customization(order, rootfs_url(order))
    archive = render_initrd(wanted, ground.contents.features, str(image.path))
    own = ground.boot.initrd
    gap = bytes(-own.length % _ALIGNMENT)
    more = gap + archive
    return Assembly.join((Stretch(0, own.length, own.offset), Stretch(0, len(more), data=more)))


@contextmanager
def _opened(image: BaseImage) -> Iterator[tuple[BinaryIO, str]]:
    """The file of an image, and how it looks now."""
    try:
        file = image.path.open("rb")
    except OSError as error:
        raise cannot("read", image.path, error) from error
    with file:
        yield file, fingerprint(os.fstat(file.fileno()))


def _etag(assembly: Assembly, image: BaseImage) -> str:
    return f'"{assembly.digest(image.sha256)}"'
