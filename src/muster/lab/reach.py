# SPDX-License-Identifier: Apache-2.0
"""How to log in to a machine: from within the lab's networks, or through the port that QEMU forwards."""

from __future__ import annotations

from ipaddress import ip_interface, ip_network
from pathlib import Path

from muster.errors import UserError
from muster.frozen import dataclass
from muster.lab.network import inside
from muster.lab.recording import load_events
from muster.lab.store import Lab
from muster.lab.story import tell_story


@dataclass(frozen=True)
class Login:
    """As whom, and with which key; without one SSH takes those that it knows."""

    user: str = "core"
    key: Path | None = None


def ssh_argv(lab: Lab, name: str, login: Login, command: list[str]) -> list[str]:
    """The command line that runs something on a machine, or a shell there."""
    state = lab.load_state()
    words = [
        "ssh",
        "-o",
        "StrictHostKeyChecking=no",
        "-o",
        "UserKnownHostsFile=/dev/null",
        "-o",
        "LogLevel=ERROR",
    ]
    words += ["-o", "ConnectTimeout=10"]
    words += ["-i", str(login.key), "-o", "IdentitiesOnly=yes"] if login.key else []
    words += ["-o", "BatchMode=yes"] if command else []
    net = state.machines[name].user_net
    if net is not None:
        return [*words, "-p", str(net.ssh_port), f"{login.user}@127.0.0.1", *command]
    return inside(lab.namespace, [*words, f"{login.user}@{find_address(lab, name)}", *command])


def find_address(lab: Lab, name: str) -> str:
    """An address of a machine that the lab can reach: what it reported, else what it is to have."""
    story = tell_story([name], load_events(lab))
    found = [*story.machines[name].addresses, *lab.plan.machine(name).addresses]
    networks = [ip_network(each) for each in lab.plan.machine_networks]
    usable = [ip_interface(each).ip for each in found]
    best = [each for each in usable if any(each in network for network in networks)] or usable
    if not best:
        raise UserError(
            f"nobody knows an address of {name}: it has no static one, and reported none",
            hint=f"wait until it reports, or look at `muster lab console {name}`",
        )
    return str(best[0])
