# SPDX-License-Identifier: Apache-2.0
"""The reference page of settings: what each kind of release does with every field of files and interface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from muster.config.describe import walk_fields
from muster.config.formats.ignition import SPEC, Many, Spec
from muster.config.kinds import KINDS as FILES
from muster.frozen import dataclass
from muster.model.install_config import InstallConfig
from muster.model.schema import Field
from muster.model.settings_support import (
    IGNITION_OVERRIDE,
    INSTALL_CONFIG_OVERRIDES,
    KINDS,
    Setting,
    Support,
    find_setting,
    settings,
)
from muster.model.wire.cluster import ClusterCreateParams, V2ClusterUpdateParams
from muster.model.wire.host import HostIgnitionParams, HostUpdateParams, InstallerArgsParams
from muster.model.wire.infra_env import InfraEnvCreateParams, InfraEnvUpdateParams

DOCUMENTS: Final = (
    *("install-config", "agent-config", "agent-cluster-install", "cluster-deployment", "cluster-image-set"),
    *("infraenv", "nmstateconfig", "pull-secret"),
)
"""The files that describe a cluster and its hosts."""
PARAMS: Final[Mapping[str, type[msgspec.Struct]]] = {
    each.__name__: each
    for each in (
        ClusterCreateParams,
        V2ClusterUpdateParams,
        HostUpdateParams,
        HostIgnitionParams,
        InstallerArgsParams,
        InfraEnvCreateParams,
        InfraEnvUpdateParams,
    )
}
"""The objects of the interface that ask for something."""
OVERRIDES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    IGNITION_OVERRIDE: ("Ignition configs that are merged into those of media and hosts", KINDS),
    INSTALL_CONFIG_OVERRIDES: ("Overrides of the install-config of a cluster (interface)", KINDS[:1]),
}
"""What is merged into something that Muster makes, with a title and the kinds of releases it is about."""
_HEAD: Final = """\
# Settings by kind of release

What becomes of every setting of a site's files and of the service's interface.

- **honoured**: it is done. With OpenShift, that is what the medium itself does; the rest is up to the
  release's own installer.
- **passed on**: it is written to the medium for the release's own installer.
  Muster itself does nothing with it.
- **descriptive**: it describes something for people and other tools, and asks for nothing.
- **noted**: it is accepted and shown, but has no effect. `muster check` warns (MC135, or a rule of its own),
  and the service writes an event `setting_without_effect`.
- **refused**: `muster check` reports an error (MC134, or a rule of its own), and the service answers 400.
  For an Ignition config, commands that make media refuse it too.

