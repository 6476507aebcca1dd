# SPDX-License-Identifier: Apache-2.0
"""The recipe is data: for each kind of machine, and with a name that changes with all of it."""

from __future__ import annotations

import shutil
from configparser import ConfigParser
from pathlib import Path

import pytest

from muster.errors import ExternalError, UserError
from muster.machine_os.recipe import find_home, load_recipe
from tests.unit.machine_os import builds


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
@pytest.mark.parametrize("hardware", ["common", "full"])
def test_every_kind_of_machine_has_a_recipe(architecture: str, hardware: str) -> None:
    recipe = builds.recipe(architecture, hardware)
    assert recipe.architecture.kernel in recipe.packages
    assert {"ignition", "containerd", "python3"} <= set(recipe.packages)
    assert (
        "login" in recipe.packages
    )  # The consoles' agetty starts it; Debian does not call it essential any more.
    assert list(recipe.packages) == sorted(set(recipe.packages))
    assert recipe.hardware.modules
    assert recipe.suite == "trixie"


def test_only_full_hardware_needs_firmware_that_is_not_free() -> None:
    assert builds.recipe().components == ("main",)
    assert builds.recipe(hardware="full").components == ("main", "non-free-firmware")


@pytest.mark.parametrize(
    ("architecture", "hardware", "message"),
    [("sparc", "common", "no architecture 'sparc'"), ("x86_64", "toaster", "no hardware 'toaster'")],
)
def test_what_is_not_in_the_recipe_is_refused(architecture: str, hardware: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        builds.recipe(architecture, hardware)
    assert "choose one of" in caught.value.hint


def test_a_folder_without_a_recipe_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExternalError, match=r"recipe\.toml"):
        load_recipe(tmp_path, "x86_64", "common")


def test_the_digest_changes_with_any_file_but_documentation(tmp_path: Path) -> None:
    home = shutil.copytree(find_home(), tmp_path / "recipe")

    def digest() -> str:
        return load_recipe(home, "x86_64", "common").digest()

    digests = [digest()]
    assert digests == [builds.recipe().digest()]
    for path in sorted(path for path in home.rglob("*") if path.is_file() and path.suffix != ".md"):
        before = path.read_bytes()
        path.write_bytes(before + b"\n")
        digests.append(digest())
        path.write_bytes(before)
        assert digest() == digests[0]
    builds.put(home / "tree/etc/motd", "new")
    digests.append(digest())
    (home / "tree/etc/motd").chmod(0o664)
    assert digest() == digests[-1]  # Clones differ in that.
    (home / "tree/etc/motd").chmod(0o755)
    digests.append(digest())
    digests += [load_recipe(home, "aarch64", "common").digest(), load_recipe(home, "x86_64", "full").digest()]
    assert len(set(digests)) == len(digests)


def test_documentation_does_not_count(tmp_path: Path) -> None:
    home = shutil.copytree(find_home(), tmp_path / "recipe")
    builds.put(home / "README.md", "words")
    assert load_recipe(home, "x86_64", "common").digest() == builds.recipe().digest()


def test_hosts_listen_for_who_is_at_the_other_end_of_their_cables() -> None:
    settings = ConfigParser()
    settings.read(find_home() / "tree/etc/NetworkManager/conf.d/10-muster.conf", "utf-8")
    assert (
        settings["connection"]["connection.lldp"] == "1"
    )  # NetworkManager ignores it without its whole name.


def test_the_firewall_is_loaded_before_the_network_is_up() -> None:
    tree = find_home() / "tree/usr/lib/systemd"
    unit = (tree / "system/muster-firewall.service").read_text("utf-8").splitlines()
    order = next(line for line in unit if line.startswith("Before=")).removeprefix("Before=").split()
    assert "network-pre.target" in order
    assert "Wants=network-pre.target" in unit
    assert not [line for line in unit if line.startswith("ExecStop")]
    assert "enable muster-firewall.service" in (tree / "system-preset/80-muster.preset").read_text("utf-8")
    assert "nftables" in builds.recipe().packages


def test_sshd_takes_keys_only_and_forwards_no_windows_or_agents() -> None:
    text = (find_home() / "tree/etc/ssh/sshd_config.d/10-muster.conf").read_text("utf-8")
    words = dict(line.split(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
    for name in ("X11Forwarding", "PasswordAuthentication", "PermitRootLogin", "AllowAgentForwarding"):
        assert words[name] == "no"
    assert int(words["MaxAuthTries"]) < 6
