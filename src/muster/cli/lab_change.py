# SPDX-License-Identifier: Apache-2.0
"""`muster lab power | kill | media | cut | heal | down`: change what the machines of a lab have to live with."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from muster.cli import lab_options, options
from muster.cli.lab_up import read_fault
from muster.errors import UserError
from muster.lab import faulting
from muster.lab import power as switches
from muster.lab.evidence import default_place, keep_evidence
from muster.lab.power import changing
from muster.lab.recording import note
from muster.lab.store import Lab, choose_lab, labs_folder
from muster.lab.upkeep import take_down
from muster.model.fault import FORMS, BadFault, Fault, parse_place

_ACTIONS: Final = ("on", "off", "reset", "cycle", "shutdown")


@click.command(epilog=options.examples("muster lab power master-0 off", "muster lab power master-0 cycle"))
@click.argument("host")
@click.argument("action", type=click.Choice(_ACTIONS))
@lab_options.lab_options
def power(host: str, action: str, name: str | None, log_level: str | None, output_format: str) -> None:
    """Switch a machine on or off, reset it, or press its power button.

    off is at once, with the disks written; cycle is off and on; reset presses the reset button; shutdown
    presses the power button, and the guest does the rest. `muster lab kill` cuts the power instead.
    """
    lab, as_json = lab_options.open_lab(name, log_level, output_format)
    switch(lab, host, action)
    done = {"on": "is on", "off": "is off", "reset": "was reset", "cycle": "was switched off and on"}
    words = done.get(action, "was asked to shut down")
    lab_options.tell(as_json, {"machine": host, "action": action}, f"{host} {words}")


def switch(lab: Lab, host: str, action: str) -> None:
    """Do what a verb of `muster lab power` says."""
    lab.plan.machine(host)
    with changing(lab) as state:
        if action in ("off", "cycle"):
            state = switches.switch_off(lab, state, host)
        if action in ("on", "cycle"):
            switches.switch_on(lab, state, host)
        elif action == "reset":
            switches.reset(lab, host)
        elif action == "shutdown":
            switches.press_power(lab, host)
        note(lab, host, "note", text=f"power {action}, by a user")


@click.command(epilog=options.examples("muster lab kill master-0"))
@click.argument("host")
@lab_options.lab_options
def kill(host: str, name: str | None, log_level: str | None, output_format: str) -> None:
    """Cut the power of a machine: what it had not written is lost. `muster lab power HOST on` starts it again."""
    lab, as_json = lab_options.open_lab(name, log_level, output_format)
    with changing(lab) as state:
        switches.switch_off(lab, state, host, cut=True)
    lab_options.tell(as_json, {"machine": host, "action": "kill"}, f"{host} has no power")


@click.command(
    epilog=options.examples("muster lab media master-0 config.iso", "muster lab media master-0 --eject")
)
@click.argument("host")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--eject", is_flag=True, help="Take out what is in.")
@lab_options.lab_options
def media(
    host: str, file: Path | None, eject: bool, name: str | None, log_level: str | None, output_format: str
) -> None:
    """Insert an image into the drive of a machine, also while it runs; or eject it; or show what is in."""
    lab, as_json = lab_options.open_lab(name, log_level, output_format)
    lab.plan.machine(host)
    if file is not None and eject:
        raise UserError("an image to insert, and --eject, cannot both be meant", hint="leave one of them out")
    with changing(lab) as state:
        if eject:
            state = switches.eject(lab, state, host)
        elif file is not None:
            state = switches.insert(lab, state, host, file)
        if eject or file is not None:
            note(lab, host, "note", text=f"medium: {state.machines[host].medium or 'ejected'}")
    medium = state.machines[host].medium
    lab_options.tell(as_json, {"machine": host, "medium": medium}, medium or "there is no medium in")


_FORMS_HELP: Final = "\b\nFaults (without /CARD or /DISK: all of them):\n" + "\n".join(
    f"  {form}" for form in FORMS.values()
)


@click.command(epilog=f"{_FORMS_HELP}\n\n" + options.examples("muster lab cut loss:master-0/eno1=20%"))
@click.argument("what", metavar="FAULT")
@lab_options.lab_options
def cut(what: str, name: str | None, log_level: str | None, output_format: str) -> None:
    """Break something in a lab, and say how that was done.

    A fault stays, also over reboots, until it is healed. A second one at the same place takes the place of the first.
    """
    lab, as_json = lab_options.open_lab(name, log_level, output_format)
    fault = read_fault(what)
    with changing(lab) as state:
        _, how = faulting.cut(lab, state, fault)
    lab_options.tell(as_json, {"fault": str(fault), "how": how}, f"{fault}: {how}")


@click.command(epilog=options.examples("muster lab heal loss:master-0/eno1", "muster lab heal all"))
@click.argument("what", metavar="FAULT")
@lab_options.lab_options
def heal(what: str, name: str | None, log_level: str | None, output_format: str) -> None:
    """Mend a fault, or all of them; what was broken is named as in `muster lab cut`, with or without its amount."""
    lab, as_json = lab_options.open_lab(name, log_level, output_format)
    healed = []
    with changing(lab) as state:
        for fault in state.faults if what == "all" else (_place(what),):
            state, how = faulting.heal(lab, state, fault)
            healed.append((str(fault), how))
    text = "\n".join(f"{fault}: mended ({how})" for fault, how in healed) or "nothing was broken"
    lab_options.tell(as_json, {"healed": [fault for fault, _ in healed]}, text)


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

    It works in every state that a lab can be in, also after a crash, and may be repeated. Processes are told by
    pid and start time, so that nobody else's is ended.
    """
    as_json = options.begin_without_site(log_level, output_format)
    root = labs_folder()
    if all_labs:
        from muster.lab.store import find_labs

        names = find_labs(root)
    else:
        names = [name or choose_lab(root, None).name]
    lines, ended = [], []
    for each in names:
        kept = _keep(root, each) if keep_evidence else None
        removed = take_down(root, each)
        ended.append({"lab": each, "processes": removed.processes, "evidence": str(kept) if kept else None})
        words = f"the lab {each} is down" if removed.is_anything else f"there was no lab {each}"
        lines.append(words + (f"; its evidence is in {kept}" if kept else ""))
    lab_options.tell(as_json, {"down": ended}, "\n".join(lines) or "there was no lab")


def _keep(root: Path, name: str) -> Path | None:
    if not (root / name).exists():
        return None
    place = default_place(root, name)
    return keep_evidence(root / name, place)
