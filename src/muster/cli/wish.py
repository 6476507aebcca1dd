# SPDX-License-Identifier: Apache-2.0
"""What a site says about its release and its base image, and what a flag, or nobody, says instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from muster.cli import log
from muster.cli.access import SiteAccess
from muster.cli.base_image import Wish
from muster.cli.options import BaseImageFlags, Run
from muster.cli.site import check_settings
from muster.config.derive import named_release
from muster.config.formats.ignition import refused_parts
from muster.config.rules.settings import settings_problems
from muster.image.generic import GenericRelease, generic_of
from muster.image.ignition.merge import check_parts
from muster.model.catalogue import Severity
from muster.model.plan import Plan
from muster.model.release import KUBERNETES, RPM_ARCHITECTURES
from muster.model.site import Site
from muster.release.mirror.ends import AtRegistry, parse_end

if TYPE_CHECKING:
    from muster.cli.release_pin import Pinned
    from muster.model.image_based_plan import InstallationPlan


def settle_release(flags: BaseImageFlags, found: Site, plan: Plan) -> Plan:
    """The plan with the release that is really installed.

    A flag wins over the site. When nobody names a release, and no base image either, it is Muster's own; with
    a base image it stays what the plan says, for that image was chosen for it.
    """
    named = named_release(found)
    image = _settle(flags, named, plan.architecture)
    return replace(plan, release_image=image) if image else plan


def pin_plan(run: Run, flags: BaseImageFlags, found: Site, plan: Plan, override: str = "") -> Plan:
    """The plan with its release by digest, and the key that hosts check its signature with.

    The site's settings, and the Ignition config that the command was given, are judged by its kind.
    """
    from muster.cli.release_pin import load_release_key, pin_release

    key, wish = load_release_key(flags.release_key), wish_of(found, plan)
    pinned = pin_release(plan.release_image, flags, wish, key)
    kind = _judge(run, found, override, pinned, lambda: _ask_kind(pinned.image, flags, wish))
    return replace(plan, release_image=pinned.image, release_key=key, release_kind=kind)


def pin_generic(run: Run, flags: BaseImageFlags, found: Site, image: str, override: str) -> GenericRelease:
    """The same for a medium for hosts of any site; it may know no release."""
    from muster.cli.release_pin import load_release_key, pin_release

    key, wish = load_release_key(flags.release_key), wish_of_generic(found)
    if not image:
        return GenericRelease("", key)
    pinned = pin_release(image, flags, wish, key)
    _judge(run, found, override, pinned, lambda: _ask_kind(pinned.image, flags, wish))
    return GenericRelease(pinned.image, key)


def _judge(run: Run, found: Site, override: str, pinned: Pinned, ask_kind: Callable[[], str]) -> str:
    """The kind of a release, after a check that it does what is asked for.

    Where its name does not tell the kind, it is looked up only if it matters.
    """
    unsure = [] if pinned.kind else _not_by_kubernetes(found, override)
    kind = ask_kind() if unsure else pinned.kind
    if unsure and not kind:
        log.warn(
            "the kind of the release %s cannot be looked up; a release of Kubernetes does not do this: %s",
            pinned.image,
            "; ".join(unsure),
        )
    check_settings(run, found, kind)
    check_parts(override, "--ignition-override", kind)
    return kind


def _not_by_kubernetes(found: Site, override: str) -> list[str]:
    """The settings that only a release of OpenShift does."""
    problems = [each for each in settings_problems(found, KUBERNETES) if each.severity is Severity.ERROR]
    settings = [f"{each.place.where}: {each.message.partition(':')[0]}" for each in problems]
    return settings + [f"--ignition-override: {row.path}" for row in refused_parts(override, KUBERNETES)]


def _ask_kind(image: str, flags: BaseImageFlags, wish: Wish) -> str:
    from muster.cli.release_pin import find_kind

    return find_kind(image, flags, wish)


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
