# SPDX-License-Identifier: Apache-2.0
"""Carries out `muster agent create image | pxe-files | config-image | unconfigured-*`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from muster.cli import base_image as base_images
from muster.cli import log, progress, site
from muster.cli.agent_media import Call
from muster.cli.medium import read_text, tell
from muster.cli.options import BaseImageFlags
from muster.cli.wish import (
    pin_generic,
    pin_plan,
    pinned_sources,
    release_of_generic,
    settle_release,
    wish_of,
    wish_of_generic,
)
from muster.config.derive import signer_key
from muster.errors import UserError
from muster.image.agent import Order
from muster.image.agent_media import (
    ARTIFACTS,
    CONFIG_ISO,
    Workshop,
    build_config_image,
    build_image,
    build_pxe_files,
    image_name,
)
from muster.image.base_image import BaseImage
from muster.image.cache.store import Cache
from muster.image.draft import Draft
from muster.image.iso.volume import Volume
from muster.image.making import Making, digest_inputs, start_making
from muster.image.product import Source
from muster.image.sbom import Component
from muster.image.tokens import parse_validity
from muster.model.plan import Plan
from muster.model.site import Site

if TYPE_CHECKING:
    from muster.cli.embedding import Carried

_GENERIC_ADVICE: Final = [
    "next: boot hosts from it, and choose on a console where they meet; or attach a configuration ISO"
]
Recipe: TypeAlias = Callable[[Workshop, Source], tuple[str, ...]]


def make_image(call: Call, base_image: BaseImageFlags, draft: Draft | None) -> None:
    """The ISO that all hosts boot."""
    loaded = site.load_cluster(call.run, base_image)
    if loaded[1].minimal_iso and call.with_release:
        raise UserError(
            "a minimal ISO is for what hosts fetch, and cannot carry a release",
            hint="leave out --embed-release, or set minimalISO to false in agent-config.yaml",
        )
    if draft is not None and loaded[1].minimal_iso:
        draft.discard()

    def recipe(shop: Workshop, source: Source) -> tuple[str, ...]:
        return build_image(shop, source.with_draft(draft))

    _make(call, loaded, image_name(loaded[1]), base_image, recipe)


def make_pxe_files(call: Call, base_image: BaseImageFlags) -> None:
    """The files for network boot."""
    _make(call, site.load_cluster(call.run, base_image), ARTIFACTS, base_image, build_pxe_files)


def make_config_image(call: Call, base_image: BaseImageFlags) -> None:
    """The ISO that makes hosts of a generic image those of a site."""
    found, plan = site.load_cluster(call.run, base_image)
    plan = pin_plan(call.run, base_image, found, settle_release(base_image, found, plan))
    infra = found.infra_env_spec
    if call.override or (infra is not None and (infra.ignition_config_override or infra.kernel_arguments)):
        log.warn(
            "a configuration ISO has no place for ignitionConfigOverride, kernelArguments and"
            " --ignition-override; give them to `agent create unconfigured-image`"
        )
    with start_making(call.run.directory, CONFIG_ISO, call.manner) as making:
        order = _settle(call, found, plan, making)
        if not making.is_current(_inputs(call, found, order, _release_inputs(plan))):
            build_config_image(Workshop(order, making, progress))
            making.finish()
        tell(call.run, making, _advice(order, "attach it to every host"))


def make_unconfigured_ignition(call: Call, base_image: BaseImageFlags) -> None:
    """The Ignition config of hosts that know no site."""
    from muster.image.generic import IGNITION_FILE, generic_ignition

    found = site.load_valid_site(call.run, may_be_empty=True)
    wish = wish_of_generic(found)
    image = release_of_generic(base_image, wish) if base_image.release else wish.release
    release = pin_generic(call.run, base_image, found, image, call.override)
    given = {"the release": release.image, "--release-key": release.key}
    with start_making(call.run.directory, IGNITION_FILE, call.manner) as making:
        if not making.is_current(_inputs(call, found, None, given)):
            making.begin(None, (IGNITION_FILE,))
            making.save(IGNITION_FILE, generic_ignition(found, call.override, release))
            making.finish()
        tell(call.run, making)


def make_unconfigured_image(call: Call, base_image: BaseImageFlags) -> None:
    """The ISO for hosts of any site."""
    from muster.image.generic import generic_customization, generic_image_name
    from muster.image.live_image import build_live_image

    found = site.load_valid_site(call.run, may_be_empty=True)
    wish = wish_of_generic(found)
    image = release_of_generic(base_image, wish)
    release = pin_generic(call.run, base_image, found, image, call.override)
    base_image, wish = pinned_sources(base_image, wish, release.image)
    carried = _carried(call, base_image, wish, release.image)
    with base_images.open_cache(base_image.cache_dir) as cache:
        base = base_images.obtain(base_image, cache, wish)
        with (
            Volume.open(base.path) as volume,
            start_making(call.run.directory, generic_image_name(volume), call.manner) as making,
        ):
            given = {
                "the base image": base.sha256,
                "the release": release.image,
                "--release-key": release.key,
                **_given(carried),
            }
            if not making.is_current(_inputs(call, found, None, given)):
                base_images.warn_customized(volume)
                wanted = generic_customization(found, call.override, release)
                parts = (Component("container", release.image),) if carried else ()
                build_live_image(making, _source(base, volume, cache, carried), wanted, parts, progress)
                making.finish()
            tell(call.run, making, _GENERIC_ADVICE)


def _make(
    call: Call, loaded: tuple[Site, Plan], name: str, base_image: BaseImageFlags, recipe: Recipe
) -> None:
    found = loaded[0]
    settled = settle_release(base_image, *loaded)
    plan = pin_plan(call.run, base_image, found, settled, call.override)
    base_image, wish = pinned_sources(base_image, wish_of(found, plan), plan.release_image)
    carried = _carried(call, base_image, wish, plan.release_image)
    with (
        base_images.open_cache(base_image.cache_dir) as cache,
        start_making(call.run.directory, name, call.manner) as making,
    ):
        base = base_images.obtain(base_image, cache, wish)
        order = _settle(call, found, plan, making)
        replaced: tuple[str, ...] = ()
        given = {"the base image": base.sha256, **_release_inputs(plan), **_given(carried)}
        if not making.is_current(_inputs(call, found, order, given)):
            with Volume.open(base.path) as volume:
                base_images.warn_customized(volume)
                replaced = recipe(Workshop(order, making, progress), _source(base, volume, cache, carried))
            making.finish()
        lines = [f"the Ignition config that was given replaced {place}" for place in replaced]
        tell(call.run, making, [*lines, *_advice(order, "boot all hosts from it")], replaced=list(replaced))


def _carried(call: Call, base_image: BaseImageFlags, wish: base_images.Wish, release: str) -> Carried | None:
    """The release that the medium is to carry, if it is to carry one."""
    if not call.with_release:
        return None
    from muster.cli.embedding import find_release

    return find_release(base_image, wish, release)


def _release_inputs(plan: Plan) -> dict[str, str]:
    return {
        "the release": plan.release_image,
        "the kind of the release": plan.release_kind,
        "--release-key": plan.release_key,
    }


def _given(carried: Carried | None) -> dict[str, str]:
    return {"--embed-release": carried.digest} if carried else {}


def _source(base: BaseImage, volume: Volume, cache: Cache, carried: Carried | None) -> Source:
    return Source(base, volume, cache, added=carried.added_to(volume) if carried else None)


def _settle(call: Call, found: Site, plan: Plan, making: Making) -> Order:
    valid_for = parse_validity(call.valid_for)
    secrets = making.renew_tokens(making.settle_secrets(signer_key(found.install)), valid_for)
    return Order(plan, secrets, valid_for, call.override)


def _inputs(
    call: Call, found: Site, order: Order | None, more: Mapping[str, str] | None = None
) -> dict[str, str]:
    given = {
        **(more or {}),
        "--ignition-override": call.override,
        "--valid-for": call.valid_for,
        "--sha256": str(call.manner.with_sha256),
        "--sign-key": read_text(call.manner.sign_key),
    }
    secrets = order.secrets if order else None
    return digest_inputs(found, secrets, {name: text for name, text in given.items() if text})


def _advice(order: Order, what: str) -> list[str]:
    ends = order.secrets.tokens_issued + order.valid_for
    where = f"; they meet at {order.plan.rendezvous.ip}" if order.plan.rendezvous else ""
    return [f"next: {what} before {ends:%Y-%m-%d %H:%M} UTC{where}"]
