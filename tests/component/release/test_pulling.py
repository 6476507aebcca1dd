# SPDX-License-Identifier: Apache-2.0
"""curl, skopeo, podman and containerd pull from the registry: plainly, and with TLS and a login."""

from __future__ import annotations

import base64
import concurrent.futures
import contextlib
import http.client
import json
import os
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from muster.model.registries import Mirror, RegistriesConf, Registry
from muster.model.values import Secret
from muster.release.node.runtime import runtime
from muster.release.oci.digest import digest_of
from tests.clusters import RELEASE, SINGLE
from tests.component.release.served import (
    DEADLINE_S,
    Papers,
    Served,
    ask,
    make_papers,
    save_users,
    start_registry,
)
from tests.stores import REGISTRY, Stored, build_stored, put_program

LOGIN = "ann:correct horse"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    return build_stored(tmp_path_factory.mktemp("store"), 3_000_000)


@pytest.fixture(scope="module")
def served(stored: Stored, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with start_registry(stored.store.root, tmp_path_factory.mktemp("log")) as served:
        yield served


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    return make_papers(tmp_path_factory.mktemp("papers") / "pem")


@pytest.fixture(scope="module")
def secured(stored: Stored, papers: Papers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """With HTTPS, for those with a login."""
    folder = tmp_path_factory.mktemp("log")
    users = save_users(folder / "users", LOGIN, rounds=10)
    flags = ("--certificate", papers.certificate, "--key", papers.key, "--htpasswd", users)
    with start_registry(stored.store.root, folder, *flags) as secured:
        yield secured


def call(home: Path, *argv: str | Path, ok: bool = True) -> str:
    """Run a program that finds nothing of this machine's user; what it printed."""
    own = {"HOME": str(home), "XDG_RUNTIME_DIR": str(home), "TMPDIR": str(home), "no_proxy": "127.0.0.1,::1"}
    done = subprocess.run(
        [str(word) for word in argv],
        capture_output=True,
        text=True,
        env={**os.environ, **own, "NO_PROXY": "127.0.0.1,::1"},
        check=False,
        timeout=10 * DEADLINE_S,
    )
    assert (done.returncode == 0) is ok, done.stdout + done.stderr
    return done.stdout if ok else done.stdout + done.stderr


class TestCurl:
    def test_a_blob(self, served: Served, stored: Stored, tmp_path: Path) -> None:
        url = f"{served.url}/v2/team/tool/blobs/{stored.layer.digest}"
        call(tmp_path, "curl", "-sSf", "-o", tmp_path / "blob", url)
        assert digest_of((tmp_path / "blob").read_bytes()) == stored.layer.digest

    def test_the_rest_of_a_blob(self, served: Served, stored: Stored, tmp_path: Path) -> None:
        data = stored.store.blobs.path(stored.layer.digest).read_bytes()
        (tmp_path / "blob").write_bytes(data[:1_000_000])
        url = f"{served.url}/v2/team/tool/blobs/{stored.layer.digest}"
        call(tmp_path, "curl", "-sSf", "-C", "-", "-o", tmp_path / "blob", url)
        assert (tmp_path / "blob").read_bytes() == data

    def test_with_a_login(self, secured: Served, stored: Stored, papers: Papers, tmp_path: Path) -> None:
        url = f"{secured.url}/v2/team/tool/blobs/{stored.layer.digest}"
        command = (
            "curl",
            "-sS",
            "--cacert",
            papers.certificate,
            "-o",
            tmp_path / "blob",
            "-w",
            "%{http_code}",
        )
        assert call(tmp_path, *command, url) == "401"
        assert json.loads((tmp_path / "blob").read_text())["errors"][0]["code"] == "UNAUTHORIZED"
        assert call(tmp_path, *command, "-u", "ann:wrong", url) == "401"
        assert call(tmp_path, *command, "-u", "bob:correct horse", url) == "401"
        assert call(tmp_path, *command, "-u", LOGIN, url) == "200"
        assert digest_of((tmp_path / "blob").read_bytes()) == stored.layer.digest
        assert call(tmp_path, *command, "-u", LOGIN, "-r", "0-99", url) == "206"
        assert (tmp_path / "blob").stat().st_size == 100


class TestSkopeo:
    def test_an_image(self, served: Served, stored: Stored, tmp_path: Path) -> None:
        source = f"docker://{served.place}/team/tool:v1"
        copy = ("skopeo", "copy", "--insecure-policy", "--src-tls-verify=false", source)
        call(tmp_path, *copy, f"oci:{tmp_path / 'out'}:v1")
        index = json.loads((tmp_path / "out" / "index.json").read_text())
        assert index["manifests"][0]["digest"] == stored.tool.digest

    def test_an_index_with_all_its_images_by_the_full_path(
        self, served: Served, stored: Stored, tmp_path: Path
    ) -> None:
        source = f"docker://{served.place}/{REGISTRY}/team/multi@{stored.multi.digest}"
        copy = ("skopeo", "copy", "--all", "--insecure-policy", "--src-tls-verify=false", source)
        call(tmp_path, *copy, f"oci:{tmp_path / 'out'}:v1")
        names = {path.name for path in (tmp_path / "out" / "blobs" / "sha256").iterdir()}
        for digest in (
            stored.multi.digest,
            stored.inner.digest,
            *(blob.digest for blob in stored.inner.blobs),
        ):
            assert digest.partition(":")[2] in names

    def test_with_a_login(self, secured: Served, stored: Stored, papers: Papers, tmp_path: Path) -> None:
        source = f"docker://{secured.place}/team/tool:v1"
        look = ("skopeo", "inspect", "--format", "{{.Digest}}", "--cert-dir", papers.folder)
        refused = call(tmp_path, *look, "--no-creds", source, ok=False)
        assert "a user name and a password are needed" in refused or "unauthorized" in refused
        assert call(tmp_path, *look, "--creds", LOGIN, source).strip() == stored.tool.digest
        tags = call(
            tmp_path, "skopeo", "list-tags", "--cert-dir", papers.folder, "--creds", LOGIN, source[:-3]
        )
        assert json.loads(tags)["Tags"] == ["v1"]


class TestPodman:
    """Storage of its own below a temporary folder, by plain copies, which works on any file system."""

    @pytest.fixture
    def home(self) -> Iterator[Path]:
        """A short path: podman accepts no long ones."""
        with tempfile.TemporaryDirectory(prefix="p-") as folder:
            yield Path(folder)

    def podman(self, home: Path, *words: str | Path, ok: bool = True) -> str:
        own = ("--root", home / "root", "--runroot", home / "run", "--storage-driver", "vfs")
        return call(home, "podman", *own, *words, ok=ok)

    def test_an_image(self, served: Served, home: Path) -> None:
        name = f"{served.place}/team/multi:v1"
        self.podman(home, "pull", "-q", "--tls-verify=false", name)
        found = self.podman(home, "image", "inspect", "--format", "{{.Config.Cmd}}", name)
        assert found.strip() == "[/inner]"

    def test_with_a_login(self, secured: Served, stored: Stored, papers: Papers, home: Path) -> None:
        name = f"{secured.place}/{REGISTRY}/team/tool@{stored.tool.digest}"
        pull = ("pull", "-q", "--cert-dir", papers.folder)
        self.podman(home, *pull, "--creds", "ann:wrong", name, ok=False)
        self.podman(home, *pull, "--creds", LOGIN, name)
        found = self.podman(home, "image", "inspect", "--format", "{{.Config.Cmd}}", name)
        assert found.strip() == "[/tool]"


@pytest.fixture
def containerd(tmp_path: Path, root: None) -> Iterator[Path]:
    """Starts a containerd of our own that runs no containers; gives the path of its socket."""
    address = tmp_path / "sock"
    (tmp_path / "config.toml").write_text(
        f'version = 2\nroot = "{tmp_path}/root"\nstate = "{tmp_path}/state"\n'
        'disabled_plugins = ["io.containerd.grpc.v1.cri"]\n'
        f'[grpc]\naddress = "{address}"\n'
    )
    with (
        (tmp_path / "containerd.log").open("w") as log,
        subprocess.Popen(
            ["containerd", "--config", tmp_path / "config.toml"], stdout=log, stderr=log, cwd=tmp_path
        ) as process,
    ):
        try:
            end = time.monotonic() + DEADLINE_S
            while not address.exists():
                assert process.poll() is None, Path(log.name).read_text()
                assert time.monotonic() < end, Path(log.name).read_text()
                time.sleep(0.02)
            yield address
        finally:
            process.terminate()
            process.wait(DEADLINE_S)


class TestContainerd:
    def pull(self, address: Path, *words: str | Path, ok: bool = True) -> str:
        argv = ("ctr", "--address", address, "images", "pull", "--snapshotter", "native", *words)
        return call(address.parent, *argv, ok=ok)

    def test_an_image(self, containerd: Path, served: Served, stored: Stored) -> None:
        name = f"{served.place}/team/tool:v1"
        self.pull(containerd, "--plain-http", name)
        listed = call(containerd.parent, "ctr", "--address", containerd, "images", "list")
        assert name in listed
        assert stored.tool.digest in listed

    def test_as_a_mirror(self, containerd: Path, papers: Papers, secured: Served, stored: Stored) -> None:
        """It asks for another registry's image, and says whose."""
        hosts = containerd.parent / "hosts" / REGISTRY
        hosts.mkdir(parents=True)
        header = base64.b64encode(LOGIN.encode()).decode()
        (hosts / "hosts.toml").write_text(
            f'server = "https://127.0.0.1:1"\n[host."{secured.url}"]\n'
            f'capabilities = ["pull", "resolve"]\nca = "{papers.certificate}"\n'
            f'[host."{secured.url}".header]\nauthorization = "Basic {header}"\n'
        )
        self.pull(containerd, "--hosts-dir", hosts.parent, f"{REGISTRY}/team/multi:v1")
        listed = call(containerd.parent, "ctr", "--address", containerd, "content", "list", "-q")
        for digest in (stored.multi.digest, stored.inner.digest, stored.inner.layers[0].digest):
            assert digest in listed
        secured.wait_for(f"/v2/team/multi/manifests/v1?ns={REGISTRY} 200")

    def test_by_the_files_of_a_node_at_an_ipv6_address(
        self, containerd: Path, stored: Stored, tmp_path: Path
    ) -> None:
        with start_registry(stored.store.root, tmp_path, "--listen", "[::1]:0") as served:
            mirror = Mirror(served.place, insecure=True)
            registries = RegistriesConf((Registry(REGISTRY, mirrors=(mirror,), blocked=True),))
            login = Secret(json.dumps({"auths": {served.place: {"auth": "dTpw"}}}))
            node = runtime(RELEASE, replace(SINGLE, registries=registries, pull_secret=login))
            files = {Path(file.path): file.data.decode() for file in node.files}
            hosts = tmp_path / "hosts" / REGISTRY
            hosts.mkdir(parents=True)
            (hosts / "hosts.toml").write_text(files[Path(f"/etc/containerd/certs.d/{REGISTRY}/hosts.toml")])
            (tmp_path / "node.toml").write_text(files[Path("/etc/containerd/config.toml")])
            assert f'"{served.place}"' in call(
                tmp_path, "containerd", "-c", tmp_path / "node.toml", "config", "dump"
            )
            self.pull(containerd, "--hosts-dir", hosts.parent, f"{REGISTRY}/team/tool:v1")


def test_many_at_once_with_a_login(secured: Served, stored: Stored, papers: Papers) -> None:
    """64 clients; the slow check of their password is made for the first of them alone."""
    context = ssl.create_default_context(cafile=papers.certificate)
    header = f"Basic {base64.b64encode(LOGIN.encode()).decode()}"

    def pull(number: int) -> str:
        connection = http.client.HTTPSConnection(secured.place, timeout=10 * DEADLINE_S, context=context)
        with contextlib.closing(connection):
            got = ask(connection, f"/v2/team/tool/blobs/{stored.layer.digest}", Authorization=header)
        return digest_of(got.body) if got.status == 200 else f"{number} got {got.status}"

    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        assert set(pool.map(pull, range(64))) == {stored.layer.digest}
    said = secured.log.read_text("utf-8")
    assert LOGIN.partition(":")[2] not in said
    assert header.partition(" ")[2] not in said


def test_many_at_once(served: Served, stored: Stored) -> None:
    path = f"/v2/team/tool/blobs/{stored.layer.digest}"
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        found = pool.map(lambda _: digest_of(served.ask(path).body), range(200))
        assert set(found) == {stored.layer.digest}


def test_a_damaged_medium(root: None, tmp_path: Path) -> None:
    """Of a mounted, read-only medium a part cannot be read: that blob is never served as if it were whole."""
    stored = build_stored(tmp_path / "store", 20_000_000)
    good = put_program(stored.store, "good", 1000)
    stored.store.name({f"{REGISTRY}/a/good:v1": good.descriptor})
    image, place = tmp_path / "medium.img", tmp_path / "medium"
    call(tmp_path, "mke2fs", "-q", "-t", "ext4", "-d", stored.store.root, image, "40M")
    place.mkdir()
    data = stored.store.blobs.path(stored.layer.digest).read_bytes()
    with image.open("r+b") as file:
        found = file.read().find(data[10_000_000:10_004_096])
    assert found > 0
    call(tmp_path, "mount", "-o", "loop,ro,noload", image, place)
    try:
        with start_registry(place, tmp_path) as served:
            assert served.ask("/v2/team/tool/manifests/v1").body == stored.tool.data
            assert served.ask(f"/v2/a/good/blobs/{good.layers[0].digest}").status == 200
            os.truncate(image, found)  # From here on the medium has only errors.
            with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
                served.ask(f"/v2/team/tool/blobs/{stored.layer.digest}")
            said = served.wait_for("input/output error")
            assert f"{stored.layer.digest} cannot be served" in said
            assert f"needed by {REGISTRY}/team/tool:v1" in said
            assert served.ask("/v2/team/tool/manifests/v1").status == 200
    finally:
        call(tmp_path, "umount", place)
