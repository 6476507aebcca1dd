# SPDX-License-Identifier: Apache-2.0
"""The content of a configuration medium, which makes a host of a generic medium one of a site."""

from __future__ import annotations

from typing import Final

from muster.model.ignition import Config, File

_PROGRAMS: Final = "/usr/local/bin/"


def config_files(config: Config) -> tuple[File, ...]:
    """The files of a site's config, and its users as files. Programs and units are on the generic medium."""
    files = [file for file in config.files if not file.path.startswith(_PROGRAMS)]
    for user in config.users:
        folder = f"/etc/assisted/{user.name}"
        files.append(File(f"{folder}/password.hash", user.password_hash.encode()))
        files.append(File(f"{folder}/authorized_keys", "".join(f"{key}\n" for key in user.ssh_keys).encode()))
    return tuple(sorted(files, key=lambda file: file.path))
