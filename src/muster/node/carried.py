# SPDX-License-Identifier: Apache-2.0
"""What the configuration of a host says about images: which it starts from, and how it may get them.

The registries, logins and authorities are those that it will have itself, as a node.
"""

from __future__ import annotations

import json
from dataclasses import field
from typing import Any

from muster.config.formats.registries import parse_registries
from muster.errors import ExternalError
from muster.frozen import dataclass
from muster.model.ignition import find_file
from muster.model.registries import RegistriesConf
from muster.model.tree import Source
from muster.release.node.images import FILE, NodeImages, parse_images
from muster.release.node.runtime import CONF, LOGINS, TRUST
from muster.release.oci.client import Settings
from muster.release.oci.logins import Logins, parse_logins


@dataclass(frozen=True)
class Carried:
    """The images, and how to get them."""

    images: NodeImages = field(default_factory=NodeImages)
    """None for a host that starts from its system alone."""
    settings: Settings = field(default_factory=Settings)


def parse_carried(config: bytes) -> Carried:
    """Look into an Ignition config that is known to be one."""
    tree: dict[str, Any] = json.loads(config)
    listed = find_file(tree, FILE)
    if listed is None:
        return Carried()
    logins, trust = find_file(tree, LOGINS), find_file(tree, TRUST)
    settings = Settings(
        logins=parse_logins(logins.decode("utf-8", "replace"), LOGINS) if logins else Logins(),
        registries=_registries(find_file(tree, CONF)),
        authorities=(trust.decode("utf-8", "replace"),) if trust else (),
    )
    return Carried(parse_images(listed), settings)


def _registries(data: bytes | None) -> RegistriesConf:
    if data is None:
        return RegistriesConf()
    conf, problems = parse_registries(Source(CONF, data.decode("utf-8", "replace")))
    if conf is None:
        raise ExternalError(
            f"{CONF} in the configuration of this host cannot be used: {problems[0].message}",
            hint="see the log of the service on the rendezvous host",
        )
    return conf
