# SPDX-License-Identifier: Apache-2.0
"""tuning.toml: what runs in which role, and how it is set for the machines that it runs on."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

from muster.errors import UserError
from muster.frozen import dataclass
from muster.model.host import Role

_BASIS: Final = "default"
_VIPS: Final = "vips"


@dataclass(frozen=True)
class Program:
    """How one program is set."""

    flags: Mapping[str, Any] = field(default_factory=dict)
    alone: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    service: Mapping[str, Any] = field(default_factory=dict)

    def flags_of(self, *, alone: bool) -> Mapping[str, Any]:
        """Its flags; ``alone`` where there is one control-plane host."""
        if not alone:
            return self.flags
        # Without an election there is nothing to tell about how it goes.
        off = self.alone.get("leader-elect") is False
        kept = {name: each for name, each in self.flags.items() if not (off and name.startswith("leader-"))}
        return {**kept, **self.alone}


@dataclass(frozen=True)
class RoleTuning:
    """What a role means for a host."""

    programs: tuple[str, ...]
    label: str
    taint: str
    taint_only_beside_workers: bool


@dataclass(frozen=True)
class VipTuning:
    """How quickly a virtual address follows what it stands for."""

    advert_s: int
    """How often its holder says that it is there; silence of thrice that time makes another host take it."""
    check_s: int
    """How often a host looks whether it is fit to hold it, and how long that may take."""
    fall: int
    """How often in a row that has to fail."""


@dataclass(frozen=True)
class Tuning:
    """One profile, and the roles, which all profiles share."""

    profile: str
    vips: VipTuning
    programs: Mapping[str, Program]
    roles: Mapping[Role, RoleTuning]


@lru_cache(maxsize=8)
def load_tuning(profile: str) -> Tuning:
    """A profile by its name."""
    return parse_tuning(files("muster.release.node").joinpath("tuning.toml").read_text("utf-8"), profile)


def parse_tuning(text: str, profile: str) -> Tuning:
    """Read tuning.toml for one profile."""
    data = tomllib.loads(text)
    profiles = data["profile"]
    if profile not in profiles:
        raise UserError(
            f"there is no tuning profile {profile!r}", hint=f"choose one of: {', '.join(sorted(profiles))}"
        )
    basis, own = profiles[_BASIS], profiles[profile]
    names = sorted({name for role in data["role"].values() for name in role["programs"]})
    strange = sorted(own.keys() - {*names, _VIPS})
    if strange:
        raise ValueError(f"tuning.toml sets {', '.join(strange)}, which no role runs")
    return Tuning(
        profile,
        VipTuning(**{**basis[_VIPS], **own.get(_VIPS, {})}),
        {name: Program(**_merge(basis.get(name, {}), own.get(name, {}))) for name in names},
        {
            Role(name): RoleTuning(**{**role, "programs": tuple(role["programs"])})
            for name, role in data["role"].items()
        },
    )


def _merge(basis: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Two levels are merged by name: the parts of a program, and what stands in them."""
    return {part: {**basis.get(part, {}), **own.get(part, {})} for part in {**basis, **own}}
