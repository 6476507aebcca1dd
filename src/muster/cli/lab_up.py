# SPDX-License-Identifier: Apache-2.0
"""`muster lab up`: one virtual machine for each host of a site."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from muster.cli import log, options, site
from muster.cli.lab_options import tell
from muster.errors import UserError
from muster.frozen import dataclass
from muster.image.cache.places import find_cache_root
from muster.lab.bmc import parse_endpoint
from muster.lab.capacity import advise, check_room, find_room
from muster.lab.emulator import choose_emulator
from muster.lab.means import Means
from muster.lab.network import choose_network, find_ability
from muster.lab.plan import LabPlan
from muster.lab.planning import Wishes, plan_lab
from muster.lab.redfish.server import Endpoint
from muster.lab.store import Lab, labs_folder
from muster.lab.upkeep import Start, bring_up, check_name
from muster.model.fault import BadFault, Fault, parse_fault
from muster.model.lab import Firmware, Medium
from muster.release.store.store import open_store

F = TypeVar("F", bound=Callable[..., Any])
_ARCHITECTURES: Final = {"amd64": "x86_64", "arm64": "aarch64"}
_OPTIONS: Final = (
    click.option(
        "--iso", metavar="FILE", type=click.Path(path_type=Path),
        help="The image to boot.  [default: agent.<arch>.iso in SITE]",
    ),
    click.option("--name", metavar="NAME", help="Name of the lab.  [default: that of the cluster]"),
    click.option("--only", metavar="HOST", multiple=True, help="Only this host; may be repeated."),
    click.option(
        "--network", type=click.Choice(["bridge", "user"]),
        help="bridge: networks of the lab's own (needs root); user: QEMU's own, for one host."
        "  [default: bridge; user where only that works, and there is one host]",
    ),
    click.option("--firmware", type=click.Choice([str(each) for each in Firmware]), help="Of all machines."),
    click.option("--medium", type=click.Choice([str(each) for each in Medium]), help="Of all machines."),
    click.option("--memory", metavar="MIB", type=int, help="Of each machine."),
    click.option(
        "--cut", "faults", metavar="FAULT", multiple=True, help="Broken from the start; see `lab cut`."
    ),
    click.option("--qemu", metavar="PROGRAM", help="The QEMU to use, whatever its version."),
    click.option(
        "--redfish", metavar="PORT",
        help="Management controllers that speak Redfish, at this port of 127.0.0.1, or at ADDRESS:PORT.",
    ),
    click.option("--overcommit", is_flag=True, help="Start even if memory or disk space will not do."),
    options.cache_dir,
)  # fmt: skip


@dataclass(frozen=True)
class Call:
    """How the command was called."""

    directory: Path
    as_json: bool
    iso: Path | None
    wishes: Wishes
    network: str | None
    faults: tuple[Fault, ...]
    qemu: str | None
    overcommit: bool
    redfish: Endpoint | None
    cache: Path


def start_options(command: F) -> F:
    """SITE and the flags that make a lab; the command is given them as `call`."""

    @wraps(command)
    def gathered(directory: str, log_level: str | None, output_format: str, **kwargs: Any) -> Any:
        run = options.begin(directory, log_level, output_format)
        wishes = Wishes(
            name=kwargs.pop("name") or "",
            site=str(run.directory.resolve()),
            only=tuple(kwargs.pop("only")),
            firmware=_chosen(Firmware, kwargs.pop("firmware")),
            medium=_chosen(Medium, kwargs.pop("medium")),
            memory_mib=kwargs.pop("memory"),
        )
        call = Call(
            directory=run.directory,
            as_json=run.as_json,
            iso=kwargs.pop("iso"),
            wishes=wishes,
            network=kwargs.pop("network"),
            faults=tuple(read_fault(text) for text in kwargs.pop("faults")),
            qemu=kwargs.pop("qemu"),
            overcommit=kwargs.pop("overcommit"),
            redfish=parse_endpoint(text) if (text := kwargs.pop("redfish")) else None,
            cache=find_cache_root(kwargs.pop("cache_dir"), os.environ, Path.home),
        )
        return command(call=call, **kwargs)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    argument = click.argument("directory", metavar="SITE", default=".")
    return argument(options.log_level(options.output(gathered)))  # type: ignore[return-value]


def _chosen(kind: Any, word: str | None) -> Any:
    return None if word is None else kind(word)


def read_fault(text: str) -> Fault:
    """A fault that a user wrote on the command line."""
    try:
        return parse_fault(text)
    except BadFault as error:
        raise UserError(f"{text!r} is no fault", hint=str(error)) from error


@click.command(
    epilog=options.examples(
        "muster lab up mysite",
        "muster lab up mysite --only master-0 --firmware uefi",
        "muster lab up mysite --iso other.iso --name second --cut loss:master-0/eno1=20%",
    )
)
@start_options
def up(call: Call) -> None:
    """Boot one virtual machine for each host of the site in the directory SITE.

    The machines have the hosts' MAC addresses and disks that their rootDeviceHints match; they boot
    agent.<arch>.iso of the site from a CD, once their disks turn out to be empty. What the site does not say
    (memory, processors, firmware, segments, services) comes from lab.yaml; flags go over it. The command ends
    when all machines are switched on; `muster lab status` and `muster lab console HOST` tell how they do.
    """
    made = make(call)
    names = [machine.name for machine in made.plan.machines]
    tell(
        call.as_json,
        {"lab": made.name, "folder": str(made.folder), "machines": names},
        f"the lab {made.name} is up: {', '.join(names)}\nsee `muster lab status`; `muster lab down` ends it",
    )


def make(call: Call, check: Callable[[LabPlan], None] = lambda _plan: None) -> Lab:
    """Plan a lab, see that this machine can carry it, and bring it up; ``check`` may refuse the plan."""
    run = options.Run(call.directory, call.as_json)
    found, cluster = site.load_cluster(run)
    plan = plan_lab(found, cluster, call.wishes)
    plan = with_faults(plan, call.faults)
    check(plan)
    if plan.registry_store:
        open_store(Path(plan.registry_store))  # Better now than when everything else is up.
    root = labs_folder()
    check_name(root, plan.name)
    medium = find_medium(call, plan)
    network, words = choose_network(call.network, plan, find_ability())
    means = Means(call.cache, _say, call.qemu)
    choice = choose_emulator(plan, means)
    room = find_room(root)
    if not call.overcommit:
        check_room(plan, room, choice.emulator.accel)
    for word in filter(None, (*choice.words, words, advise(plan, room))):
        log.say("%s", word)
    files = call.directory / "boot-artifacts"
    start = Start(means, choice, network, medium, files if files.is_dir() else None, call.redfish)
    return bring_up(root, plan, start, _say)


def _say(text: str) -> None:
    log.say("%s", text)


def with_faults(plan: LabPlan, faults: tuple[Fault, ...]) -> LabPlan:
    """The plan with what else is broken from the start."""
    from dataclasses import replace

    from muster.lab.faults import check_fault

    plan = replace(plan, faults=(*plan.faults, *faults))
    for fault in plan.faults:
        check_fault(plan, fault)
    return plan


def find_medium(call: Call, plan: LabPlan) -> Path | None:
    """The image that the machines boot; None when none of them wants one."""
    if all(machine.medium in (Medium.PXE, Medium.NONE) for machine in plan.machines):
        return None
    architecture = _ARCHITECTURES.get(plan.architecture, plan.architecture)
    path = call.iso or call.directory / f"agent.{architecture}.iso"
    if path.is_file():
        return path
    if call.iso is not None:
        raise UserError(f"there is no image {path}", hint="name one that is there with --iso")
    raise UserError(
        f"there is no {path.name} in {call.directory}",
        hint=f"`muster agent create image --dir {call.directory} --base-image LIVE.iso` makes it;"
        " --iso names another image, --medium none boots without one",
    )
