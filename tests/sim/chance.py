# SPDX-License-Identifier: Apache-2.0
"""A site, its troubles and those of the service, all drawn from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from muster.config.check import check_folder
from muster.config.document.folder import Memory
from muster.config.resolve import resolve_site
from muster.lab.sim.crew import make_random
from muster.lab.sim.faults import STAGES, Trouble, parse_trouble, slug_of
from muster.lab.sim.simulation import Course, Wanted, course_of
from muster.model.site import Environment
from muster.service.realm import Realm
from muster.service.store.memory import MemoryStore
from muster.service.store.port import Change, StoreError, UnavailableError
from tests.sites import Shape, build_site

PERSISTENT = ("lost", "image", "vip-in-use", "duplicate-ip", "disk-full")


@dataclass(frozen=True)
class Outage:
    """The service is gone for a while."""

    since_s: float
    seconds: float


@dataclass(frozen=True)
class Trial:
    """What happens in one run."""

    course: Course
    outages: tuple[Outage, ...]


class RoughStore(MemoryStore):
    """A store that fails now and then: before it wrote, or after, when nobody knows any more."""

    def __init__(self, random: Random, share: float) -> None:
        super().__init__()
        self._random, self._share = random, share
        self.is_calm = False

    def commit(self, changes: Sequence[Change]) -> None:
        if self.is_calm or self._random.random() >= self._share:
            super().commit(changes)
            return
        if self._random.random() < 0.5:
            super().commit(changes)
        raise UnavailableError("the store is away", hint="ask again")

    def document(self, realm: str, subject: str, name: str) -> bytes | None:
        if not self.is_calm and self._random.random() < self._share:
            raise StoreError("the store cannot be read", hint="ask again")
        return super().document(realm, subject, name)

    def load(self, realm: str | None = None) -> list[Realm]:
        if not self.is_calm and self._random.random() < self._share:
            raise StoreError("the store cannot be read", hint="ask again")
        return list(super().load(realm))


def draw_trial(seed: int) -> Trial:
    """The trial of a seed."""
    random = make_random(seed, "trial")
    shape = Shape(
        masters=random.choice((1, 3, 3, 3, 5)),
        workers=random.choice((0, 0, 1, 2, 4)),
        static=random.random() < 0.7,
        ipv6=random.random() < 0.2,
        ntp=random.random() < 0.5,
        roles=random.random() < 0.7,
    )
    if shape.masters == 1:
        shape = Shape(masters=1, platform="none", ipv6=shape.ipv6, ntp=shape.ntp)
    site, _ = check_folder(Memory(build_site(shape), None), Environment())
    plan = resolve_site(site)
    names = [machine.name for machine in course_of(site, plan, Wanted()).machines]
    vips = [str(each) for each in (*plan.api_vips, *plan.ingress_vips)]
    troubles = tuple(draw_trouble(random, names, vips) for _ in range(random.choice((0, 1, 1, 2, 3))))
    share = random.choice((0.0, 0.0, 0.01, 0.05))
    course = course_of(site, plan, Wanted(seed, troubles=tuple(dict.fromkeys(troubles))))
    store = RoughStore(make_random(seed, "store"), share)
    outages = tuple(
        Outage(random.uniform(1, 1500), random.uniform(0.5, 200)) for _ in range(random.choice((0, 0, 1, 3)))
    )
    return Trial(replace_store(course, store), outages)


def replace_store(course: Course, store: MemoryStore) -> Course:
    from dataclasses import replace

    return replace(course, store=store)


def draw_trouble(random: Random, names: Sequence[str], vips: Sequence[str]) -> Trouble:
    """Something that goes wrong, for a while or for good."""
    host = random.choice([*names, *names, "*"])
    one = random.choice(names)
    forms = [
        f"link:{one}",
        f"loss:{one}={random.choice((5, 20, 60))}%",
        f"delay:{one}={random.choice((50, 200, 2000))}ms",
        f"media:{one}",
        f"power:{one}",
        f"disk-full:{one}",
        f"slow-disk:{one}={random.choice((1, 5, 50))}MB/s",
        f"duplicate-ip:{one}",
        f"skew:{host}={random.choice(('+90m', '-2d', '+10s', '-7m'))}",
        f"slow-sync:{host}={random.choice((5, 20, 120))}ms",
        f"lost:{one}={slug_of(random.choice(STAGES))}",
        "image:*",
        "dns:*",
        "ntp:*",
    ]
    if vips:
        forms.append(f"vip-in-use:{random.choice(vips)}")
    if len(names) > 1:
        left = random.sample(names, random.randint(1, len(names) - 1))
        forms.append(f"partition:{','.join(left)}|{','.join(name for name in names if name not in left)}")
    text = random.choice(forms)
    if random.random() < 0.75:
        since = random.choice((0, random.randint(1, 200), random.randint(200, 1200)))
        until = since + random.choice((20, 200, 1000))
        text += f"@{since}s..{until}s"
    return parse_trouble(text)
