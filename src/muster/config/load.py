# SPDX-License-Identifier: Apache-2.0
"""Directory → site: reads every file that describes a site, and reports what cannot be read.

Which file holds which model is data: `muster.config.kinds`.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Final, TypeVar, cast

from muster.config.document.bind import Binder
from muster.config.document.folder import Folder, read_text
from muster.config.document.layout import join_documents, unwrap_spec
from muster.config.document.parse import parse_yaml
from muster.config.formats.registries import parse_registries
from muster.config.hosts import collect_hosts
from muster.config.kinds import (
    ADD_ONS_FILE,
    EXTRA_DIR,
    FINISHED_DIR,
    IMAGE_BASED_EXTRA_DIR,
    LAB_FILE,
    MANIFEST_FILES,
    MANIFESTS_DIR,
    MIRROR_DIR,
    TOP_FILES,
)
from muster.config.lift import lift_manifests
from muster.config.spelling import closest
from muster.model.add_ons import AddOnsConfig
from muster.model.agent_config import AgentConfig
from muster.model.image_based import ImageBasedConfig, ImageBasedInstallationConfig
from muster.model.install_config import InstallConfig
from muster.model.lab import LabConfig
from muster.model.manifests import NMStateConfig
from muster.model.nodes_config import NodesConfig
from muster.model.problem import Move, Place, Problem, problem
from muster.model.schema import Model
from muster.model.site import Environment, ExtraManifest, Manifests, Site
from muster.model.tree import Map, Node, Sequence, Source, is_null

M = TypeVar("M", bound=Model)

_MIRROR_FILES: Final = ("registries.conf", "ca-bundle.crt")
_OPTIONAL_MANIFESTS: Final = frozenset(("nmstateconfig.yaml",))
_PRE_RELEASE: Final = ("install-config.yaml", "agent-config.yaml")
"""Files that the first preview of the agent-based installer kept in cluster-manifests/."""


def load_site(folder: Folder, environment: Environment) -> tuple[Site, list[Problem]]:
    """Read all files of a folder; what cannot be read is left out and reported."""
    loader = _Loader(folder, environment)
    return loader.load(), loader.problems


@dataclass
class _Loader:
    folder: Folder
    environment: Environment
    problems: list[Problem] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    def load(self) -> Site:
        """The whole directory."""
        names = self._list("")
        if names is None:
            return Site(self.environment)
        top = {name: self._one(name, model) for name, model in TOP_FILES.items() if name in names}
        self._look_alikes(names)
        if FINISHED_DIR in names and self.folder.is_folder(FINISHED_DIR):
            read = [*TOP_FILES, *(f"{name}/" for name in (MANIFESTS_DIR, MIRROR_DIR, EXTRA_DIR))]
            self._not_read(FINISHED_DIR, [*read, f"{IMAGE_BASED_EXTRA_DIR}/"])
        manifests = self._manifests(top)
        for name in self._list(MIRROR_DIR) or []:
            if name not in _MIRROR_FILES and not _is_backup(name):
                self._not_read(f"{MIRROR_DIR}/{name}", list(_MIRROR_FILES))
        registries_source = self._optional_text(MIRROR_DIR, "registries.conf")
        registries, found = parse_registries(registries_source) if registries_source else (None, [])
        self.problems += found
        written = cast(InstallConfig | None, top.get("install-config.yaml"))
        agent = cast(AgentConfig | None, top.get("agent-config.yaml"))
        nodes = cast(NodesConfig | None, top.get("nodes-config.yaml"))
        install = written or lift_manifests(manifests, self.problems)
        hosts = collect_hosts(install, agent, manifests, nodes, self.problems)
        site = Site(
            environment=self.environment,
            install=install,
            agent=agent,
            manifests=manifests,
            hosts=hosts,
            registries=registries,
            registries_source=registries_source,
            ca_bundle=self._optional_text(MIRROR_DIR, "ca-bundle.crt"),
            extra_manifests=tuple(self._extra_manifests(names)),
            image_based_installation=cast(
                ImageBasedInstallationConfig | None, top.get("image-based-installation-config.yaml")
            ),
            image_based=cast(ImageBasedConfig | None, top.get("image-based-config.yaml")),
            nodes=nodes,
            add_ons=cast(AddOnsConfig | None, top.get(ADD_ONS_FILE)),
            lab=cast(LabConfig | None, top.get(LAB_FILE)),
            unread=tuple(self.unread),
            sources=tuple(self.sources),
        )
        if agent is not None and install is None and manifests is None and not self._has_cluster_file(names):
            at = Place(agent.node.source)
            self.problems.append(problem("no-cluster", at, name=agent.node.source.name))
        if not self.sources and not self.problems:
            at = Place(Source(self.folder.label, ""))
            self.problems.append(problem("no-site-files", at, path=self.folder.label))
        return site

    def _seen(self) -> set[str]:
        return {source.name for source in self.sources} | set(self.unread)

    def _has_cluster_file(self, names: list[str]) -> bool:
        """Whether install-config.yaml is there, even if it cannot be read."""
        return "install-config.yaml" in names or f"{MANIFESTS_DIR}/install-config.yaml" in self.unread

    def _manifests(self, top: dict[str, Model | None]) -> Manifests | None:
        names = self._list(MANIFESTS_DIR) or []
        for name in _PRE_RELEASE:
            if name in names and name not in top:
                top[name] = self._misplaced(name)
        present = [name for name in MANIFEST_FILES if name in names]
        read_here = {
            *MANIFEST_FILES,
            *(name for name in _PRE_RELEASE if f"{MANIFESTS_DIR}/{name}" in self._seen()),
        }
        for name in sorted(set(names) - read_here):
            if name.endswith((".yaml", ".yml", ".json")):
                self._not_read(f"{MANIFESTS_DIR}/{name}", list(MANIFEST_FILES))
        if not present:
            return None
        read: dict[str, Any] = {}
        for name in present:
            model = MANIFEST_FILES[name]
            path = f"{MANIFESTS_DIR}/{name}"
            read[name] = tuple(self._all(path, model)) if model is NMStateConfig else self._one(path, model)
        return Manifests(
            pull_secret=read.get("pull-secret.yaml"),
            infra_env=read.get("infraenv.yaml"),
            nmstate_configs=read.get("nmstateconfig.yaml", ()),
            agent_cluster_install=read.get("agent-cluster-install.yaml"),
            cluster_deployment=read.get("cluster-deployment.yaml"),
            cluster_image_set=read.get("cluster-image-set.yaml"),
            missing=tuple(sorted(set(MANIFEST_FILES) - set(present) - _OPTIONAL_MANIFESTS)),
        )

    def _extra_manifests(self, names: list[str]) -> Iterator[ExtraManifest]:
        image_based = "image-based-config.yaml" in names
        folder = IMAGE_BASED_EXTRA_DIR if image_based else EXTRA_DIR
        endings = (".yaml", ".yml", ".json") if image_based else (".yaml", ".yml")
        for name in self._list(folder) or []:
            path = f"{folder}/{name}"
            if self.folder.is_folder(path):
                self.problems.append(
                    problem("extra-manifest-folder", Place(Source(path, "")), name=path, folder=folder)
                )
            elif not name.endswith(endings):
                if not _is_backup(name):
                    self._not_read(path, [f"*{ending}" for ending in endings])
            else:
                source = self._text(path)
                if source is not None:
                    documents, found = parse_yaml(source)
                    self.problems += found
                    yield ExtraManifest(source, tuple(doc for doc in documents if not is_null(doc)))

    def _one(self, name: str, model: type[M]) -> M | None:
        """The single document of a file."""
        bound = self._only_document(name, model)
        if bound is None:
            self.unread.append(name)
        return bound

    def _only_document(self, name: str, model: type[M]) -> M | None:
        source = self._text(name)
        if source is None:
            return None
        documents, found = parse_yaml(source)
        self.problems += found
        documents = [document for document in documents if not is_null(document)]
        if not documents:
            if not found:
                self.problems.append(problem("empty-file", Place(source), name=name))
            return None
        if found and not isinstance(documents[0], Map):
            return None  # The rest could not be read, so nobody knows what it is.
        whole = join_documents(model, documents, self.problems)
        return None if whole is None else self._bind(model, whole)

    def _all(self, name: str, model: type[M]) -> Iterator[M]:
        """Every document of a file."""
        source = self._text(name)
        if source is None:
            return
        documents, found = parse_yaml(source)
        self.problems += found
        for document in documents:
            bound = None if is_null(document) else self._bind(model, document)
            if bound is not None:
                yield bound

    def _bind(self, model: type[M], document: Node) -> M | None:
        if not isinstance(document, Map):
            what = "a list" if isinstance(document, Sequence) else "a single value"
            self.problems.append(problem("not-a-mapping", Place.start_of(document), found=what))
            return None
        binder = Binder(lenient=lenience(model, self.environment))
        unwrapped = unwrap_spec(model, document, self.problems)
        bound = binder.bind(model, unwrapped)
        self.problems += binder.problems
        return bound

    def _text(self, name: str) -> Source | None:
        source, found = read_text(self.folder, name)
        self.problems += found
        if source is not None:
            self.sources.append(source)
        return source

    def _optional_text(self, sub: str, name: str) -> Source | None:
        return self._text(f"{sub}/{name}") if name in (self._list(sub) or []) else None

    def _list(self, sub: str) -> list[str] | None:
        """The names in a folder, sorted; None when it cannot be listed."""
        try:
            return self.folder.names(sub)
        except FileNotFoundError:
            if sub:
                return None
            what = "does not exist"
        except NotADirectoryError:
            what = "is a file, not a directory"
        except OSError as error:
            loop = error.errno == errno.ELOOP
            reason = "a symbolic link points back at itself" if loop else (error.strerror or "").lower()
            what = f"cannot be listed: {reason}"
        at = Place(Source(sub or self.folder.label, ""))
        advice = "make it a directory that can be read, or move it away"
        if not sub:
            advice = "name the directory of a site with --dir; one to start from is in examples/"
        self.problems.append(problem("site-not-found", at, path=at.source.name, what=what, advice=advice))
        return None

    def _look_alikes(self, names: list[str]) -> None:
        """A file whose name is nearly that of a file that is read, and that is not there."""
        absent = [name for name in TOP_FILES if name not in names]
        for name in names:
            if name in TOP_FILES or not name.endswith((".yaml", ".yml")):
                continue
            right = closest(name, absent)
            if right and not self.folder.is_folder(name):
                self.problems.append(
                    problem("look-alike-file", Place(Source(name, "")), name=name, right=right)
                )

    def _not_read(self, name: str, known: list[str]) -> None:
        at = Place(Source(name, ""))
        self.problems.append(problem("file-not-read", at, name=name, known=", ".join(known)))

    def _misplaced(self, name: str) -> Model | None:
        old = f"{MANIFESTS_DIR}/{name}"
        read = self._one(old, TOP_FILES[name])
        source = next((each for each in self.sources if each.name == old), None)
        if source is None:
            return read
        self.problems.append(
            problem(
                "misplaced-file", Place(source), name=source.name, right=name, edits=(Move(source, name),)
            )
        )
        return read


def lenience(model: type[Model], environment: Environment) -> str:
    """Where unknown keys only warn, in words; empty when they are errors."""
    if model is InstallConfig and environment.invoker:
        return "of install-config.yaml, with OPENSHIFT_INSTALL_INVOKER set,"
    return "of this file" if model in (NMStateConfig, NodesConfig) else ""


def _is_backup(name: str) -> bool:
    """Whether a file is a copy that Muster kept before it changed the original."""
    return ".bak" in PurePath(name).suffixes
