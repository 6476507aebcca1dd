# SPDX-License-Identifier: Apache-2.0
"""Finished media: inspected, audited and verified."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from muster.image.iso.volume import Volume
from tests.component.agent.making import ISO, make
from tests.component.live import KARGS, Live, coreos_installer
from tests.component.live import run as program
from tests.component.muster import run


def again_with(live: Live) -> tuple[str, ...]:
    """What `make` made a medium with."""
    return "--base-image", str(live.path), "--release-by-tag"


def test_every_file_with_a_checksum_can_be_verified(site: Path, build_x86: Live) -> None:
    make(site, build_x86, "pxe-files")
    checksums = sorted((site / "boot-artifacts").glob("*.fsverity"))
    assert len(checksums) == 3
    for checksum in checksums:
        done = run("media", "verify", str(checksum.with_suffix("")))
        assert (done.status, done.out[:5]) == (0, "good:"), done.err
    with checksums[0].with_suffix("").open("ab") as file:
        file.write(b"!")
    done = run("media", "verify", str(checksums[0].with_suffix("")))
    assert (done.status, done.out[:4]) == (1, "BAD:")
    assert "cannot read" in run("media", "verify", str(site), "--checksum", str(checksums[0])).err


def test_configurations_and_generic_images_are_compared_or_refused(
    site: Path, tmp_path: Path, build_x86: Live
) -> None:
    make(site, None, "config-image")
    config = site / "agentconfig.noarch.iso"
    assert run("media", "verify", str(config), "--rebuild", str(site), "--release-by-tag").status == 0
    generic = tmp_path / "generic"
    generic.mkdir()
    make(generic, build_x86, "unconfigured-image")
    iso = generic / "agent-unconfigured.x86_64.iso"
    done = run("media", "verify", str(iso), "--rebuild", str(site), *again_with(build_x86))
    assert done.status == 1
    assert "is an image for hosts of any site, which --rebuild cannot make again" in done.err


def test_signatures_and_verification(site: Path, tmp_path: Path, build_x86: Live) -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    private, public = tmp_path / "sign.key", tmp_path / "sign.pub"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    make(site, build_x86, "image", "--sign-key", str(private), "--sha256")
    iso = site / ISO
    program("sh", "-c", f"cd {site} && sha256sum --check {ISO}.sha256")
    checksum = site / f"{ISO}.fsverity"
    program(
        "openssl", "pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin", "-in", checksum,
        "-sigfile", f"{checksum}.sig",
    )  # fmt: skip
    good = run("media", "verify", str(iso), "--public-key", str(public))
    assert good.status == 0, good.err
    assert good.out.count("good: ") == 2
    checksum.write_text(checksum.read_text().replace(" ", "  ", 1))
    bad = run("media", "verify", str(iso), "--public-key", str(public), "--output", "json")
    assert bad.status == 1
    assert json.loads(bad.out)["good"] is False


def test_the_first_difference_is_named(site: Path, tmp_path: Path, build_x86: Live) -> None:
    make(site, build_x86)
    iso, base = site / ISO, again_with(build_x86)
    assert run("media", "verify", str(iso), "--rebuild", str(site), *base).status == 0
    other = Path(shutil.copytree(site, tmp_path / "other"))
    config = other / "agent-config.yaml"
    config.write_text(
        config.read_text().replace("rendezvousIP: 192.168.10.11", "rendezvousIP: 192.168.10.12")
    )
    done = run("media", "verify", str(iso), "--rebuild", str(other), *base)
    assert done.status == 1
    assert "the Ignition area: storage.files[" in done.out
    with iso.open("r+b") as file, Volume.open(build_x86.path) as volume:
        rootfs = volume.find("images/pxeboot/rootfs.img")
        assert rootfs is not None
        file.seek(rootfs.offset + 77)
        file.write(b"\xff\x00")
    done = run("media", "verify", str(iso), "--rebuild", str(site), *base)
    assert "rootfs.img, byte 7" in done.out
    assert run("media", "verify", str(iso)).status == 1


def test_what_is_on_a_medium(site: Path, build_x86: Live) -> None:
    make(site, build_x86)
    shown = run("media", "inspect", str(site / ISO)).out
    assert "made for compact.example.com: master-1, master-2, master-3" in shown
    facts = json.loads(run("media", "inspect", str(site / ISO), "--output", "json").out)
    assert facts["kernelArguments"] == KARGS
    secret = run(
        "media", "inspect", str(site / ISO), "--show", "/opt/agent/tls/kube-apiserver-lb-signer.key"
    ).out
    key = json.loads((site / ".muster_state.json").read_text())["secrets"]["keys"]["kube-apiserver-lb-signer"]
    assert key.splitlines()[1] not in secret + shown
    assert run("media", "inspect", str(site / ISO), "--show", "/nowhere").status == 1
    base = json.loads(run("media", "inspect", str(build_x86.path), "--output", "json").out)
    assert base["customized"] is False
    secrets = json.loads(run("media", "audit", str(site / ISO), "--output", "json").out)["secrets"]
    kinds = {each["kind"] for each in secrets}
    assert kinds == {"private key", "token", "password hash", "registry login"}
    assert "admin-kubeconfig-signer.key" not in json.dumps(secrets)


@pytest.mark.parametrize("arguments", [("inspect",), ("audit",), ("verify", "--rebuild", ".")])
def test_what_is_no_medium(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    path = tmp_path / "text.iso"
    path.write_text("hello")
    done = run("media", *arguments, str(path))
    assert done.status == 1
    assert "hint:" in done.err


def test_a_stick_and_a_changed_argument_are_told(site: Path, tmp_path: Path, build_x86: Live) -> None:
    make(site, build_x86)
    again = ("--rebuild", str(site), *again_with(build_x86))
    stick, changed = tmp_path / "stick.img", tmp_path / "changed.iso"
    stick.write_bytes((site / ISO).read_bytes() + bytes(5000))
    good = run("media", "verify", str(stick), *again)
    assert good.status == 0, good.out
    assert "the 5000 bytes behind it" in good.out
    coreos_installer("iso", "kargs", "modify", "--append", "quiet", "-o", changed, site / ISO)
    assert "kernel arguments ['quiet']" in run("media", "verify", str(changed), *again).out
    make(site, None, "config-image")
    config = bytearray((site / "agentconfig.noarch.iso").read_bytes())
    config[-3000] ^= 255
    changed.write_bytes(config)
    assert (
        "config.gz, byte"
        in run("media", "verify", str(changed), "--rebuild", str(site), "--release-by-tag").out
    )
