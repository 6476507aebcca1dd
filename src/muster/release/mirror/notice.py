# SPDX-License-Identifier: Apache-2.0
"""What has to be written into a site's files so that its hosts use a copy of a release."""

from __future__ import annotations

from collections.abc import Iterable

from muster.config.manifests import render_yaml
from muster.frozen import dataclass
from muster.model.registries import Mirror, RegistriesConf, Registry, render_registries_conf
from muster.release.mirror.ends import Prefix
from muster.release.oci.reference import Reference


@dataclass(frozen=True)
class Notice:
    """Where images come from, and where they are now."""

    mirrors: tuple[tuple[str, str], ...]
    """Source and mirror, by repository."""
    by_tag: tuple[str, ...] = ()
    """Images that are named by tag, which mirrors of digests do not serve."""

    def install_config(self) -> str:
        """The part of install-config.yaml."""
        entries = [{"source": source, "mirrors": [mirror]} for source, mirror in self.mirrors]
        return render_yaml({"imageDigestSources": entries})

    def registries_conf(self) -> str:
        """The same as registries.conf has it."""
        entries = (
            Registry(location=source, mirror_by_digest_only=True, mirrors=(Mirror(mirror),))
            for source, mirror in self.mirrors
        )
        return render_registries_conf(RegistriesConf(tuple(entries)))


def notice_of(images: Iterable[Reference], prefix: Prefix) -> Notice:
    """What makes hosts ask a copy for these images."""
    pairs: dict[str, str] = {}
    by_tag: dict[str, None] = {}
    for image in images:
        there = prefix.place(image)
        if there.name != image.name:
            pairs[image.name] = there.name
            if image.digest is None:
                by_tag[str(image)] = None
    return Notice(tuple(sorted(pairs.items())), tuple(by_tag))
