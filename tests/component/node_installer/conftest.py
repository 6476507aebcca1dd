# SPDX-License-Identifier: Apache-2.0
"""Hosts for tests of what they start from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.component.node_installer.carrying import Host
from tests.component.node_installer.images import make_image


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_image(tmp_path_factory.mktemp("image"))


@pytest.fixture
def host(tmp_path: Path, image: Path) -> Host:
    return Host(tmp_path, image)
