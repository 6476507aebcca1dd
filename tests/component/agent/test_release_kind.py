# SPDX-License-Identifier: Apache-2.0
"""A release whose name does not tell its kind: the settings of a site are judged when it is known."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from muster.image.reading import read_medium
from muster.release.store.store import open_store
from tests.component.agent.making import ISO
from tests.component.agent.test_release import OVERRIDE, create
from tests.component.live import Live
from tests.component.muster import run
from tests.component.release.rough_registry import BASIC, LOGIN
from tests.component.release.served import make_papers, save_users, start_registry
from tests.component.service.whole import small_release

LUKS = {"ignition": {"version": "3.2.0"}, "storage": {"luks": [{"name": "data", "device": "/dev/sdb"}]}}
ECDSA = (
    "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBIKDZbbEMMIe9arNw48H+x3a5VqvMbAK"
    "ZtNGr/9LkwdjmcGZ8DAw+GLbZwzOzTlEMxNxAzYoQYIjHAFMLJUXXfQ= core@example.com"
)


@pytest.fixture
def served(site: Path, tmp_path: Path) -> Iterator[str]:
    """A release of Kubernetes by digest at a registry, and a site that may fetch it and asks for FIPS."""
    release = small_release(tmp_path)
    digest = next(
        image.digest
        for name, image in open_store(tmp_path / "store").contents().images.items()
        if name == release.tagged
    )
    papers = make_papers(tmp_path / "papers")
    users = save_users(tmp_path / "users", LOGIN)
    flags = ("--certificate", papers.certificate, "--key", papers.key, "--htpasswd", users)
    with start_registry(tmp_path / "store", tmp_path, *flags) as registry:
        path = site / "install-config.yaml"
        body = yaml.safe_load(path.read_text())
        body["pullSecret"] = json.dumps({"auths": {registry.place: {"auth": BASIC.removeprefix("Basic ")}}})
        body["additionalTrustBundle"] = papers.certificate.read_text()
        path.write_text(yaml.safe_dump({**body, "fips": True, "sshKey": ECDSA}))
        yield f"{registry.place}/{release.name.partition('/')[2]}@{digest}"


def test_settings_are_judged_before_anything_is_written(site: Path, served: str, build_x86: Live) -> None:
    before = sorted(each.name for each in site.rglob("*"))
    base = ("--base-image", build_x86.path)
    for verb, more in (("image", base), ("pxe-files", base), ("config-image", ())):
        done = run("agent", "create", verb, "--dir", site, *more, env={OVERRIDE: served})
        assert done.status != 0
        assert "error MC134: fips: not done by a release of Kubernetes" in done.err, verb
        assert sorted(each.name for each in site.rglob("*") if each.suffix != ".log") == before, verb


def test_a_release_that_cannot_be_reached_is_a_warning(site: Path, served: str, build_x86: Live) -> None:
    image = re.sub(r"^[^/]+", "127.0.0.1:1", served)
    done = create(site, "--base-image", build_x86.path, env={OVERRIDE: image})
    assert f"the kind of the release {image} cannot be looked up" in " ".join(done.err.split())
    assert "/etc/assisted/release-kind" not in {file.path for file in read_medium(site / ISO).files}


def test_luks_for_hosts_of_kubernetes_is_refused(site: Path, tmp_path: Path, build_x86: Live) -> None:
    small_release(tmp_path)
    override = tmp_path / "luks.ign"
    override.write_text(json.dumps(LUKS))
    flags = ("--release", tmp_path / "store", "--ignition-override", override)
    base = ("--base-image", build_x86.path)
    generic = tmp_path / "generic"
    generic.mkdir()
    for verb, folder, more in (
        ("image", site, base),
        ("pxe-files", site, base),
        ("unconfigured-image", generic, base),
        ("unconfigured-ignition", generic, ()),
    ):
        done = run("agent", "create", verb, "--dir", folder, *more, *flags)
        assert done.status != 0, verb
        assert "asks for storage.luks, which is not done by a release of Kubernetes" in done.err
        assert "Muster writes disks without LUKS" in done.err
    assert [each.name for each in generic.iterdir()] == [".openshift_install.log"]
    assert not (site / ISO).exists()


def test_a_medium_says_the_kind_of_its_release(site: Path, tmp_path: Path, build_x86: Live) -> None:
    small_release(tmp_path)
    create(site, "--base-image", build_x86.path, "--release", tmp_path / "store")
    files = {file.path: file.data for file in read_medium(site / ISO).files}
    assert files["/etc/assisted/release-kind"] == b"kubernetes\n"
