# SPDX-License-Identifier: Apache-2.0
"""What is known of the labs on this machine: a folder each, whose files are the only memory of a lab.

plan.json       what the lab consists of; never changed
state.json      what runs, which media are in, what is broken
events.jsonl    all that happened, written by the recorder
machines/NAME/  sockets, disks, serial.log, QEMU's log
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Any, Final

from muster.errors import UserError, cannot
from muster.files import save_file
from muster.frozen import dataclass
from muster.lab.plan import LabPlan, dump_plan, parse_plan
from muster.lab.processes import LAB_VARIABLE, Process
from muster.lab.qemu import BootTarget, Emulator, UserNet
from muster.model.fault import Fault, parse_fault

PLAN_FILE: Final = "plan.json"
STATE_FILE: Final = "state.json"
EVENTS_FILE: Final = "events.jsonl"
RECORDER_SOCKET: Final = "recorder.sock"
_DAMAGED: Final = "`muster lab down {name}` removes what is left of it"


@dataclass(frozen=True)
class MachineState:
    """What is so now about a machine."""

    process: Process | None = None
    medium: str = ""
    """The image in its drive; empty when there is none."""
    beside: str = ""
    """The image on a stick beside that; empty when there is none."""
    clock: str = ""
    target: BootTarget | None = None
    target_once: bool = False
    user_net: UserNet | None = None

    @property
    def is_on(self) -> bool:
        return self.process is not None and self.process.is_alive


@dataclass(frozen=True)
class LabState:
    """What is so now about a lab."""

    id: str
    network: str
    """bridge or user"""
    emulator: Emulator
    machines: Mapping[str, MachineState]
    cache: str = ""
    """Where the toolbox is, for programs that the system does not have."""
    recorder: Process | None = None
    helpers: Mapping[str, Process] = field(default_factory=dict)
    """Services of the lab, and its Redfish emulator."""
    faults: tuple[Fault, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    """What users want to know later, such as where Redfish answers."""

    def with_machine(self, name: str, **changes: Any) -> LabState:
        """The state after something changed about a machine."""
        changed: MachineState = replace(self.machines[name], **changes)
        return replace(self, machines={**self.machines, name: changed})

    @property
    def environment(self) -> dict[str, str]:
        """What every process of the lab has in its environment."""
        return {LAB_VARIABLE: self.id}

    def processes(self) -> Iterator[Process]:
        """Everything that was started, dead or alive."""
        found = [self.recorder, *self.helpers.values(), *(each.process for each in self.machines.values())]
        return (process for process in found if process is not None)


@dataclass(frozen=True)
class Lab:
    """A lab that was made: where it is, and what it consists of."""

    folder: Path
    plan: LabPlan

    @property
    def name(self) -> str:
        return self.plan.name

    @property
    def namespace(self) -> str:
        """The network namespace that all of it runs in."""
        return namespace_of(self.name)

    def machine_folder(self, name: str) -> Path:
        return self.folder / "machines" / name

    @property
    def events_path(self) -> Path:
        return self.folder / EVENTS_FILE

    def load_state(self) -> LabState:
        """What is so now."""
        body = _load(self.folder / STATE_FILE, self.name)
        try:
            return _parse_state(body)
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged(self.folder / STATE_FILE, self.name) from error

    def save_state(self, state: LabState) -> None:
        """Remember what is so now."""
        body = {**asdict(state), "faults": [str(fault) for fault in state.faults]}
        save_file(self.folder / STATE_FILE, json.dumps(body, indent=1).encode() + b"\n", mode=0o600)


def namespace_of(name: str) -> str:
    """The network namespace of a lab."""
    return f"muster-{name}"


def labs_folder(variables: Mapping[str, str] = os.environ) -> Path:
    """Where the labs of this user are."""
    state = variables.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "muster" / "labs"


def make_lab(folder: Path, plan: LabPlan) -> Lab:
    """Write a plan down; from now on the lab exists."""
    try:
        folder.mkdir(parents=True, mode=0o700)
        for machine in plan.machines:
            (folder / "machines" / machine.name).mkdir(parents=True)
    except OSError as error:
        raise cannot("make", folder, error) from error
    save_file(folder / PLAN_FILE, json.dumps(dump_plan(plan), indent=1).encode() + b"\n")
    return Lab(folder, plan)


def find_labs(root: Path) -> list[str]:
    """Names of all labs, whatever state they are in."""
    try:
        return sorted(path.name for path in root.iterdir() if path.is_dir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise cannot("list", root, error) from error


def load_lab(root: Path, name: str) -> Lab:
    """A lab that exists."""
    folder = root / name
    if not folder.is_dir():
        known = find_labs(root)
        hint = f"labs that are there: {', '.join(known)}" if known else "`muster lab up SITE` makes one"
        raise UserError(f"there is no lab {name}", hint=hint)
    body = _load(folder / PLAN_FILE, name)
    try:
        return Lab(folder, parse_plan(body))
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(folder / PLAN_FILE, name) from error


def choose_lab(root: Path, name: str | None) -> Lab:
    """The lab of this name, or the only one that there is."""
    if name is not None:
        return load_lab(root, name)
    known = find_labs(root)
    if not known:
        raise UserError("there is no lab", hint="`muster lab up SITE` makes one")
    if len(known) > 1:
        raise UserError(
            f"there are {len(known)} labs: {', '.join(known)}", hint="say which one is meant with --lab NAME"
        )
    return load_lab(root, known[0])


def remove_folder(folder: Path) -> None:
    """Remove all files of a lab."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise cannot("remove", folder, error) from error


def _load(path: Path, name: str) -> dict[str, Any]:
    try:
        body = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError) as error:
        raise _damaged(path, name) from error
    except OSError as error:
        raise cannot("read", path, error) from error
    if not isinstance(body, dict):
        raise _damaged(path, name)
    return body


def _damaged(path: Path, name: str) -> UserError:
    return UserError(
        f"the lab {name} was not finished, or {path} was damaged", hint=_DAMAGED.format(name=name)
    )


def _parse_state(body: Mapping[str, Any]) -> LabState:
    return LabState(
        **{
            **body,
            "emulator": Emulator(**{key: _tuple(value) for key, value in body["emulator"].items()}),
            "machines": {name: _parse_machine(each) for name, each in body["machines"].items()},
            "recorder": _parse_process(body["recorder"]),
            "helpers": {name: Process(**each) for name, each in body["helpers"].items()},
            "faults": tuple(parse_fault(each) for each in body["faults"]),
        }
    )


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _parse_machine(body: Mapping[str, Any]) -> MachineState:
    return MachineState(
        **{
            **body,
            "process": _parse_process(body["process"]),
            "target": BootTarget(body["target"]) if body["target"] else None,
            "user_net": UserNet(**body["user_net"]) if body["user_net"] else None,
        }
    )


def _parse_process(body: Mapping[str, Any] | None) -> Process | None:
    return Process(**body) if body else None
