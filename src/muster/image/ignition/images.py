# SPDX-License-Identifier: Apache-2.0
"""Where a host gets container images from: credentials, mirrors, trusted authorities."""

from __future__ import annotations

from typing import Final

from muster.image.credentials import Credentials
from muster.model.ignition import PUBLIC, Config, File
from muster.model.medium import RELEASE_KEY, RELEASE_KIND
from muster.model.plan import Plan
from muster.model.registries import RegistriesConf, render_registries_conf

RELEASE_FILE: Final = "/etc/assisted/agent-installer.env"


def images(plan: Plan, _credentials: Credentials) -> Config:
    """The pull secret, and mirrors and authorities if the site has any."""
    own = [logins_file(plan.pull_secret.reveal()), *release_files(plan.release_image, plan.release_key)]
    if plan.release_kind:
        own.append(File(RELEASE_KIND, f"{plan.release_kind}\n".encode(), PUBLIC))
    return Config((*own, *mirror_files(plan.registries, plan.trust_bundle)))


def mirror_files(registries: RegistriesConf, trust_bundle: str) -> tuple[File, ...]:
    """Where images are to be had, and who is trusted there; as far as somebody says it."""
    files = []
    if registries.registries:
        text = render_registries_conf(registries)
        files.append(File("/etc/containers/registries.conf", text.encode(), PUBLIC))
    if trust_bundle:
        files.append(trust_file(trust_bundle))
    return tuple(files)


def release_files(image: str, key: str = "") -> tuple[File, ...]:
    """The release that is to be installed, and the public key that its signature is checked with, if any."""
    named = File(RELEASE_FILE, f"RELEASE_IMAGE={image}\n".encode())
    return (*([named] if image else ()), *([File(RELEASE_KEY, key.encode(), PUBLIC)] if key else ()))


def logins_file(pull_secret: str) -> File:
    """The logins of registries, where podman and its like look for them."""
    return File("/root/.docker/config.json", pull_secret.encode())


def trust_file(bundle: str) -> File:
    """Certificates of authorities that the whole system trusts."""
    return File("/etc/pki/ca-trust/source/anchors/domain.crt", bundle.encode(), PUBLIC)
