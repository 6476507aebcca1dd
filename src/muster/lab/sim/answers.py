# SPDX-License-Identifier: Apache-2.0
"""The checks of the discovery agent, each answered from the model: one function for a type of step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from ipaddress import IPv4Network
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import msgspec

from muster.lab.sim.answer import Outcome
from muster.lab.sim.body import Body
from muster.lab.sim.links import Asking
from muster.model.wire import reports, steps
from muster.model.wire.enums import SourceState, StepType

_MAX_FREE: Final = 8000
_FAILED_PULL: Final = 2
_TIMED_OUT: Final = 124
_ENCODER: Final = msgspec.json.Encoder()


class Question(msgspec.Struct, frozen=True, gc=False):
    """A step that a host was given, and when."""

    step_id: str
    args: tuple[str, ...]
    now: float

    def read(self, kind: Any) -> Any:
        """Its first argument."""
        if not self.args:
            raise BadArguments("the step has no argument")
        try:
            return _decoder(kind).decode(self.args[0])
        except (msgspec.DecodeError, UnicodeError) as error:
            raise BadArguments(str(error)) from None


class BadArguments(Exception):
    """A step whose arguments no agent can make sense of."""


Check: TypeAlias = Callable[[Body, Question], Outcome]


@lru_cache(maxsize=64)
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def _said(value: object) -> str:
    return _ENCODER.encode(value).decode()


def _inventory(body: Body, question: Question) -> Outcome:
    return Outcome(3.0 + 4.0 * body.random.random(), body.inventory(question.now))


def _connectivity(body: Body, question: Question) -> Outcome:
    """Ten pings a second apart, of all peers at once."""
    peers: tuple[msgspec.Raw, ...] = question.read(tuple[msgspec.Raw, ...])
    try:
        found = Asking(body.cards, body.world, question.now, body.random).ask(peers)
    except (ValueError, msgspec.DecodeError) as error:
        raise BadArguments(str(error)) from None
    return Outcome(10.0 + body.random.random(), found)


def _free_addresses(body: Body, question: Question) -> Outcome:
    wanted: tuple[str, ...] = question.read(tuple[str, ...])
    taken = body.world.addresses(body.broken(question.now))
    found = []
    for text in wanted:
        try:
            network = IPv4Network(text)
        except ValueError as error:
            raise BadArguments(str(error)) from None
        free = tuple(address for address in _addresses(network) if address not in taken)
        found.append(reports.FreeNetworkAddresses(network=text, free_addresses=free[:_MAX_FREE]))
    return Outcome(4.0 * len(found), _said(found))


@lru_cache(maxsize=64)
def _addresses(network: IPv4Network) -> tuple[str, ...]:
    return tuple(str(network[index]) for index in range(min(network.num_addresses, 2 * _MAX_FREE)))


def _lease(body: Body, question: Question) -> Outcome:
    request: steps.DhcpAllocationRequest = question.read(steps.DhcpAllocationRequest)
    leases = body.world.around.leases
    card = next((each for each in body.cards if each.name == request.interface), None)
    if card is None or card.key in body.broken(question.now).down or len(leases) < 2:
        return Outcome(28.0, exit_code=_TIMED_OUT, error=f"no lease was offered on {request.interface}")
    answer = reports.DhcpAllocationResponse(
        api_vip_address=leases[0],
        ingress_vip_address=leases[1],
        api_vip_lease=_render_lease("api", leases[0]),
        ingress_vip_lease=_render_lease("ingress", leases[1]),
    )
    return Outcome(6.0, _said(answer))


def _render_lease(name: str, address: str) -> str:
    return f'lease {{\n  interface "{name}";\n  fixed-address {address};\n}}\n'


def _ntp(body: Body, question: Question) -> Outcome:
    request: steps.NtpSynchronizationRequest = question.read(steps.NtpSynchronizationRequest)
    names = [name for name in (each.strip() for each in request.ntp_source.split(",")) if name]
    found = tuple(_sources(body, names, question.now))
    return Outcome(2.0 + len(names), _said(reports.NtpSynchronizationResponse(ntp_sources=found)))


def _sources(body: Body, names: Sequence[str], now: float) -> Iterator[reports.NtpSource]:
    """The first server that answers and is not far from the others is the one that is followed."""
    broken = body.broken(now)
    is_synced = False
    for name in names:
        server = body.world.ntp_server(name, broken)
        state: SourceState = "unreachable"
        if server.reachable:
            state = (
                "error" if abs(server.offset_s) > 1 and is_synced else "combined" if is_synced else "synced"
            )
            is_synced = True
        yield reports.NtpSource(source_name=name, source_state=state)


class _Domain(msgspec.Struct, frozen=True):
    domain_name: str


class _Domains(msgspec.Struct, frozen=True):
    domains: tuple[_Domain, ...]


def _domains(body: Body, question: Question) -> Outcome:
    request: _Domains = question.read(_Domains)
    broken = body.broken(question.now)
    found = []
    for each in request.domains:
        addresses = body.world.resolve(each.domain_name, broken)
        found.append(
            reports.DomainResolution(
                domain_name=each.domain_name,
                ipv4_addresses=tuple(address for address in addresses if ":" not in address),
                ipv6_addresses=tuple(address for address in addresses if ":" in address),
                cnames=(),
            )
        )
    seconds = 5.0 * len(found) if "*" in broken.names else 0.2
    return Outcome(seconds, _said(reports.DomainResolutionResponse(resolutions=tuple(found))))


def _vips(body: Body, question: Question) -> Outcome:
    request: tuple[steps.VerifyVip, ...] = question.read(tuple[steps.VerifyVip, ...])
    asking = Asking(body.cards, body.world, question.now, body.random)
    found = [
        reports.VerifiedVip(
            vip=each.vip,
            vip_type=each.vip_type,
            verification="failed" if asking.is_answered(each.vip or "") else "succeeded",
        )
        for each in request
    ]
    return Outcome(1.0 + len(found), _said(found))


def _tang(body: Body, question: Question) -> Outcome:
    request: steps.TangConnectivityRequest = question.read(steps.TangConnectivityRequest)
    if not body.world.around.tang_answers:
        return Outcome(10.0, exit_code=1, error="the Tang servers do not answer")
    try:
        servers = msgspec.json.decode(request.tang_servers, type=tuple[dict[str, str], ...])
    except msgspec.DecodeError as error:
        raise BadArguments(str(error)) from None
    signature = reports.TangSignature(protected="eyJhbGciOiJFUzUxMiJ9", signature="AA")
    answers = tuple(
        reports.TangServerResponse(
            tang_url=server.get("url", ""), payload="eyJrZXlzIjpbXX0", signatures=(signature,)
        )
        for server in servers
    )
    return Outcome(
        0.5, _said(reports.TangConnectivityResponse(is_success=True, tang_server_response=answers))
    )


def _api_vip(body: Body, question: Question) -> Outcome:
    """Whether a host that joins later gets its Ignition; it does where the name or address is known."""
    request: steps.ApiVipConnectivityRequest = question.read(steps.ApiVipConnectivityRequest)
    host = request.url.partition("://")[2].partition("/")[0].rpartition(":")[0].strip("[]")
    broken = body.broken(question.now)
    is_known = bool(body.world.resolve(host, broken)) or bool(body.world.ports_of(host, broken))
    answer = reports.ApiVipConnectivityResponse(
        is_success=is_known or None,
        url=request.url,
        download_error=None if is_known else f"{host} does not answer",
        ignition='{"ignition":{"version":"3.2.0"}}' if is_known else None,
    )
    return Outcome(1.0 if is_known else 30.0, _said(answer))


def _disk_speed(body: Body, question: Question) -> Outcome:
    """It writes to the disk, as the real check does: the plan has to name that disk."""
    request: steps.DiskSpeedCheckRequest = question.read(steps.DiskSpeedCheckRequest)
    disk = body.find_disk(request.path)
    if disk is None:
        return Outcome(0.5, exit_code=1, error=f"{request.path}: no such file or directory")
    if body.is_full(disk, question.now):
        return Outcome(1.0, exit_code=1, error=f"{request.path}: no space left on device")
    body.write(disk, "speed check", question.now, question.step_id)
    speed = body.speed_of(disk, question.now)
    # 22 MiB in pieces of 2,300 bytes, each synced; the 99th percentile is some way above the mean.
    seconds = 10_030 * speed.sync_ms * 0.4 / 1000
    answer = reports.DiskSpeedCheckResponse(path=request.path, io_sync_duration=speed.sync_ms)
    limit = _limit(question)
    if seconds > limit:
        return Outcome(limit, exit_code=_TIMED_OUT, error=f"{request.path} was not tested in {limit:.0f} s")
    return Outcome(seconds, _said(answer))


def _limit(question: Question) -> float:
    try:
        return float(question.args[1])
    except (IndexError, ValueError):
        return 480.0


def _images(body: Body, question: Question) -> Outcome:
    """One after another, within the time that all have together."""
    request: steps.ContainerImageAvailabilityRequest = question.read(steps.ContainerImageAvailabilityRequest)
    limit = float(request.timeout or 960)
    total = 0.0
    found = []
    for name in request.images:
        had = name in body.pulled
        seconds = body.pull(name, question.now)
        if seconds is None or total + seconds > limit:
            body.pulled.discard(name)
            total = min(limit, total + 20.0)
            found.append(reports.ContainerImageAvailability(name=name, result="failure"))
            continue
        total += seconds
        size = float(body.world.image(name, body.broken(question.now)).size_bytes)
        found.append(
            reports.ContainerImageAvailability(
                name=name,
                result="success",
                size_bytes=size,
                time=None if had else round(seconds, 3),
                download_rate=None if had else round(size / seconds / 1e6, 3) if seconds else None,
            )
        )
    failed = [each.name or "" for each in found if each.result == "failure"]
    return Outcome(
        total + 0.5,
        _said(reports.ContainerImageAvailabilityResponse(images=tuple(found))),
        _FAILED_PULL if failed else 0,
        f"could not be pulled: {', '.join(failed)}" if failed else "",
    )


def _upgrade(body: Body, question: Question) -> Outcome:
    request: steps.UpgradeAgentRequest = question.read(steps.UpgradeAgentRequest)
    seconds = body.pull(request.agent_image or "", question.now)
    answer = reports.UpgradeAgentResponse(
        agent_image=request.agent_image, result="failure" if seconds is None else "success"
    )
    return Outcome(seconds or 5.0, _said(answer), then="" if seconds is None else "restart")


def _boot_artifacts(_: Body, question: Question) -> Outcome:
    question.read(steps.DownloadBootArtifactsRequest)
    return Outcome(45.0)


def _reboot(_: Body, question: Question) -> Outcome:
    question.read(steps.RebootForReclaimRequest)
    return Outcome(1.0, then="reboot")


CHECKS: Final[Mapping[StepType, Check]] = MappingProxyType({
    "inventory": _inventory,
    "connectivity-check": _connectivity,
    "free-network-addresses": _free_addresses,
    "dhcp-lease-allocate": _lease,
    "ntp-synchronizer": _ntp,
    "domain-resolution": _domains,
    "verify-vips": _vips,
    "tang-connectivity-check": _tang,
    "api-vip-connectivity-check": _api_vip,
    "installation-disk-speed-check": _disk_speed,
    "container-image-availability": _images,
    "upgrade-agent": _upgrade,
    "download-boot-artifacts": _boot_artifacts,
    "reboot-for-reclaim": _reboot,
})  # fmt: skip
"""All steps but those of an installation and its logs, which `SimHost` answers itself."""
