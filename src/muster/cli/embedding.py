# SPDX-License-Identifier: Apache-2.0
"""A release that a medium carries itself: found where it is, whole and undamaged, and put into the image."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from muster.cli import log, progress
from muster.cli.access import AccessFlags, settings_of
from muster.cli.archiving import refuse_incomplete, stored_images
from muster.cli.base_image import Wish
from muster.cli.mirroring import Wish as MirrorWish
from muster.cli.mirroring import carry_out
from muster.cli.options import BaseImageFlags
from muster.cli.release_place import find_cache, store_place
from muster.errors import UserError
from muster.frozen import dataclass
from muster.image.iso.graft import graft
from muster.image.iso.volume import Volume
from muster.image.overlay import Overlay
from muster.model.medium import RELEASE_FOLDER
from muster.release.kinds.stored import find_releases
from muster.release.mirror.ends import AtRegistry, End, InStore, parse_end
from muster.release.oci.manifest import Descriptor
from muster.release.oci.reference import parse_reference
from muster.release.store.exchange.mapped import map_images
from muster.release.store.store import LAYOUT, Store, open_store
from muster.units import render_size

_GATHERED: Final = "embedded"


@dataclass(frozen=True)
class Carried:
    """A release that is to be on the medium."""

    store: Store
    images: Mapping[str, Descriptor]

    @property
    def digest(self) -> str:
        """Another one whenever the release is."""
        names = "\n".join(f"{name} {image.digest}" for name, image in sorted(self.images.items()))
        return hashlib.sha256(names.encode()).hexdigest()

    def added_to(self, volume: Volume) -> Overlay:
        """What an image becomes with it."""
        overlay = graft(volume, RELEASE_FOLDER, map_images(self.store, self.images, progress))
        more = render_size(overlay.size - overlay.base_size)
        log.say("the medium carries the release, %d images: %s more", len(self.images), more)
        return overlay


def find_release(flags: BaseImageFlags, wish: Wish, release: str) -> Carried:
    """The release that hosts are to get; what is at a registry is brought here first."""
    end = _find(flags, wish, release)
    place = end if isinstance(end, InStore) else _gathered(end, flags, wish)
    images = stored_images(place, MirrorWish(release, str(place.path)), wish.architecture)
    return Carried(open_store(place.path), images)


def _find(flags: BaseImageFlags, wish: Wish, release: str) -> End:
    """Where a flag says, else among those that were built here, else where the site says."""
    if flags.release:
        return parse_end(flags.release)
    own = store_place(None, flags.cache_dir)
    if release and (own / LAYOUT).exists():
        wanted = parse_reference(release)
        for each in find_releases(open_store(own)):
            is_named = replace(each.reference, digest=None) == replace(wanted, digest=None)
            if wanted.digest == each.image.digest or (is_named and wanted.digest is None):
                return InStore(own, each.image.digest)
    if wish.release:
        return AtRegistry(wish.release)
    raise UserError(
        "no release is named that the medium could carry, and none was built here",
        hint="name one with --release, or build one with `muster release build`",
    )


def _gathered(end: AtRegistry, flags: BaseImageFlags, wish: Wish) -> InStore:
    """In a store of the cache, where the next medium finds it, and where an interrupted copy goes on."""
    folder = hashlib.sha256(str(end.image()).encode()).hexdigest()[:16]
    place = find_cache(flags.cache_dir) / _GATHERED / folder
    settings = settings_of(AccessFlags(ca_bundle=flags.ca_bundle), wish.access)
    order = MirrorWish(f"docker://{end.name}", str(place), cache_dir=flags.cache_dir)
    refuse_incomplete(carry_out(order, settings).outcome.missing)
    return InStore(place)
