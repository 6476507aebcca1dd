# SPDX-License-Identifier: Apache-2.0
"""Features beyond the stable ones: feature gates and what needs them, image streams, keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from muster.config.derive import release_image, vips
from muster.model.install_config import FeatureSet, InstallConfig, OSImageStream
from muster.model.pki import Key, KeyAlgorithm
from muster.model.platform.on_premises import DNSRecordsType
from muster.model.problem import Place, Problem, problem
from muster.model.release import repository_of
from muster.model.site import Site
from muster.model.tree import Node, is_null

_TRUE: Final = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE: Final = frozenset(("0", "f", "F", "FALSE", "false", "False"))
_PREVIEWS: Final = frozenset((FeatureSet.TECH_PREVIEW_NO_UPGRADE, FeatureSet.DEV_PREVIEW_NO_UPGRADE))
GATES: Final = {
    "DualReplica": _PREVIEWS | {FeatureSet.DEFAULT, FeatureSet.OKD},
    "MultiDiskSetup": _PREVIEWS,
    "ConfigurablePKI": _PREVIEWS,
    "OnPremDNSRecords": _PREVIEWS,
    "BGPBasedVIPManagement": frozenset((FeatureSet.DEV_PREVIEW_NO_UPGRADE,)),
}
"""The feature sets that switch a gate on. CustomNoUpgrade switches on only what it is told to."""


class Gated(NamedTuple):
    """A setting that does nothing without a feature gate."""

    field: str
    gate: str
    node: Node


def check_feature_gates(site: Site) -> Iterator[Problem]:
    """Single gates are switched in the set that is made for it, and in the form name=true."""
    install = site.install
    if install is None or not install.feature_gates:
        return
    if not install.is_unread("feature_set") and install.feature_set is not FeatureSet.CUSTOM_NO_UPGRADE:
        at = Place.of_key(install.at("feature_gates"))
        yield problem("feature-gates-without-set", at, value=install.feature_set or "not set")
    for text, node in install.feature_gates.located():
        if _switch(text) is None:
            yield problem("feature-gate-form", node, value=text)


def _switch(text: str) -> tuple[str, bool] | None:
    """``Name=true`` as a name and a truth value."""
    name, equals, word = text.partition("=")
    if not equals or not name or word not in _TRUE | _FALSE:
        return None
    return name, word in _TRUE


def check_gated_fields(site: Site) -> Iterator[Problem]:
    """A setting that needs a feature gate has it switched on."""
    install = site.install
    if install is None or any(check_feature_gates(site)):
        return
    if install.is_unread("feature_set"):
        return
    feature_set = install.feature_set or FeatureSet.DEFAULT
    switched = dict(filter(None, map(_switch, install.feature_gates)))
    for field, gate, node in _gated(install):
        custom = feature_set is FeatureSet.CUSTOM_NO_UPGRADE
        if not (switched.get(gate, False) if custom else feature_set in GATES[gate]):
            sets = ", ".join(str(each) for each in FeatureSet if each in GATES[gate] and each)
            yield problem("feature-gate-off", Place.of_key(node), key=field, gate=gate, sets=sets)


def _gated(install: InstallConfig) -> Iterator[Gated]:
    if install.pki is not None:
        yield Gated("pki", "ConfigurablePKI", install.at("pki"))
    if install.control_plane and install.control_plane.fencing is not None:
        yield Gated("fencing", "DualReplica", install.control_plane.at("fencing"))
    for pool in (install.control_plane, *install.compute):
        if pool and pool.disk_setup:
            yield Gated("diskSetup", "MultiDiskSetup", pool.at("disk_setup"))
    yield from _gated_platform(install)


def _gated_platform(install: InstallConfig) -> Iterator[Gated]:
    platform = install.platform
    if platform is None:
        return
    if platform.baremetal and platform.baremetal.bgp_vip_config is not None:
        node = platform.baremetal.at("bgp_vip_config")
        yield Gated("bgpVIPConfig", "BGPBasedVIPManagement", node)
    section = platform.baremetal
    # Without a load balancer of the user's it is refused anyway.
    if section and section.dns_records_type is DNSRecordsType.EXTERNAL and vips(install).user_managed:
        yield Gated("dnsRecordsType", "OnPremDNSRecords", section.at("dns_records_type"))


def check_okd(site: Site) -> Iterator[Problem]:
    """Settings of OKD and of OpenShift are not mixed, as far as the release is known."""
    install = site.install
    if install is None:
        return
    okd, stream = _is_okd(site), install.os_image_stream
    if install.feature_set is FeatureSet.OKD and okd is False:
        yield problem("okd-feature-set", install.at("feature_set"))
    if okd is None and install.feature_set is FeatureSet.OKD:
        okd = True
    if stream is None or okd is None or okd == (stream is OSImageStream.CENTOS_10):
        return
    right = "centos-10" if okd else "rhel-9 or rhel-10"
    product = "OKD" if okd else "OpenShift"
    yield problem(
        "os-image-stream", install.at("os_image_stream"), value=stream, right=right, product=product
    )


def _is_okd(site: Site) -> bool | None:
    """Whether the release is one of OKD, by the names that its images have; None when they do not tell."""
    repository = repository_of(release_image(site)).lower()
    if "okd" in repository or "scos" in repository:
        return True
    return False if "ocp-release" in repository else None


def check_pki(site: Site) -> Iterator[Problem]:
    """A key is described by the field of its own algorithm, and by no other."""
    signer = site.install.pki.signer_certificates if site.install and site.install.pki else None
    key = signer.key if signer else None
    if key is None or key.algorithm is None:
        return
    mine, other = ("rsa", "ecdsa") if key.algorithm is KeyAlgorithm.RSA else ("ecdsa", "rsa")
    if is_null(key.places.get(mine)):
        yield _pki_problem(key, key.at("algorithm"), f"{mine} is missing")
    if not is_null(key.places.get(other)):
        yield _pki_problem(key, Place.of_key(key.at(other)), f"{other} is set")


def _pki_problem(key: Key, at: Node | Place, what: str) -> Problem:
    mine = "rsa (keySize)" if key.algorithm is KeyAlgorithm.RSA else "ecdsa (curve)"
    return problem("pki-key", at, value=key.algorithm, what=what, right=mine)


RULES: Final = (check_feature_gates, check_gated_fields, check_okd, check_pki)
