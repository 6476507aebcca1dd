# SPDX-License-Identifier: Apache-2.0
"""`muster lab console | ssh | exec`: sit at a machine of a lab, log in to it, or act from beside it."""

from __future__ import annotations

import os
import select
import socket
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from muster.cli import options
from muster.cli.lab_options import Call, terminal_options
from muster.errors import UserError
from muster.lab.network import inside
from muster.lab.power import changing
from muster.lab.reach import Login, ssh_argv
from muster.lab.recording import open_console
from muster.run import become

_LEAVE: Final = b"\x1d"
"""Ctrl-], as in telnet and virsh."""


@click.command(epilog=options.examples("muster lab console master-0"))
@click.argument("host")
@terminal_options
def console(call: Call, host: str) -> None:
    """Sit at the serial console of a machine. Ctrl-] leaves it; the machine does not notice.

    The last that it said is shown first. Several people can sit at the same console.
    """
    lab = call.lab
    lab.plan.machine(host)
    with changing(lab) as state:
        if not state.machines[host].is_on:
            raise UserError(f"{host} is off", hint=f"`muster lab power {host} on` switches it on")
    with open_console(lab, host) as connection:
        click.echo(f"the console of {host}; Ctrl-] leaves it", err=True)
        with _raw_terminal():
            _exchange(connection)
    click.echo("", err=True)


@contextmanager
def _raw_terminal() -> Iterator[None]:
    """Every key goes to the machine, Ctrl-C too."""
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setraw(sys.stdin)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _exchange(connection: socket.socket) -> None:
    keyboard = sys.stdin.fileno()
    sources = [connection.fileno(), keyboard]
    while True:
        ready, _, _ = select.select(sources, [], [])
        if connection.fileno() in ready:
            data = connection.recv(1 << 16)
            if not data:
                return
            os.write(sys.stdout.fileno(), data)
        if keyboard in ready:
            typed = os.read(keyboard, 1024)
            before, leave, _ = typed.partition(_LEAVE)
            connection.sendall(before)
            if leave:
                return
            if not typed:
                sources.remove(keyboard)  # The end of a script's input; what the machine says is still shown.


@click.command(
    epilog=options.examples("muster lab ssh master-0", "muster lab ssh master-0 --key id_ed25519 -- uptime"),
    context_settings={"ignore_unknown_options": True},
)
@click.argument("host")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--user", default="core", show_default=True, help="As whom.")
@click.option(
    "--key", metavar="FILE", type=click.Path(path_type=Path), help="Private key.  [default: as ssh has it]"
)
@terminal_options
def ssh(call: Call, host: str, command: tuple[str, ...], user: str, key: Path | None) -> None:
    """Log in to a machine from within the lab's networks, or run a command there.

    Host keys are not checked: the machines of a lab get new ones all the time. The key that belongs to sshKey
    in install-config.yaml lets you in.
    """
    lab = call.lab
    lab.plan.machine(host)
    become(ssh_argv(lab, host, Login(user, key.resolve() if key else None), list(command)))


@click.command(
    "exec",
    epilog=options.examples(
        "muster lab exec -- muster agent wait-for install-complete --dir mysite",
        "muster lab exec -- curl --cacert ca.crt https://192.168.10.11:8090/health",
    ),
    context_settings={"ignore_unknown_options": True},
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@terminal_options
def exec_(call: Call, command: tuple[str, ...]) -> None:
    """Run a command of this machine in the lab's networks, where it reaches the hosts of the site.

    That is how `muster agent wait-for` and kubectl are rehearsed: from beside the hosts, as at the site.
    """
    lab = call.lab
    nets = [machine.user_net for machine in lab.load_state().machines.values()]
    if any(net is not None for net in nets):
        raise UserError(
            f"the lab {lab.name} has no networks of its own: it runs without root",
            hint="start it as root; `muster lab ssh` works without",
        )
    become(inside(lab.namespace, list(command)))
