# SPDX-License-Identifier: Apache-2.0
"""Cutting and healing: a fault is broken where it belongs, written into the lab's log, and remembered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from muster.errors import UserError
from muster.lab import power
from muster.lab.faults import break_in_qemu, break_network, check_fault, delay
from muster.lab.recording import note
from muster.lab.store import Lab, LabState
from muster.model.fault import Fault, FaultKind, render_moment


def cut(lab: Lab, state: LabState, fault: Fault) -> tuple[LabState, str]:
    """Break something; how it was done is for the user."""
    check_fault(lab.plan, fault)
    if fault.kind is FaultKind.PARTITION and any(each.kind is FaultKind.PARTITION for each in state.faults):
        raise UserError(
            "the lab is cut in two already", hint="heal that partition first: `muster lab heal all`"
        )
    state, how = _change(lab, state, fault, broken=True)
    kept = tuple(each for each in state.faults if each.place != fault.place)
    if fault.kind is not FaultKind.POWER:
        state = replace(state, faults=(*kept, fault))
    lab.save_state(state)
    note(lab, fault.machine, "fault", fault=str(fault), broken=True, how=how)
    return state, how


def heal(lab: Lab, state: LabState, fault: Fault) -> tuple[LabState, str]:
    """Mend what was broken."""
    check_fault(lab.plan, fault)
    found = next((each for each in state.faults if each.place == fault.place), None)
    if found is None and fault.kind not in (FaultKind.POWER, FaultKind.MEDIA):
        known = ", ".join(map(str, state.faults)) or "nothing is broken"
        raise UserError(f"{str(fault).partition('=')[0]} is not broken", hint=f"what is: {known}")
    state, how = _change(lab, state, found or fault, broken=False)
    state = replace(state, faults=tuple(each for each in state.faults if each.place != fault.place))
    lab.save_state(state)
    note(lab, fault.machine, "fault", fault=str(found or fault), broken=False, how=how)
    return state, how


def _change(lab: Lab, state: LabState, fault: Fault, *, broken: bool) -> tuple[LabState, str]:
    match fault.kind:
        case FaultKind.POWER:
            if broken:
                return power.switch_off(lab, state, fault.machine, cut=True), "its QEMU was killed"
            return power.switch_on(lab, state, fault.machine), "it was switched on"
        case FaultKind.MEDIA:
            return _media(lab, state, fault, broken=broken)
        case FaultKind.CLOCK:
            return _clock(lab, state, fault, broken=broken)
        case FaultKind.PARTITION | FaultKind.LOSS:
            return state, break_network(lab, state, fault, broken=broken)
        case FaultKind.DELAY:
            how = break_network(lab, state, fault, broken=broken)
            if how or not state.machines[fault.machine].is_on:
                return state, how or "when it is switched on"
            with power.monitor_of(lab, fault.machine) as monitor:
                return state, delay(lab, monitor, fault, broken=broken)
        case _:
            if not state.machines[fault.machine].is_on:
                return state, "when it is switched on"
            with power.monitor_of(lab, fault.machine) as monitor:
                return state, break_in_qemu(lab, monitor, fault, broken=broken)


def _media(lab: Lab, state: LabState, fault: Fault, *, broken: bool) -> tuple[LabState, str]:
    name = fault.machine
    if broken:
        medium = state.machines[name].medium
        if not medium:
            raise UserError(f"{name} has no medium", hint="`muster lab media` shows and changes what is in")
        state = replace(state, notes={**state.notes, f"ejected:{name}": medium})
        return power.eject(lab, state, name), "the medium was ejected"
    medium = state.notes.get(f"ejected:{name}", "")
    if not medium:
        raise UserError(f"no medium of {name} was ejected", hint="`muster lab media HOST FILE` inserts one")
    state = replace(state, notes={key: text for key, text in state.notes.items() if key != f"ejected:{name}"})
    return power.insert(lab, state, name, Path(medium)), f"{Path(medium).name} was inserted again"


def _clock(lab: Lab, state: LabState, fault: Fault, *, broken: bool) -> tuple[LabState, str]:
    """A hardware clock is set while the machine is off."""
    name = fault.machine
    was_on = state.machines[name].is_on
    if was_on:
        state = power.switch_off(lab, state, name, cut=True)
    state = state.with_machine(name, clock=render_moment(fault.amount) if broken else "")
    lab.save_state(state)
    if was_on:
        state = power.switch_on(lab, state, name)
    return (
        state,
        "the machine was switched off and on with that clock" if was_on else "when it is switched on",
    )
