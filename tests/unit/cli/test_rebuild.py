# SPDX-License-Identifier: Apache-2.0
"""A medium that is made again gets its base image as it did the first time."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from muster.cli.options import BaseImageFlags
from muster.cli.rebuild import Rebuild, compare_with_site
from muster.errors import ExternalError
from tests import media


@pytest.mark.parametrize(("bundle", "trusted"), [("PEM of the site", ["PEM of the site"]), ("", [])])
def test_the_authorities_of_the_site_are_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bundle: str, trusted: list[str]
) -> None:
    given: list[str] = []

    def obtain(_flags: object, _cache: object, authorities: list[str]) -> None:
        given.extend(authorities)
        raise ExternalError("far enough")

    order = SimpleNamespace(plan=SimpleNamespace(trust_bundle=bundle))
    monkeypatch.setattr("muster.cli.rebuild._order", lambda _rebuild: order)
    monkeypatch.setattr("muster.cli.rebuild.base_images.obtain", obtain)
    medium = tmp_path / "medium.iso"
    medium.write_bytes(media.image(media.MODERN))
    flags = BaseImageFlags(source="https://example.com/base.iso", cache_dir=str(tmp_path / "cache"))
    with pytest.raises(ExternalError, match="far enough"):
        compare_with_site(medium, Rebuild(tmp_path, flags, "7d", None))
    assert given == trusted
