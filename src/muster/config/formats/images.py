# SPDX-License-Identifier: Apache-2.0
"""Names of images and repositories, ``host[:port]/path[:tag][@digest]``, as all registries read them."""

from __future__ import annotations

import re
from typing import Final

from muster.model.values import name_fault

_SCHEME: Final = re.compile(r"(?:[a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_PORT: Final = re.compile(r"[0-9]{1,5}\Z")
_IPV6_HOST: Final = re.compile(r"\[[0-9A-Fa-f:.]+\]\Z")
_PATH_PART: Final = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*\Z")
_TAG: Final = re.compile(r"\w[\w.-]{0,127}\Z", re.ASCII)
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}\Z|sha512:[0-9a-f]{128}\Z")
_LONGEST: Final = 255


def registry_of(name: str) -> str:
    """The host, with its port if any, that an image or repository is at."""
    return name.partition("/")[0]


def host_of(registry: str) -> str:
    """A registry's host without its port."""
    if registry.startswith("["):
        return registry.partition("]")[0].removeprefix("[")
    return registry.partition(":")[0]


def covers(scope: str, name: str) -> bool:
    """Whether a repository is, or lies below, another one or a registry."""
    return name == scope or name.startswith(f"{scope.rstrip('/')}/")


def image_fault(text: str) -> str:
    """Why a text names no image, or nothing when it does."""
    name, at, digest = text.partition("@")
    if at and not _DIGEST.match(digest):
        return "what stands behind the @ is not a digest (sha256: and 64 hexadecimal digits)"
    head, slash, last = name.rpartition("/")
    last, colon, tag = last.partition(":")
    if colon and not _TAG.match(tag) and slash:
        return f"{tag!r} is not a tag"
    if not slash:
        return _bare_fault(text)
    return repository_fault(f"{head}/{last}")


def repository_fault(text: str) -> str:
    """Why a text names no repository and no registry, or nothing when it does."""
    if re.search(r"\s", text):
        return "it contains a space"
    if _SCHEME.match(text):
        return "it begins with a scheme such as https://"
    if "@" in text:
        return "it names one image by its digest, not a repository"
    if len(text) > _LONGEST:
        return f"it has {len(text)} characters, {_LONGEST} are allowed"
    registry, slash, path = text.partition("/")
    fault = registry_fault(registry)
    if not fault and slash and not _looks_like_host(registry):
        fault = f"it has no registry in front; {registry!r} is not the name of a host"
    return fault or (_path_fault(path) if slash else "")


def repaired_repository(text: str) -> str | None:
    """The repository that is meant when only a scheme, a slash at the end, a tag or a digest has to go."""
    name = _SCHEME.sub("", text.strip(), count=1).partition("@")[0].rstrip("/")
    head, slash, last = name.rpartition("/")
    if slash:
        name = f"{head}/{last.partition(':')[0]}"
    return name if name != text and name and not repository_fault(name) else None


def registry_fault(text: str) -> str:
    """Why a text names no registry, or nothing when it does."""
    if not text:
        return "it is empty"
    host, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    if not colon:
        host, port = text, ""
    if colon and not (_PORT.match(port) and 0 < int(port) < 65536):
        return f"{port!r} is not a port" if port else "the port is missing behind the colon"
    if host.startswith("["):
        return "" if _IPV6_HOST.match(host) else f"{host!r} is not an IPv6 address in brackets"
    if ":" in host:
        return "an IPv6 address has to stand in brackets"
    fault = name_fault(host.lower())
    return f"{host!r} is not the name of a host: {fault}" if fault else ""


def _looks_like_host(registry: str) -> bool:
    """As container tools tell ``registry.example.com/a`` from ``library/a``."""
    return "." in registry or ":" in registry or registry == "localhost"


def _bare_fault(text: str) -> str:
    if _SCHEME.match(text):
        return "it begins with a scheme such as https://"
    if not text:
        return "it is empty"
    return "it names no registry and repository, such as registry.example.com/seeds/sno"


def _path_fault(path: str) -> str:
    if not path:
        return "it ends with a slash"
    for part in path.split("/"):
        if not part:
            return "it has an empty part between its slashes"
        if _PATH_PART.match(part):
            continue
        if part != part.lower():
            return f"the part {part!r} has upper-case letters"
        if ":" in part:
            return "it has a tag, and so names one image, not a repository"
        return f"the part {part!r} may hold only lower-case letters, digits and single . _ - between them"
    return ""
