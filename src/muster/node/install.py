# SPDX-License-Identifier: Apache-2.0
"""How a host becomes a node: a page of steps. Nothing is erased before the host's configuration is here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import Final

import msgspec

from muster.errors import ExternalError, MusterError, cannot
from muster.files import remove_file, save_file
from muster.frozen import dataclass
from muster.model.wire.steps import InstallCmdRequest
from muster.node.boot_code import find_device
from muster.node.boot_order import set_boot_order
from muster.node.carried import parse_carried
from muster.node.check import check_image, check_written
from muster.node.clean import clean_disks
from muster.node.disk import find_image, identify_again, read_disks
from muster.node.mounted import release_mounts
from muster.node.pace import Report
from muster.node.parts import find_parts
from muster.node.plan import InstallPlan, make_plan
from muster.node.ports import Ports
from muster.node.preloading import Preload, preloading, stage_for
from muster.node.state import Reached, State, load_state, make_key, save_state
from muster.node.telling import telling
from muster.node.write import write_disk

_IGNITION: Final = "host.ign"
_PROFILES: Final = "etc/NetworkManager/system-connections"
_WRITING: Final = "Writing image to disk"
_WAIT_S: Final = 90 * 60.0
_ASK_AGAIN_S: Final = 5.0
_REBOOT_S: Final = 60.0


async def install(request: InstallCmdRequest, ports: Ports) -> str | None:
    """Install this host, and restart it. None when it restarts; else what went wrong, which was reported."""
    try:
        await _install(request, ports)
    except MusterError as error:
        sentence = f"{error.message}; {error.hint}" if error.hint else error.message
    except OSError as error:
        sentence = cannot("go on with", Path(error.filename or "the disk"), error).message
    else:
        return None
    await ports.reporter.stage("Failed", sentence)
    return sentence


async def _install(request: InstallCmdRequest, ports: Ports) -> None:
    await ports.reporter.stage("Starting installation", request.role)
    await release_mounts(ports.machine)
    disks = await read_disks(ports.machine, ports.also_disks)
    plan = make_plan(request, disks, find_image(ports.machine), has_profiles=has_profiles(ports.machine.root))
    await ports.reporter.stage("Starting installation", plan.sentence)
    await ports.reporter.stage("Installing", "fetching the configuration of this host")
    ignition = await _fetch_ignition(ports)
    work = _Work(plan, ports, make_key(request, plan.disk, ignition))
    async with preloading(parse_carried(ignition), ports, stage_for(request.role)) as images:
        await _fill_disk(work, ignition, images)
    await _boot_from_disk(work)
    await _wait_for_others(request, ports)
    if not work.has("handed over"):
        await _hand_over(work)
    await _reboot(ports)


async def _fill_disk(work: _Work, ignition: bytes, images: Preload) -> None:
    if not work.has("written"):
        await _check_image(work)
        images.begin()
        await _write(work, ignition)
    if not work.has("verified"):
        await _check(work)
    if not work.has("copied"):
        await images.place(await find_parts(work.ports.machine, work.plan.disk.path))
        work.reach("copied")


def has_profiles(root: Path) -> bool:
    """Whether somebody gave this host a network: its site, or a person before its console."""
    return any((root / _PROFILES).glob("*.nmconnection"))


@dataclass(frozen=True)
class _Work:
    """An installation that is under way."""

    plan: InstallPlan
    ports: Ports
    key: str

    def has(self, reached: Reached) -> bool:
        return load_state(self.ports.folder, self.key).has(reached)

    def reach(self, reached: Reached) -> None:
        save_state(self.ports.folder, State(self.key, reached))


async def _fetch_ignition(ports: Ports) -> bytes:
    text = await ports.service.host_ignition()
    try:
        version = msgspec.json.decode(text)["ignition"]["version"]
    except (msgspec.DecodeError, LookupError, TypeError):
        version = None
    if not isinstance(version, str):
        raise ExternalError(
            "what the service sent as the configuration of this host is not an Ignition config",
            hint="see the log of the service on the rendezvous host",
        )
    return text


async def _check_image(work: _Work) -> None:
    """Nothing is erased for an image that is not the one of the medium."""
    plan, ports = work.plan, work.ports
    if plan.content is None:
        return

    async def tell(report: Report) -> None:
        await ports.reporter.stage("Installing", f"checking the system's image: {report.info}")

    async with telling(tell, ports.clock) as see:
        await check_image(_at(ports, plan.image), plan.content, see)


async def _write(work: _Work, ignition: bytes) -> None:
    """From here on, an earlier installation to that disk must not be taken for finished."""
    plan, ports = work.plan, work.ports
    await identify_again(ports.machine, plan, ports.also_disks)
    work.reach("nothing")
    config = ports.folder / _IGNITION
    save_file(config, ignition, mode=0o600)
    if plan.erased:
        await ports.reporter.stage("Installing", f"emptying {', '.join(each.path for each in plan.erased)}")
    for trouble in await clean_disks(ports.machine, plan.erased):
        await ports.reporter.warn(trouble)
    await identify_again(ports.machine, plan, ports.also_disks)
    await ports.reporter.stage(_WRITING, f"writing to {plan.disk}", 0)

    async def tell(report: Report) -> None:
        await ports.reporter.stage(_WRITING, report.info, report.percent)

    device = find_device(ports.machine.root, plan.disk.path)
    async with telling(tell, ports.clock) as see:
        await write_disk(plan, config, device, ports.writer, see)
    work.reach("written")
    remove_file(config)


async def _check(work: _Work) -> None:
    plan, ports = work.plan, work.ports
    if plan.image:

        async def tell(report: Report) -> None:
            await ports.reporter.stage(_WRITING, f"reading back: {report.info}")

        try:
            async with telling(tell, ports.clock) as see:
                await check_written(_at(ports, plan.image), _at(ports, plan.disk.path), see)
        except MusterError:
            work.reach("nothing")  # A second try has to write it again.
            raise
    work.reach("verified")


def _at(ports: Ports, path: str) -> Path:
    return ports.machine.root / path.lstrip("/")


async def _boot_from_disk(work: _Work) -> None:
    ports = work.ports
    disk = await find_parts(ports.machine, work.plan.disk.path)
    warning = await set_boot_order(ports.machine, disk)
    if warning:
        await ports.reporter.warn(warning)


async def _wait_for_others(request: InstallCmdRequest, ports: Ports) -> None:
    if request.role == "bootstrap" and ports.others_ready is not None:
        await ports.reporter.stage("Waiting for control plane", "until all other hosts of it answer")
        await _in_time(ports.others_ready())
    elif request.role == "worker" and not await ports.service.control_plane_ready():
        await ports.reporter.stage("Waiting for control plane")
        await _in_time(_until_ready(ports))


async def _in_time(wait: Awaitable[None]) -> None:
    try:
        async with asyncio.timeout(_WAIT_S):
            await wait
    except TimeoutError as error:
        raise ExternalError(
            f"the control plane was not ready within {_WAIT_S / 60:g} minutes",
            hint="see the consoles of its hosts; this host is written, and can be restarted by hand",
        ) from error


async def _until_ready(ports: Ports) -> None:
    while not await ports.service.control_plane_ready():
        await ports.pause(_ASK_AGAIN_S)


async def _hand_over(work: _Work) -> None:
    ports = work.ports
    if ports.hand_over is not None:
        await ports.hand_over(await find_parts(ports.machine, work.plan.disk.path))
    work.reach("handed over")


async def _reboot(ports: Ports) -> None:
    await ports.reporter.stage("Rebooting")
    said = await ports.machine.ask(("systemctl", "reboot"), deadline_s=_REBOOT_S)
    if not said.is_ok:
        raise ExternalError(
            f"this host does not restart: {said.trouble}", hint="it is installed: restart it by hand"
        )
