# SPDX-License-Identifier: Apache-2.0
"""Labs that boot the real machine OS. What they need and do not have fails them; --no-lab leaves them out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from muster.lab.capacity import find_room
from tests.lab.cluster import Stage
from tests.lab.rehearsal import Rehearsal

_HERE = Path(__file__).parent
_MEMORY_MIB = 5000
"""Two machines of 2 GiB, and what QEMU needs itself."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--no-lab"):
        for item in items:
            if _HERE in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="--no-lab"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Whatever a test fails with, it says where the evidence is."""
    try:
        return (yield)
    except BaseException as error:
        lab = getattr(item, "funcargs", {}).get("lab")
        if isinstance(lab, Rehearsal):
            error.add_note(f"evidence: {lab.end(keep_evidence=True) or 'none, there was no lab'}")
        raise


@pytest.fixture(scope="session")
def means(tmp_path_factory: pytest.TempPathFactory) -> None:
    """All that a lab cannot do without."""
    missing = []
    if os.geteuid() != 0:
        missing.append("root (networks of the lab's own)")
    if not Path("/dev/net/tun").exists():
        missing.append("/dev/net/tun (`modprobe tun`)")
    memory = find_room(tmp_path_factory.getbasetemp()).memory_mib
    if memory < _MEMORY_MIB:
        missing.append(f"{_MEMORY_MIB} MiB of free memory (there are {memory})")
    if missing:
        pytest.fail(f"the lab needs {', '.join(missing)}; --no-lab leaves its tests out", pytrace=False)


@pytest.fixture
def lab(means: None, tmp_path: Path) -> Iterator[Rehearsal]:
    """A lab with a state of its own; nothing of it is left but the evidence of a failure."""
    made = Rehearsal(tmp_path / "state")
    yield made
    made.end()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Path]:
    """A folder for sites and media; they are large, and gone afterwards."""
    folder = tmp_path / "desk"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def stage(desk: Path, machine_os: Path, release_store: Path) -> Stage:
    """Makes sites whose hosts become clusters."""
    return Stage(desk, machine_os / "live.iso", release_store)
