# SPDX-License-Identifier: Apache-2.0
"""How Go is found and called: nothing of the machine gets into what it makes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from muster.errors import ExternalError, UserError
from muster.release.build import golang
from muster.release.build.golang import (
    ANY,
    Go,
    compile_argv,
    environment,
    escape_module,
    find_go,
)
from muster.release.build.reading import load_recipe
from muster.release.build.recipe import Program, Toolchain
from tests.releases import write_payload
from tests.stand_in import Asked, StandIn

WANTED = Toolchain("1.26.4", "1.26.8")


class Versions(StandIn):
    """Several Gos, by their paths."""

    def __init__(self, versions: dict[str, str]) -> None:
        super().__init__()
        self.versions = versions

    def answer(self, asked: Asked) -> str:
        assert (asked.circumstances.env or {})["GOTOOLCHAIN"] == "local", "nothing may be downloaded"
        return f"{self.versions[asked.words[0]]}\n"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return load_recipe(write_payload(tmp_path)).program("tool")


def _find(monkeypatch: pytest.MonkeyPatch, root: Path, path_version: str, own_version: str = "") -> Go:
    on_path = Path("/usr/bin/go") if path_version else None
    monkeypatch.setattr(golang, "find_program", lambda _name: on_path)
    own = root / "go/toolchain-1.26.8/bin/go"
    if own_version:
        own.parent.mkdir(parents=True)
        own.touch()
    return find_go(WANTED, root, Versions({"/usr/bin/go": path_version, str(own): own_version}))


@pytest.mark.parametrize("version", ["go1.26.4", "go1.26.10", "go1.27", "go2.0.0", "go1.26.8 X:nocoverage"])
def test_the_go_of_the_machine_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str) -> None:
    assert _find(monkeypatch, tmp_path, version, "go1.26.8").version == version


@pytest.mark.parametrize("version", ["", "go1.19.8", "go1.26", "go1.26.3", "devel"])
def test_else_the_one_that_was_got(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str) -> None:
    assert _find(monkeypatch, tmp_path, version, "go1.26.8").version == "go1.26.8"


@pytest.mark.parametrize(
    ("version", "there"), [("", "this machine has none"), ("go1.19.8", "that of this machine is go1.19.8")]
)
def test_else_it_is_told_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, there: str
) -> None:
    with pytest.raises(
        UserError, match=f"Go 1.26.4 or newer is needed to build a release, and {there}"
    ) as caught:
        _find(monkeypatch, tmp_path, version)
    assert "bin/setup --os" in caught.value.hint


def test_what_is_compiled_depends_on_nothing_of_the_machine(program: Program) -> None:
    argv = compile_argv(program, Path("/x/tool"), 2)
    assert argv == [
        "build",
        "-trimpath",
        "-buildvcs=false",
        "-mod=readonly",
        "-modcacherw",
        "-p=2",
        "-ldflags=-s -w -buildid= '-X=example.com/tool.version=v1.2.3'",
        "-o",
        Path("/x/tool"),
        ".",
    ]
    chosen = compile_argv(replace(program, tags=("a", "b"), package="./x"), Path("y"), 1)
    assert chosen[-2:] == ["-tags=a,b", "./x"]


def test_settings_of_the_user_that_change_bytes_are_not_used() -> None:
    found = environment("arm64")
    assert (found["GOARCH"], found["GOOS"], found["CGO_ENABLED"]) == ("arm64", "linux", "0")
    assert {"GOFLAGS", "GOEXPERIMENT", "GOWORK", "GOAMD64", "GOARM64", "GOFIPS140", "GODEBUG"} <= found.keys()
    assert "GOPROXY" not in found
    assert environment(ANY)["GOARCH"] == ""


def test_folders_of_modules() -> None:
    assert escape_module("github.com/BurntSushi/toml") == "github.com/!burnt!sushi/toml"


class Failing(StandIn):
    """A Go whose words are known."""

    def __init__(self, said: str) -> None:
        super().__init__()
        self.said = said

    def answer(self, asked: Asked) -> str:
        raise ExternalError(f"go failed with status 1; it said last:\n    {self.said}", hint="as it was")


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("dial tcp 192.0.2.1:443: connect: connection refused", "set GOPROXY"),
        ("reading https://proxy.example.com/x.zip: 403 Forbidden", "set GOPROXY"),
        ("verifying module: checksum mismatch", "as it was"),
    ],
)
def test_modules_that_cannot_be_had(program: Program, said: str, hint: str) -> None:
    go = Go(Path("/go"), "go1.26.8", Path("/cache/go"), 2, Failing(said))
    with pytest.raises(ExternalError) as caught:
        go.fetch(program, "amd64", program.folder)
    assert said in caught.value.message
    assert hint in caught.value.hint
