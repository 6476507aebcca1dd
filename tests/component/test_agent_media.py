# SPDX-License-Identifier: Apache-2.0
"""Media of an agent-based installation, as their users make them, judged by the programs of others."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from muster.files import lock_folder
from muster.image.cpio import parse_archives
from muster.image.iso.volume import Volume
from muster.image.reading import read_medium
from tests.component.conftest import Build
from tests.component.live import KARGS, Live, coreos_installer
from tests.component.live import run as program
from tests.component.muster import Result, run
from tests.component.test_ignition import validate

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
ISO = "agent.x86_64.iso"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return example("compact-baremetal", tmp_path / "site")


def example(name: str, target: Path) -> Path:
    """A copy of an example, as it was committed."""
    return Path(shutil.copytree(EXAMPLES / name, target, ignore=shutil.ignore_patterns(".*")))


def create(site: Path, live: Live | None, verb: str = "image", *more: str) -> Result:
    base = ["--base-image", str(live.path)] if live else []
    return run("agent", "create", verb, "--dir", str(site), *base, *more)


def make(site: Path, live: Live | None, verb: str = "image", *more: str) -> str:
    done = create(site, live, verb, *more)
    assert done.status == 0, done.err
    return done.out


def ignition(iso: Path) -> dict[str, object]:
    data = coreos_installer("iso", "ignition", "show", iso)
    assert validate(data) == ""
    tree: dict[str, object] = json.loads(data)
    return tree


def test_the_image_is_what_others_expect(site: Path, build_x86: Live) -> None:
    before = {path: path.read_bytes() for path in site.iterdir()}
    make(site, build_x86)
    assert {path: path.read_bytes() for path in before} == before
    assert ignition(site / ISO)
    assert coreos_installer("iso", "kargs", "show", site / ISO).decode().strip() == KARGS
    digest = program("fsverity", "digest", site / ISO).decode().split()[0]
    assert (site / f"{ISO}.fsverity").read_text() == f"{digest} {ISO}\n"
    bill = (site / f"{ISO}.cdx.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill) is None
    assert (site / "rendezvousIP").read_text() == "192.168.10.11"
    kubeconfig = yaml.safe_load((site / "auth/kubeconfig").read_text())
    assert kubeconfig["clusters"][0]["cluster"]["server"] == "https://api.compact.example.com:6443"
    for name in (ISO, "auth/kubeconfig", "auth/kubeadmin-password", ".muster_state.json"):
        assert (site / name).stat().st_mode & 0o777 == 0o600
    assert not list(site.glob(".*.part"))


def test_secrets_are_neither_shown_nor_logged(site: Path, build_x86: Live) -> None:
    shown = make(site, build_x86, "image", "--log-level", "debug")
    shown += (site / ".openshift_install.log").read_text()
    state = json.loads((site / ".muster_state.json").read_text())["secrets"]
    secrets = [state["kubeadmin_password"], state["kubeadmin_password_hash"]]
    secrets += [key.splitlines()[1] for key in state["keys"].values()]
    assert not [each for each in secrets if each in shown]


def test_nothing_is_done_twice(site: Path, build_x86: Live) -> None:
    make(site, build_x86)
    before = (site / ISO).stat()
    assert make(site, build_x86) == f"nothing has changed: {site / ISO} is up to date\n"
    assert (site / ISO).stat().st_mtime_ns == before.st_mtime_ns
    config = site / "install-config.yaml"
    config.write_text(config.read_text().replace("192.168.10.6", "192.168.10.7"))
    assert make(site, build_x86).startswith("made anew: install-config.yaml changed\n")
    (site / ISO).unlink()
    assert make(site, build_x86).startswith(f"made anew: {ISO} is missing\n")
    assert make(site, build_x86, "image", "--valid-for", "2d").startswith("made anew: --valid-for changed\n")


def test_same_inputs_same_bytes(site: Path, tmp_path: Path, build_x86: Live) -> None:
    make(site, build_x86)
    make(site, None, "config-image")
    other = example("compact-baremetal", tmp_path / "far/away")
    make(other, build_x86, "image", "--secrets", str(site))
    make(other, None, "config-image")
    for name in (ISO, f"{ISO}.cdx.json", "auth/kubeconfig", "agentconfig.noarch.iso"):
        assert (other / name).read_bytes() == (site / name).read_bytes()
    third = example("compact-baremetal", tmp_path / "third")
    make(third, build_x86)
    assert (third / ISO).read_bytes() != (site / ISO).read_bytes()
    refused = create(third, build_x86, "image", "--secrets", str(site))
    assert refused.status == 1
    assert "has secrets of its own" in refused.err


def test_overrides_and_kernel_arguments_of_manifests_hold(tmp_path: Path, build: Build) -> None:
    site = example("ztp-manifests", tmp_path / "ztp")
    path = site / "cluster-manifests/infraenv.yaml"
    body = yaml.safe_load(path.read_text())
    files = [{"path": "/etc/extra", "contents": {"source": "data:,one"}}]
    override = {"ignition": {"version": "3.2.0"}, "storage": {"files": files}}
    body["spec"]["ignitionConfigOverride"] = json.dumps(override)
    body["spec"]["kernelArguments"] = [
        {"operation": "append", "value": "console=ttyS1"},
        {"operation": "delete", "value": "mitigations=auto,nosmt"},
        {"operation": "replace", "value": "ignition.platform.id=metal=qemu"},
    ]
    path.write_text(yaml.safe_dump(body))
    more = tmp_path / "more.ign"
    files[0]["contents"] = {"source": "data:,two"}
    more.write_text(json.dumps(override))
    said = make(site, build("x86_64"), "image", "--ignition-override", str(more))
    assert "replaced storage.files[/etc/extra].contents.source" in said
    iso = site / ISO
    kargs = coreos_installer("iso", "kargs", "show", iso).decode().strip()
    assert kargs == KARGS.replace("mitigations=auto,nosmt ", "").replace("=metal", "=qemu") + " console=ttyS1"
    assert [file.data for file in read_medium(iso).files if file.path == "/etc/extra"] == [b"two"]


@pytest.mark.parametrize("variant", ["x86_64", "partition"])
def test_an_ignition_config_of_any_size_fits(site: Path, build: Build, variant: str) -> None:
    noise = os.urandom(400_000).hex()
    (site / "openshift").mkdir()
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: large\ndata:\n  noise: {noise}\n"
    (site / "openshift/large.yaml").write_text(text)
    live = build(variant)
    make(site, live)
    assert (site / ISO).stat().st_size > live.path.stat().st_size
    assert noise in str(read_medium(site / ISO).texts())
    assert ignition(site / ISO)
    report = program("xorriso", "-indev", site / ISO, "-report_system_area", "plain").decode()
    assert "MBR" in report


def test_a_minimal_image_brings_the_network_with_it(site: Path, build_x86: Live) -> None:
    url = "http://boot.example.com/files"
    with (site / "agent-config.yaml").open("a") as file:
        file.write(f"minimalISO: true\nbootArtifactsBaseURL: {url}/\n")
    make(site, build_x86)
    reading = read_medium(site / ISO)
    assert reading.live is not None
    assert f"coreos.live.rootfs_url={url}/agent.x86_64-rootfs.img" in (reading.live.kargs or "").split()
    assert "coreos.liveiso" not in (reading.live.kargs or "")
    members = [member.path for member in reading.live.initrd]
    assert "usr/local/bin/muster-network" in members
    assert "etc/systemd/system/initrd.target.wants/muster-network.service" in members
    rootfs = (site / "boot-artifacts/agent.x86_64-rootfs.img").read_bytes()
    assert rootfs == (build_x86.tree / "images/pxeboot/rootfs.img").read_bytes()
    assert (site / ISO).stat().st_size < build_x86.path.stat().st_size
    assert ignition(site / ISO)


def test_files_for_network_boot(tmp_path: Path, build_x86: Live) -> None:
    site = example("minimal-iso", tmp_path / "pxe")
    make(site, build_x86, "pxe-files")
    at = site / "boot-artifacts/agent.x86_64"
    tree = build_x86.tree / "images/pxeboot"
    assert Path(f"{at}-vmlinuz").read_bytes() == (tree / "vmlinuz").read_bytes()
    initrd, base = Path(f"{at}-initrd.img").read_bytes(), (tree / "initrd.img").read_bytes()
    assert initrd.startswith(base)
    members = {each.path: each.data for each in parse_archives(initrd[len(base) :].lstrip(b"\0"), "initrd")}
    assert validate(members["config.ign"]) == ""
    script = Path(f"{at}.ipxe").read_text()
    assert script.startswith("#!ipxe\n")
    assert "coreos.liveiso" not in script
    assert re.search(r"^kernel \S+-vmlinuz initrd=initrd .*ignition.platform.id=metal", script, re.MULTILINE)
    assert re.search(r"coreos.live.rootfs_url=https?://[^/]+/(?:\w+/)*agent.x86_64-rootfs.img", script)


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
    assert run("media", "verify", str(config), "--rebuild", str(site)).status == 0
    generic = tmp_path / "generic"
    generic.mkdir()
    make(generic, build_x86, "unconfigured-image")
    iso = generic / "agent-unconfigured.x86_64.iso"
    done = run("media", "verify", str(iso), "--rebuild", str(site), "--base-image", str(build_x86.path))
    assert done.status == 1
    assert "is an image for hosts of any site, which --rebuild cannot make again" in done.err


def test_a_generic_image_and_the_configuration_for_it(site: Path, tmp_path: Path, build_x86: Live) -> None:
    generic = tmp_path / "generic"
    generic.mkdir()
    make(generic, build_x86, "unconfigured-image")
    paths = [file.path for file in read_medium(generic / "agent-unconfigured.x86_64.iso").files]
    assert "/usr/local/bin/muster-load-config" in paths
    assert not run("media", "audit", str(generic / "agent-unconfigured.x86_64.iso")).err
    make(generic, None, "unconfigured-ignition")
    assert validate((generic / "unconfigured-agent.ign").read_bytes()) == ""
    make(site, None, "config-image")
    config = site / "agentconfig.noarch.iso"
    assert b"agent_configimage" in program("xorriso", "-indev", config, "-pvd_info")
    found = {file.path: file.mode for file in read_medium(config).files}
    assert found["/etc/assisted/rendezvous-host.env"] == 0o600
    assert found["/etc/assisted/core/password.hash"] == 0o600


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"hello\n" * 20_000, "is not an ISO 9660 image"),
        (b"", "is empty"),
        (None, "does not exist"),
    ],
)
def test_a_base_image_that_is_none(site: Path, tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "base.iso"
    if content is not None:
        path.write_bytes(content)
    done = run("agent", "create", "image", "--dir", str(site), "--base-image", str(path))
    assert done.status == 1
    assert said in done.err
    assert "hint:" in done.err
    assert not (site / ISO).exists()


def test_a_base_image_that_was_cut_off(site: Path, tmp_path: Path, build_x86: Live) -> None:
    path = tmp_path / "base.iso"
    data = build_x86.path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    done = run("agent", "create", "image", "--dir", str(site), "--base-image", str(path))
    assert done.status == 1
    assert "hint:" in done.err


def test_a_base_image_is_needed_and_never_replaced(site: Path, build_x86: Live) -> None:
    assert "--base-image" in create(site, None).err
    shutil.copy(build_x86.path, site / ISO)
    done = run("agent", "create", "image", "--dir", str(site), "--base-image", str(site / ISO), "--force")
    assert done.status == 1
    assert "is the base image itself" in done.err
    assert (site / ISO).read_bytes() == build_x86.path.read_bytes()


def test_files_of_others_are_not_replaced(site: Path, build_x86: Live) -> None:
    (site / "auth").mkdir()
    (site / "auth/kubeconfig").write_text("mine")
    refused = create(site, build_x86)
    assert refused.status == 1
    assert "not written by Muster, or changed since: auth/kubeconfig" in refused.err
    assert not (site / ISO).exists()
    make(site, build_x86, "image", "--force")
    assert (site / "auth/kubeconfig.bak").read_text() == "mine"
    assert (site / "auth/kubeconfig").read_text() != "mine"


def test_one_run_at_a_time(site: Path, build_x86: Live) -> None:
    with lock_folder(site):
        done = create(site, build_x86)
    assert done.status == 1
    assert "another muster is making something" in done.err


def test_old_tokens_are_renewed(site: Path, build_x86: Live) -> None:
    make(site, build_x86)
    path = site / ".muster_state.json"
    state = json.loads(path.read_text())
    state["secrets"]["tokens_issued"] = state["secrets"]["created"] = "2026-01-01T00:00:00Z"
    path.write_text(json.dumps(state))
    (site / ISO).unlink()
    done = create(site, build_x86)
    assert "new ones are made" in done.err
    renewed = json.loads(path.read_text())["secrets"]
    assert renewed["tokens_issued"] != "2026-01-01T00:00:00Z"
    assert renewed["created"] == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--valid-for", "soon"), "is not a time span"),
        (("--secrets", "/nowhere"), "no secrets in"),
        (("--sign-key", "/nowhere"), "cannot read /nowhere"),
        (("--ignition-override", "/nowhere"), "cannot read /nowhere"),
        (("--ignition-override", str(EXAMPLES / "README.md")), "--ignition-override cannot be used"),
    ],
)
def test_flags_that_say_nothing(site: Path, build_x86: Live, flags: tuple[str, str], said: str) -> None:
    done = create(site, build_x86, "image", *flags)
    assert done.status == 1
    assert said in done.err
    assert not (site / ISO).exists()


def test_an_image_for_other_machines_is_refused(site: Path, tmp_path: Path) -> None:
    from tests import media

    path = tmp_path / "arm.iso"
    kernel = bytes(0x38) + b"ARM\x64"
    path.write_bytes(media.build(files={"images/pxeboot/vmlinuz": kernel}))
    done = run("agent", "create", "image", "--dir", str(site), "--base-image", str(path))
    assert "is for aarch64, and the hosts of the site are x86_64" in done.err


def test_an_interrupt_leaves_nothing_half_written(site: Path, tmp_path: Path, build_x86: Live) -> None:
    """At many moments: before, while and after the image is copied."""
    base = tmp_path / "large.iso"
    shutil.copy(build_x86.path, base)
    with base.open("r+b") as file:
        file.truncate(base.stat().st_size + (300 << 20))
    arguments = ("agent", "create", "image", "--dir", str(site), "--base-image", str(base))
    before = {path.name: path.read_bytes() for path in site.iterdir()}
    for wait in (0.0, 0.02, 0.05, 0.1, 0.2):
        process = subprocess.Popen(
            [sys.executable, "-m", "muster.cli", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        while process.poll() is None and not list(site.glob(".*.part")):
            time.sleep(0.001)
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode in (0, 8), err
        assert "Traceback" not in err
        assert not list(site.glob(".*.part"))
        assert {name: (site / name).read_bytes() for name in before} == before
        (site / ISO).unlink(missing_ok=True)
    assert run(*arguments).status == 0
    assert coreos_installer("iso", "ignition", "show", site / ISO)


def test_what_a_killed_run_left_is_removed(site: Path, build_x86: Live) -> None:
    mine = [site / ".notes.part", site / ".notes.12345678.part", site / ".image.part"]
    for path in (site / ".image.12345678.part", site / f".{ISO}.12345678.part", *mine):
        path.write_bytes(b"left over")
    make(site, build_x86)
    assert sorted(site.glob(".*.part")) == sorted(mine)


def test_papers_that_do_not_belong_any_more_go(site: Path, build_x86: Live) -> None:
    make(site, build_x86, "image", "--sha256")
    assert (site / f"{ISO}.sha256").exists()
    make(site, build_x86, "image")
    assert not (site / f"{ISO}.sha256").exists()
    make(site, build_x86, "image", "--sha256")
    program("sh", "-c", f"cd {site} && sha256sum --check {ISO}.sha256")


def test_a_link_stays_one(site: Path, tmp_path: Path, build_x86: Live) -> None:
    elsewhere = tmp_path / "other-disk.iso"
    (site / ISO).symlink_to(elsewhere)
    make(site, build_x86, "image", "--force")
    assert (site / ISO).is_symlink()
    assert ignition(elsewhere)


def test_odd_things_in_the_directory_do_no_harm(site: Path, build_x86: Live) -> None:
    (site / ".#install-config.yaml").symlink_to("nobody@nowhere:1")
    make(site, build_x86)
    (site / "auth/kubeconfig").unlink()
    (site / "auth/kubeconfig").mkdir()
    refused = create(site, build_x86)
    assert refused.status == 1
    assert "is a directory" in refused.err


def test_secrets_whose_tokens_were_renewed_are_the_same(site: Path, tmp_path: Path, build_x86: Live) -> None:
    make(site, build_x86)
    path = site / ".muster_state.json"
    state = json.loads(path.read_text())
    state["secrets"]["tokens_issued"] = "2026-01-01T00:00:00Z"
    path.write_text(json.dumps(state))
    other = example("compact-baremetal", tmp_path / "other")
    make(other, build_x86, "image", "--secrets", str(site))
    assert "nothing has changed" in make(other, build_x86, "image", "--secrets", str(site))


def test_a_full_disk_leaves_nothing_half_written(site: Path, tmp_path: Path, build_x86: Live) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", small], check=False)
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        place = Path(shutil.copytree(site, small / "site"))
        done = create(place, build_x86)
        assert done.status == 1
        assert "MiB are free there" in done.err
        assert sorted(
            path.name for path in place.iterdir() if path.suffix != ".json" and path.name[0] != "."
        ) == [
            "README.md",
            "agent-config.yaml",
            "install-config.yaml",
        ]
    finally:
        subprocess.run(["umount", small], check=True)


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
    iso, base = site / ISO, ("--base-image", str(build_x86.path))
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


def test_a_base_image_that_was_customized_is_said(site: Path, tmp_path: Path, build_x86: Live) -> None:
    base = tmp_path / "custom.iso"
    coreos_installer("iso", "kargs", "modify", "--append", "quiet", "-o", base, build_x86.path)
    done = run("agent", "create", "image", "--dir", str(site), "--base-image", str(base))
    assert done.status == 0
    assert "was customized before" in done.err
    assert coreos_installer("iso", "kargs", "show", site / ISO).decode().strip() == KARGS


def test_kernel_arguments_reach_a_generic_image(tmp_path: Path, build_x86: Live) -> None:
    generic = example("ztp-manifests", tmp_path / "generic")
    path = generic / "cluster-manifests/infraenv.yaml"
    body = yaml.safe_load(path.read_text())
    body["spec"]["kernelArguments"] = [{"operation": "append", "value": "console=ttyS1"}]
    path.write_text(yaml.safe_dump(body))
    make(generic, build_x86, "unconfigured-image")
    iso = generic / "agent-unconfigured.x86_64.iso"
    assert coreos_installer("iso", "kargs", "show", iso).decode().strip() == f"{KARGS} console=ttyS1"
    assert "has no place for" in create(generic, None, "config-image").err


def test_a_stick_and_a_changed_argument_are_told(site: Path, tmp_path: Path, build_x86: Live) -> None:
    make(site, build_x86)
    again = ("--rebuild", str(site), "--base-image", str(build_x86.path))
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
    assert "config.gz, byte" in run("media", "verify", str(changed), "--rebuild", str(site)).out
