# SPDX-License-Identifier: Apache-2.0
"""Go: where it is, and how it is called so that the same sources give the same bytes on every machine.

    <cache>/go/modules             sources, checked against the sums in go.sum as they come
    <cache>/go/build               packages that are compiled already
    <cache>/go/toolchain-VERSION   a Go that bin/setup got

Nothing of the user's own settings changes what is compiled; where modules come from (GOPROXY and its kin)
remains theirs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from muster.errors import ExternalError, UserError
from muster.frozen import dataclass
from muster.release.build.recipe import Program, Toolchain
from muster.run import Circumstances, Run, find_program

ANY: Final = "any"
"""The architecture of what is the same for all."""
_LEVELS: Final = {"GOAMD64": "v1", "GOARM64": "v8.0"}
"""Which machines of an architecture run it: all."""
_STRIPPED: Final = ("-s", "-w", "-buildid=")
_UNREACHED: Final = (
    "dial tcp",
    "connection refused",
    "no such host",
    "i/o timeout",
    "Forbidden",
    "Not Found",
)


@dataclass(frozen=True)
class Go:
    """A Go that can be called."""

    program: Path
    version: str
    """As it names itself: go1.26.8."""
    place: Path
    """Where its caches are."""
    jobs: int
    run: Run

    @property
    def modules(self) -> Path:
        return self.place / "modules"

    def fetch(self, program: Program, architecture: str, sources: Path) -> None:
        """Get the modules of a program; what is there is not fetched again."""
        self._fetch(architecture, sources, "list", "-deps", "-mod=readonly", "-modcacherw", *_choice(program))

    def fetch_module(self, module: str, sources: Path) -> Path:
        """Get one module, as ``path@version``; the folder of its files, which are checked against go.sum."""
        self._fetch(ANY, sources, "mod", "download", "-modcacherw", module)
        return self.modules / escape_module(module)

    def replace_module(self, module: str, folder: str, sources: Path) -> None:
        """Let a folder of the sources stand in for a module."""
        self._call(ANY, sources, "mod", "edit", f"-replace={module}=./{folder}")

    def compile(self, program: Program, architecture: str, sources: Path, target: Path) -> None:
        self._call(architecture, sources, *compile_argv(program, target, self.jobs))

    def _fetch(self, architecture: str, sources: Path, *argv: str | Path) -> None:
        try:
            self._call(architecture, sources, *argv)
        except ExternalError as error:
            if any(sign in error.message for sign in _UNREACHED):
                raise ExternalError(
                    error.message,
                    hint="set GOPROXY to a Go module proxy that this machine reaches, then run it again: "
                    "what came is kept",
                ) from error
            raise

    def read_build_info(self, built: Path) -> Mapping[str, object]:
        """What Go wrote into a program about itself: its modules and their sums."""
        text = self.run(
            [self.program, "version", "-m", "-json", built], circumstances=Circumstances(env=self._plain)
        )
        body: Mapping[str, object] = json.loads(text)
        return body

    def _call(self, architecture: str, sources: Path, *argv: str | Path) -> str:
        env = {**self._plain, **environment(architecture)}
        return self.run([self.program, *argv], circumstances=Circumstances(cwd=sources, env=env))

    @property
    def _plain(self) -> dict[str, str]:
        return {
            "GOMODCACHE": str(self.modules),
            "GOCACHE": str(self.place / "build"),
            "GOTOOLCHAIN": "local",
            "GOMAXPROCS": str(self.jobs),
        }


def environment(architecture: str) -> dict[str, str]:
    """What decides over the bytes besides flags, and would otherwise be the user's. `ANY` runs here."""
    return {
        "CGO_ENABLED": "0",
        "GO111MODULE": "on",
        "GODEBUG": "",
        "GOARCH": "" if architecture == ANY else architecture,
        "GOEXPERIMENT": "",
        "GOFIPS140": "off",
        "GOFLAGS": "",
        "GOOS": "linux",
        "GOWORK": "off",
        **_LEVELS,
    }


def compile_argv(program: Program, target: Path, jobs: int) -> list[str | Path]:
    """How Go is called. No path, no time and no state of a clone gets into what it makes."""
    variables = [f"'-X={name}={value}'" for name, value in sorted(program.variables.items())]
    linked = f"-ldflags={' '.join((*_STRIPPED, *variables))}"
    flags = ["-trimpath", "-buildvcs=false", "-mod=readonly", "-modcacherw", f"-p={jobs}", linked]
    return ["build", *flags, "-o", target, *_choice(program)]


def _choice(program: Program) -> list[str]:
    """What is compiled: the package, and what is chosen of its files."""
    tags = [f"-tags={','.join(program.tags)}"] if program.tags else []
    return [*tags, program.package]


def escape_module(path: str) -> str:
    """The name of a module's folder: capitals are written so that no file system confuses them."""
    return re.sub("[A-Z]", lambda match: f"!{match[0].lower()}", path)


def find_go(wanted: Toolchain, cache_root: Path, run: Run) -> Go:
    """A Go that is new enough: that of the machine, else the one that bin/setup got."""
    place = cache_root / "go"
    own = place / f"toolchain-{wanted.toolchain}" / "bin" / "go"
    found = [path for path in (find_program("go"), own if own.is_file() else None) if path]
    versions = [(path, _version(path, run)) for path in found]
    for path, version in versions:
        if _number(version) >= _number(wanted.minimum):
            return Go(path, version, place, os.cpu_count() or 1, run)
    there = f"that of this machine is {versions[0][1]}" if versions else "this machine has none"
    raise UserError(
        f"Go {wanted.minimum} or newer is needed to build a release, and {there}",
        hint="run bin/setup --os, which gets one; or install Go and put it on the PATH",
    )


def _version(go: Path, run: Run) -> str:
    return run([go, "env", "GOVERSION"], circumstances=Circumstances(env={"GOTOOLCHAIN": "local"})).strip()


def _number(version: str) -> tuple[int, ...]:
    """The part of a version that can be compared: go1.26.8 -> (1, 26, 8)."""
    match = re.match(r"(?:go)?(\d+(?:\.\d+)*)", version)
    return tuple(map(int, match[1].split("."))) if match else ()
