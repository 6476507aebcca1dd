# SPDX-License-Identifier: Apache-2.0
"""Which release is installed: an image that lists all others by digest."""

from __future__ import annotations

import re
from typing import Final

DEFAULT_VERSION: Final = "4.22.0"
RELEASE_REPOSITORY: Final = "quay.io/openshift-release-dev/ocp-release"
CONTENT_REPOSITORY: Final = "quay.io/openshift-release-dev/ocp-v4.0-art-dev"
KUBERNETES_REPOSITORY: Final = "muster.local/kubernetes/release"
"""That of the release that Muster builds; hosts boot from it where no release is named."""

KUBERNETES: Final = "kubernetes"
"""The kind of the releases that Muster builds."""
OPENSHIFT: Final = "openshift"

RPM_ARCHITECTURES: Final = {"amd64": "x86_64", "arm64": "aarch64", "ppc64le": "ppc64le", "s390x": "s390x"}
"""What an architecture is called in media and manifests, by its name in install-config.yaml."""


def default_release_image(architecture: str) -> str:
    """The release that this version of Muster installs when no other is named."""
    return f"{RELEASE_REPOSITORY}:{DEFAULT_VERSION}-{RPM_ARCHITECTURES.get(architecture, architecture)}"


def repository_of(image: str) -> str:
    """An image's name without tag and digest."""
    name = image.partition("@")[0]
    head, slash, tail = name.rpartition("/")
    return f"{head}{slash}{tail.partition(':')[0]}"


def tag_of(image: str) -> str:
    """The tag of an image; empty when it has none."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[2]


def kind_of_image(image: str) -> str:
    """The kind of a release by the name of its image; empty when that does not tell."""
    repository, major = repository_of(image).lower(), tag_of(image).removeprefix("v").partition(".")[0]
    if repository == KUBERNETES_REPOSITORY or major == "1":
        return KUBERNETES
    is_known = any(name in repository for name in ("ocp-release", "okd", "scos"))
    return OPENSHIFT if is_known or (major.isdecimal() and int(major) > 3) else ""


def version_of(image: str) -> str:
    """The version that a tag names, or the default's when the image is named by digest."""
    tag = tag_of(image)
    match = re.match(r"\d+(?:\.\d+)+(?:-(?:rc|ec|fc)\.\d+)?", tag)
    return match[0] if match else tag or DEFAULT_VERSION


def default_os_image_streams(image: str) -> tuple[str, ...]:
    """The lines of operating system images that a release takes when none is named: of OpenShift, of OKD."""
    return os_image_streams(version_of(image))


def os_image_streams(version: str) -> tuple[str, ...]:
    """The same for a version; the first is that of OpenShift."""
    major = version.partition(".")[0]
    if not major.isdecimal():
        return ()
    return ("rhel-9" if int(major) < 5 else "rhel-10", "centos-10")
