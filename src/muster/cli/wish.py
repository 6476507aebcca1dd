# SPDX-License-Identifier: Apache-2.0
"""What a site says about its release and its base image, and what a flag, or nobody, says instead."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from muster.cli import log
from muster.cli.access import SiteAccess
from muster.cli.base_image import Wish
from muster.cli.options import BaseImageFlags
from muster.config.derive import named_release
from muster.image.generic import GenericRelease, generic_of
from muster.model.plan import Plan
from muster.model.release import RPM_ARCHITECTURES
from muster.model.site import Site
from muster.release.mirror.ends import AtRegistry, parse_end

if TYPE_CHECKING:
    from muster.model.image_based_plan import InstallationPlan


def settle_release(flags: BaseImageFlags, found: Site, plan: Plan) -> Plan:
    """The plan with the release that is really installed.

    A flag wins over the site. When nobody names a release, and no base image either, it is Muster's own; with
    a base image it stays what the plan says, for that image was chosen for it.
    """
    named = named_release(found)
    image = _settle(flags, named, plan.architecture)
    return replace(plan, release_image=image) if image else plan


def pin_plan(flags: BaseImageFlags, found: Site, plan: Plan) -> Plan:
    """The plan with its release by digest, and the key that hosts check its signature with."""
    from muster.cli.release_pin import load_release_key, pin_release

    key = load_release_key(flags.release_key)
    pinned = pin_release(plan.release_image, flags, wish_of(found, plan), key)
    return replace(plan, release_image=pinned.image, release_key=key, release_kind=pinned.kind)


def pin_generic(flags: BaseImageFlags, wish: Wish, image: str) -> GenericRelease:
    """The same for a medium for hosts of any site; it may know no release."""
    from muster.cli.release_pin import load_release_key, pin_release

    key = load_release_key(flags.release_key)
    return GenericRelease(pin_release(image, flags, wish, key).image if image else "", key)


def pinned_sources(flags: BaseImageFlags, wish: Wish, image: str) -> tuple[BaseImageFlags, Wish]:
    """Where the base image comes from, with the digest that a tag had a moment ago."""
    if flags.release and isinstance(parse_end(flags.release), AtRegistry):
        flags = replace(flags, release=f"docker://{image}")
    return flags, replace(wish, release=image) if wish.release else wish


def release_of_generic(flags: BaseImageFlags, wish: Wish) -> str:
    """The release that hosts of any site are to get, by the same rules; empty when nobody says it yet."""
    return _settle(flags, wish.release, wish.architecture) or wish.release


def _settle(flags: BaseImageFlags, named: str, architecture: str) -> str:
    """The release that is to be installed; empty when it stays what the site's files say."""
    if flags.release:
        from muster.cli.release_base import named_image

        image = named_image(flags, architecture)
        if named and named not in (image, image.partition("@")[0]):
            log.warn("--release names %s, which is installed instead of the site's %s", image, named)
        return image
    if named or flags.source:
        return ""
    from muster.cli.release_base import default_release

    image = default_release(architecture)
    log.say("no release is named: hosts are to get %s, the Kubernetes release of this Muster", image)
    return image


def wish_of(found: Site, plan: Plan) -> Wish:
    """What a site with a cluster says."""
    stream = found.install.os_image_stream if found.install else None
    return Wish(
        release=named_release(found),
        architecture=plan.architecture,
        stream=str(stream) if stream else "",
        access=SiteAccess(plan.pull_secret.reveal(), plan.registries, _some(plan.trust_bundle)),
        add_ons=plan.add_ons,
        has_default=True,
    )


def wish_of_generic(found: Site) -> Wish:
    """What a directory says that is for hosts of any site."""
    infra = found.infra_env_spec
    given = str(infra.cpu_architecture) if infra and infra.cpu_architecture else ""
    names = {rpm: name for name, rpm in RPM_ARCHITECTURES.items()}
    generic = generic_of(found)
    return Wish(
        release=named_release(found),
        architecture=names.get(given, given) or "amd64",
        access=SiteAccess(generic.pull_secret, generic.registries, _some(generic.trust_bundle)),
        has_default=True,
    )


def wish_of_seed(plan: InstallationPlan) -> Wish:
    """What an image-based installation says; its seed was not made by any release that Muster knows."""
    return Wish(
        architecture=plan.architecture,
        access=SiteAccess(plan.pull_secret.reveal(), plan.registries, _some(plan.trust_bundle)),
    )


def _some(text: str) -> tuple[str, ...]:
    return (text,) if text else ()
