# SPDX-License-Identifier: Apache-2.0
"""What takes long to make is made once for all tests that need it."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from muster.image.cache.places import find_cache_root
from muster.toolbox import Toolbox, open_toolbox
from tests.component.live import VARIANTS, Live, build_live

Build: TypeAlias = Callable[[str], Live]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Gives the live image of a variant."""
    return functools.cache(lambda variant: build_live(tmp_path_factory.mktemp(variant), variant))


@pytest.fixture(params=VARIANTS)
def live(request: pytest.FixtureRequest, build: Build) -> Live:
    """Each live image in turn."""
    return build(str(request.param))


@pytest.fixture
def build_x86(build: Build) -> Live:
    return build("x86_64")


@pytest.fixture
def build_partition(build: Build) -> Live:
    return build("partition")


@pytest.fixture(scope="session")
def cache_root() -> Path:
    """The cache of the user who runs the tests: what is in it is verified, and slow to get again."""
    return find_cache_root(None, os.environ, Path.home)


@pytest.fixture(scope="session")
def toolbox(cache_root: Path) -> Toolbox:
    """Programs of Debian 13."""
    return open_toolbox(cache_root)
