# SPDX-License-Identifier: Apache-2.0
"""containerd: what it runs containers with, and which registries it asks for their images.

It knows mirrors of whole registries only, and keeps the path of a repository there. So a mirror counts when
it has the images under the same path, as the mirror of a release does; others are named in a comment.

It reads TOML, but for a bracket in the name of a table, quoted or not, as IPv6 addresses have it: so places
are keys here, and never in the head of a table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from muster.config.formats.images import registry_of
from muster.frozen import dataclass
from muster.model.ignition import PUBLIC, Config, File
from muster.model.registries import Mirror, PullFromMirror, Registry, render_registries_conf
from muster.release.model import Release
from muster.release.node.cluster import Cluster
from muster.release.node.templates import fill, load_template
from muster.release.oci.logins import Logins, parse_logins

TRUST: Final = "/etc/kubernetes/pki/registries.crt"
CONF: Final = "/etc/containers/registries.conf"
LOGINS: Final = "/root/.docker/config.json"
_LOGINS: Final = '[plugins."io.containerd.grpc.v1.cri".registry.configs]'


def runtime(release: Release, cluster: Cluster) -> Config:
    """containerd's configuration, and what it and Muster have to know of registries."""
    logins = _logins(cluster)
    values = {"pause_image": release.image("pause").pullspec, "logins": _render_logins(cluster, logins)}
    config = fill(load_template("containerd.toml"), values)
    files = [File("/etc/containerd/config.toml", config.encode(), PUBLIC if not logins.by_scope else 0o600)]
    if cluster.registries.registries:
        conf = render_registries_conf(cluster.registries)
        files.append(File(CONF, conf.encode(), PUBLIC))
    for registry, text in _hosts(cluster):
        files.append(File(f"/etc/containerd/certs.d/{registry}/hosts.toml", text.encode(), PUBLIC))
    if cluster.trust_bundle:
        files.append(File(TRUST, cluster.trust_bundle.encode(), PUBLIC))
    if cluster.pull_secret is not None:
        files.append(File(LOGINS, cluster.pull_secret.reveal().encode()))
    return Config(tuple(files))


def _logins(cluster: Cluster) -> Logins:
    return parse_logins(cluster.pull_secret.reveal()) if cluster.pull_secret is not None else Logins()


def _render_logins(cluster: Cluster, logins: Logins) -> str:
    """The logins of the mirrors: the kubelet does not know that they are asked, and hands none on."""
    places = {mirror.location for registry in cluster.registries.registries for mirror in registry.mirrors}
    found = {registry_of(place): logins.find(place) for place in sorted(places)}
    lines = [
        f"  {_quoted(host)}.auth.{key} = {_quoted(value)}"
        for host, login in found.items()
        if login is not None
        for key, value in (("username", login.user), ("password", login.password))
    ]
    return "\n".join([_LOGINS, *lines]) if lines else ""


@dataclass(frozen=True)
class _Way:
    """A mirror as containerd sees it: where requests go instead."""

    url: str
    moved: bool
    """The images are below a path of the mirror."""
    insecure: bool
    digest_only: bool


def _hosts(cluster: Cluster) -> Iterator[tuple[str, str]]:
    """The file hosts.toml of each registry that has mirrors."""
    by_host: dict[str, list[Registry]] = {}
    for registry in cluster.registries.registries:
        if registry.mirrors and "*" not in registry.scope:
            by_host.setdefault(registry_of(registry.scope), []).append(registry)
    for host, registries in by_host.items():
        yield host, _render_hosts(host, registries, trusted=bool(cluster.trust_bundle))


def _render_hosts(host: str, registries: list[Registry], *, trusted: bool) -> str:
    blocked = all(registry.blocked for registry in registries)
    lines: list[str] = []
    ways: dict[str, _Way] = {}
    for registry in registries:
        for mirror in registry.mirrors:
            found = list(_ways(registry, mirror))
            ways |= {way.url: way for way in found if way.url not in ways}
            if not found:
                lines.append(f"# Not used here, its paths differ: {registry.scope} at {mirror.location}")
    firsts = list(ways.values())
    # What stands at the beginning is asked last; it is the registry itself, unless that is blocked.
    last = firsts.pop() if blocked and firsts else None
    lines.append(f"server = {_quoted(last.url if last else f'https://{host}')}")
    lines += _way_lines(last, trusted=trusted) if last else ()
    for way in firsts:
        lines += ["", *(f"host.{_quoted(way.url)}.{line}" for line in _way_lines(way, trusted=trusted))]
    return "\n".join(lines) + "\n"


def _ways(registry: Registry, mirror: Mirror) -> Iterator[_Way]:
    path = registry.scope.partition("/")[2]
    location = mirror.location.rstrip("/")
    if path and not location.endswith(f"/{path}"):
        return
    place, _, prefix = location.removesuffix(f"/{path}" if path else "").partition("/")
    digest_only = registry.mirror_by_digest_only or mirror.pull_from_mirror is PullFromMirror.DIGEST_ONLY
    for scheme in ("https", "http") if mirror.insecure else ("https",):
        url = f"{scheme}://{place}" + (f"/v2/{prefix}" if prefix else "")
        yield _Way(url, bool(prefix), mirror.insecure, digest_only)


def _way_lines(way: _Way, *, trusted: bool) -> Iterator[str]:
    yield 'capabilities = ["pull"]' if way.digest_only else 'capabilities = ["pull", "resolve"]'
    if way.moved:
        yield "override_path = true"
    if way.insecure:
        yield "skip_verify = true"
    elif trusted:
        yield f"ca = {_quoted(TRUST)}"


def _quoted(text: str) -> str:
    """A basic string of TOML; JSON's escapes are among those that TOML has."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
