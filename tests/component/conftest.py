# SPDX-License-Identifier: Apache-2.0
"""Live images are made once for all tests that need them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeAlias

import pytest

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
