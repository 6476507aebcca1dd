# SPDX-License-Identifier: Apache-2.0
"""The Ignition config of a medium that knows no site: it waits for a configuration medium, or a person."""

from __future__ import annotations

from dataclasses import field
from typing import Final

from muster import __version__
from muster.frozen import dataclass
from muster.image.ignition.access import core_user
from muster.image.ignition.images import logins_file
from muster.image.ignition.network import UNIT, UNIT_NAME, network_files
from muster.image.ignition.scripts import load_script
from muster.model.ignition import PROGRAM, PUBLIC, Config, File, Unit
from muster.model.plan import HostPlan

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
    f"Muster {__version__}: this host waits for a configuration.\n"
    f"Attach the configuration medium of its site (label {CONFIG_LABEL}).\n"
)


@dataclass(frozen=True)
class Generic:
    """What a medium without a site can be given all the same."""

    ssh_key: str = ""
    pull_secret: str = field(default="", repr=False)
    manifests: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Manifests that say which release it is for, by file name."""
    hosts: tuple[HostPlan, ...] = ()
    """Machines whose static network is known already."""


def unconfigured_config(generic: Generic) -> Config:
    """What every host boots with before it knows its site."""
    network = network_files(generic.hosts)
    programs = {"load-config": "muster-load-config", "hostname": "muster-hostname"}
    if not network:
        programs["network"] = "muster-network"
    files = [
        *network,
        File("/etc/udev/rules.d/80-agent-config-image.rules", _RULE.encode(), PUBLIC),
        File("/etc/issue.d/10-muster.issue", _SCREEN.encode(), PUBLIC),
        *(File(f"/usr/local/bin/{name}", load_script(script), PROGRAM) for script, name in programs.items()),
        *(File(f"/etc/assisted/manifests/{name}", text.encode()) for name, text in generic.manifests),
    ]
    if generic.pull_secret:
        files.append(logins_file(generic.pull_secret))
    users = (core_user(generic.ssh_key),) if generic.ssh_key.strip() else ()
    units = [Unit("muster-config-image@.service", _UNIT, enabled=False)]
    if network:
        units.append(Unit(UNIT_NAME, UNIT))
    return Config(tuple(files), tuple(units), users)
