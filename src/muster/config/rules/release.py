# SPDX-License-Identifier: Apache-2.0
"""The release that is installed: one image, for the hosts' architecture, that mirrors can serve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from muster.config.derive import architecture, named_release
from muster.config.formats.images import image_fault
from muster.config.rules.machines import is_agent_based
from muster.model.problem import Place, Problem, problem
from muster.model.registries import merge_sources
from muster.model.release import RPM_ARCHITECTURES, default_release_image, repository_of, tag_of
from muster.model.site import Site
from muster.model.tree import Source
from muster.redact import redact

OVERRIDE: Final = "OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE"
_ANY_DIGEST: Final = "@sha256:0"


def check_release(site: Site) -> Iterator[Problem]:
    """Environment and releaseImage name an image, and the same one."""
    wanted = site.environment.release_image
    wrong = image_fault(wanted) if wanted and site.install is not None else ""
    if wrong:
        at = Place(Source(OVERRIDE, ""))
        yield problem("bad-release-override", at, value=redact(wanted), reason=wrong, name=OVERRIDE)
    image_set = site.manifests.cluster_image_set if site.manifests else None
    image = image_set.spec.release_image if image_set and image_set.spec else None
    if image_set is None or image_set.spec is None or not image:
        return
    node = image_set.spec.at("release_image")
    fault = image_fault(image)
    if fault:
        yield problem("bad-image-reference", node, key="releaseImage", value=image, reason=fault)
    elif wanted and not wrong and wanted != image:
        yield problem("release-differs", node, value=image, right=wanted)


def _named(site: Site) -> tuple[str, Place] | None:
    """The release that somebody chose, and where; None when it is the one that is built in."""
    image = named_release(site) if is_agent_based(site) else ""
    if not image or image_fault(image):
        return None
    image_set = site.manifests.cluster_image_set if site.manifests else None
    if not site.environment.release_image and image_set is not None and image_set.spec is not None:
        return image, Place.of(image_set.spec.at("release_image"))
    return image, Place(Source(OVERRIDE, ""))


def check_architecture(site: Site) -> Iterator[Problem]:
    """A release whose tag names an architecture is one for the control plane."""
    named = _named(site)
    pool = site.install.control_plane if site.install else None
    if named is None or (pool is not None and pool.is_unread("architecture")):
        return
    image, at = named
    suffix = tag_of(image).rpartition("-")[2]
    built_for = next((name for name, rpm in RPM_ARCHITECTURES.items() if suffix in (name, rpm)), None)
    right = architecture(site.install)
    if built_for not in (None, right):
        yield problem("release-architecture", at, value=image, built_for=built_for, right=right)


def check_tag_mirrored(site: Site) -> Iterator[Problem]:
    """A release that is named by its tag has a mirror that is asked for tags."""
    named, install = _named(site), site.install
    if named is None or install is None or "@" in named[0]:
        return
    image, at = named
    if image == default_release_image(architecture(install)):
        return
    conf = site.registries or merge_sources((*install.image_digest_sources, *install.image_content_sources))
    by_digest = conf.find_mirrors(f"{repository_of(image)}{_ANY_DIGEST}")
    if by_digest and not conf.find_mirrors(image):
        mirrors = ", ".join(repository_of(source.image) for source in by_digest)
        yield problem("release-by-tag", at, value=image, mirrors=mirrors)


RULES: Final = (check_release, check_architecture, check_tag_mirrored)
