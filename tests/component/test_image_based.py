# SPDX-License-Identifier: Apache-2.0
"""`muster image-based` as its users meet it: templates, one site, and fleets."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.image.coreos.customize import read_contents
from muster.image.iso.volume import Volume
from tests.component.live import Live
from tests.component.muster import run
from tests.fleets import EXAMPLE

CREATE = ("image-based", "create")


OUTPUTS = (
    "imagebasedconfig.iso",
    "imagebasedconfig.iso.fsverity",
    "imagebasedconfig.iso.cdx.json",
    "auth/kubeconfig",
    "auth/kubeadmin-password",
    ".muster_state.json",
)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "site"))


def contents(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def extract(iso: Path, name: str, target: Path) -> bytes:
    """A file of an ISO, read by a program that is not ours."""
    target.unlink(missing_ok=True)
    command = ["xorriso", "-osirrox", "on", "-indev", str(iso), "-extract", name, str(target)]
    subprocess.run(command, check=True, capture_output=True)
    return target.read_bytes()


@pytest.mark.parametrize(
    "verb", ["", "create", *(f"create {each}" for each in ("image", "config-image", "config-images"))]
)
def test_every_help_has_an_example(verb: str) -> None:
    result = run("image-based", *verb.split(), "--help")
    assert result.status == 0
    assert "Examples:" in result.out


@pytest.mark.parametrize(
    ("verb", "name"),
    [
        ("image-config-template", "image-based-installation-config.yaml"),
        ("config-template", "image-based-config.yaml"),
    ],
)
def test_templates(tmp_path: Path, verb: str, name: str) -> None:
    assert run(*CREATE, verb, "--dir", tmp_path).status == 0
    path = tmp_path / name
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.read_bytes()
    again = run(*CREATE, verb, "--dir", tmp_path)
    assert again.status == 1
    assert "exists already and was not touched" in again.err
    assert path.read_bytes() == before


def problems_of(directory: Path) -> list[str]:
    report: dict[str, Any] = json.loads(run("check", "--dir", directory, "--output", "json").out)
    return [problem["message"] for problem in report["problems"]]


def test_the_untouched_templates_hold_but_for_what_they_ask_for(tmp_path: Path) -> None:
    run(*CREATE, "image-config-template", "--dir", tmp_path / "factory")
    assert [message.partition(" ")[0] for message in problems_of(tmp_path / "factory")] == ["pullSecret"]
    run(*CREATE, "config-template", "--dir", tmp_path / "site")
    assert problems_of(tmp_path / "site") == [
        "there is no install-config.yaml beside image-based-config.yaml"
    ]
    text = (EXAMPLE / "install-config.yaml").read_text().replace("192.168.100.0/24", "192.0.2.0/24")
    (tmp_path / "site/install-config.yaml").write_text(text)
    assert problems_of(tmp_path / "site") == []


def test_a_config_image(site: Path, tmp_path: Path) -> None:
    result = run(*CREATE, "config-image", "--dir", site)
    assert result.status == 0, result.err
    for name in OUTPUTS:
        assert (site / name).stat().st_mode & 0o777 == 0o600
    manifest = json.loads(
        extract(site / "imagebasedconfig.iso", "/cluster-configuration/manifest.json", tmp_path / "m.json")
    )
    assert manifest["cluster_name"] == "site0042"
    assert "KubeconfigCryptoRetention" in manifest
    password = (site / "auth/kubeadmin-password").read_text()
    assert password not in result.out + result.err + (site / ".openshift_install.log").read_text()
    label = subprocess.run(
        ["blkid", "-o", "value", "-s", "LABEL", site / "imagebasedconfig.iso"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert label.stdout.strip() == "cluster-config"


def test_a_config_image_is_made_again_and_compared(site: Path) -> None:
    run(*CREATE, "config-image", "--dir", site)
    iso = site / "imagebasedconfig.iso"
    good = run("media", "verify", iso, "--rebuild", site)
    assert (good.status, good.out[:5]) == (0, "good:"), good.err
    config = site / "image-based-config.yaml"
    config.write_text(config.read_text().replace("hostname: ", "hostname: other-", 1))
    bad = run("media", "verify", iso, "--rebuild", site)
    assert (bad.status, bad.out[:4]) == (1, "BAD:"), bad.err
    config.unlink()
    assert "there is no image-based-config.yaml" in run("media", "verify", iso, "--rebuild", site).err


def test_an_installation_image_is_not_compared(tmp_path: Path, build_x86: Live) -> None:
    factory = Path(shutil.copytree(EXAMPLE.parent / "image-based-installation", tmp_path / "factory"))
    made = run(*CREATE, "image", "--dir", factory, "--base-image", build_x86.path)
    assert made.status == 0, made.err
    done = run("media", "verify", factory / "rhcos-ibi.iso", "--rebuild", factory)
    assert done.status == 1
    assert "is an image that installs a seed, which --rebuild cannot make again" in done.err


def test_a_second_run_writes_nothing(site: Path) -> None:
    run(*CREATE, "config-image", "--dir", site)
    before = {name: (site / name).stat().st_mtime_ns for name in OUTPUTS}
    result = run(*CREATE, "config-image", "--dir", site)
    assert "nothing has changed" in result.out
    assert {name: (site / name).stat().st_mtime_ns for name in OUTPUTS} == before
    assert json.loads(run(*CREATE, "config-image", "--dir", site, "-o", "json").out) == {
        "medium": str(site / "imagebasedconfig.iso"),
        "created": [],
        "changes": [],
        "backups": [],
    }


def test_a_change_is_named_and_the_secrets_stay(site: Path) -> None:
    run(*CREATE, "config-image", "--dir", site)
    before = contents(site)
    config = site / "image-based-config.yaml"
    config.write_text(config.read_text().replace("region: north", "region: south"))
    result = run(*CREATE, "config-image", "--dir", site)
    assert "made anew: image-based-config.yaml changed" in result.out
    after = contents(site)
    assert after["imagebasedconfig.iso"] != before["imagebasedconfig.iso"]
    assert after["auth/kubeconfig"] == before["auth/kubeconfig"]
    config.write_text(config.read_text() + "# a comment\n")
    result = run(*CREATE, "config-image", "--dir", site)
    assert "stays as it is, although image-based-config.yaml changed" in result.out


def test_secrets_of_another_directory(site: Path, tmp_path: Path) -> None:
    run(*CREATE, "config-image", "--dir", site)
    copy = Path(shutil.copytree(EXAMPLE, tmp_path / "copy"))
    assert run(*CREATE, "config-image", "--dir", copy, "--secrets", site).status == 0
    for name in OUTPUTS[:5]:
        assert (copy / name).read_bytes() == (site / name).read_bytes()
    for path, said in ((tmp_path / "absent", "there are no secrets"), (EXAMPLE / "README.md", "is not JSON")):
        result = run(*CREATE, "config-image", "--dir", copy, "--secrets", path)
        assert result.status == 1
        assert said in result.err


def test_a_file_of_somebody_else_is_not_replaced(site: Path) -> None:
    (site / "auth").mkdir()
    (site / "auth/kubeconfig").write_text("that of a cluster in use")
    result = run(*CREATE, "config-image", "--dir", site)
    assert result.status == 1
    assert "auth/kubeconfig" in result.err
    assert not (site / "imagebasedconfig.iso").exists()
    assert run(*CREATE, "config-image", "--dir", site, "--force").status == 0
    assert (site / "auth/kubeconfig.bak").read_text() == "that of a cluster in use"


def test_what_is_missing_is_told(site: Path) -> None:
    (site / "image-based-config.yaml").unlink()
    for verb, name in (
        ("config-image", "image-based-config.yaml"),
        ("image", "image-based-installation-config.yaml"),
    ):
        result = run(*CREATE, verb, "--dir", site)
        assert result.status == 1
        assert f"there is no {name} in {site}" in result.err
    result = run(*CREATE, "config-images", "--dir", site, "--sites", site / "sites.csv")
    assert "there is no image-based-config.yaml" in result.err


def test_the_ignition_of_the_installation(tmp_path: Path) -> None:
    factory = Path(shutil.copytree(EXAMPLE.parent / "image-based-installation", tmp_path / "factory"))
    (factory / "post.sh").write_text("#!/bin/sh\n")
    result = run(*CREATE, "image", "--dir", factory, "--ignition-only")
    assert result.status == 0, result.err
    tree = json.loads((factory / "rhcos-ibi.ign").read_bytes())
    assert "/var/tmp/post.sh" in [file["path"] for file in tree["storage"]["files"]]
    assert (factory / "rhcos-ibi.ign").stat().st_mode & 0o777 == 0o600


def test_openssl_agrees_with_the_certificates(site: Path, tmp_path: Path) -> None:
    run(*CREATE, "config-image", "--dir", site)
    body = yaml.safe_load((site / "auth/kubeconfig").read_text())
    iso = site / "imagebasedconfig.iso"
    manifest = json.loads(extract(iso, "/cluster-configuration/manifest.json", tmp_path / "m.json"))
    crypto = manifest["KubeconfigCryptoRetention"]
    authority = tmp_path / "admin-ca.pem"
    authority.write_text(crypto["KubeAPICrypto"]["ClientAuthCrypto"]["admin_ca_certificate"])
    client = tmp_path / "client.pem"
    client.write_bytes(base64.b64decode(body["users"][0]["user"]["client-certificate-data"]))
    subprocess.run(
        ["openssl", "verify", "-x509_strict", "-purpose", "sslclient", "-CAfile", authority, client],
        check=True,
        capture_output=True,
    )
    bundle = base64.b64decode(body["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
    for index, part in enumerate(bundle.split("-----END CERTIFICATE-----\n")[:-1]):
        path = tmp_path / f"ca{index}.pem"
        path.write_text(part + "-----END CERTIFICATE-----\n")
        subprocess.run(
            ["openssl", "verify", "-x509_strict", "-CAfile", path, path], check=True, capture_output=True
        )
    key = tmp_path / "lb.key"
    key.write_text(crypto["KubeAPICrypto"]["ServingCrypto"]["loadbalancer_external_signer_private_key"])
    public = [
        subprocess.run(argv, check=True, capture_output=True, text=True).stdout
        for argv in (
            ["openssl", "pkey", "-in", str(key), "-pubout"],
            ["openssl", "x509", "-in", str(tmp_path / "ca2.pem"), "-pubkey", "-noout"],
        )
    ]
    assert public[0] == public[1]


def test_the_installation_iso(build_x86: Live, tmp_path: Path) -> None:
    factory = Path(shutil.copytree(EXAMPLE.parent / "image-based-installation", tmp_path / "factory"))
    more = ("--base-image", build_x86.path, "--cache-dir", tmp_path / "cache")
    result = run(*CREATE, "image", "--dir", factory, *more)
    assert result.status == 0, result.err
    with Volume.open(factory / "rhcos-ibi.iso") as volume:
        ignition = read_contents(volume).ignition
    assert ignition is not None
    tree = json.loads(ignition)
    assert "/var/tmp/ibi-configuration.json" in [file["path"] for file in tree["storage"]["files"]]
    assert "nothing has changed" in run(*CREATE, "image", "--dir", factory, *more).out
    (factory / "post.sh").write_text("#!/bin/sh\n")
    assert "made anew: post.sh" in run(*CREATE, "image", "--dir", factory, *more).out
    assert "made anew: --sha256" in run(*CREATE, "image", "--dir", factory, *more, "--sha256").out
    assert (factory / "rhcos-ibi.iso.sha256").exists()
    key = tmp_path / "key.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
    result = run(*CREATE, "image", "--dir", factory, *more, "--sha256", "--sign-key", key)
    assert "made anew: --sign-key" in result.out, result.err
    assert "PRIVATE KEY" not in (factory / ".muster_state.json").read_text()
    assert "no base image is named" in run(*CREATE, "image", "--dir", factory).err
