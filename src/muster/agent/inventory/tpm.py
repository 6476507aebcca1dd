# SPDX-License-Identifier: Apache-2.0
"""The chip that keeps keys, if there is one."""

from __future__ import annotations

from typing import Final, Literal

from muster.agent.inventory.found import CannotTell, Found
from muster.agent.inventory.reading import read_text
from muster.machine import Machine
from muster.model.wire.inventory import Inventory

_VERSIONS: Final[dict[str, Literal["1.2", "2.0"]]] = {"1": "1.2", "2": "2.0"}


async def collect_tpm(machine: Machine) -> Found:
    """The version of the TPM."""
    chip = machine.root / "sys/class/tpm/tpm0"
    if not chip.is_dir():
        return Found(Inventory(tpm_version="none"))
    major = read_text(chip / "tpm_version_major")
    if major not in _VERSIONS:
        raise CannotTell(f"the version of the TPM is not known: {major or 'the kernel does not tell it'}")
    return Found(Inventory(tpm_version=_VERSIONS[major]))
