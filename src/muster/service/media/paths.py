# SPDX-License-Identifier: Apache-2.0
"""What a path of the media server names; pure.

/byapikey/TOKEN/VERSION/ARCH/FILE    full.iso, minimal.iso, disconnected.iso, pxe-initrd
/bytoken/TOKEN/VERSION/ARCH/FILE     the same
/byid/INFRA-ENV/VERSION/ARCH/FILE    without a token, where that is allowed
/images/INFRA-ENV[/pxe-initrd]       the older form: ?version&arch&type and ?api_key or ?image_token
/boot-artifacts/VERSION/ARCH/FILE    vmlinuz and rootfs.img, for everybody
/boot-artifacts/{kernel,rootfs}      the older form: ?version&arch
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from muster.frozen import dataclass
from muster.service.media.order import Kind
from muster.service.media.signing import FILES

_KINDS: Final = {name: kind for kind, name in FILES.items()}
_ARTIFACTS: Final = {
    "vmlinuz": Kind.KERNEL,
    "kernel": Kind.KERNEL,
    "rootfs.img": Kind.ROOTFS,
    "rootfs": Kind.ROOTFS,
}
_LONGEST: Final = 128
ANY: Final = "any"
"""The version of an address when none is wanted."""


@dataclass(frozen=True)
class Target:
    """What is wanted, and what lets the client have it."""

    kind: Kind | None
    """None for what the infra-env says."""
    version: str
    architecture: str
    """Empty for that of the infra-env."""
    infra_env_id: str = ""
    token: str = ""


def parse_target(path: str, query: Mapping[str, str]) -> Target | None:
    """What a path names; None when it names nothing."""
    words = [word for word in path.split("/") if word]
    match words:
        case ["byapikey" | "bytoken", token, version, architecture, name] if name in _KINDS:
            return _checked(Target(_KINDS[name], version, architecture, token=token))
        case ["byid", infra_env_id, version, architecture, name] if name in _KINDS:
            return _checked(Target(_KINDS[name], version, architecture, infra_env_id))
        case ["images", infra_env_id]:
            return _image(infra_env_id, query)
        case ["images", infra_env_id, "pxe-initrd"]:
            return _image(infra_env_id, {**query, "type": Kind.INITRD})
        case ["boot-artifacts", version, architecture, name] if name in _ARTIFACTS:
            return _checked(Target(_ARTIFACTS[name], version, architecture))
        case ["boot-artifacts", name] if name in _ARTIFACTS:
            return _checked(Target(_ARTIFACTS[name], query.get("version", ""), query.get("arch", "x86_64")))
        case _:
            return None


def _image(infra_env_id: str, query: Mapping[str, str]) -> Target | None:
    written = query.get("type", "")
    if written and written not in FILES:
        return None
    token = query.get("api_key") or query.get("image_token") or ""
    kind = Kind(written) if written else None
    version, architecture = query.get("version", ""), query.get("arch", "")
    return _checked(Target(kind, version, architecture, infra_env_id, token))


def _checked(target: Target) -> Target | None:
    """Words of a sensible length; the token has its own judge."""
    words = (target.version, target.architecture, target.infra_env_id)
    if any(len(word) > _LONGEST or not word.isprintable() for word in words):
        return None
    version = "" if target.version == ANY else target.version
    return Target(target.kind, version, target.architecture, target.infra_env_id, target.token)
