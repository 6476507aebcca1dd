# SPDX-License-Identifier: Apache-2.0
"""The command `aicli` as it comes from PyPI, run against a service over TLS."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.component.service.whole import PULL_SECRET, SSH_KEY, Person, Whole

PROGRAM = Path(sys.executable).with_name("aicli")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Aicli:
    """One who uses it: with a home and a working directory of its own."""

    site: Person
    home: Path

    async def __call__(self, *words: str | Path, fails: bool = False) -> str:
        """Run it to its end; what it printed."""
        process = await asyncio.create_subprocess_exec(
            *(str(word) for word in (PROGRAM, "--url", self.site.url, *words)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=self.home,
            env=self._environment(),
        )
        try:
            out, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        text = _COLOUR.sub("", out.decode())
        assert bool(process.returncode) is fails, f"aicli {words}: {process.returncode}\n{text}"
        return text

    def _environment(self) -> dict[str, str]:
        # It checks certificates only where it downloads media; there the authority has to be known.
        return {
            "HOME": str(self.home),
            "PATH": "/usr/bin:/bin",
            "AI_TOKEN": self.site.token,
            "SSL_CERT_FILE": str(self.home / "authority.pem"),
            "NO_PROXY": "*",
        }

    async def clusters(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(await self("-o", "json", "list", "cluster"))
        return found

    async def hosts(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(await self("-o", "json", "list", "host"))
        return found

    async def info(self, *words: str) -> dict[str, str]:
        """What `aicli info` says, line by line."""
        lines = (await self("info", *words)).splitlines()
        return dict(line.split(": ", 1) for line in lines if ": " in line)


def settle_in(site: Person, home: Path) -> Aicli:
    """A home with what the command looks for: a key, a pull secret, whom to trust."""
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/id_ed25519.pub").write_text(SSH_KEY)
    (home / "openshift_pull.json").write_text(PULL_SECRET)
    if isinstance(site, Whole):
        (home / "authority.pem").write_text(site.running.identity.authority_pem)
    return Aicli(site, home)
