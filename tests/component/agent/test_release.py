# SPDX-License-Identifier: Apache-2.0
"""Media whose base image comes out of a release: by flag, environment or manifest, through mirrors."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from muster.image.cache.places import key_of
from muster.image.cache.store import Cache
from muster.image.reading import read_medium
from muster.release.store.store import Store, create_store
from tests.component.agent.making import ISO, example
from tests.component.live import Live
from tests.component.muster import Result, run
from tests.component.release.payload import (
    CONTENT,
    REGISTRY,
    RELEASE,
    VERSION,
    Made,
    Shape,
    StoreKeeper,
    make_release,
)
from tests.component.release.rough_registry import BASIC, LOGIN
from tests.component.release.served import Served, make_papers, save_users, start_registry

OVERRIDE = "OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE"


@dataclass
class Offered:
    """A release in a store, and a registry with TLS and a login that serves it."""

    store: Store
    made: Made
    served: Served
    certificate: str

    @property
    def by_digest(self) -> str:
        return f"{REGISTRY}/{RELEASE}@{self.made.image.digest}"

    @property
    def by_tag(self) -> str:
        return f"{REGISTRY}/{RELEASE}:{VERSION}-x86_64"


@pytest.fixture
def offered(tmp_path: Path, build_x86: Live) -> Iterator[Offered]:
    store = create_store(tmp_path / "store")
    made = make_release(StoreKeeper(store), Shape(iso=build_x86.path.read_bytes()))
    papers = make_papers(tmp_path / "papers")
    users = save_users(tmp_path / "users", LOGIN)
    flags = ("--certificate", papers.certificate, "--key", papers.key, "--htpasswd", users)
    with start_registry(store.root, tmp_path, *flags) as served:
        yield Offered(store, made, served, papers.certificate.read_text())


@pytest.fixture
def mirrored(site: Path, offered: Offered) -> Path:
    """A site whose files say where the release really is, who may have it, and whom to trust."""
    path = site / "install-config.yaml"
    body = yaml.safe_load(path.read_text())
    body["imageDigestSources"] = [
        {"source": f"{REGISTRY}/{name}", "mirrors": [f"{offered.served.place}/{name}"]}
        for name in (RELEASE, CONTENT)
    ]
    login = {"auth": BASIC.removeprefix("Basic ")}
    body["pullSecret"] = json.dumps({"auths": {offered.served.place: login}})
    body["additionalTrustBundle"] = offered.certificate
    path.write_text(yaml.safe_dump(body))
    return site


def create(site: Path, *more: str | Path, status: int = 0, env: dict[str, str] | None = None) -> Result:
    done = run("agent", "create", "image", "--dir", site, *more, env=env)
    assert done.status == status, done.err + done.out
    assert "hunter2" not in done.err + done.out
    return done


def release_of(iso: Path) -> str:
    texts = {file.path: file.data for file in read_medium(iso).files}
    line = texts["/etc/assisted/agent-installer.env"]
    assert line is not None
    return line.decode().strip().removeprefix("RELEASE_IMAGE=")


def test_the_sites_mirrors_login_and_authority_are_used(mirrored: Path, offered: Offered) -> None:
    done = create(mirrored, env={OVERRIDE: offered.by_digest})
    assert "verified: digest of the layer, and sha256 of the image" in done.err
    assert release_of(mirrored / ISO) == offered.by_digest
    (mirrored / ISO).unlink()
    offered.served.end()
    again = create(mirrored, env={OVERRIDE: offered.by_digest})
    assert again.out.startswith(f"made anew: {ISO} is missing"), "nobody was asked"


def test_a_flag_wins_and_is_told(mirrored: Path, offered: Offered) -> None:
    name = f"{offered.served.place}/{RELEASE}:{VERSION}-x86_64"
    create(mirrored, "--release", name, "--base-image-sha256", sha256_of(offered))
    assert release_of(mirrored / ISO) == name
    wrong = create(mirrored, "--release", name, "--base-image-sha256", "0" * 64, status=1)
    assert "expected 0000" in wrong.err
    other = create(mirrored, "--release", name, env={OVERRIDE: "registry.example.com/other:1"})
    assert f"--release names {name}, which is installed instead of" in other.err
    assert release_of(mirrored / ISO) == name


def sha256_of(offered: Offered) -> str:
    return hashlib.sha256(offered.made.isos["amd64"]).hexdigest()


def test_a_store_needs_no_network(site: Path, offered: Offered) -> None:
    offered.served.end()
    create(site, "--release", offered.store.root)
    assert release_of(site / ISO) == offered.by_tag
    assert create(site, "--release", offered.store.root).out.startswith("nothing has changed")
    verdict = run("media", "verify", site / ISO, "--rebuild", site, "--release", offered.store.root)
    assert verdict.status == 0, verdict.err


def test_a_cluster_image_set_names_it(tmp_path: Path, offered: Offered) -> None:
    site = example("ztp-manifests", tmp_path / "ztp")
    path = site / "cluster-manifests/cluster-image-set.yaml"
    body = yaml.safe_load(path.read_text())
    body["spec"]["releaseImage"] = offered.by_digest
    path.write_text(yaml.safe_dump(body))
    place = offered.served.place
    (site / "mirror/registries.conf").write_text(
        "".join(
            f'[[registry]]\nlocation = "{REGISTRY}/{name}"\nmirror-by-digest-only = true\n'
            f'[[registry.mirror]]\nlocation = "{place}/{name}"\n'
            for name in (RELEASE, CONTENT)
        )
    )
    (site / "mirror/ca-bundle.crt").write_text(offered.certificate)
    secret = site / "cluster-manifests/pull-secret.yaml"
    found = yaml.safe_load(secret.read_text())
    login = {"auth": BASIC.removeprefix("Basic ")}
    found.pop("data", None)
    found["stringData"] = {".dockerconfigjson": json.dumps({"auths": {place: login}})}
    secret.write_text(yaml.safe_dump(found))
    create(site)
    assert release_of(site / ISO) == offered.by_digest
    generic = run("agent", "create", "unconfigured-image", "--dir", site)
    assert generic.status == 0, generic.err


def test_what_is_wrong_is_told_before_anything_is_written(mirrored: Path, offered: Offered) -> None:
    gone = create(mirrored, status=1, env={OVERRIDE: f"{REGISTRY}/{RELEASE}@sha256:{'0' * 64}"})
    assert "cannot get" in gone.err
    body = yaml.safe_load((mirrored / "install-config.yaml").read_text())
    body.pop("additionalTrustBundle")
    (mirrored / "install-config.yaml").write_text(yaml.safe_dump(body))
    distrusted = create(mirrored, status=1, env={OVERRIDE: offered.by_digest})
    assert "is not trusted" in distrusted.err
    assert not (mirrored / ISO).exists()
    create(
        mirrored,
        "--ca-bundle",
        offered.store.root.parent / "papers/ca.crt",
        env={OVERRIDE: offered.by_digest},
    )


def test_who_waits_for_another_process_can_be_interrupted(
    site: Path, offered: Offered, tmp_path: Path
) -> None:
    part = offered.made.components["machine-os-images"].digest
    key = key_of(f"release {part} amd64 coreos/coreos-x86_64.iso")
    cache = Cache(tmp_path / "cache")
    argv = [sys.executable, "-m", "muster.cli", "agent", "create", "image", "--dir", str(site)]
    with (
        cache.lock("url", key, lambda _holder: None),
        subprocess.Popen(
            [*argv, "--release", str(offered.store.root)], stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stderr is not None
        try:
            assert "is getting /coreos/coreos-x86_64.iso" in process.stderr.readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 8
        finally:
            process.kill()  # Who missed the signal would wait for ever, and so would we.
    create(site, "--release", offered.store.root)
