# SPDX-License-Identifier: Apache-2.0
"""Where an image is asked for: its mirrors in their order, then its own registry, as registries.conf says."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from muster.errors import MusterError, UserError
from muster.model.registries import RegistriesConf
from muster.release.oci.reference import Reference, parse_reference
from muster.release.oci.trouble import Unreachable


def find_places(conf: RegistriesConf, reference: Reference) -> tuple[Reference, ...]:
    """The names that an image has at all places that may be asked for it, in their order, each once."""
    # With a digest the tag says nothing more, and a mirror may not have it.
    image = str(replace(reference, tag="") if reference.digest else reference)
    sources = [*conf.find_mirrors(image), conf.find_source(image)]
    places = dict.fromkeys(parse_reference(source.image) for source in sources if source is not None)
    if not places:
        raise UserError(
            f"{reference} may not be asked for: its registry is blocked, and no mirror may be used",
            hint="look at registries.conf; a mirror may be for images by digest only",
        )
    return tuple(places)


def is_insecure(conf: RegistriesConf, insecure: Collection[str], reference: Reference) -> bool:
    """Whether a registry need not prove who it is: a file says so, or the user did."""
    return reference.registry in insecure or conf.is_insecure(reference.name)


def nowhere(reference: Reference, failures: Sequence[tuple[Reference, MusterError]]) -> Unreachable:
    """What all places said that were asked for an image."""
    passing = any(isinstance(error, Unreachable) and error.passing for _, error in failures)
    wait_s = max((error.wait_s for _, error in failures if isinstance(error, Unreachable)), default=0)
    place, first = failures[0]
    if len(failures) == 1:
        whose = f" (as {place.name})" if place.name != reference.name else ""
        message = f"cannot get {reference}{whose}: {first.message}"
        return Unreachable(message, hint=first.hint, passing=passing, wait_s=wait_s)
    said = "".join(f"\n  {place.name}: {error.message}" for place, error in failures)
    return Unreachable(
        f"cannot get {reference} from any of {len(failures)} places:{said}",
        hint=first.hint,
        passing=passing,
        wait_s=wait_s,
    )
