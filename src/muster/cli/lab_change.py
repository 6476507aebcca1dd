# SPDX-License-Identifier: Apache-2.0
"""`muster lab power | kill | media | cut | heal | down`: change what the machines have to live with."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from muster.cli import options
from muster.cli.lab_options import Call, lab_options, tell
from muster.cli.lab_up import read_fault
from muster.errors import UserError
from muster.lab import faulting
from muster.lab import power as switches
from muster.lab.evidence import default_place, keep_evidence
from muster.lab.power import changing
from muster.lab.recording import note
from muster.lab.store import Lab, choose_lab, find_labs, labs_folder
from muster.lab.upkeep import take_down
from muster.model.fault import FORMS, BadFault, Fault, parse_place

_ACTIONS: Final = ("on", "off", "reset", "cycle", "shutdown")


@click.command(epilog=options.examples("muster lab power master-0 off", "muster lab power master-0 cycle"))
@click.argument("host")
@click.argument("action", type=click.Choice(_ACTIONS))
@lab_options
def power(call: Call, host: str, action: str) -> None:
    """Switch a machine on or off, reset it, or press its power button.

    off is at once, with the disks written; cycle is off and on; reset presses the reset button; shutdown
    presses the power button, and the guest does the rest. `muster lab kill` cuts the power instead.
    """
    switch(call.lab, host, action)
    done = {"on": "is on", "off": "is off", "reset": "was reset", "cycle": "was switched off and on"}
    words = done.get(action, "was asked to shut down")
    call.tell({"machine": host, "action": action}, f"{host} {words}")


def switch(lab: Lab, host: str, action: str) -> None:
    """Do what a verb of `muster lab power` says."""
    lab.plan.machine(host)
    with changing(lab) as before:
        is_off = switches.switch_off(lab, before, host) if action in ("off", "cycle") else before
        if action in ("on", "cycle"):
            switches.switch_on(lab, is_off, host)
        elif action == "reset":
            switches.reset(lab, host)
        elif action == "shutdown":
            switches.press_power(lab, host)
        note(lab, host, "note", text=f"power {action}, by a user")


@click.command(epilog=options.examples("muster lab kill master-0"))
@click.argument("host")
@lab_options
def kill(call: Call, host: str) -> None:
    """Cut the power of a machine: what it had not written is lost. `lab power HOST on` starts it again."""
    with changing(call.lab) as state:
        switches.switch_off(call.lab, state, host, cut=True)
    call.tell({"machine": host, "action": "kill"}, f"{host} has no power")


@click.command(
    epilog=options.examples(
        "muster lab media master-0 other.iso",
        "muster lab media master-0 --eject",
        "muster lab media master-0 agentconfig.noarch.iso --beside   # the guest runs from what is in",
    )
)
@click.argument("host")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--eject", is_flag=True, help="Take out what is in.")
@click.option("--beside", is_flag=True, help="Not that: a USB stick beside it, which is not booted from.")
@lab_options
def media(call: Call, host: str, file: Path | None, eject: bool, beside: bool) -> None:
    """Insert an image into the drive of a machine, also while it runs; or eject it; or show what is in."""
    lab = call.lab
    lab.plan.machine(host)
    if file is not None and eject:
        raise UserError("an image to insert, and --eject, cannot both be meant", hint="leave one of them out")
    insert, take = switches.insert, switches.eject
    if beside:
        insert, take = switches.insert_beside, switches.eject_beside
    now = lab.load_state()
    if file is not None or eject:
        with changing(lab) as before:
            now = insert(lab, before, host, file) if file else take(lab, before, host)
            where = "beside the medium" if beside else "medium"
            note(lab, host, "note", text=f"{where}: {file.resolve() if file else 'ejected'}")
    medium = now.machines[host].beside if beside else now.machines[host].medium
    call.tell({"machine": host, "medium": medium}, medium or "there is no medium in")


_FORMS_HELP: Final = "\b\nFaults (without /CARD or /DISK: all of them):\n" + "\n".join(
    f"  {form}" for form in FORMS.values()
)


@click.command(epilog=f"{_FORMS_HELP}\n\n" + options.examples("muster lab cut loss:master-0/eno1=20%"))
@click.argument("what", metavar="FAULT")
@lab_options
def cut(call: Call, what: str) -> None:
    """Break something in a lab, and say how that was done.

    A fault stays, also over reboots, until it is healed. A second one at the same place replaces the first.
    """
    fault = read_fault(what)
    with changing(call.lab) as state:
        _, how = faulting.cut(call.lab, state, fault)
    call.tell({"fault": str(fault), "how": how}, f"{fault}: {how}")


@click.command(epilog=options.examples("muster lab heal loss:master-0/eno1", "muster lab heal all"))
@click.argument("what", metavar="FAULT")
@lab_options
def heal(call: Call, what: str) -> None:
    """Mend a fault, or `all`; it is named as in `muster lab cut`, with or without its amount."""
    healed = []
    with changing(call.lab) as before:
        state = before
        for fault in before.faults if what == "all" else (_place(what),):
            state, how = faulting.heal(call.lab, state, fault)
            healed.append((str(fault).partition("=")[0], how))
    text = "\n".join(f"{fault}: mended ({how})" for fault, how in healed) or "nothing was broken"
    call.tell({"healed": [fault for fault, _ in healed]}, text)


def _place(text: str) -> Fault:
    try:
        return parse_place(text)
    except BadFault as error:
        raise UserError(f"{text!r} is no fault", hint=str(error)) from error


@click.command(epilog=options.examples("muster lab down", "muster lab down mysite --keep-evidence"))
@click.argument("name", metavar="[LAB]", required=False)
@click.option("--all", "all_labs", is_flag=True, help="All labs of this user.")
@click.option("--keep-evidence", is_flag=True, help="Keep logs, reports and a last picture of each screen.")
@options.log_level
@options.output
def down(
    name: str | None, all_labs: bool, keep_evidence: bool, log_level: str | None, output_format: str
) -> None:
    """End a lab and remove all of it: processes, network namespace, disks and logs.

    It works in every state that a lab can be in, also after a crash, and may be repeated. Processes are
    told by pid and start time, so that nobody else's is ended.
    """
    as_json = options.begin_without_site(log_level, output_format)
    root = labs_folder()
    names = find_labs(root) if all_labs else [name or choose_lab(root, None).name]
    lines, ended = [], []
    for each in names:
        kept = _keep(root, each) if keep_evidence else None
        removed = take_down(root, each)
        ended.append({"lab": each, "processes": removed.processes, "evidence": str(kept) if kept else None})
        words = f"the lab {each} is down" if removed.is_anything else f"there was no lab {each}"
        lines.append(words + (f"; its evidence is in {kept}" if kept else ""))
    tell(as_json, {"down": ended}, "\n".join(lines) or "there was no lab")


def _keep(root: Path, name: str) -> Path | None:
    if not (root / name).exists():
        return None
    place = default_place(root, name)
    return keep_evidence(root / name, place)
