# SPDX-License-Identifier: Apache-2.0
"""The Ignition config of a medium that knows no site: a person says where to go, or a second medium does."""

from __future__ import annotations

from dataclasses import field
from typing import Final

from muster import __version__
from muster.frozen import dataclass
from muster.image.ignition.access import core_user
from muster.image.ignition.clock import clock_files
from muster.image.ignition.images import logins_file, mirror_files, release_files
from muster.image.ignition.names import names_config
from muster.image.ignition.network import network_config
from muster.image.ignition.scripts import load_script
from muster.model.ignition import PROGRAM, PUBLIC, Config, File, Unit, join
from muster.model.meeting import GENERIC_MARK
from muster.model.plan import HostPlan
from muster.model.registries import RegistriesConf

CONFIG_LABEL: Final = "agent_configimage"
_RULE: Final = (
    f'SUBSYSTEM=="block", ENV{{ID_FS_LABEL}}=="{CONFIG_LABEL}", TAG+="systemd", '
    'ENV{SYSTEMD_WANTS}+="muster-config-image@%k.service"\n'
)
# The instance is the kernel's name as udev writes it, dm-0 for example: %I would make dm/0 of it.
_UNIT: Final = """\
[Unit]
Description=Take a site's configuration from %i
After=NetworkManager.service
StartLimitIntervalSec=0

[Service]
Type=oneshot
ExecStart=/usr/local/bin/muster-load-config /dev/%i
Restart=on-failure
RestartSec=10
"""
_SCREEN: Final = (
    f"Muster {__version__}: this host does not know its site yet.\n"
    "Choose on its console where the hosts meet, or attach the configuration medium of its site\n"
    f"(label {CONFIG_LABEL}).\n"
)


@dataclass(frozen=True)
class Generic:
    """What a medium without a site can be given all the same."""

    ssh_key: str = ""
    pull_secret: str = field(default="", repr=False)
    manifests: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Manifests that say which release it is for, by file name."""
    hosts: tuple[HostPlan, ...] = ()
    """Machines whose names or static networks are known already."""
    registries: RegistriesConf = RegistriesConf()
    trust_bundle: str = ""
    ntp_sources: tuple[str, ...] = ()
    release_image: str = ""
    """What is to be installed, if that is known."""
    release_key: str = ""
    """The public key (PEM) that its signature is checked with, if one is required."""


def unconfigured_config(generic: Generic) -> Config:
    """What every host boots with before it knows its site."""
    return join(
        (
            _waiting(generic),
            network_config(generic.hosts),
            names_config(generic.hosts),
            _images(generic),
            Config(clock_files(generic.ntp_sources)),
            Config(users=(core_user(generic.ssh_key),) if generic.ssh_key.strip() else ()),
        )
    )


def _waiting(generic: Generic) -> Config:
    """What has a host wait, for a person at its console or for a configuration medium."""
    programs = {"load-config": "muster-load-config"}
    if not any(host.hostname for host in generic.hosts):
        programs["hostname"] = "muster-hostname"
    if not any(host.keyfiles for host in generic.hosts):
        programs["network"] = "muster-network"
    files = [
        File(GENERIC_MARK, b"Whoever stands before this host says where the hosts meet.\n", PUBLIC),
        File("/etc/udev/rules.d/80-agent-config-image.rules", _RULE.encode(), PUBLIC),
        File("/etc/issue.d/10-muster.issue", _SCREEN.encode(), PUBLIC),
        *(File(f"/usr/local/bin/{name}", load_script(script), PROGRAM) for script, name in programs.items()),
    ]
    return Config(tuple(files), (Unit("muster-config-image@.service", _UNIT, enabled=False),))


def _images(generic: Generic) -> Config:
    """What is to be installed, and where it is to be had."""
    files = [File(f"/etc/assisted/manifests/{name}", text.encode()) for name, text in generic.manifests]
    if generic.pull_secret:
        files.append(logins_file(generic.pull_secret))
    files += release_files(generic.release_image, generic.release_key)
    return Config((*files, *mirror_files(generic.registries, generic.trust_bundle)))
