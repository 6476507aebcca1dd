# SPDX-License-Identifier: Apache-2.0
"""What files are checked against is the release that is built."""

from __future__ import annotations

from muster.model.release import KUBERNETES_REPOSITORY, repository_of
from muster.release.build.reading import load_recipe
from muster.release.build.recipe import find_home


def test_mirrors_are_asked_for_the_release_that_is_built() -> None:
    assert repository_of(load_recipe(find_home()).release_name("amd64")) == KUBERNETES_REPOSITORY
