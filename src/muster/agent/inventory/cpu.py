# SPDX-License-Identifier: Apache-2.0
"""Processors: what lscpu says, and the kernel's own list for what it does not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec.structs import asdict

from muster.agent.inventory.found import CannotTell, Found
from muster.agent.inventory.reading import parse_json, read_text
from muster.machine import Machine
from muster.model.wire.inventory import Cpu, Inventory

_DEADLINE_S: Final = 15.0
_FREQUENCIES: Final = ("CPU MHz", "CPU max MHz", "CPU static MHz")
_NUMBER: Final = re.compile(r"\d{1,6}(?:\.\d{1,9})?", re.ASCII)


async def collect_cpu(machine: Machine) -> Found:
    """The processors of a host."""
    troubles = []
    told = Cpu()
    said = await machine.ask(["lscpu", "-J"], deadline_s=_DEADLINE_S)
    try:
        told = parse_lscpu(said.out) if said.is_ok else told
    except CannotTell as error:
        troubles.append(str(error))
    if not said.is_ok:
        troubles.append(f"lscpu cannot be asked: {said.trouble}")
    cpu = _fill(told, parse_cpuinfo(read_text(machine.root / "proc/cpuinfo")))
    if cpu.architecture is None:
        named = await machine.ask(["uname", "-m"], deadline_s=_DEADLINE_S)
        cpu = _fill(cpu, Cpu(architecture=named.out.strip() or None if named.is_ok else None))
    if cpu.count is None:
        raise CannotTell("; ".join([*troubles, "/proc/cpuinfo tells of no processor"]))
    return Found(Inventory(cpu=cpu), troubles=tuple(troubles))


def parse_lscpu(text: str) -> Cpu:
    """The processors, as `lscpu -J` tells of them; newer versions put fields below each other."""
    found = parse_json(text, "lscpu")
    fields = dict(_fields(found.get("lscpu") if isinstance(found, dict) else None))
    return Cpu(
        architecture=fields.get("Architecture"),
        model_name=fields.get("Model name") or fields.get("Machine type"),
        count=_count(fields.get("CPU(s)", "")),
        frequency=_highest(fields.get(name, "") for name in _FREQUENCIES),
        flags=tuple(fields["Flags"].split()) if fields.get("Flags") else None,
    )


def parse_cpuinfo(text: str) -> Cpu:
    """The processors, as the kernel lists them."""
    lines = [line.partition(":") for line in text.splitlines()]
    pairs = [(name.strip(), value.strip()) for name, _, value in lines]
    fields = dict(reversed(pairs))
    flags = fields.get("flags") or fields.get("Features")
    return Cpu(
        model_name=fields.get("model name") or None,
        count=sum(name == "processor" for name, _ in pairs) or None,
        frequency=_highest(value for name, value in pairs if name == "cpu MHz"),
        flags=tuple(flags.split()) if flags else None,
    )


def _fields(found: Any) -> Iterator[tuple[str, str]]:
    for each in found if isinstance(found, list) else ():
        if not isinstance(each, dict):
            continue
        name, value = each.get("field"), each.get("data")
        if isinstance(name, str) and isinstance(value, str):
            yield name.rstrip(":"), value
        yield from _fields(each.get("children"))


def _count(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) and text.isdigit() else None


def _highest(texts: Iterable[str]) -> float | None:
    return max((float(each) for each in texts if _NUMBER.fullmatch(each)), default=None)


def _fill(cpu: Cpu, other: Cpu) -> Cpu:
    """What is known, and for the rest what is known from elsewhere."""
    known = {name: value for name, value in asdict(cpu).items() if value is not None}
    return Cpu(**{**asdict(other), **known})
