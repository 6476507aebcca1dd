# SPDX-License-Identifier: Apache-2.0
"""Whether this host can get container images, and how quickly; nothing of them is kept.

Of each image its manifest and its config are fetched as a whole, of its largest layer as much as tells how
quick the way is, and of the other layers the beginning: what a mirror lacks is found before it is needed.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final

import msgspec

from muster.agent.steps.outcome import BadArguments, Outcome, read, reply
from muster.agent.steps.pull_settings import load_settings
from muster.errors import ExternalError, MusterError
from muster.frozen import dataclass
from muster.machine import Machine
from muster.model.release import RPM_ARCHITECTURES
from muster.model.wire.reports import ContainerImageAvailability, ContainerImageAvailabilityResponse
from muster.model.wire.steps import ContainerImageAvailabilityRequest
from muster.redact import printable, redact
from muster.release.mirror.origins import nearest, open_origins
from muster.release.mirror.sides import Origin
from muster.release.oci.digest import PREFIX
from muster.release.oci.manifest import Descriptor, Manifest, choose_image
from muster.release.oci.reference import parse_reference
from muster.release.oci.trouble import Damaged, Unreachable
from muster.release.ports import Source

SOME_FAILED: Final = 2
_LONGEST_S: Final = 960
_AT_ONCE: Final = 4
_SAMPLE_BYTES: Final = 16 << 20
_SAMPLE_S: Final = 10.0
_LARGEST_CONFIG: Final = 8 << 20
_MB: Final = 1_000_000


@dataclass(frozen=True)
class Look:
    """What was found out about an image."""

    name: str
    size_bytes: int = 0
    time_s: float = 0.0
    rate_mbps: float = 0.0
    reason: str = ""
    """Why it cannot be had; empty when it can."""


@dataclass(frozen=True)
class _Found:
    """An image for this host, and where it is."""

    source: Source
    manifest: Manifest


class _Config(msgspec.Struct, frozen=True):
    architecture: str = ""


async def run(machine: Machine, args: Sequence[str]) -> Outcome:
    """``{images, timeout}`` → what can be had of them, and a sentence for each that cannot."""
    request = read(args, ContainerImageAvailabilityRequest)
    names = tuple(dict.fromkeys(request.images))
    limit_s = float(min(request.timeout or _LONGEST_S, _LONGEST_S))
    if limit_s <= 0:
        raise BadArguments(f"{request.timeout} is not a number of seconds in which images can be fetched")
    try:
        architecture = await _find_architecture(machine)
        async with open_origins(machine.root, load_settings(machine.root)) as origins:
            looks = await _Looking(origins, architecture, limit_s).look_at(names)
    except MusterError as error:
        looks = tuple(Look(name, reason=explain(name, error.message)) for name in names)
    return summarize(looks)


def summarize(looks: Sequence[Look]) -> Outcome:
    """The reply about all images."""
    images = tuple(
        ContainerImageAvailability(name=look.name, result="failure", time=round(look.time_s, 3))
        if look.reason
        else ContainerImageAvailability(
            name=look.name,
            result="success",
            size_bytes=float(look.size_bytes),
            time=round(look.time_s, 3),
            download_rate=round(look.rate_mbps, 4),
        )
        for look in looks
    )
    reasons = [look.reason for look in looks if look.reason]
    outcome = reply(ContainerImageAvailabilityResponse(images=images))
    return replace(outcome, exit_code=SOME_FAILED if reasons else 0, error="\n".join(reasons))


def explain(name: str, message: str) -> str:
    """Why an image cannot be had, in one line that names it."""
    line = re.sub(r"\s*\n\s*", "; ", re.sub(r":\n\s*", ": ", message.strip()))
    shown = printable(redact(line))
    return shown if name in shown else f"{printable(redact(name))}: {shown}"


async def _find_architecture(machine: Machine) -> str:
    """As Go names it."""
    said = await machine.ask(("uname", "-m"), deadline_s=10)
    if not said.is_ok:
        raise ExternalError(f"the architecture of this host is not known: {said.trouble}")
    name = said.out.strip()
    return next((go for go, rpm in RPM_ARCHITECTURES.items() if rpm == name), name)


class _Looking:
    """Looks at several images at once, until the time is up."""

    def __init__(self, origins: Sequence[Origin], architecture: str, limit_s: float) -> None:
        self._origins, self._architecture, self._limit_s = origins, architecture, limit_s
        self._now = asyncio.get_running_loop().time
        self._end = self._now() + limit_s
        self._seats = asyncio.Semaphore(_AT_ONCE)

    async def look_at(self, names: Sequence[str]) -> tuple[Look, ...]:
        async with asyncio.TaskGroup() as group:
            looks = [group.create_task(self._look(name)) for name in names]
        return tuple(look.result() for look in looks)

    async def _look(self, name: str) -> Look:
        begun = self._now()
        try:
            async with asyncio.timeout_at(self._end), self._seats:
                begun = self._now()
                size_bytes, rate = await self._fetch(name)
        except TimeoutError:
            reason = explain(name, f"{name} was not fetched within {self._limit_s:g} s")
            return Look(name, time_s=self._now() - begun, reason=reason)
        except MusterError as error:
            return Look(name, time_s=self._now() - begun, reason=explain(name, error.message))
        return Look(name, size_bytes, self._now() - begun, rate)

    async def _fetch(self, name: str) -> tuple[int, float]:
        """How large an image is, and at which rate it comes."""
        found = await self._find(name)
        await self._check_config(name, found)
        layers = {layer.digest: layer for layer in found.manifest.layers if layer.size_bytes}
        if not layers:
            return 0, 0.0
        largest = max(layers.values(), key=lambda layer: layer.size_bytes)
        rate = await self._sample(found, largest)
        for layer in layers.values():
            if layer is not largest:
                await self._begin(found, layer)
        return sum(layer.size_bytes for layer in layers.values()), rate

    async def _find(self, name: str) -> _Found:
        source = await nearest(self._origins, parse_reference(name))
        manifest = await source.root()
        if manifest.is_index:
            manifest = await source.manifest(choose_image(manifest, self._architecture, name))
        return _Found(source, manifest)

    async def _check_config(self, name: str, found: _Found) -> None:
        config = found.manifest.config
        if config is None or config.size_bytes > _LARGEST_CONFIG:
            raise Damaged(f"{name} has no config that can be read")
        data = bytearray()
        async with aclosing(found.source.blob(config)) as chunks:
            async for chunk in chunks:
                data += chunk
        _check_digest(found, config, hashlib.sha256(data).hexdigest())
        try:
            built_for = msgspec.json.decode(data, type=_Config).architecture
        except msgspec.DecodeError as error:
            raise Damaged(f"{name} has a config that cannot be read: {error}") from error
        if built_for and built_for != self._architecture:
            raise Damaged(f"{name} is for {built_for}, and this host is {self._architecture}")

    async def _sample(self, found: _Found, layer: Descriptor) -> float:
        """The rate at which a layer comes, in MB/s: that of its beginning, or of all when it is small."""
        begun, size, seen = self._now(), 0, hashlib.sha256()
        try:
            async with (
                asyncio.timeout(_SAMPLE_S),
                aclosing(found.source.blob(layer)) as chunks,
            ):
                async for chunk in chunks:
                    size += len(chunk)
                    seen.update(chunk)
                    if size >= _SAMPLE_BYTES:
                        break
        except TimeoutError:
            if not size:
                raise _silent(found, layer) from None
        if size == layer.size_bytes:
            _check_digest(found, layer, seen.hexdigest())
        return size / _MB / max(self._now() - begun, 1e-6)

    async def _begin(self, found: _Found, layer: Descriptor) -> None:
        """See that a layer begins to come."""
        async with aclosing(found.source.blob(layer)) as chunks:
            async for _ in chunks:
                return


def _check_digest(found: _Found, blob: Descriptor, digits: str) -> None:
    if blob.digest != PREFIX + digits:
        raise Damaged(f"the blob {blob.digest} of {found.source.shown} has another digest, {PREFIX}{digits}")


def _silent(found: _Found, layer: Descriptor) -> Unreachable:
    return Unreachable(
        f"nothing of the layer {layer.digest} of {found.source.shown} came within {_SAMPLE_S:g} s",
        hint="check the network between here and there",
        passing=True,
    )
