# SPDX-License-Identifier: Apache-2.0
"""The service of one site: live, where it installs it, and from the disk, where it sees it to its end."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import socket
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from muster.clock import Change
from muster.errors import UserError
from muster.frozen import dataclass
from muster.model.plan import Plan
from muster.model.setting_up import MANIFESTS
from muster.release.model import Release
from muster.service.drivers.kubernetes import SiteTerms
from muster.service.hosting import Running, Settings, Sockets
from muster.service.house import House
from muster.service.rendezvous.kept import Kept, find_certificate, keep, load_kept
from muster.service.rendezvous.medium import Medium
from muster.service.rendezvous.release import SiteRelease, place_of
from muster.service.rendezvous.unattended import Course, FindRivals, Unattended
from muster.service.site_order import Wish, cluster_params, infra_env_params, wishes_of
from muster.service.state import AddOn

NO_TIME_SERVERS: Final = frozenset({"ntp-synced"})
"""What nobody can ask of hosts whose site has no time servers: they agree among themselves."""
_INSTALLED: Final = frozenset({"installed", "adding-hosts"})


def course_of(medium: Medium) -> Course:
    """What the site of a medium asks for."""
    site, plan = medium.site, medium.plan
    infra_env = infra_env_params(plan, medium.meeting.cluster_id)
    if listeners_of(plan):
        infra_env = replace(infra_env, additional_ntp_sources=str(medium.meeting.ip))
    return Course(
        meeting=medium.meeting,
        cluster=cluster_params(site, plan),
        infra_env=infra_env,
        wishes=tuple(_located(wish, medium.places) for wish in wishes_of(site, plan)),
        expected=_size(plan),
        on_top=(*([MANIFESTS] if plan.extra_manifests else ()), *plan.add_ons),
    )


def listeners_of(plan: Plan) -> tuple[str, ...]:
    """The networks that the rendezvous host tells the time to, because the site has no time servers."""
    if plan.ntp_sources or _size(plan) == 1:
        return ()
    return tuple(map(str, plan.networks.machine))


def _size(plan: Plan) -> int:
    """How many hosts it has."""
    return plan.masters + plan.arbiters + plan.workers


def _located(wish: Wish, places: Mapping[str, str]) -> Wish:
    place = next((places[mac] for mac in sorted(wish.macs) if mac in places), "")
    return dataclasses.replace(wish, place=place)


def terms_of(medium: Medium, tuning: str) -> SiteTerms:
    """What its cluster is made with."""
    plan = medium.plan
    return SiteTerms(
        authorities=medium.authorities,
        registries=plan.registries,
        trust_bundle=plan.trust_bundle,
        manifests=plan.extra_manifests,
        add_ons=plan.add_ons,
        tuning=tuning,
    )


def add_ons_of(release: Release, ids: Iterable[str]) -> tuple[AddOn, ...]:
    """What chosen add-ons take of a host, as their release says; what runs once may run on any of them."""
    found = (release.find_add_on(id) for id in ids)
    return tuple(
        AddOn(
            id=each.id,
            cpu_millicores=each.host.cpu_millicores + each.cluster.cpu_millicores,
            ram_mib=each.host.memory_mib + each.cluster.memory_mib,
            disk_mib=each.host.disk_mib + each.cluster.disk_mib,
        )
        for each in found
        if each is not None
    )


async def _nobody() -> tuple[str, ...]:
    return ()


@dataclass(frozen=True)
class Here:
    """What the host that a service runs on has to say to it."""

    tuning: str
    """A profile for the programs of the cluster."""
    clock: Change | None = None
    """That its clock was set just now, for the log."""
    find_rivals: FindRivals = _nobody


@contextlib.asynccontextmanager
async def serve_live(
    medium: Medium, data: Path, listening: socket.socket, here: Here
) -> AsyncIterator[Running]:
    """Serve a site whose hosts booted its medium, and install it; until the body ends."""
    kept, release = keep(data, medium), SiteRelease(place_of(medium))
    disabled = frozenset() if medium.plan.ntp_sources else NO_TIME_SERVERS
    settings = settings_of(kept, data, terms_of(medium, here.tuning), House("site", medium.meeting))
    settings = dataclasses.replace(settings, disabled=disabled)
    running = Running(settings, Sockets(listening), release.find)
    unattended = Unattended(running.service, course_of(medium), here.clock)
    watching = unattended.watch_rivals(here.find_rivals)

    async def note(found: Release) -> None:
        await unattended.note_release(add_ons_of(found, medium.plan.add_ons))

    # Hosts that wait for the service ask as soon as it listens: by then it knows their site.
    serving = running.serve(unattended.create)
    fetching = release.fetch(note, unattended.note_no_release)
    async with serving, beside(fetching), beside(unattended.run()), beside(watching):
        yield running


@contextlib.asynccontextmanager
async def serve_installed(data: Path, listening: socket.socket) -> AsyncIterator[Running]:
    """Serve a site from the disk of the host that installed it: nothing is begun here any more."""
    kept = load_kept(data)
    settings = settings_of(kept, data, SiteTerms(), House("status", kept.meeting))
    running = Running(settings, Sockets(listening), _no_release)
    async with running.serve():
        yield running


def settings_of(kept: Kept, data: Path, site: SiteTerms, house: House) -> Settings:
    """How the service of a site is to be, wherever it runs."""
    return Settings(
        data=data,
        url=kept.meeting.url,
        certificate=find_certificate(data),
        password_hash=kept.password_hash,
        token_keys=(kept.token_key,) if kept.token_key else (),
        site=site,
        house=house,
    )


def _no_release(version: str, _architecture: str) -> Release:
    raise UserError(f"the release {version} is installed already", hint="boot the medium again to start over")


async def wait_until_installed(running: Running, cluster_id: str) -> None:
    """Wait until the cluster is installed; what failed is for people to look at, as long as they want."""
    async with contextlib.aclosing(running.service.news.follow()) as news:
        while running.service.engine.cluster(cluster_id).status not in _INSTALLED:
            await anext(news)


@contextlib.asynccontextmanager
async def beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Something goes on beside the body; when it fails, the body does."""
    owner = asyncio.current_task()
    assert owner is not None
    task = asyncio.ensure_future(work)

    def look(done: asyncio.Future[None]) -> None:
        if not done.cancelled() and done.exception() is not None:
            owner.cancel()

    task.add_done_callback(look)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
