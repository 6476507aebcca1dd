# SPDX-License-Identifier: Apache-2.0
"""Hosts that were made up, the bundles that they send, and a program called ssh that stands in for theirs."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

SECRET = "hunter2-and-more"
SSH = """#!/bin/sh
# Says what it was called with, and sends what lies ready for the address; {folder} has all of it.
echo "$@" >>"{folder}/calls"
while [ "$1" != -- ]; do shift; done
address=$2
[ -e "{folder}/$address.wait" ] && exec sleep 600
cat "{folder}/$address.tar.gz" 2>/dev/null || {{
    echo "ssh: connect to host $address port 22: No route to host" >&2
    exit 255
}}
[ ! -e "{folder}/$address.status" ] || exit "$(cat "{folder}/$address.status")"
"""


def save(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def read_archive(archive: Path) -> dict[str, str]:
    """Texts by name, without the folder that all are in."""
    with tarfile.open(archive) as tar:
        files = {entry.name.partition("/")[2]: tar.extractfile(entry) for entry in tar.getmembers()}
        return {name: file.read().decode() for name, file in files.items() if file is not None}


def put_bundle(path: Path, files: dict[str, str]) -> None:
    """What a host sends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"muster-bundle-x/{name}")
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))


class Room:
    """Where the stand-in for ssh finds what hosts send."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder / "ssh"
        program = self.folder / "bin/ssh"
        save(program, SSH.format(folder=self.folder))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/sbin:/usr/bin:/sbin:/bin")

    def put(self, address: str, files: dict[str, str]) -> None:
        put_bundle(self.folder / f"{address}.tar.gz", files)

    @property
    def calls(self) -> list[str]:
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    return Room(tmp_path, monkeypatch)
