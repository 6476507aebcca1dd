# SPDX-License-Identifier: Apache-2.0
"""The root file system: packages are installed into a folder, and what runs nothing is taken out."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from muster.errors import ExternalError
from muster.machine_os.build import Build
from muster.machine_os.libraries import check_libraries
from muster.machine_os.needs import closure, parse_needs

EXCLUDED: Final = ("/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*", "/usr/share/info/*")
"""What is not even unpacked."""


def install_packages(build: Build) -> None:
    """Install the packages on the shelf, and only those, with mmdebstrap."""
    repository = build.work / "repository"
    repository.mkdir()
    (repository / "Packages").write_text("\n".join(_stanzas(build, repository)), "utf-8")
    (repository / "Release").write_text(_release(repository, build.recipe.suite), "utf-8")
    excluded = [f"--dpkgopt=path-exclude={pattern}" for pattern in EXCLUDED]
    build.call(
        [
            "mmdebstrap",
            *("--variant=essential", "--mode=root", "--format=directory"),
            f"--architectures={build.recipe.architecture.debian}",
            '--aptopt=APT::Install-Recommends "false"',
            *excluded,
            f"--include={','.join(build.recipe.packages)}",
            *(build.recipe.suite, build.root, f"deb [trusted=yes] copy:{repository} ./"),
        ],
        INITRD="No",  # Kernel packages would make one of their own.
    )
    shutil.rmtree(repository)


def _release(repository: Path, suite: str) -> str:
    """Tells apt that this is the suite; what is essential is looked for in it alone."""
    packages = repository / "Packages"
    digest = hashlib.sha256(packages.read_bytes()).hexdigest()
    return f"Suite: {suite}\nCodename: {suite}\nSHA256:\n {digest} {packages.stat().st_size} Packages\n"


def _stanzas(build: Build, repository: Path) -> Iterator[str]:
    """What apt wants to know of the packages; they lie beside it."""
    for package in build.packages:
        path = build.shelf.path(package)
        _link(path, repository / path.name)
        control = build.run(["dpkg-deb", "--field", path]).strip()
        yield f"{control}\nFilename: ./{path.name}\nSize: {package.size}\nSHA256: {package.sha256}\n"


def _link(path: Path, name: Path) -> None:
    try:
        os.link(path, name)
    except OSError:
        shutil.copyfile(path, name)


def make_image(build: Build) -> None:
    """Take out what is not needed, and compress the rest, if all of it can be loaded."""
    for pattern in build.recipe.data["tree"]["remove"]:
        for path in expand(build.root, pattern):
            remove(path)
    check_libraries(build.root)
    (build.root / "etc/machine-id").write_text("", "ascii")  # Each machine gets one at its first boot.
    for name in ("etc/.updated", "var/.updated"):  # Nothing is left to be updated at the first boot.
        (build.root / name).write_text(f"TIMESTAMP_NSEC={build.epoch}000000000\n", "ascii")
    build.tool(
        "mksquashfs", build.root, build.image, "-comp", "zstd", "-Xcompression-level", "15", "-b", "262144",
        "-noappend", "-no-progress", "-quiet", "-no-recovery", "-processors", str(os.cpu_count() or 1),
    )  # fmt: skip


def prune_modules(build: Build) -> None:
    """Leave the kernel modules that the recipe names, and what those need."""
    version = kernel_version(build.root)
    base = build.root / "usr/lib/modules" / version
    needs = parse_needs((base / "modules.dep").read_text("ascii"))
    for name in needs.keys() - choose_modules(needs, build.recipe.hardware.modules):
        (base / name).unlink()
    _unpack_modules(build, base)
    build.inside("depmod", version)


def _unpack_modules(build: Build, base: Path) -> None:
    """A kernel unpacks xz slowly; what the modules end up in is compressed anyway."""
    packed = [f"/{path.relative_to(build.root)}" for path in sorted(base.rglob("*.ko.xz"))]
    if packed:
        build.inside("xz", "--decompress", "--threads=0", "--", *packed)


def choose_modules(needs: Mapping[str, Iterable[str]], wanted: Iterable[str]) -> set[str]:
    """Modules of the wanted names or folders below kernel/ (a dot is all of it), and all that they need."""
    places = [PurePosixPath("kernel", name) for name in wanted]
    return closure(needs, (name for name in needs if _is_below(name, places)))


def _is_below(name: str, places: Iterable[PurePosixPath]) -> bool:
    path = PurePosixPath(re.sub(r"\.ko\.\w+\Z", ".ko", name))
    return any(path.is_relative_to(place) for place in places)


def kernel_version(root: Path) -> str:
    """The one kernel that is installed."""
    found = sorted(path.name for path in (root / "usr/lib/modules").iterdir())
    if len(found) != 1:
        raise ExternalError(f"there is not one kernel but {len(found)}", hint="check the recipe's packages")
    return found[0]


def expand(root: Path, pattern: str) -> Iterable[Path]:
    """Paths below the root; {a,b} stands for either."""
    match = re.search(r"\{([^}]*)\}", pattern)
    if match is None:
        return sorted(root.glob(pattern))
    options = match[1].split(",")
    return [path for each in options for path in expand(root, pattern.replace(match[0], each, 1))]


def remove(path: Path) -> None:
    """A file, a link, or a folder with all that is in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
