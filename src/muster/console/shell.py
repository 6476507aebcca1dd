# SPDX-License-Identifier: Apache-2.0
"""Whether somebody who stands before a host gets a shell on it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from muster.agent.inventory.reading import read_text
from muster.frozen import dataclass

USER: Final = "core"
SHELL_ARGV: Final = ("runuser", "--login", USER)
_KEYS: Final = ("home/core/.ssh/authorized_keys", "home/core/.ssh/authorized_keys.d")
_ARGUMENT: Final = "muster.shell"


@dataclass(frozen=True)
class Permission:
    """Whether it is allowed, and why, or why not."""

    is_given: bool
    reason: str


def may_have_shell(arguments: str, *, has_key: bool) -> Permission:
    """The kernel's arguments decide; without a word there, those who gave a key of theirs get in."""
    for each in reversed(arguments.split()):
        name, _, value = each.partition("=")
        if name == _ARGUMENT:
            if value in ("", "1"):
                return Permission(True, f"the kernel's argument {each} allows it")
            return Permission(False, f"no shell: the kernel's argument {each} forbids it")
    if has_key:
        return Permission(True, f"the site gave an SSH key for {USER}")
    return Permission(
        False, f"no shell: the site gave no SSH key for {USER}; boot with {_ARGUMENT}=1 to allow it"
    )


def find_permission(root: Path) -> Permission:
    """Whether this host allows it."""
    return may_have_shell(
        read_text(root / "proc/cmdline"), has_key=any(_has_key(root / each) for each in _KEYS)
    )


def _has_key(path: Path) -> bool:
    if path.is_dir():
        return any(_has_key(each) for each in sorted(path.iterdir()) if each.is_file())
    lines = (line.strip() for line in read_text(path).splitlines())
    return any(line and not line.startswith("#") for line in lines)
