# SPDX-License-Identifier: Apache-2.0
"""The media of an agent-based installation: each recipe is a page of steps."""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

from muster.errors import UserError
from muster.frozen import dataclass
from muster.image.agent import Order, config_iso, customization_of, ignition_of, login_files
from muster.image.coreos.architecture import check_architecture
from muster.image.coreos.customize import Customization, customize, read_contents, render_initrd
from muster.image.coreos.kargs import Edit, edit_kargs
from muster.image.coreos.miniso import minimal_iso
from muster.image.iso.volume import Extent, Volume
from muster.image.making import Making
from muster.image.overlay import Overlay, Patch
from muster.image.papers import Bill, Digests, paper_names, render_papers
from muster.image.product import (
    Source,
    base_component,
    check_target,
    digest_customized,
    digests_of,
    save_customized,
    save_stream,
)
from muster.image.pxe import find_boot_files, render_ipxe
from muster.image.sbom import Component
from muster.model.plan import Plan
from muster.model.release import RPM_ARCHITECTURES
from muster.progress import Progress

ARTIFACTS: Final = "boot-artifacts"
CONFIG_ISO: Final = "agentconfig.noarch.iso"
RENDEZVOUS_FILE: Final = "rendezvousIP"
_LOGINS: Final = ("auth/kubeconfig", "auth/kubeadmin-password")
_ALIGNMENT: Final = 4
"""Archives of an initial RAM disk begin at such offsets."""


@dataclass(frozen=True)
class Workshop:
    """What a recipe works with."""

    order: Order
    making: Making
    progress: Progress

    @property
    def plan(self) -> Plan:
        return self.order.plan

    @property
    def prefix(self) -> str:
        """How the files of the medium begin."""
        return f"agent.{RPM_ARCHITECTURES[self.plan.architecture]}"

    def save_logins(self) -> None:
        """What the administrator keeps."""
        for name, data in login_files(self.order).items():
            self.making.save(name, data)

    def save_papers(self, name: str, digests: Digests, parts: tuple[Component, ...] = ()) -> None:
        """What belongs beside an image."""
        path, secrets = PurePath(name), self.order.secrets
        properties = {"cluster": self.plan.domain, "clusterID": secrets.cluster_id}
        release = Component("container", self.plan.release_image)
        bill = Bill((*parts, release), int(secrets.created.timestamp()), properties)
        for paper, data in render_papers(path.name, digests, bill, self.making.manner):
            self.making.save(str(path.with_name(paper)), data, mode=0o644)

    def paper_names(self, name: str) -> tuple[str, ...]:
        """The names of what belongs beside an image."""
        return paper_names(name, self.making.manner)


def image_name(plan: Plan) -> str:
    """The file name of the ISO that all hosts boot."""
    return f"agent.{RPM_ARCHITECTURES[plan.architecture]}.iso"


@dataclass(frozen=True)
class Design:
    """An ISO that can be read, and is not yet written."""

    overlay: Overlay
    """What differs from the base image, or from its minimal twin."""
    result: Volume
    replaced: tuple[str, ...]
    """The places where the user's Ignition config replaced ours."""


def design_image(order: Order, base: Volume) -> Design:
    """The ISO that all hosts boot."""
    check_architecture(base, RPM_ARCHITECTURES[order.plan.architecture])
    ignition, replaced = ignition_of(order)
    find_boot_files(base)  # A minimal image cannot be the base: its root file system is elsewhere.
    url = rootfs_url(order.plan) if order.plan.minimal_iso else ""
    if url:
        minimal = minimal_iso(base, url)
        base = minimal.volume.view(minimal.overlay)
    overlay = customize(base, customization_of(order, ignition, url))
    return Design(overlay, base.view(overlay), replaced)


def build_image(shop: Workshop, source: Source) -> tuple[str, ...]:
    """Write the ISO that all hosts boot, and what belongs to it."""
    design = design_image(shop.order, source.image)
    overlay = source.whole(design.overlay)
    check_target(source, shop.making.path(image_name(shop.plan)), overlay.size)
    name, rootfs = image_name(shop.plan), f"{ARTIFACTS}/{rootfs_name(shop.plan)}"
    is_minimal, with_sha256 = shop.plan.minimal_iso, shop.making.manner.with_sha256
    names = (name, RENDEZVOUS_FILE, *_LOGINS, *shop.paper_names(name))
    shop.making.begin(
        shop.order.secrets, (*names, rootfs, *shop.paper_names(rootfs)) if is_minimal else names
    )
    if is_minimal:
        size = design.result.file_size
        digests = save_stream(
            design.result.read, size, shop.making.path(name), shop.progress, with_sha256=with_sha256
        )
        _save_extent(shop, source.volume, find_boot_files(source.volume).rootfs, rootfs)
    else:
        digests = digest_customized(source, overlay, shop.progress, with_sha256=with_sha256)
    shop.save_papers(name, digests, (base_component(source.base, source.volume.label),))
    if shop.plan.rendezvous is not None:
        shop.making.save(RENDEZVOUS_FILE, str(shop.plan.rendezvous.ip).encode(), mode=0o644)
    shop.save_logins()
    if not is_minimal:
        # Last: while the small files reach the disk, a copy that was begun ahead goes on.
        save_customized(source, overlay, shop.making.path(name), shop.progress)
    shop.making.note_image(name)
    return design.replaced


