# SPDX-License-Identifier: Apache-2.0
"""What is going to happen to the disks of a host, decided before anything is touched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Final

from muster.errors import ExternalError, UserError
from muster.frozen import dataclass
from muster.model.installer_args import InstallerArgs, parse_installer_args
from muster.model.wire.steps import InstallCmdRequest

_BY_PATH: Final = "/dev/disk/by-path/"
_UNITS: Final = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"))
_OTHER_DISK: Final = "choose another installation disk for this host"


@dataclass(frozen=True)
class DiskFacts:
    """What is known of a disk now."""

    path: str
    size_bytes: int
    by_id: str = ""
    """The name that stays the same over boots, as far as it has one."""
    links: tuple[str, ...] = ()
    """All of its names below /dev/disk/by-id and /dev/disk/by-path."""
    serial: str = ""
    wwn: str = ""
    model: str = ""
    kind: str = "disk"
    content: str = ""
    """What is on it, to go after "which contains"; nothing when nothing was found."""
    is_medium: bool = False
    """Whether this machine was started from it."""
    mounted: tuple[str, ...] = ()
    member_of: str = ""
    """The multipath device that it is a path of."""
    read_only: bool = False


@dataclass(frozen=True)
class Identity:
    """Which disk it is, whatever the kernel calls it."""

    path: str
    serial: str
    wwn: str
    size_bytes: int

    def __str__(self) -> str:
        known = (
            f"serial {self.serial}" if self.serial else f"WWN {self.wwn}" if self.wwn else "no serial number"
        )
        return f"{self.path} ({known}, {render_capacity(self.size_bytes)})"


@dataclass(frozen=True)
class Content:
    """The first bytes of an image: how many, and what they hash to."""

    sha256: str
    size_bytes: int


@dataclass(frozen=True)
class Image:
    """The image that this live system carries."""

    path: str
    size_bytes: int
    content: Content | None = None
    """What it has to be, where that is known."""


@dataclass(frozen=True)
class InstallPlan:
    """What is going to happen."""

    disk: Identity
    """The disk that is written."""
    contains: str
    """What is on that disk now."""
    formatted: tuple[Identity, ...]
    """Other disks that are emptied, so that the machine is not started from one of them."""
    cleaned: bool
    """Whether the disk is emptied before it is written; not if something on it has to stay."""
    args: tuple[str, ...]
    """Words for coreos-installer, but for the Ignition config and the disk."""
    image: str = ""
    """What this live system carries, if that is written: it can be compared with the disk afterwards."""
    content: Content | None = None
    """What that image has to be, where that is known."""

    @property
    def erased(self) -> tuple[Identity, ...]:
        """The disks that are emptied first."""
        return (self.disk, *self.formatted) if self.cleaned else self.formatted

    @property
    def sentence(self) -> str:
        """For people."""
        verb = "erase" if self.cleaned else "overwrite, but for partitions that are kept,"
        parts = [f"{verb} disk {self.disk}, which contains {self.contains or 'nothing that is known here'}"]
        parts += [f"empty disk {each}" for each in self.formatted]
        return "; ".join(parts)


def make_plan(
    request: InstallCmdRequest,
    disks: Sequence[DiskFacts],
    image: Image | None,
    *,
    has_profiles: bool = False,
) -> InstallPlan:
    """Decide it; `UserError` says why it cannot be done, and what to do about that.

    A host with network profiles of its own keeps them: they brought it here, so they work.
    """
    args = parse_installer_args(request.installer_args)
    if has_profiles:
        args = args.copying_network()
    disk = _pick(request.boot_device, disks)
    if image is not None and not args.has_source and image.size_bytes > disk.size_bytes:
        raise UserError(
            f"the disk {disk.path} is too small: it has {render_capacity(disk.size_bytes)}, "
            f"the system's image {render_capacity(image.size_bytes)}",
            hint=_OTHER_DISK,
        )
    words, compared = _source(args, image)
    return InstallPlan(
        disk=identify(disk),
        contains=disk.content,
        formatted=tuple(_formatted(request.disks_to_format or (), disks, disk)),
        cleaned=not (request.skip_installation_disk_cleanup or args.saves_partitions),
        args=(*words, *args.words),
        image=compared,
        content=image.content if image is not None and compared else None,
    )


def identify(disk: DiskFacts) -> Identity:
    """By what a disk is known again."""
    return Identity(disk.path, disk.serial, disk.wwn, disk.size_bytes)


def check_identity(planned: Identity, disks: Iterable[DiskFacts]) -> None:
    """Just before something is written: it still is the disk of the plan, and nobody uses it."""
    found = next((disk for disk in disks if disk.path == planned.path), None)
    if found is None:
        raise ExternalError(
            f"the disk {planned} is not there any more", hint="check its cable and its power, then try again"
        )
    if identify(found) != planned:
        raise ExternalError(
            f"{planned.path} is another disk than planned: it was {planned}, now it is {identify(found)}",
            hint="nothing was written to it; check which disks are connected, then try again",
        )
    _check_usable(found)


def _pick(name: str, disks: Sequence[DiskFacts]) -> DiskFacts:
    found = _find(name, disks)
    if found is None:
        known = ", ".join(str(identify(disk)) for disk in disks) or "none"
        raise UserError(
            f"the disk {name} is not there; this host has: {known}",
            hint="check that the disk is connected, or choose another installation disk for this host",
        )
    _check_usable(found)
    twin = _twin(found, disks)
    if twin is not None and not name.startswith(_BY_PATH):
        raise UserError(
            f"two disks answer to the name {name}: {found.path} and {twin.path} both say that they are "
            f"{_identifier(found)}",
            hint="remove one of them, or name the disk by where it is connected: /dev/disk/by-path/...",
        )
    return found


def _find(name: str, disks: Iterable[DiskFacts]) -> DiskFacts | None:
    return next((disk for disk in disks if name == disk.path or name in disk.links), None)


def _check_usable(disk: DiskFacts) -> None:
    if disk.member_of:
        raise UserError(
            f"the disk {disk.path} is one path to the multipath device {disk.member_of}",
            hint=f"choose {disk.member_of} as the installation disk",
        )
    if disk.is_medium:
        raise UserError(f"the disk {disk.path} is what this host was started from", hint=_OTHER_DISK)
    if disk.kind == "rom":
        raise UserError(f"{disk.path} is an optical drive", hint=_OTHER_DISK)
    if disk.mounted:
        raise UserError(
            f"the disk {disk.path} is in use: {', '.join(disk.mounted)}",
            hint="unmount what is mounted from it, or choose another installation disk",
        )
    if disk.read_only:
        raise UserError(
            f"the disk {disk.path} cannot be written to: it says that it is read-only",
            hint="lift its write protection, or choose another installation disk",
        )


def _twin(disk: DiskFacts, disks: Iterable[DiskFacts]) -> DiskFacts | None:
    """Another disk that cannot be told from it; the paths of a multipath device say what it says, and may."""
    for other in disks:
        if other.path == disk.path or other.member_of:
            continue
        if (disk.wwn and disk.wwn == other.wwn) or (
            disk.serial and not (disk.wwn and other.wwn) and disk.serial == other.serial
        ):
            return other
    return None


def _identifier(disk: DiskFacts) -> str:
    return f"WWN {disk.wwn}" if disk.wwn else f"serial number {disk.serial}"


def _formatted(names: Iterable[str], disks: Sequence[DiskFacts], target: DiskFacts) -> Iterable[Identity]:
    """A disk that is not there any more cannot be started from, either; a name twice is one disk."""
    there = {name: disk for name in names if (disk := _find(name, disks)) is not None and disk != target}
    found = {disk.path: _pick(name, disks) for name, disk in there.items()}
    return (identify(disk) for disk in found.values())


def _source(args: InstallerArgs, image: Image | None) -> tuple[tuple[str, ...], str]:
    """Where the image comes from: what people say, else what this live system carries.

    The latter has no GPG signature, so coreos-installer needs `--insecure`. It is verified all
    the same: by its SHA-256, which the initial RAM disk brings, before the disk is erased, and byte by byte
    when the disk is read back.
    """
    if args.has_source:
        return (), ""
    if image is not None:
        return (f"--image-file={PurePosixPath(image.path)}", "--insecure"), image.path
    return ("--offline",), ""


def render_capacity(size_bytes: int) -> str:
    """A size as it is printed on a disk: 480 GB."""
    for factor, unit in _UNITS:
        if size_bytes >= factor:
            value = size_bytes / factor
            return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"
    return f"{size_bytes} bytes"
