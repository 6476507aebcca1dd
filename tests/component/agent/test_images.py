# SPDX-License-Identifier: Apache-2.0
"""Media of an agent-based installation, as their users make them, judged by the programs of others."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
import yaml
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from muster.image.cpio import parse_archives
from muster.image.reading import read_medium
from tests.component.agent.making import ISO, create, example, ignition, make
from tests.component.conftest import Build
from tests.component.live import KARGS, Live, coreos_installer
from tests.component.live import run as program
from tests.component.muster import run
from tests.component.test_ignition import validate


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


def test_a_generic_image_for_people_brings_what_is_known(tmp_path: Path, build_x86: Live) -> None:
    generic = example("ztp-manifests", tmp_path / "generic")
    for name in ("agent-config.yaml", "cluster-manifests/agent-cluster-install.yaml"):
        (generic / name).unlink()
    (generic / "cluster-manifests/cluster-deployment.yaml").unlink()
    make(generic, build_x86, "unconfigured-image")
    files = {file.path: file.data for file in read_medium(generic / "agent-unconfigured.x86_64.iso").files}
    assert "/etc/assisted/interactive-ui" in files
    assert "/etc/assisted/rendezvous-host.env" not in files
    image_set = yaml.safe_load((generic / "cluster-manifests/cluster-image-set.yaml").read_text())
    release = f"RELEASE_IMAGE={image_set['spec']['releaseImage']}\n"
    assert files["/etc/assisted/agent-installer.env"].decode() == release
    assert b"registry" in files["/etc/containers/registries.conf"]
    bundle = files["/etc/pki/ca-trust/source/anchors/domain.crt"]
    assert bundle.strip() == (generic / "mirror/ca-bundle.crt").read_bytes().strip()
    assert b"192.168.90.123" in files["/etc/chrony.conf"]
    assert any(path.endswith(".nmconnection") for path in files)
    assert "nothing has changed" in make(generic, build_x86, "unconfigured-image")


def test_a_generic_image_is_checked_like_any_other(tmp_path: Path, build_x86: Live) -> None:
    generic = tmp_path / "generic"
    (generic / "mirror").mkdir(parents=True)
    (generic / "mirror/registries.conf").write_text("[[registry]\n")
    done = create(generic, build_x86, "unconfigured-image")
    assert done.status == 3
    assert "mirror/registries.conf:1" in done.err
    assert not list(generic.glob("*.iso"))


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


def test_papers_that_do_not_belong_any_more_go(site: Path, build_x86: Live) -> None:
    make(site, build_x86, "image", "--sha256")
    assert (site / f"{ISO}.sha256").exists()
    make(site, build_x86, "image")
    assert not (site / f"{ISO}.sha256").exists()
    make(site, build_x86, "image", "--sha256")
    program("sh", "-c", f"cd {site} && sha256sum --check {ISO}.sha256")


def test_secrets_whose_tokens_were_renewed_are_the_same(site: Path, tmp_path: Path, build_x86: Live) -> None:
    make(site, build_x86)
    path = site / ".muster_state.json"
    state = json.loads(path.read_text())
    state["secrets"]["tokens_issued"] = "2026-01-01T00:00:00Z"
    path.write_text(json.dumps(state))
    other = example("compact-baremetal", tmp_path / "other")
    make(other, build_x86, "image", "--secrets", str(site))
    assert "nothing has changed" in make(other, build_x86, "image", "--secrets", str(site))


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
