# SPDX-License-Identifier: Apache-2.0
"""Settings that the release would ignore: none may look as if it held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from muster.config.derive import architecture, platform_name, release_kind
from muster.config.formats.ignition import refused_parts
from muster.config.rules.machines import is_agent_based
from muster.model.machine_pool import Architecture
from muster.model.problem import Place, Problem, problem
from muster.model.release import KUBERNETES, OPENSHIFT
from muster.model.schema import Field, Items, Model, fields_of
from muster.model.settings_support import KINDS, Setting, Support, is_machine_config, reported
from muster.model.site import Site
from muster.model.tree import Map, Node, Scalar, Sequence

_SLUGS: Final = {Support.REFUSED: "setting-refused", Support.NOTED: "setting-without-effect"}
_OPENSHIFT_BY: Final = "releaseImage in cluster-manifests/cluster-image-set.yaml or --release"
_NAMES: Final = {"kubernetes": "Kubernetes", "openshift": "OpenShift"}


def check_settings(site: Site) -> Iterator[Problem]:
    """Nothing is asked for that the release does not do, as far as its kind is known."""
    if is_agent_based(site):
        yield from settings_problems(site, release_kind(site))


def settings_problems(site: Site, kind: str) -> Iterator[Problem]:
    """What is asked for and not done by a kind of release; of an unknown kind, what none does."""
    # A site of manifests is read as an install-config, too: one place, one problem.
    met: set[tuple[str, int]] = set()
    for document, model in _documents(site):
        groups: dict[tuple[str, str], list[tuple[Setting, Place]]] = {}
        for row in _reported(document, kind):
            for place in map(Place.of_key, _asked(row, model)):
                if (place.source.name, place.start) not in met:
                    met.add((place.source.name, place.start))
                    groups.setdefault((place.source.name, row.reason), []).append((row, place))
        for found in groups.values():
            yield _problem(kind, found)
    yield from _ignition_problems(site, kind)
    yield from _machine_config_problems(site, kind)
    yield from _architecture_problems(site, kind)


def _ignition_problems(site: Site, kind: str) -> Iterator[Problem]:
    """What the Ignition config of InfraEnv asks for and hosts do not do."""
    spec = site.infra_env_spec
    if spec is None:
        return
    for row in refused_parts(spec.ignition_config_override or "", kind):
        yield problem(
            "setting-refused",
            Place.of_key(spec.at("ignition_config_override")),
            key=f"{row.path} in ignitionConfigOverride",
            release=f"a release of {_NAMES[kind]}",
            reason=row.reason,
            fix=row.fix,
        )


def _machine_config_problems(site: Site, kind: str) -> Iterator[Problem]:
    """Manifests that ask for settings of hosts, such as encrypted disks, that nothing applies."""
    if kind != KUBERNETES:
        return
    for manifest in site.extra_manifests:
        for found in _objects(manifest.documents):
            version, name = found.get("apiVersion"), found.get("kind")
            if isinstance(version, Scalar) and is_machine_config(version.text):
                yield problem(
                    "setting-refused",
                    version,
                    key=name.text if isinstance(name, Scalar) else version.text,
                    release=f"a release of {_NAMES[KUBERNETES]}",
                    reason="nothing in it applies this; disks, files and kernel arguments stay as they are",
                    fix=f"remove it, or name a release of OpenShift ({_OPENSHIFT_BY})",
                )


def _architecture_problems(site: Site, kind: str) -> Iterator[Problem]:
    """Workers of another architecture, which `mixed-architectures` accepts for OpenShift."""
    install = site.install
    if install is None or kind != KUBERNETES or platform_name(install) != "baremetal":
        return
    for pool in install.compute:
        if pool.architecture is Architecture.ARM64 and architecture(install) == Architecture.AMD64:
            yield problem(
                "setting-refused",
                Place.of_key(pool.at("architecture")),
                key="architecture: arm64",
                release=f"a release of {_NAMES[KUBERNETES]}",
                reason="all hosts have the architecture of the control plane, that of the release",
                fix=f"write architecture: amd64, or name a release of OpenShift ({_OPENSHIFT_BY})",
            )


def _objects(documents: Iterable[Node]) -> Iterator[Map]:
    """The objects of a manifest, and those in its lists, each of them once."""
    waiting, seen = [*documents][::-1], set[int]()
    while waiting:
        found = waiting.pop()
        if not isinstance(found, Map) or id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        items = found.get("items")
        if isinstance(items, Sequence):
            waiting += items.items[::-1]


def _reported(document: str, kind: str) -> Iterator[Setting]:
    for row in reported(document, kind or OPENSHIFT):
        if kind or len({row.support[each] for each in KINDS}) == 1:
            yield row


def _problem(kind: str, found: list[tuple[Setting, Place]]) -> Problem:
    """Settings that have one reason are one problem, at the first of them."""
    row, place = min(found, key=lambda each: each[1].start)
    return problem(
        _SLUGS[row.support[kind or OPENSHIFT]],
        place,
        key=", ".join(dict.fromkeys(each.path.rpartition(".")[2] for each, _ in found)),
        release=f"a release of {_NAMES[kind]}" if kind else "any release",
        reason=row.reason,
        fix=row.fix.replace("a release of OpenShift", f"a release of OpenShift ({_OPENSHIFT_BY})"),
    )


def _documents(site: Site) -> Iterator[tuple[str, Model]]:
    manifests = site.manifests
    found: list[tuple[str, Model | None]] = [("install-config", site.install), ("agent-config", site.agent)]
    if manifests is not None:
        found += [
            ("agent-cluster-install", manifests.agent_cluster_install),
            ("cluster-deployment", manifests.cluster_deployment),
            ("infraenv", manifests.infra_env),
            ("cluster-image-set", manifests.cluster_image_set),
        ]
        found += [("nmstateconfig", each) for each in manifests.nmstate_configs]
    yield from ((name, model) for name, model in found if model is not None)


def _asked(row: Setting, model: Model) -> Iterator[Node]:
    """The places where a setting is asked for."""
    for owner, field in _owners(model, row.path.split(".")):
        value = getattr(owner, field.name)
        if not row.switch:
            if owner.has(field.name) and _is_set(row, value):
                yield owner.at(field.name)
            continue
        for below, switch in _owners(owner, [field.key, *row.switch.split(".")]):
            if row.asks(getattr(below, switch.name)):
                yield owner.at(field.name)
                break


def _is_set(row: Setting, value: Any) -> bool:
    """A part that is there asks for something, a list if one of its values does."""
    if isinstance(value, Items):
        return any(row.asks(each) for each in value)
    return row.asks(value)


def _owners(model: Model, path: list[str]) -> Iterator[tuple[Model, Field]]:
    """Every object that has the last field of a path, through all lists on the way."""
    field = fields_of(type(model))[path[0]]
    if len(path) == 1:
        yield model, field
        return
    value = getattr(model, field.name)
    below: Iterable[Any] = value if isinstance(value, Items) else (value,)
    for each in below:
        if isinstance(each, Model):
            yield from _owners(each, path[1:])


RULES: Final = (check_settings,)
