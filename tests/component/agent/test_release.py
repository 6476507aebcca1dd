# SPDX-License-Identifier: Apache-2.0
"""Media whose base image comes out of a release: by flag, environment or manifest, through mirrors."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from muster.image.cache.places import key_of
from muster.image.cache.store import Cache
from muster.image.iso.volume import Volume
from muster.image.reading import read_medium
from muster.release.store.store import Store, create_store, open_store
from muster.release.store.verify import verify_store
from muster.signature import load_public_key
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
from tests.component.release.served import Served, make_papers, make_signing_pair, save_users, start_registry
from tests.component.service.whole import small_release

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

    @property
    def pinned(self) -> str:
        return f"{self.by_tag}@{self.made.image.digest}"


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
    pinned = f"{name}@{offered.made.image.digest}"
    assert release_of(mirrored / ISO) == pinned
    wrong = create(mirrored, "--release", name, "--base-image-sha256", "0" * 64, status=1)
    assert "expected 0000" in wrong.err
    other = create(mirrored, "--release", name, env={OVERRIDE: "registry.example.com/other:1"})
    assert f"--release names {name}, which is installed instead of" in other.err
    assert release_of(mirrored / ISO) == pinned


def sha256_of(offered: Offered) -> str:
    return hashlib.sha256(offered.made.isos["amd64"]).hexdigest()


def test_a_store_needs_no_network(site: Path, offered: Offered) -> None:
    offered.served.end()
    create(site, "--release", offered.store.root)
    assert release_of(site / ISO) == offered.pinned
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


def carried_by(iso: Path) -> dict[str, bytes]:
    """The content store that a medium has on it."""
    with Volume.open(iso) as volume:
        return {
            each.path.removeprefix("release/"): volume.read(each.offset, each.length)
            for each in volume.walk()
            if each.path.startswith("release/")
        }


def test_a_medium_carries_its_release(site: Path, offered: Offered, tmp_path: Path) -> None:
    offered.served.end()
    flags = ("--release", offered.store.root)
    create(site, *flags)
    without = (site / ISO).stat().st_size
    assert carried_by(site / ISO) == {}
    done = create(site, *flags, "--embed-release")
    assert "the medium carries the release" in done.err
    assert "--embed-release" in done.out, "why it is made anew"
    for name, data in carried_by(site / ISO).items():
        path = tmp_path / "taken" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    taken = open_store(tmp_path / "taken")
    report = verify_store(taken, full=True)
    assert report.is_good
    assert not report.unreachable
    needed = {part.digest for part in offered.made.components.values()} | {offered.made.image.digest}
    assert needed <= {image.digest for _, image in taken.contents().roots}
    assert (site / ISO).stat().st_size > without
    assert create(site, *flags, "--embed-release").out.startswith("nothing has changed")
    verdict = run("media", "verify", site / ISO, "--rebuild", site, *flags)
    assert verdict.status == 0, verdict.err + verdict.out
    assert release_of(site / ISO) == offered.pinned


def test_a_release_at_a_registry_is_brought_first(mirrored: Path, offered: Offered) -> None:
    create(mirrored, "--embed-release", env={OVERRIDE: offered.by_digest})
    assert f"blobs/sha256/{offered.made.image.digest.removeprefix('sha256:')}" in carried_by(mirrored / ISO)
    first = (mirrored / ISO).read_bytes()
    (mirrored / ISO).unlink()
    create(mirrored, "--embed-release", env={OVERRIDE: offered.by_digest})
    assert (mirrored / ISO).read_bytes() == first


def test_a_release_that_is_not_whole_is_not_carried(site: Path, offered: Offered) -> None:
    part = next(iter(offered.made.components.values()))
    store = offered.store
    layer = store.manifest(part.digest).layers[0]
    path = store.blobs.path(layer.digest)
    data = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    flags = ("--release", store.root, "--embed-release")
    assert "is damaged" in create(site, *flags, status=1).err
    path.unlink()
    gone = create(site, *flags, status=1)
    assert "the release is not whole" in gone.err
    assert not (site / ISO).exists()


def test_a_minimal_image_carries_nothing(site: Path, offered: Offered) -> None:
    path = site / "agent-config.yaml"
    body = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({**body, "minimalISO": True, "bootArtifactsBaseURL": "http://192.0.2.1/"}))
    done = create(site, "--release", offered.store.root, "--embed-release", status=1)
    assert "a minimal ISO is for what hosts fetch" in done.err


def test_a_generic_medium_carries_a_release_too(tmp_path: Path, offered: Offered) -> None:
    folder = tmp_path / "generic"
    folder.mkdir()
    flags = ("--dir", folder, "--release", offered.store.root, "--embed-release")
    done = run("agent", "create", "unconfigured-image", *flags)
    assert done.status == 0, done.err
    (iso,) = folder.glob("*.iso")
    assert "index.json" in carried_by(iso)


def test_no_release_at_all_is_told(site: Path, build_x86: Live) -> None:
    done = create(site, "--release-by-tag", "--base-image", build_x86.path, "--embed-release", status=1)
    assert "no release is named that the medium could carry" in done.err


def test_a_medium_names_the_release_by_digest_or_the_user_accepts_a_tag(site: Path, build_x86: Live) -> None:
    """A tag that cannot be looked up is no release: what hosts install would be decided by their registry."""
    env = {OVERRIDE: "127.0.0.1:1/ocp/release:4.22.0-x86_64"}
    base = ("--base-image", build_x86.path)
    refused = create(site, *base, status=1, env=env)
    assert (
        "the digest of the release 127.0.0.1:1/ocp/release:4.22.0-x86_64 cannot be looked up" in refused.err
    )
    assert "--release-by-tag" in refused.err
    assert not (site / ISO).exists()
    accepted = create(site, *base, "--release-by-tag", env=env)
    assert "cannot tell whether it was changed" in accepted.err
    assert (
        "(by tag: hosts install what their registry has under it)" in run("media", "inspect", site / ISO).out
    )


def test_a_release_key_goes_onto_the_medium_when_the_release_is_signed(
    site: Path, build_x86: Live, tmp_path: Path
) -> None:
    release, store = small_release(tmp_path), tmp_path / "store"
    private, public = make_signing_pair(tmp_path)
    (tmp_path / "more").mkdir()
    _, other = make_signing_pair(tmp_path / "more")
    flags = ("--base-image", build_x86.path, "--release", store, "--release-key")
    unsigned = create(site, *flags, public, status=1)
    assert "a signature is required, and none of the release" in unsigned.err
    signed = run("release", "sign", "--store", store, "--key", private)
    assert signed.status == 0, signed.err
    wrong = create(site, *flags, other, status=1)
    assert "is not signed by the required key" in wrong.err
    assert not (site / ISO).exists()
    create(site, *flags, public, "--embed-release")
    shown = run("media", "inspect", site / ISO).out
    (pinned,) = re.findall(rf"^release  {release.name}:\S+@(sha256:\w+)$", shown, re.MULTILINE)
    assert pinned in signed.out
    der = load_public_key(public).public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert f"signed   by the key sha256:{hashlib.sha256(der).hexdigest()}; hosts check it" in shown
    assert pinned in run("media", "audit", site / ISO).out
    tag = f"sha256-{pinned.removeprefix('sha256:')}.sig"
    assert tag.encode() in carried_by(site / ISO)["index.json"], "the signature goes with the release"
    files = {file.path: file.data for file in read_medium(site / ISO).files}
    assert files["/etc/assisted/release-key.pem"] == public.read_bytes()


def test_a_release_can_have_signatures_of_several_keys(site: Path, build_x86: Live, tmp_path: Path) -> None:
    """Media with the key from before stay good while a new key is introduced."""
    small_release(tmp_path)
    store = tmp_path / "store"
    (tmp_path / "next").mkdir()
    pairs = [make_signing_pair(tmp_path), make_signing_pair(tmp_path / "next")]
    for private, _ in [*pairs, pairs[0]]:
        assert run("release", "sign", "--store", store, "--key", private).status == 0
    for _, public in pairs:
        create(site, "--base-image", build_x86.path, "--release", store, "--release-key", public)
    (index,) = [name for name in open_store(store).contents().images if name.endswith(".sig")]
    opened = open_store(store)
    assert len(opened.manifest(opened.contents().images[index].digest).layers) == len(pairs)


def test_generic_and_configuration_media_of_a_release_name_the_same_image(
    site: Path, build_x86: Live, tmp_path: Path
) -> None:
    """The host compares them; the manifests in the directories may name it in other ways."""
    small_release(tmp_path)
    generic = tmp_path / "generic"
    generic.mkdir()
    base = ("--base-image", build_x86.path)
    for folder, verb, more in ((generic, "unconfigured-image", base), (site, "config-image", ())):
        done = run("agent", "create", verb, "--dir", folder, *more, "--release", tmp_path / "store")
        assert done.status == 0, done.err
    (iso,) = generic.glob("*.iso")
    assert "@sha256:" in release_of(iso)
    assert release_of(iso) == release_of(site / "agentconfig.noarch.iso")


def test_a_release_key_is_refused_where_no_host_would_check_it(site: Path, build_x86: Live) -> None:
    """The files name a release of OpenShift, and Muster does not run on its systems."""
    _, public = make_signing_pair(site.parent)
    flags = ("--base-image", build_x86.path, "--release-by-tag", "--release-key", public)
    refused = create(site, *flags, status=1)
    assert "--release-key: hosts that install quay.io/openshift-release-dev/" in refused.err
    assert "do not check its signature" in refused.err
    assert not (site / ISO).exists()


def test_a_copy_of_a_release_has_its_signature(build_x86: Live, tmp_path: Path) -> None:
    small_release(tmp_path)
    private, public = make_signing_pair(tmp_path)
    assert run("release", "sign", "--store", tmp_path / "store", "--key", private).status == 0
    done = run("release", "mirror", tmp_path / "store", tmp_path / "copy")
    assert done.status == 0, done.err
    folder = tmp_path / "generic"
    folder.mkdir()
    base = ("--base-image", build_x86.path)
    flags = ("--dir", folder, *base, "--release", tmp_path / "copy", "--release-key", public)
    made = run("agent", "create", "unconfigured-image", *flags)
    assert made.status == 0, made.err


def test_a_medium_for_kubernetes_has_one_key_of_the_api(site: Path, build_x86: Live, tmp_path: Path) -> None:
    """The other two are for OpenShift's installer; an unknown release may be OpenShift's."""
    small_release(tmp_path)
    base = ("--base-image", build_x86.path)

    def keys() -> list[str]:
        secrets = json.loads(run("media", "audit", site / ISO, "-o", "json").out)["secrets"]
        assert all(each["purpose"] for each in secrets)
        return [Path(each["place"]).name for each in secrets if each["place"].endswith("signer.key")]

    create(site, *base, "--release", tmp_path / "store")
    assert keys() == ["kube-apiserver-lb-signer.key"]
    verdict = run("media", "verify", site / ISO, "--rebuild", site, *base, "--release", tmp_path / "store")
    assert verdict.status == 0, verdict.err + verdict.out
    create(site, *base, "--release-by-tag")
    assert len(keys()) == 3
