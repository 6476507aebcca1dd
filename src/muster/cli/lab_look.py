# SPDX-License-Identifier: Apache-2.0
"""`muster lab status | list | logs | screenshot`: what the machines of a lab are doing."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from muster.cli import options
from muster.cli.lab_options import Call, lab_options
from muster.errors import MusterError, UserError
from muster.lab.plan import Machine
from muster.lab.power import changing
from muster.lab.power import screenshot as take_screenshot
from muster.lab.recording import Event, follow, load_events
from muster.lab.store import Lab, LabState, find_labs, labs_folder, load_lab
from muster.lab.story import MachineStory, render_screen, tell_story

_FOREVER_S = 10 * 365 * 86400.0


@click.command(epilog=options.examples("muster lab status", "muster lab status --output json | jq .machines"))
@lab_options
def status(call: Call) -> None:
    """Show every machine of a lab: whether it is on, how healthy it says it is, its addresses and faults.

    Health is what the guest itself reports over a virtio port; a guest without that reporter stays at
    "no report yet", and `muster lab logs HOST` shows how far it came.
    """
    body = describe(call.lab, call.lab.load_state())
    call.tell(body, "\n".join(_lines(body)))


def describe(lab: Lab, state: LabState) -> dict[str, Any]:
    """All that is to be known of a lab now."""
    story = tell_story((machine.name for machine in lab.plan.machines), load_events(lab))
    machines = [_describe(machine, state, story.machines[machine.name]) for machine in lab.plan.machines]
    return {
        "lab": lab.name,
        "site": lab.plan.site,
        "folder": str(lab.folder),
        "network": state.network,
        "namespace": lab.namespace if state.network == "bridge" else "",
        "accelerator": state.emulator.accel,
        "recorder": bool(state.recorder and state.recorder.is_alive),
        "legs": [leg.address for leg in lab.plan.legs],
        "faults": [str(fault) for fault in state.faults],
        "notes": dict(state.notes),
        "machines": machines,
    }


def _describe(machine: Machine, state: LabState, story: MachineStory) -> dict[str, Any]:
    now = state.machines[machine.name]
    health = "off" if not now.is_on else story.health if story.is_on else "no report yet"
    return {
        "name": machine.name,
        "role": machine.role,
        "on": now.is_on,
        "health": health,
        "pid": now.process.pid if now.is_on and now.process else None,
        "memoryMiB": machine.memory_mib,
        "cpus": machine.cpus,
        "firmware": str(machine.firmware),
        "addresses": list(story.addresses or (each for each in machine.addresses)),
        "boots": len(story.boots),
        "medium": now.medium,
        "macs": [nic.mac_address for nic in machine.nics],
        "sshPort": now.user_net.ssh_port if now.user_net else None,
    }


def _lines(body: dict[str, Any]) -> Iterator[str]:
    where = body["namespace"] or "QEMU's own network"
    yield f"lab {body['lab']} ({body['accelerator']}, {where}) of {body['site']}"
    rows = [("machine", "health", "addresses", "medium")]
    for each in body["machines"]:
        medium = Path(each["medium"]).name if each["medium"] else "-"
        rows.append((each["name"], each["health"], " ".join(each["addresses"]) or "-", medium))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    if "redfish" in body["notes"]:
        yield f"Redfish: {body['notes']['redfish']}"
    if body["faults"]:
        yield f"broken: {', '.join(body['faults'])}"
    if not any(each["on"] for each in body["machines"]):
        yield "nothing runs: it ended, or crashed; `muster lab power HOST on` starts a machine,"
        yield f"`muster lab down {body['lab']}` removes the lab"
    elif not body["recorder"]:
        yield "the recorder ended; the next command that needs it starts it again"


@click.command("list", epilog=options.examples("muster lab list"))
@options.log_level
@options.output
def list_(log_level: str | None, output_format: str) -> None:
    """List the labs of this user, those that crashed included."""
    as_json = options.begin_without_site(log_level, output_format)
    root = labs_folder()
    found = [_summary(root, name) for name in find_labs(root)]
    if as_json:
        click.echo(json.dumps(found, indent=2))
    elif not found:
        click.echo("there is no lab; `muster lab up SITE` makes one")
    for each in found if not as_json else ():
        click.echo(f"{each['lab']}: {each['state']}, {each['site']}")


def _summary(root: Path, name: str) -> dict[str, Any]:
    try:
        lab = load_lab(root, name)
        state = lab.load_state()
    except MusterError as error:
        return {"lab": name, "state": f"damaged ({error.hint})", "site": "", "machines": 0, "on": 0}
    on = sum(machine.is_on for machine in state.machines.values())
    count = len(state.machines)
    words = f"{on} of {count} machines on" if on else "nothing runs (it ended, or crashed)"
    return {"lab": name, "state": words, "site": lab.plan.site, "machines": count, "on": on}


@click.command(epilog=options.examples("muster lab logs master-0", "muster lab logs master-0 --follow"))
@click.argument("host")
@click.option("--follow", "-f", "is_following", is_flag=True, help="Go on until Ctrl-C.")
@lab_options
def logs(call: Call, host: str, is_following: bool) -> None:
    """Print what a machine said on its serial line, with the time of each line, and what happened to it."""
    lab = call.lab
    lab.plan.machine(host)
    if is_following:
        with changing(lab):
            pass  # It starts the recorder when that is gone.
        events: Iterator[Event] = follow(lab, time.monotonic() + _FOREVER_S)
    else:
        events = iter(load_events(lab))
    for event in events:
        if event["machine"] == host:
            click.echo(json.dumps(event, ensure_ascii=False) if call.as_json else render_event(event))


def render_event(event: Event) -> str:
    """An event as a line for people."""
    at = datetime.fromtimestamp(event["at"], UTC).strftime("%H:%M:%S.%f")[:-3]
    match event["kind"]:
        case "serial":
            return f"{at}  {event['text']}"
        case "report":
            report = event["report"]
            return (
                f"{at}  -- report: {report.get('state')}, failed units: {report.get('failedUnits') or 'none'}"
            )
        case "power":
            return f"{at}  -- power {event['state']}"
        case "fault":
            return f"{at}  -- {event['fault']} {'broken' if event['broken'] else 'mended'} ({event['how']})"
        case "qmp":
            return f"{at}  -- QEMU: {event['event']}"
        case _:
            return f"{at}  -- {event.get('text', event['kind'])}"


@click.command(
    epilog=options.examples(
        "muster lab screenshot master-0",
        "muster lab screenshot master-0 boot.png",
        "muster lab screenshot master-0 --text",
    )
)
@click.argument("host")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--text", "as_text", is_flag=True, help="Print the text on it, as the guest reported it.")
@lab_options
def screenshot(call: Call, host: str, file: Path | None, as_text: bool) -> None:
    """Take a picture of a machine's screen, as a PNG file.  [default: HOST.png]

    With --text, the text of its first console is printed instead, as it was when the guest last reported.
    """
    if as_text:
        lines = _screen(call.lab, host)
        call.tell({"machine": host, "screen": lines}, "\n".join(lines))
        return
    path = file or Path(f"{host}.png")
    take_screenshot(call.lab, host, path)
    call.tell({"machine": host, "file": str(path)}, str(path))


def _screen(lab: Lab, host: str) -> list[str]:
    lab.plan.machine(host)
    report = tell_story([host], load_events(lab)).machines[host].report
    if report is None:
        raise UserError(
            f"{host} has not reported yet what is on its screen",
            hint=f"`muster lab screenshot {host}` takes a picture of it; `muster lab logs {host}` tells more",
        )
    return render_screen(report)
