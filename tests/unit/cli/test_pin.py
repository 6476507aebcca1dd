# SPDX-License-Identifier: Apache-2.0
"""A site is judged again when the kind of its release is known."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from muster.cli.options import BaseImageFlags, Run
from muster.cli.release_pin import Pinned
from muster.cli.wish import pin_generic, pin_plan
from muster.config.check import check_folder, is_valid
from muster.config.document.folder import Directory, Memory
from muster.config.resolve import resolve_site
from muster.errors import ConfigError, UserError
from muster.model.plan import Plan
from muster.model.site import Environment, Site

EXAMPLES: Final = Path(__file__).parents[3] / "examples"
UNKNOWN: Final = f"registry.example.com/site/release@sha256:{64 * '0'}"
RUN: Final = Run(Path("site"), as_json=False)
KEY: Final = (
    ec.generate_private_key(ec.SECP256R1())
    .public_key()
    .public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    .decode()
)
LUKS: Final = json.dumps({"ignition": {"version": "3.2.0"}, "storage": {"luks": [{"name": "root"}]}})
MACHINE_CONFIG: Final = (
    b"apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {name: a}\n"
)
Asked = list[str]


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Asked]:
    """Sets what is known of the release: by its name, and when it is looked up."""

    def set_kinds(by_name: str, looked_up: str = "") -> Asked:
        asked: Asked = []

        def find_kind(image: str, _flags: object, _wish: object) -> str:
            asked.append(image)
            return looked_up

        pinned = Pinned(UNKNOWN, by_name)
        monkeypatch.setattr("muster.cli.release_pin.pin_release", lambda *_: pinned)
        monkeypatch.setattr("muster.cli.release_pin.find_kind", find_kind)
        return asked

    return set_kinds


def load(more: str = "", **files: bytes) -> tuple[Site, Plan]:
    """A site whose release does not tell its kind; nothing is wrong with it so far."""
    base = Directory(EXAMPLES / "compact-baremetal")
    text = (EXAMPLES / "compact-baremetal/install-config.yaml").read_text("utf-8")
    # Nodes in FIPS mode refuse a key of type ed25519.
    install = re.sub(r"(?m)^sshKey: .*$", f"sshKey: {KEY}", text).encode() + more.encode()
    folder = Memory(
        {"install-config.yaml": install, **{f"openshift/{k}.yaml": v for k, v in files.items()}}, base
    )
    found, problems = check_folder(folder, Environment(release_image=UNKNOWN))
    assert is_valid(problems), problems
    return found, resolve_site(found)


def pin(found: Site, plan: Plan, override: str = "") -> Plan:
    return pin_plan(RUN, BaseImageFlags(), found, plan, override)


@pytest.mark.parametrize(("by_name", "looked_up"), [("kubernetes", ""), ("", "kubernetes")])
def test_settings_are_judged_by_the_kind_of_the_release(
    release: Callable[..., Asked], capsys: pytest.CaptureFixture[str], by_name: str, looked_up: str
) -> None:
    asked = release(by_name, looked_up)
    with pytest.raises(ConfigError, match="the files in site do not hold: 1 error"):
        pin(*load("fips: true\n"))
    said = capsys.readouterr().err
    assert "error MC134: fips: not done by a release of Kubernetes; the programs of a Kubernetes" in said
    assert "install-config.yaml:" in said
    assert "fix: remove fips, or name a release of OpenShift" in said
    assert asked == ([] if by_name else [UNKNOWN])


def test_a_machine_config_is_judged_by_the_kind_of_the_release(
    release: Callable[..., Asked], capsys: pytest.CaptureFixture[str]
) -> None:
    release("", "kubernetes")
    with pytest.raises(ConfigError):
        pin(*load(encryption=MACHINE_CONFIG))
    assert "openshift/encryption.yaml:1:13: error MC134: MachineConfig" in capsys.readouterr().err


def test_a_setting_without_effect_is_a_warning(
    release: Callable[..., Asked], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = release("kubernetes")
    assert pin(*load("cpuPartitioningMode: AllNodes\n")).release_kind == "kubernetes"
    assert (
        "warning MC135: cpuPartitioningMode: no effect with a release of Kubernetes"
        in capsys.readouterr().err
    )
    assert asked == []


def test_openshift_gets_what_it_does(release: Callable[..., Asked]) -> None:
    release("", "openshift")
    assert pin(*load("fips: true\n", own=MACHINE_CONFIG), LUKS).release_kind == "openshift"


def test_the_kind_is_looked_up_only_if_it_matters(
    release: Callable[..., Asked], caplog: pytest.LogCaptureFixture
) -> None:
    asked = release("")
    assert pin(*load()).release_kind == ""
    assert asked == []
    assert caplog.messages == []


def test_a_kind_that_cannot_be_looked_up_is_a_warning(
    release: Callable[..., Asked], caplog: pytest.LogCaptureFixture
) -> None:
    """A release of OpenShift by digest, for a site that only its hosts can reach, is what people install."""
    asked = release("")
    assert pin(*load("fips: true\n"), LUKS).release_kind == ""
    (said,) = caplog.messages
    assert f"the kind of the release {UNKNOWN} cannot be looked up" in said
    assert "fips; --ignition-override: storage.luks" in said
    assert asked == [UNKNOWN]


@pytest.mark.parametrize(("by_name", "looked_up"), [("kubernetes", ""), ("", "kubernetes")])
def test_luks_in_the_ignition_config_of_a_command_is_refused(
    release: Callable[..., Asked], by_name: str, looked_up: str
) -> None:
    release(by_name, looked_up)
    found, plan = load()
    why = (
        "the Ignition config of --ignition-override asks for storage.luks, which is not done by a release of"
    )
    with pytest.raises(UserError, match=why) as refused:
        pin(found, plan, LUKS)
    assert "Muster writes disks without LUKS" in refused.value.message
    assert "self-encrypting disks" in refused.value.hint
    with pytest.raises(UserError, match=why):
        pin_generic(RUN, BaseImageFlags(), found, UNKNOWN, LUKS)


def test_luks_in_the_files_for_hosts_of_any_site_is_refused(
    release: Callable[..., Asked], capsys: pytest.CaptureFixture[str]
) -> None:
    body = (
        "apiVersion: agent-install.openshift.io/v1beta1\nkind: InfraEnv\nmetadata: {name: a, namespace: a}\n"
    )
    text = f"{body}spec:\n  ignitionConfigOverride: '{LUKS}'\n"
    found, _ = check_folder(Memory({"cluster-manifests/infraenv.yaml": text.encode()}), Environment())
    release("kubernetes")
    with pytest.raises(ConfigError):
        pin_generic(RUN, BaseImageFlags(), found, UNKNOWN, "")
    assert "MC134: storage.luks in ignitionConfigOverride" in capsys.readouterr().err
    release("openshift")
    assert pin_generic(RUN, BaseImageFlags(), found, UNKNOWN, "").image == UNKNOWN
    assert pin_generic(RUN, BaseImageFlags(), found, "", "").image == ""
