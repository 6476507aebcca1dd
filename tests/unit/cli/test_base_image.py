# SPDX-License-Identifier: Apache-2.0
"""Which base image is taken: the one that is named, that of the release, or the machine OS."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from muster.cli import base_image
from muster.cli.access import AccessFlags, SiteAccess, find_auth_file, settings_of
from muster.cli.base_image import Wish
from muster.cli.options import BaseImageFlags
from muster.cli.release_base import default_release
from muster.cli.wish import settle_release, wish_of, wish_of_generic
from muster.config.check import check_folder
from muster.config.document.folder import Directory
from muster.config.resolve import resolve_site
from muster.errors import UserError
from muster.model.plan import Plan
from muster.model.registries import Mirror, RegistriesConf, Registry
from muster.model.site import Environment, Site
from tests import media

EXAMPLES = Path(__file__).parents[3] / "examples"
RELEASE = "registry.example.com/ocp/release:4.22.0-x86_64"


@pytest.fixture
def iso(tmp_path: Path) -> Path:
    path = tmp_path / "build" / "live.iso"
    path.parent.mkdir()
    path.write_bytes(media.image(media.MODERN))
    return path


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch, iso: Path) -> list[str]:
    """What was asked to be built."""
    asked: list[str] = []

    def build(_cache_dir: str | None, architecture: str) -> Path:
        asked.append(architecture)
        return iso.parent

    monkeypatch.setattr("muster.cli.machine_os.build_machine_os", build)
    return asked


def example(name: str) -> tuple[Site, Plan]:
    found, _ = check_folder(Directory(EXAMPLES / name), Environment())
    return found, resolve_site(found)


def test_a_site_that_names_no_release_boots_the_machine_os(
    tmp_path: Path, iso: Path, built: list[str]
) -> None:
    flags = BaseImageFlags(cache_dir=str(tmp_path / "cache"))
    with base_image.open_cache(flags.cache_dir) as cache:
        image = base_image.obtain(flags, cache, Wish(architecture="arm64", has_default=True))
        assert image.sha256 == hashlib.sha256(iso.read_bytes()).hexdigest()
        assert built == ["aarch64"]
        wrong = replace(flags, sha256="0" * 64)
        with pytest.raises(UserError, match="expected 0000"):
            base_image.obtain(wrong, cache, Wish(has_default=True))


def test_what_is_named_goes_first(tmp_path: Path, iso: Path, built: list[str]) -> None:
    flags = BaseImageFlags(str(iso), cache_dir=str(tmp_path / "cache"), release=RELEASE)
    with base_image.open_cache(flags.cache_dir) as cache:
        wish = Wish(release=RELEASE, has_default=True)
        assert base_image.obtain(flags, cache, wish).path == iso
    assert built == []


def test_without_a_default_something_has_to_be_named(tmp_path: Path) -> None:
    flags = BaseImageFlags(cache_dir=str(tmp_path / "cache"))
    with (
        base_image.open_cache(flags.cache_dir) as cache,
        pytest.raises(UserError, match="no base image is named") as caught,
    ):
        base_image.obtain(flags, cache)
    assert "--release" in caught.value.hint


def test_the_release_is_the_flags_then_the_sites_then_ours() -> None:
    found, plan = example("compact-baremetal")
    assert default_release("amd64").startswith("muster.local/kubernetes/release:v1.")
    assert settle_release(BaseImageFlags(), found, plan).release_image == default_release("amd64")
    assert settle_release(BaseImageFlags("live.iso"), found, plan) is plan
    flagged = BaseImageFlags("live.iso", release=f"docker://{RELEASE}")
    assert settle_release(flagged, found, plan).release_image == RELEASE
    overridden = replace(found, environment=Environment(release_image=RELEASE))
    assert settle_release(BaseImageFlags(), overridden, plan) is plan
    manifests, lifted = example("ztp-manifests")
    assert settle_release(BaseImageFlags(), manifests, lifted) is lifted


def test_a_site_says_how_its_release_is_reached() -> None:
    wish = wish_of(*example("disconnected-mirror"))
    assert (wish.release, wish.architecture, wish.has_default) == ("", "amd64", True)
    settings = settings_of(AccessFlags(), wish.access)
    assert settings.logins.find("mirror.example.com:5000/openshift/release") is not None
    assert settings.registries.find_mirrors("quay.io/openshift-release-dev/ocp-release@sha256:0")
    assert "BEGIN CERTIFICATE" in settings.authorities[0]
    assert not settings.insecure
    generic = wish_of_generic(example("ztp-manifests")[0])
    assert generic.release
    assert generic.access.registries is not None


def test_flags_go_before_the_site_and_that_before_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def secret(name: str, password: str) -> Path:
        import base64

        path = tmp_path / name
        login = base64.b64encode(f"joe:{password}".encode()).decode()
        path.write_text(f'{{"auths": {{"r.example.com": {{"auth": "{login}"}}}}}}')
        return path

    def password(settings_logins: object) -> str:
        found = settings_logins.find("r.example.com/a")  # type: ignore[attr-defined]
        return str(found.password) if found else ""

    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(secret("machine.json", "machine")))
    site = SiteAccess(pull_secret=secret("site.json", "site").read_text())
    flag = AccessFlags(pull_secret=secret("flag.json", "flag"))
    assert password(settings_of(AccessFlags()).logins) == "machine"
    assert password(settings_of(AccessFlags(), site).logins) == "site"
    assert password(settings_of(flag, site).logins) == "flag"
    conf = tmp_path / "registries.conf"
    conf.write_text(
        '[[registry]]\nlocation = "a.example.com"\n[[registry.mirror]]\nlocation = "b.example.com"\n'
    )
    mirrors = RegistriesConf((Registry("a.example.com", mirrors=(Mirror("c.example.com"),)),))
    named = settings_of(AccessFlags(registries_conf=conf), SiteAccess(registries=mirrors)).registries
    assert named.find_mirrors("a.example.com/x:1")[0].image == "b.example.com/x:1"


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    conf = tmp_path / "registries.conf"
    conf.write_text("[[registry")
    with pytest.raises(UserError, match="cannot be used"):
        settings_of(AccessFlags(registries_conf=conf))
    (tmp_path / "bundle.pem").write_text("nothing")
    with pytest.raises(UserError, match="has no certificate in it"):
        settings_of(AccessFlags(ca_bundle=tmp_path / "bundle.pem"))
    (tmp_path / "secret.json").write_text("[]")
    with pytest.raises(UserError, match=r"secret\.json cannot be read"):
        settings_of(AccessFlags(pull_secret=tmp_path / "secret.json"))


def test_logins_are_found_where_podman_keeps_them(tmp_path: Path) -> None:
    assert find_auth_file({}, tmp_path) is None
    docker = tmp_path / ".docker/config.json"
    docker.parent.mkdir()
    docker.write_text("{}")
    assert find_auth_file({}, tmp_path) == docker
    podman = tmp_path / "run/containers/auth.json"
    podman.parent.mkdir(parents=True)
    podman.write_text("{}")
    assert find_auth_file({"XDG_RUNTIME_DIR": str(tmp_path / "run")}, tmp_path) == podman