A value that asks for nothing, such as `fips: false`, is always accepted. Hosts get the Kubernetes release of
this Muster where no release is named: neither by the files nor by `OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE`,
`--release` or a base image. The service installs releases of kind `kubernetes` only; it does not prepare a
cluster of another kind. Where a release has a name that does not tell its kind, `muster check` reports only
what no kind does. `muster agent create` finds the kind out from the release itself and then judges again; the
rendezvous host refuses a release of another kind than the one that the medium was made for.
"""


@dataclass(frozen=True)
class Line:
    """A field, or a part whose fields are all alike."""

    path: str
    support: Mapping[str, str]
    text: str


def fields_of_document(document: str) -> Iterator[tuple[str, Field | None]]:
    """Every field of a document by its path, with its description if it is one of a file."""
    if document in PARAMS:
        yield from ((path, None) for path in _walk_struct(PARAMS[document]))
    elif document == IGNITION_OVERRIDE:
        yield from ((path, None) for path in _walk_spec(SPEC))
    elif document == INSTALL_CONFIG_OVERRIDES:
        yield from walk_fields(InstallConfig)
    else:
        yield from walk_fields(FILES[document][1])


def _walk_spec(spec: Spec, above: str = "") -> Iterator[str]:
    if isinstance(spec, Many):
        yield from _walk_spec(spec.of, above)
    elif isinstance(spec, Mapping):
        for name, below in spec.items():
            yield f"{above}{name}"
            yield from _walk_spec(below, f"{above}{name}.")


def _walk_struct(struct: type[msgspec.Struct], above: str = "") -> Iterator[str]:
    for field in msgspec.structs.fields(struct):
        path = f"{above}{field.name}"
        yield path
        for below in _structs_in(msgspec.inspect.type_info(field.type)):
            yield from _walk_struct(below, f"{path}.")


def _structs_in(info: Any) -> Iterator[type[msgspec.Struct]]:
    match info:
        case msgspec.inspect.StructType():
            yield info.cls
        case msgspec.inspect.UnionType():
            for each in info.types:
                yield from _structs_in(each)
        case msgspec.inspect.VarTupleType():
            yield from _structs_in(info.item_type)
        case msgspec.inspect.Metadata():
            yield from _structs_in(info.type)
        case _:
            pass


def render_settings() -> str:
    """The page."""
    parts = [_HEAD]
    parts += [_section(FILES[name][0], name, KINDS) for name in DOCUMENTS]
    parts += [_section(title, name, kinds) for name, (title, kinds) in OVERRIDES.items()]
    parts += [_section(name, name, KINDS[:1]) for name in PARAMS]
    return "\n".join(parts)


def _section(title: str, document: str, kinds: tuple[str, ...]) -> str:
    lines = [f"## {title}", "", f"| field | {' | '.join(kinds)} | |", f"|---|{'---|' * len(kinds)}---|"]
    for line in _lines(document):
        shown = " | ".join(line.support.get(kind, "") for kind in kinds)
        lines.append(f"| `{line.path}` | {shown} | {line.text} |")
    return "\n".join(lines) + "\n"


def _lines(document: str) -> Iterator[Line]:
    own = {row.path for row in settings(document)}
    parts = {row.path for row in settings(document) if row.covers_below}
    closed: tuple[str, ...] = ("\0",)
    for path, field in fields_of_document(document):
        if path.startswith(closed) and path not in own:
            continue
        line = _of_model(path, field) if field is not None and not _is_told_by_row(document, path) else None
        if line is None:
            row = find_setting(document, path)
            assert row is not None, f"{document}: {path} has no row in settings_support.toml"
            line = _of_row(f"{path}.*" if path in parts and _has_below(document, path) else path, row)
        if path in parts or is_marked(field):
            closed = (*closed, f"{path}.")
        yield line


def _is_told_by_row(document: str, path: str) -> bool:
    """Whether a row of an override says something else of a field than its model does of the file."""
    return document in OVERRIDES and find_setting(document, path) is not None


def _has_below(document: str, path: str) -> bool:
    return any(other.startswith(f"{path}.") for other, _ in fields_of_document(document))


def is_marked(field: Field | None) -> bool:
    """Whether the model itself says that a field is ignored, forbidden or replaced."""
    return field is not None and bool(field.ignored or field.forbidden or field.replaced_by)


def _of_model(path: str, field: Field) -> Line | None:
    if field.ignored:
        return Line(path, dict.fromkeys(KINDS, str(Support.NOTED)), field.ignored)
    if field.forbidden:
        return Line(path, dict.fromkeys(KINDS, str(Support.REFUSED)), field.forbidden)
    if field.replaced_by:
        return Line(path, dict.fromkeys(KINDS, "older name"), f"read as `{field.replaced_by}`")
    return None


def _of_row(path: str, row: Setting) -> Line:
    is_told = row.document in OVERRIDES and Support.REFUSED in row.support.values()
    words = [row.reason, row.fix if is_told else ""]
    if row.harmless and row.reason:
        words.append(f"accepted: {', '.join(f'`{each}`' for each in row.harmless)}")
    return Line(path, {kind: str(each) for kind, each in row.support.items()}, "; ".join(filter(None, words)))
