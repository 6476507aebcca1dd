# SPDX-License-Identifier: Apache-2.0
"""Mirrors: where images are really pulled from when their own registries are out of reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from muster.config.derive import named_release
from muster.config.document.edit import replace_scalar
from muster.config.formats.images import covers, host_of, registry_of, repaired_repository, repository_fault
from muster.config.formats.logins import has_login, registries_of
from muster.config.formats.registries import find_place
from muster.config.networks import find_inner_network, find_ip
from muster.frozen import dataclass
from muster.model.install_config import ImageContentSource, ImageSource
from muster.model.problem import Place, Problem, problem
from muster.model.registries import RegistriesConf, merge_sources
from muster.model.release import (
    CONTENT_REPOSITORY,
    KUBERNETES_REPOSITORY,
    RELEASE_REPOSITORY,
    repository_of,
)
from muster.model.schema import Items, Model
from muster.model.site import Site
from muster.model.tree import Node

_ANY_DIGEST: Final = "@sha256:0"
_BY_MUSTER: Final = "`muster release mirror --config-dir DIR` writes the entries"
_BY_OC: Final = (
    "`oc adm release mirror` prints the entries, `muster release mirror --config-dir DIR` writes them"
)


@dataclass(frozen=True)
class _Entry:
    """A source with its mirrors, wherever they are written."""

    source: str
    place: Place
    mirrors: tuple[tuple[str, Place], ...]


def _lists(site: Site) -> Iterator[Items[ImageContentSource]]:
    """The lists of sources in YAML."""
    if site.install is not None:
        yield Items(tuple(site.install.image_digest_sources), site.install.image_digest_sources.nodes)
        yield site.install.image_content_sources
    if site.image_based_installation is not None:
        sources = site.image_based_installation.image_digest_sources
        yield Items(tuple(sources), sources.nodes)


def _entries(site: Site) -> Iterator[_Entry]:
    for sources in _lists(site):
        for entry in sources:
            mirrors = tuple((mirror, Place.of(node)) for mirror, node in entry.mirrors.located())
            yield _Entry(entry.source or "", Place.of(entry.at("source")), mirrors)
    if site.registries is not None and site.registries_source is not None:
        for registry in site.registries.registries:
            found = tuple(
                (mirror.location, find_place(site.registries_source, mirror.location))
                for mirror in registry.mirrors
            )
            place = find_place(site.registries_source, registry.location or registry.prefix)
            yield _Entry(registry.scope, place, found)


def check_one_list(site: Site) -> Iterator[Problem]:
    """Sources stand in one list, under its new or its old name."""
    install = site.install
    if install is not None and install.image_digest_sources and install.image_content_sources:
        line = Place.of_key(install.at("image_digest_sources")).line
        yield problem("both-source-lists", Place.of_key(install.at("image_content_sources")), line=line)


def check_repositories(site: Site) -> Iterator[Problem]:
    """Sources and mirrors are names of repositories."""
    for sources in _lists(site):
        for entry in sources:
            if entry.source:
                yield from check_repository("source", entry.source, entry.at("source"))
            for mirror, node in entry.mirrors.located():
                yield from check_repository("mirrors", mirror, node)
    for model in (site.image_based_installation, site.image_based):
        if model is not None and model.release_registry:
            yield from check_repository(
                "releaseRegistry", model.release_registry, model.at("release_registry")
            )


def check_repository(key: str, name: str, node: Node) -> Iterator[Problem]:
    """A text is the name of a repository, or of a whole registry."""
    fault = repository_fault(name)
    if fault:
        right = repaired_repository(name)
        edits = replace_scalar(node, right) if right is not None else ()
        yield problem("bad-repository", node, edits=edits, key=key, value=name, reason=fault)


def check_mirrors_given(site: Site) -> Iterator[Problem]:
    """A source has mirrors, and a policy only with them."""
    for sources in _lists(site):
        for entry in sources:
            if entry.mirrors or entry.is_unread("mirrors"):
                continue
            if isinstance(entry, ImageSource) and entry.source_policy is not None:
                yield problem("policy-without-mirrors", entry.at("source_policy"), policy=entry.source_policy)
            elif entry.source:
                yield problem("no-mirrors", entry.at("source"), source=entry.source)


def check_sources_once(site: Site) -> Iterator[Problem]:
    """A source has one entry."""
    for sources in _lists(site):
        first: dict[str, ImageContentSource] = {}
        for entry in sources:
            if not entry.source:
                continue
            other = first.setdefault(entry.source, entry)
            if other is not entry and tuple(other.mirrors) != tuple(entry.mirrors):
                line = Place.of(other.at("source")).line
                yield problem("source-twice", entry.at("source"), source=entry.source, first=line)


def check_mirror_differs(site: Site) -> Iterator[Problem]:
    """A mirror is another repository than its source."""
    for entry in _entries(site):
        for mirror, place in entry.mirrors:
            if mirror.rstrip("/") == entry.source.rstrip("/"):
                yield problem("mirror-is-source", place, mirror=mirror)


def check_mirror_logins(site: Site) -> Iterator[Problem]:
    """The pull secret has a login for every mirror."""
    holder: Model | None = site.install or site.image_based_installation
    secret = getattr(holder, "pull_secret", None)
    known = registries_of(secret.reveal()) if secret is not None else None
    if known is None:
        return
    seen: set[str] = set()
    for entry in _entries(site):
        for mirror, place in entry.mirrors:
            registry = registry_of(mirror)
            if repository_fault(mirror) or has_login(known, mirror) or registry in seen:
                continue
            seen.add(registry)
            yield problem("mirror-without-login", place, registry=registry)


def check_mirror_addresses(site: Site) -> Iterator[Problem]:
    """A mirror is outside of the networks that exist only within the cluster."""
    for entry in _entries(site):
        for mirror, place in entry.mirrors:
            ip = find_ip(host_of(registry_of(mirror)))
            inner = find_inner_network(ip, site) if ip else None
            if inner is not None:
                yield problem(
                    "mirror-inside-cluster",
                    place,
                    mirror=mirror,
                    name=inner.name,
                    network=inner.cidr,
                    choice=inner.choice,
                )


def check_release_mirrored(site: Site) -> Iterator[Problem]:
    """Mirrors that are given hold the release."""
    install = site.install
    if install is None or site.image_based is not None:
        return
    conf = site.registries or merge_sources((*install.image_digest_sources, *install.image_content_sources))
    if not any(registry.mirrors for registry in conf.registries):
        return
    # An entry without mirrors is a mistake of its own, and so is a name that cannot be read.
    sources = {entry.source for entry in _entries(site)}
    if any(repository_fault(source) for source in sources if not source.startswith("*.")):
        return
    reported = {entry.source for entries in _lists(site) for entry in entries if not entry.mirrors}
    reported |= {registry.scope for registry in conf.registries if registry.is_idle}
    wanted = _wanted_repositories(conf, repository_of(named_release(site)))
    missing = [each for each in wanted if each not in reported and not _is_mirrored(conf, each)]
    if missing:
        how = _BY_MUSTER if KUBERNETES_REPOSITORY in missing else _BY_OC
        yield problem("release-not-mirrored", _first_place(site), repositories=" and ".join(missing), how=how)


def _wanted_repositories(conf: RegistriesConf, release: str) -> tuple[str, ...]:
    """Where a release is pulled from; where none is named, mirrors tell whether OpenShift's is meant."""
    if release:
        is_openshift = RELEASE_REPOSITORY in (release, *_mirrored_as(conf, release))
        return (release, CONTENT_REPOSITORY) if is_openshift else (release,)
    namespace = RELEASE_REPOSITORY.rpartition("/")[0]
    scopes = [each.scope for each in conf.registries]
    if any(covers(scope, namespace) or covers(namespace, scope) for scope in scopes):
        return () if _is_mirrored(conf, KUBERNETES_REPOSITORY) else (RELEASE_REPOSITORY, CONTENT_REPOSITORY)
    return (KUBERNETES_REPOSITORY,)


