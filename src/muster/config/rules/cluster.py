# SPDX-License-Identifier: Apache-2.0
"""What a cluster is: its format version, name, domain, platform, and who can reach it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from muster.config.derive import AGENT_PLATFORMS, VIP_PLATFORMS, platform_name, platform_names
from muster.config.document import edit
from muster.config.rules import capabilities, features
from muster.config.rules.versions import check_version
from muster.model.install_config import Publish
from muster.model.problem import Place, Problem, problem
from muster.model.site import Site
from muster.model.tree import Map, Scalar, is_null
from muster.model.values import name_fault

API_VERSION: Final = "v1"
_SAME_FORMAT: Final = ("v1beta3", "v1beta4")
"""Versions from before the first release; what they say has the same meaning today."""
MAX_NAME: Final = 54
"""A DNS label has 63 characters, and records of the cluster put nine more in front of its name."""
MAX_DOMAIN: Final = 253


def check_api_version(site: Site) -> Iterator[Problem]:
    """The file says which version of the format it is written in."""
    if site.install is not None:
        yield from check_version(site.install, (API_VERSION,), same=_SAME_FORMAT)


def check_cluster_name(site: Site) -> Iterator[Problem]:
    """The cluster has a name that DNS records can be made of."""
    metadata = site.install.metadata if site.install else None
    if metadata is None:
        return
    name, at = metadata.name, metadata.at("name")
    if not name:
        if name == "" or is_null(metadata.places.get("name")):
            yield problem("missing-cluster-name", Place.of_key(at))
    elif len(name) > MAX_NAME:
        yield problem("long-cluster-name", at, value=name, length=len(name), most=MAX_NAME)
    elif fault := name_fault(name):
        lowered = name.strip().lower()
        edits = edit.replace_scalar(at, lowered) if not name_fault(lowered) else ()
        yield problem("bad-cluster-name", at, value=name, reason=fault, edits=edits)
    elif "." in name and (platform := platform_name(site.install)) in VIP_PLATFORMS:
        yield problem("dotted-cluster-name", at, value=name, platform=platform)


def check_cluster_domain(site: Site) -> Iterator[Problem]:
    """Name and base domain together still are a domain name."""
    install = site.install
    name = install.metadata.name if install and install.metadata else None
    if install is None or not name or name_fault(name) or not install.base_domain:
        return
    length = len(f"{name}.{install.base_domain}")
    if length > MAX_DOMAIN:
        yield problem("long-cluster-domain", install.at("base_domain"), length=length, most=MAX_DOMAIN)


def check_platform(site: Site) -> Iterator[Problem]:
    """There is exactly one platform, and it is one that can be installed from an image."""
    install = site.install
    if install is None or install.platform is None:
        return
    platform, known = install.platform, ", ".join(AGENT_PLATFORMS)
    named = platform_names(install)
    if not named and not (isinstance(platform.node, Map) and platform.node.items):
        yield problem("no-platform", Place.of_key(install.at("platform")), known=known)
    for name in named[1:]:
        yield problem("several-platforms", Place.of_key(platform.at(name)), value=name, first=named[0])
    if len(named) != 1:
        return
    name, at = named[0], platform.at(named[0])
    if name not in AGENT_PLATFORMS:
        if site.image_based is None:
            yield problem("unsupported-platform", Place.of_key(at), value=name, known=known)
    elif isinstance(at, Scalar) and at.is_null:
        yield _empty_platform(name, at)


def _empty_platform(name: str, at: Scalar) -> Problem:
    if name in VIP_PLATFORMS:
        return problem(
            "empty-platform",
            Place.of_key(at),
            value=name,
            right="its fields, at least apiVIPs and ingressVIPs",
        )
    edits = edit.replace_scalar(at, "{}")
    return problem(
        "empty-platform", Place.of_key(at), value=name, right="{}, which means no fields", edits=edits
    )


def check_publish(site: Site) -> Iterator[Problem]:
    """Nothing but a cloud can keep a cluster's endpoints private."""
    install = site.install
    if install is None or install.publish in (None, Publish.EXTERNAL):
        return
    if platform_name(install) in AGENT_PLATFORMS:
        yield problem(
            "publish-not-external",
            install.at("publish"),
            value=install.publish,
            platform=platform_name(install),
        )


RULES: Final = (
    check_api_version,
    check_cluster_name,
    check_cluster_domain,
    check_platform,
    check_publish,
    *capabilities.RULES,
    *features.RULES,
)