def build_pxe_files(shop: Workshop, source: Source) -> tuple[str, ...]:
    """Kernel, initial RAM disk and root file system, and a script for iPXE when their address is known."""
    check_architecture(source.volume, RPM_ARCHITECTURES[shop.plan.architecture])
    boot, at = find_boot_files(source.volume), f"{ARTIFACTS}/{shop.prefix}"
    url = shop.plan.boot_artifacts_base_url.rstrip("/")
    images = [f"{at}-vmlinuz", f"{at}-initrd.img", f"{at}-rootfs.img"]
    papers = [paper for name in images for paper in shop.paper_names(name)]
    scripts = [f"{at}.ipxe"] if url else []
    shop.making.begin(shop.order.secrets, (*images, *papers, *scripts, *_LOGINS))
    ignition, replaced = ignition_of(shop.order)
    wanted = customization_of(shop.order, ignition, f"{url or '.'}/{PurePath(images[2]).name}")
    contents = read_contents(source.volume)
    archive = render_initrd(wanted, contents.features, source.volume.name)
    _save_extent(shop, source.volume, boot.vmlinuz, images[0])
    _save_extent(shop, source.volume, boot.initrd, images[1], archive)
    _save_extent(shop, source.volume, boot.rootfs, images[2])
    for script in scripts:
        kargs = pxe_arguments(contents.default_kargs or "", wanted)
        shop.making.save(script, render_ipxe(url, shop.prefix, kargs).encode())
    shop.save_logins()
    return replaced


def pxe_arguments(default: str, wanted: Customization) -> str:
    """The kernel arguments of a host that boots from the network."""
    live = [word for word in default.split() if word.startswith("coreos.liveiso=")]
    edit = Edit(
        delete=(*live, *wanted.kargs_delete),
        append=wanted.kargs_append,
        append_if_missing=("ignition.firstboot", "ignition.platform.id=metal"),
        replace=wanted.kargs_replace,
    )
    return edit_kargs(default, edit)


def _save_extent(shop: Workshop, volume: Volume, extent: Extent, name: str, more: bytes = b"") -> None:
    """A file of the base image, with an archive behind it if there is one."""

    def read(offset: int, length: int) -> bytes:
        return volume.read(extent.offset + offset, length)

    start = -(-extent.length // _ALIGNMENT) * _ALIGNMENT
    patches = [Patch(start, more, "the site's archive")] if more else []
    overlay = Overlay.of(extent.length, patches, size=start + len(more) if more else extent.length)

    def whole(offset: int, length: int) -> bytes:
        return overlay.read(read, offset, length)

    target, with_sha256 = shop.making.path(name), shop.making.manner.with_sha256
    digests = save_stream(whole, overlay.size, target, shop.progress, with_sha256=with_sha256)
    shop.making.note_image(name)
    shop.save_papers(name, digests, (Component("file", f"{volume.label}/{extent.path}"),))


def build_config_image(shop: Workshop) -> None:
    """The ISO that makes a host, which booted a generic medium, one of the site."""
    shop.making.begin(shop.order.secrets, (CONFIG_ISO, *_LOGINS, *shop.paper_names(CONFIG_ISO)))
    data = config_iso(shop.order)
    shop.making.save(CONFIG_ISO, data)
    shop.save_papers(CONFIG_ISO, digests_of(data))
    shop.save_logins()


def rootfs_name(plan: Plan) -> str:
    """The file name of the root file system that hosts fetch."""
    return f"agent.{RPM_ARCHITECTURES[plan.architecture]}-rootfs.img"


def rootfs_url(plan: Plan) -> str:
    """Where hosts find what a minimal image does not hold."""
    if not plan.boot_artifacts_base_url:
        raise UserError(
            "a minimal ISO fetches its root file system, and agent-config.yaml does not say from where",
            hint="set bootArtifactsBaseURL to the URL of a folder that will hold boot-artifacts/*,"
            " or set minimalISO to false",
        )
    return f"{plan.boot_artifacts_base_url.rstrip('/')}/{rootfs_name(plan)}"
