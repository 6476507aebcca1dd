# SPDX-License-Identifier: Apache-2.0
"""Machines that were recorded: the kernel's files in a folder, and what programs answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from muster.run import MISSING, Argument, Said

HANGS = Said(-1, "", "")
"""Stands for a program that never ends, and cannot be ended."""


@dataclass(frozen=True)
class Recording:
    """What was recorded of a machine."""

    files: Mapping[str, str | bytes] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    """Symbolic links, and what they point to."""
    answers: Mapping[str, Any] = field(default_factory=dict)
    """How a command begins, and what was said to it: text, something for JSON, or all of an answer."""

    def but(self, files: Mapping[str, str | bytes] | None = None, **answers: Any) -> Recording:
        """The same machine with some things that are different; programs are named by their first word."""
        kept = {key: value for key, value in self.answers.items() if key.split()[0] not in answers}
        return Recording({**self.files, **(files or {})}, self.links, {**kept, **answers})


class Recorded:
    """A machine that answers from a recording."""

    def __init__(self, root: Path, answers: Mapping[str, Any]) -> None:
        self.root = root
        self.answers = answers
        self.asked: list[str] = []

    async def ask(self, argv: Sequence[Argument], *, deadline_s: float, feed: str = "") -> Said:
        command = " ".join(str(word).removeprefix(str(self.root)) for word in argv)
        self.asked.append(command)
        found = [key for key in self.answers if f"{command} ".startswith(f"{key} ")]
        if not found:
            return Said(MISSING, "", f"the program {argv[0]} is not there")
        answer = self.answers[max(found, key=len)]
        if answer is HANGS:
            await asyncio.get_running_loop().create_future()
        if isinstance(answer, Said):
            return answer
        return Said(0, answer if isinstance(answer, str) else json.dumps(answer), "")


def plant(root: Path, recording: Recording) -> Recorded:
    """A recorded machine in a folder."""
    for name, content in recording.files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for name, target in recording.links.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
    return Recorded(root, recording.answers)


def block(name: str, number: str, size_bytes: int, **more: str) -> dict[str, str]:
    """The files of a block device; those below a folder are named with two underscores."""
    where = f"sys/block/{name}"
    files = {"dev": number, "size": str(size_bytes // 512), "ro": "0", "removable": "0"}
    told = {each.replace("__", "/"): text for each, text in more.items()}
    queue = {"queue/rotational": "0", "queue/logical_block_size": "512", "queue/physical_block_size": "4096"}
    return {f"{where}/{each}": f"{text}\n" for each, text in {**files, **queue, **told}.items()}


def udev(number: str, **properties: str) -> dict[str, str]:
    """The record that udev keeps of a block device."""
    lines = "".join(f"E:{name}={value}\n" for name, value in properties.items())
    return {f"run/udev/data/b{number}": f"S:disk/by-diskseq/1\nI:1234\n{lines}G:systemd\n"}


def card(name: str, place: str, **more: str) -> tuple[dict[str, str], dict[str, str]]:
    """The files and the link of a network interface."""
    where = f"sys/devices/{place}/net/{name}"
    files = {f"{where}/{each.replace('__', '/')}": f"{text}\n" for each, text in more.items()}
    return files or {f"{where}/uevent": ""}, {f"sys/class/net/{name}": f"../../devices/{place}/net/{name}"}
