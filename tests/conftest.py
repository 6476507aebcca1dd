# SPDX-License-Identifier: Apache-2.0
"""What all tests share: golden files, the machine OS, and a release."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import settings

# A machine that is busy with something else is no fault of what is tested.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

Golden: TypeAlias = Callable[[Path, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regen", action="store_true", help="write the golden files anew")
    parser.addoption(
        "--machine-os", metavar="DIR", type=Path, help="a build of the machine OS to test; else one is made"
    )
    parser.addoption(
        "--release-store", metavar="DIR", type=Path, help="a store with a release to test; else one is made"
    )
    parser.addoption(
        "--kills", metavar="N", type=int, default=25, help="how often the service is killed under load"
    )
    parser.addoption(
        "--api-examples", metavar="N", type=int, default=2, help="calls of each operation by each role"
    )
    parser.addoption(
        "--no-lab", action="store_true", help="leave out what boots virtual machines or builds their system"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare a text with a file, or write the file with --regen."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption("--regen"):
            path.write_text(text, "utf-8")
        assert path.exists(), f"{path} is missing; `make golden` writes it"
        assert text == path.read_text("utf-8")

    return compare


@pytest.fixture(scope="session")
def root(request: pytest.FixtureRequest) -> None:
    """Networks of a test's own need root; without it a test fails, unless --no-lab leaves it out."""
    if request.config.getoption("--no-lab"):
        pytest.skip("--no-lab")
    if os.geteuid() != 0:
        pytest.fail("only root may make network namespaces; --no-lab leaves out what does", pytrace=False)


@pytest.fixture(scope="session")
def machine_os(request: pytest.FixtureRequest) -> Path:
    """The folder of a finished build: that of --machine-os, or what the product makes, or has made."""
    given: Path | None = request.config.getoption("--machine-os")
    if given is not None:
        assert (given / "live.iso").is_file(), f"--machine-os: {given} has no live.iso"
        return given
    if request.config.getoption("--no-lab"):
        pytest.skip("--no-lab, and no --machine-os")
    from muster.cli.machine_os import build_machine_os

    return build_machine_os(None, os.uname().machine)


@pytest.fixture(scope="session")
def release_store(request: pytest.FixtureRequest) -> Path:
    """A store with a release of Kubernetes: that of --release-store, or what the product makes or has."""
    given: Path | None = request.config.getoption("--release-store")
    if given is not None:
        assert (given / "oci-layout").is_file(), f"--release-store: {given} is no content store"
        return given
    if request.config.getoption("--no-lab"):
        pytest.skip("--no-lab, and no --release-store")
    from tests.component import muster

    done = muster.run("release", "build", "--output", "json")
    assert done.status == 0, done.err
    return Path(json.loads(done.out)["store"])


@pytest.fixture(scope="session")
def kube(release_store: Path) -> Path:
    """The program that is all of Kubernetes and etcd, as the build of the release left it."""
    found = sorted(
        (release_store.parent / "programs").glob("kube-*/kube"), key=lambda path: path.stat().st_mtime
    )
    if not found:
        pytest.skip("the release was not built here, and its programs are not beside its store")
    return found[-1]
