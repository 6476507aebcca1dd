# SPDX-License-Identifier: Apache-2.0
"""containerd asks the registries that the site names, and no others."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

import pytest

from muster.errors import UserError
from muster.model.ignition import PUBLIC, SECRET
from muster.model.registries import Mirror, PullFromMirror, RegistriesConf, Registry
from muster.model.values import Secret
from muster.release.node.cluster import Cluster
from muster.release.node.runtime import TRUST, runtime
from tests.clusters import RELEASE, SINGLE, THREE


def hosts(cluster: Cluster, registry: str) -> dict[str, Any]:
    path = f"/etc/containerd/certs.d/{registry}/hosts.toml"
    text = next(file.data.decode() for file in runtime(RELEASE, cluster).files if file.path == path)
    return tomllib.loads(text)


def with_mirrors(*mirrors: Mirror, **more: Any) -> Cluster:
    registry = Registry(**{"location": "muster.local", **more}, mirrors=mirrors)
    return replace(SINGLE, registries=RegistriesConf((registry,)))


def test_a_blocked_registry_is_never_asked_itself() -> None:
    body = hosts(THREE, "muster.local")
    assert body == {
        "server": "https://spare.example.com/v2/copies",
        "capabilities": ["pull"],
        "override_path": True,
        "ca": TRUST,
        "host": {"https://registry.example.com:5000": {"capabilities": ["pull"], "ca": TRUST}},
    }


def test_the_registry_itself_comes_last() -> None:
    body = hosts(with_mirrors(Mirror("registry.example.com")), "muster.local")
    assert body == {
        "server": "https://muster.local",
        "host": {"https://registry.example.com": {"capabilities": ["pull", "resolve"]}},
    }


def test_an_insecure_mirror_may_speak_http() -> None:
    body = hosts(with_mirrors(Mirror("192.0.2.1:5000", insecure=True)), "muster.local")
    assert list(body["host"]) == ["https://192.0.2.1:5000", "http://192.0.2.1:5000"]
    assert all(each["skip_verify"] for each in body["host"].values())


def test_a_mirror_for_images_by_digest() -> None:
    mirror = Mirror("registry.example.com", pull_from_mirror=PullFromMirror.DIGEST_ONLY)
    body = hosts(with_mirrors(mirror), "muster.local")
    assert body["host"]["https://registry.example.com"]["capabilities"] == ["pull"]


def test_a_part_of_a_registry() -> None:
    """Only what keeps its path can be had; the rest is told."""
    same, other = Mirror("registry.example.com/all/kubernetes"), Mirror("registry.example.com/k8s")
    cluster = with_mirrors(same, other, location="muster.local/kubernetes")
    body = hosts(cluster, "muster.local")
    assert body["host"] == {
        "https://registry.example.com/v2/all": {"capabilities": ["pull", "resolve"], "override_path": True}
    }
    files = {file.path: file.data.decode() for file in runtime(RELEASE, cluster).files}
    assert (
        "# Not used here, its paths differ: muster.local/kubernetes at registry.example.com/k8s"
        in files["/etc/containerd/certs.d/muster.local/hosts.toml"]
    )
    assert "registry.example.com/k8s" in files["/etc/containers/registries.conf"]


def test_logins_are_secret() -> None:
    files = {file.path: file for file in runtime(RELEASE, THREE).files}
    config = tomllib.loads(files["/etc/containerd/config.toml"].data.decode())
    plugin = config["plugins"]["io.containerd.grpc.v1.cri"]
    auth = plugin["registry"]["configs"]["registry.example.com:5000"]["auth"]
    assert auth == {"username": "user", "password": "pass"}
    assert plugin["sandbox_image"] == RELEASE.image("pause").pullspec
    assert files["/etc/containerd/config.toml"].mode == SECRET
    assert files["/root/.docker/config.json"].mode == SECRET


def test_without_registries() -> None:
    files = {file.path: file for file in runtime(RELEASE, SINGLE).files}
    assert list(files) == ["/etc/containerd/config.toml"]
    config = tomllib.loads(files["/etc/containerd/config.toml"].data.decode())
    assert "configs" not in config["plugins"]["io.containerd.grpc.v1.cri"]["registry"]
    assert files["/etc/containerd/config.toml"].mode == PUBLIC


def test_a_password_cannot_leave_its_quotes() -> None:
    login = "dTpwIiBcCiNbXX8="  # u:p" \<newline>#[]<del>
    secret = Secret(f'{{"auths": {{"registry.example.com": {{"auth": "{login}"}}}}}}')
    cluster = replace(with_mirrors(Mirror("registry.example.com")), pull_secret=secret)
    text = next(
        file.data.decode() for file in runtime(RELEASE, cluster).files if file.path.endswith("config.toml")
    )
    plugin = tomllib.loads(text)["plugins"]["io.containerd.grpc.v1.cri"]
    assert plugin["registry"]["configs"]["registry.example.com"]["auth"]["password"] == 'p" \\\n#[]\x7f'


def test_a_pull_secret_that_is_none() -> None:
    with pytest.raises(UserError, match="the pull secret cannot be read"):
        runtime(RELEASE, replace(SINGLE, pull_secret=Secret("{secret")))
