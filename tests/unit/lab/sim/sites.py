# SPDX-License-Identifier: Apache-2.0
"""Simulations of sites for the tests."""

from __future__ import annotations

from typing import Any

from muster.config.check import check_folder
from muster.config.document.folder import Memory
from muster.config.resolve import resolve_site
from muster.lab.sim.faults import parse_trouble
from muster.lab.sim.simulation import Simulation, Wanted, course_of
from muster.lab.sim.telling import Told, tell
from muster.model.plan import Plan
from muster.model.site import Environment, Site
from tests.sites import Shape, build_site


def site_of(shape: Shape, **files: str) -> tuple[Site, Plan]:
    """A site, some of whose files may be others."""
    given = {f"{name.replace('_', '-')}.yaml": text.encode() for name, text in files.items()}
    site, _ = check_folder(Memory({**build_site(shape), **given}, None), Environment())
    return site, resolve_site(site)


def simulation_of(shape: Shape, *faults: str, **wanted: Any) -> Simulation:
    """A simulation that has not begun."""
    site, plan = site_of(shape)
    return Simulation(course_of(site, plan, Wanted(troubles=tuple(map(parse_trouble, faults)), **wanted)))


def run_of(shape: Shape, *faults: str, **wanted: Any) -> Simulation:
    """A simulation that has ended."""
    run = simulation_of(shape, *faults, **wanted)
    run.run()
    return run


def told_of(shape: Shape, *faults: str, **wanted: Any) -> Told:
    """What there is to tell of a simulation."""
    return tell(run_of(shape, *faults, **wanted), *site_of(shape))
