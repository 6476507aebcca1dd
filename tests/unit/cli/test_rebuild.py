# SPDX-License-Identifier: Apache-2.0
"""A medium that is made again gets its base image as it did the first time."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from muster.cli.base_image import Wish
from muster.cli.options import BaseImageFlags
from muster.cli.rebuild import Rebuild, compare_with_site
from muster.errors import ExternalError
from muster.model.registries import RegistriesConf
from muster.model.site import Site
from muster.model.values import Secret
from tests import media


@pytest.mark.parametrize(("bundle", "trusted"), [("PEM of the site", ("PEM of the site",)), ("", ())])
def test_the_authorities_of_the_site_are_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bundle: str, trusted: tuple[str, ...]
) -> None:
    given: list[Wish] = []

    def obtain(_flags: object, _cache: object, wish: Wish) -> None:
        given.append(wish)
        raise ExternalError("far enough")

    found, plan = (
        Site(),
        SimpleNamespace(
            add_ons=(),
            trust_bundle=bundle,
            architecture="arm64",
            release_image="registry.example.com/release:1",
            pull_secret=Secret("{}"),
            registries=RegistriesConf(),
        ),
    )
    monkeypatch.setattr("muster.cli.rebuild.site.load_cluster", lambda _run, _flags: (found, plan))
    monkeypatch.setattr("muster.cli.rebuild.pin_plan", lambda _run, _flags, _found, plan: plan)
    monkeypatch.setattr("muster.cli.rebuild._order", lambda _rebuild, plan: SimpleNamespace(plan=plan))
    monkeypatch.setattr("muster.cli.rebuild.base_images.obtain", obtain)
    medium = tmp_path / "medium.iso"
    medium.write_bytes(media.image(media.MODERN))
    flags = BaseImageFlags(source="https://example.com/base.iso", cache_dir=str(tmp_path / "cache"))
    with pytest.raises(ExternalError, match="far enough"):
        compare_with_site(medium, Rebuild(tmp_path, flags, "7d", None))
    assert [wish.access.authorities for wish in given] == [trusted]
    assert given[0].architecture == "arm64"
