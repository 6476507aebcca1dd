# SPDX-License-Identifier: Apache-2.0
"""Keys, logins and certificates: who may log in, where images come from, and whom hosts trust."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import Final

from muster.config.document.edit import replace_scalar
from muster.config.document.places import place_of_rest, place_of_text, places_of_blocks, span_of
from muster.config.formats.logins import find_faults
from muster.config.formats.pem import Block, Certificate, read_bundle, text_after
from muster.config.formats.ssh import BadSSHKey, SSHKey, holds_private_key, key_lines, parse_ssh_key
from muster.model.install_config import TrustBundlePolicy
from muster.model.manifests.pull_secret import DOCKER_CONFIG
from muster.model.problem import Edit, Place, Problem, problem
from muster.model.schema import Model
from muster.model.site import Site
from muster.model.tree import Map, Node, Scalar, Source
from muster.model.values import Secret

_FIPS_TYPES: Final = re.compile(r"ecdsa-sha2-nistp\d{3}\Z|ssh-rsa\Z")
_LEAST_RSA_BITS: Final = 2048
_SHOWN: Final = 80


def _texts(site: Site, *names: str) -> Iterator[tuple[str, str, Node]]:
    """Every field with one of these names, wherever the site has it: its key, its text, and its place."""
    specs = (site.infra_env_spec, site.cluster_install_spec)
    models: tuple[Model | None, ...] = (site.install, *specs, site.image_based_installation, site.nodes)
    for model in models:
        for name in names:
            found = getattr(model, name, None)
            if model is not None and found:
                node = model.at(name)
                yield node.key.text if node.key else name, found, node


def check_ssh_keys(site: Site) -> Iterator[Problem]:
    """Every line is a public key that hosts accept."""
    fips = site.install is not None and bool(site.install.fips)
    for key, text, node in _texts(site, "ssh_key", "ssh_public_key", "ssh_authorized_key"):
        if holds_private_key(text):
            yield problem("private-ssh-key", place_of_text(node, "-----BEGIN"), key=key)
            continue
        for line in key_lines(text):
            at = place_of_text(node, line)
            found = parse_ssh_key(line)
            if isinstance(found, BadSSHKey):
                edits = _replaced(node, at, found.right)
                yield problem("bad-ssh-key", at, edits=edits, key=key, reason=found.reason)
            else:
                yield from _judge_ssh_key(key, found, at, fips=fips)


def _judge_ssh_key(key: str, found: SSHKey, at: Place, *, fips: bool) -> Iterator[Problem]:
    if fips and not _FIPS_TYPES.match(found.type):
        yield problem("ssh-key-not-fips", at, key=key, type=found.type)
    elif found.type == "ssh-dss":
        yield problem("weak-ssh-key", at, key=key, what="a DSA key")
    elif found.bits is not None and found.bits < _LEAST_RSA_BITS:
        yield problem("weak-ssh-key", at, key=key, what=f"an RSA key of {found.bits} bits")


def _replaced(node: Node, at: Place, right: str | None) -> tuple[Edit, ...]:
    if right is None or not isinstance(node, Scalar):
        return ()
    if (at.start, at.end) == (node.start, node.end):
        return replace_scalar(node, right)
    return (Edit(at.source, at.start, at.end, right),)


def check_pull_secrets(site: Site) -> Iterator[Problem]:
    """A pull secret is JSON and holds a login for each registry."""
    for secret, node in pull_secrets(site):
        for fault in find_faults(secret.reveal()):
            key = node.key.text if node.key else "pullSecret"
            yield problem(fault.slug, node, edits=(), key=key, **fault.values)


def pull_secrets(site: Site) -> Iterator[tuple[Secret, Node]]:
    """The pull secrets of a site, and their places."""
    for holder in (site.install, site.image_based_installation):
        if holder is not None and holder.pull_secret is not None:
            yield holder.pull_secret, holder.at("pull_secret")
    manifest = site.manifests.pull_secret if site.manifests else None
    node = manifest.at("string_data") if manifest else None
    if manifest is not None and DOCKER_CONFIG in manifest.string_data and isinstance(node, Map):
        yield manifest.string_data[DOCKER_CONFIG], node.items[DOCKER_CONFIG]


def _bundles(site: Site) -> Iterator[tuple[str, str, Place]]:
    """Every bundle of certificates: what it is called, its text, and its place."""
    for key, text, node in _texts(site, "additional_trust_bundle"):
        yield key, text, span_of(node)
    if isinstance(site.ca_bundle, Source) and site.ca_bundle.text.strip():
        yield site.ca_bundle.name, site.ca_bundle.text, span_of(site.ca_bundle)


def check_bundles(site: Site) -> Iterator[Problem]:
    """Every block of a bundle is the certificate of an authority."""
    for key, text, span in _bundles(site):
        blocks = read_bundle(text)
        if not blocks:
            reason = "no line -----BEGIN CERTIFICATE----- was found"
            yield problem("bad-certificate", span, key=key, reason=reason)
            continue
        places = places_of_blocks(span)
        places += [span] * (len(blocks) - len(places))
        seen: dict[bytes, Place] = {}
        for block, at in zip(blocks, places, strict=False):
            yield from _judge_block(key, block, at)
            if block.certificate is not None:
                yield from _judge_certificate(block.certificate, at, seen, site.environment.today)
        rest = text_after(text)
        if rest and not blocks[-1].private:
            yield problem("text-after-certificates", place_of_rest(span, rest), key=key)


def _judge_block(key: str, block: Block, at: Place) -> Iterator[Problem]:
    if block.private:
        yield problem("private-key-in-bundle", at, key=key)
    elif block.certificate is None:
        yield problem("bad-certificate", at, key=key, reason=block.fault)


def _judge_certificate(
    certificate: Certificate, at: Place, seen: dict[bytes, Place], today: date | None
) -> Iterator[Problem]:
    name = _shown(certificate)
    first = seen.setdefault(certificate.der, at)
    if first is not at:
        yield problem("certificate-twice", at, name=name, first=first.line)
        return
    if certificate.version < 3:
        yield problem("not-an-authority", at, name=name, what=f"has the old version {certificate.version}")
    elif not certificate.is_authority:
        yield problem("not-an-authority", at, name=name, what="is not that of an authority")
    if today is not None and certificate.ends < today:
        yield problem("certificate-expired", at, name=name, date=certificate.ends)
    elif today is not None and certificate.starts > today:
        yield problem("certificate-not-yet-valid", at, name=name, date=certificate.starts)


def _shown(certificate: Certificate) -> str:
    subject = certificate.subject
    return subject if len(subject) <= _SHOWN else f"{subject[: _SHOWN - 3]}..."


def check_two_bundles(site: Site) -> Iterator[Problem]:
    """mirror/ca-bundle.crt adds nothing to additionalTrustBundle, which is used alone."""
    written = site.install.additional_trust_bundle if site.install else None
    if site.install is None or not written or not isinstance(site.ca_bundle, Source):
        return
    known = {block.certificate.der for block in read_bundle(written) if block.certificate}
    blocks = read_bundle(site.ca_bundle.text)
    for block, at in zip(blocks, places_of_blocks(span_of(site.ca_bundle)), strict=False):
        if block.certificate is not None and block.certificate.der not in known:
            where = Place.of_key(site.install.at("additional_trust_bundle")).where
            yield problem("bundles-differ", at, name=_shown(block.certificate), where=where)


def check_bundle_policy(site: Site) -> Iterator[Problem]:
    """The policy has a bundle that it can be about."""
    install = site.install
    if install is None or install.additional_trust_bundle_policy is not TrustBundlePolicy.ALWAYS:
        return
    in_file = isinstance(site.ca_bundle, Source) and bool(site.ca_bundle.text.strip())
    if not install.has("additional_trust_bundle") and not in_file:
        policy = install.additional_trust_bundle_policy
        yield problem("policy-without-bundle", install.at("additional_trust_bundle_policy"), policy=policy)


RULES: Final = (
    check_ssh_keys,
    check_pull_secrets,
    check_bundles,
    check_two_bundles,
    check_bundle_policy,
)
