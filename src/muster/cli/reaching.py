# SPDX-License-Identifier: Apache-2.0
"""How verbs reach the hosts of a site: flags for it, over ssh, or as machines of a lab."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from ipaddress import ip_interface
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from muster.errors import UserError
from muster.frozen import dataclass
from muster.model.plan import Plan
from muster.run import Argument
from muster.support.reaching import COMMAND, Known, Reach, join_known, ssh_argv

F = TypeVar("F", bound=Callable[..., Any])
_OPTIONS: Final = (
    click.option(
        "--key", metavar="FILE", type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="Private key that belongs to sshKey in install-config.yaml.  [default: as ssh has it]",
    ),
    click.option("--user", default="core", show_default=True, help="As whom to log in."),
)  # fmt: skip


@dataclass(frozen=True)
class Login:
    """How hosts let us in."""

    user: str
    key: Path | None
    lab: str | None = None


def login_options(lab_help: str) -> Callable[[F], F]:
    """The flags of verbs that log in on hosts; the command is given them as `login`."""
    lab = click.option("--lab", metavar="NAME", help=lab_help)

    def decorate(command: F) -> F:
        @wraps(command)
        def gathered(*args: Any, user: str, key: Path | None, lab: str | None, **kwargs: Any) -> Any:
            return command(*args, login=Login(user, key.absolute() if key else None, lab), **kwargs)

        for option in reversed((*_OPTIONS, lab)):
            gathered = option(gathered)
        return gathered  # type: ignore[return-value]

    return decorate


def planned_hosts(plan: Plan) -> tuple[Known, ...]:
    """The hosts of a plan, and their static addresses; where they meet, there is one in any case."""
    found = [
        Known(each.label, tuple(str(ip_interface(text).ip) for text in each.addresses)) for each in plan.hosts
    ]
    rendezvous = plan.rendezvous
    if rendezvous is None:
        return tuple(found)
    return join_known(found, (Known(rendezvous.host or str(rendezvous.ip), (str(rendezvous.ip),)),))


def make_reach(login: Login, known_hosts: Path, command: Sequence[str] = COMMAND) -> Reach:
    """The command line that has a host run a command, by its name and an address of it."""
    if login.lab is not None:
        return partial(_reach_in_lab, login, command)

    def reach(_name: str, address: str) -> Sequence[Argument]:
        return ssh_argv(address, login.user, login.key, known_hosts, command) if address else ()

    return reach


def _reach_in_lab(login: Login, command: Sequence[str], name: str, _address: str) -> Sequence[Argument]:
    from muster.lab.reach import Login as LabLogin
    from muster.lab.reach import ssh_argv as lab_argv
    from muster.lab.store import choose_lab, labs_folder

    lab = choose_lab(labs_folder(), login.lab)
    try:
        lab.plan.machine(name)
        return lab_argv(lab, name, LabLogin(login.user, login.key), list(command))
    except UserError:
        return ()