def _mirrored_as(conf: RegistriesConf, repository: str) -> Iterator[str]:
    """The sources that a repository is a mirror of."""
    for registry in conf.registries:
        if any(mirror.location.rstrip("/") == repository for mirror in registry.mirrors):
            yield registry.scope


def _is_mirrored(conf: RegistriesConf, repository: str) -> bool:
    registry = conf.find_registry(f"{repository}{_ANY_DIGEST}")
    if registry is not None and registry.mirrors:
        return True
    return any(
        covers(mirror.location.rstrip("/"), repository) for each in conf.registries for mirror in each.mirrors
    )


def _first_place(site: Site) -> Place:
    if site.registries is not None and site.registries_source is not None:
        first = next((each for each in site.registries.registries if each.mirrors), None)
        return find_place(site.registries_source, first.location or first.prefix if first else "")
    assert site.install is not None
    name = "image_digest_sources" if site.install.image_digest_sources else "image_content_sources"
    return Place.of_key(site.install.at(name))


def check_mirrors_agree(site: Site) -> Iterator[Problem]:
    """mirror/registries.conf says nothing other than the list of sources."""
    if site.registries is None or site.install is None:
        return
    sources = (*site.install.image_digest_sources, *site.install.image_content_sources)
    for registry in merge_sources(sources).registries:
        wanted = tuple(mirror.location for mirror in registry.mirrors)
        used = site.registries.find_mirrors(f"{registry.location}{_ANY_DIGEST}")
        found = tuple(source.image.partition("@")[0] for source in used)
        if found != wanted:
            first = next(entry for entry in sources if entry.source == registry.location)
            shown = ", ".join(found) or "none"
            yield problem("mirrors-differ", first.at("source"), source=registry.location, mirrors=shown)


RULES: Final = (
    check_one_list,
    check_repositories,
    check_mirrors_given,
    check_sources_once,
    check_mirror_differs,
    check_mirror_logins,
    check_mirror_addresses,
    check_release_mirrored,
    check_mirrors_agree,
)
