# SPDX-License-Identifier: Apache-2.0
"""Hosts, as clients are shown them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from muster.model.host_key import fingerprint
from muster.model.wire.host import EnrolmentRequest as WireRequest
from muster.model.wire.host import Host as WireHost
from muster.model.wire.host import HostRegistrationResponse, NextStepRunnerCommand
from muster.model.wire.reports import DiskInfo, DomainResolutionResponse
from muster.model.wire.steps import NextStepCmdRequest
from muster.service.api.views.text import PREFIX, copier, json_or_none, json_text, show_verdicts
from muster.service.derive.names import effective_name
from muster.service.state import Cluster, Host
from muster.service.states.stages import stages_of
from muster.service.validations.registry import HOST

_REWORDED: Final = (
    *("inventory", "free_addresses", "ntp_sources", "api_vip_connectivity", "tang_connectivity"),
    *("disks_to_be_formatted", "skip_formatting_disks", "requested_hostname", "enrolment_request"),
)
_PEER: Final = (
    *("kind", "id", "href", "status", "status_info", "cluster_id", "infra_env_id"),
    *("requested_hostname", "role", "suggested_role", "bootstrap", "progress", "enrolment_request"),
)
_NOTED: Final = ("kind", "id", "href", "status", "status_info", "infra_env_id")
_SEALED: Final = ("fencing_credentials",)
_copy = copier(Host, WireHost, "status_info", *_REWORDED, *_SEALED)


def show_host(
    host: Host,
    cluster: Cluster | None,
    *,
    heard_at: datetime | None = None,
    connectivity: bytes | None = None,
    inventory: bool = True,
) -> WireHost:
    """A host. What it last reported of its peers is not part of its state and is handed in."""
    return WireHost(
        href=f"{PREFIX}/infra-envs/{host.infra_env_id}/hosts/{host.id}",
        status_info=host.status_info,
        requested_hostname=effective_name(host),
        connectivity=None if connectivity is None else connectivity.decode("utf-8", "replace"),
        inventory=json_text(host.inventory) if inventory and host.inventory is not None else None,
        key_fingerprint=fingerprint(host.public_key) if host.public_key else None,
        enrolment_request=_request(host),
        **_stages(host, cluster),
        **_heard(host, heard_at),
        **_reports(host),
        **_copy(host),
    )


def show_peer(host: WireHost) -> WireHost:
    """A host as other hosts of its cluster see it: its name, its role, and how far it is."""
    return WireHost(**{name: getattr(host, name) for name in _PEER})


def show_noted(host: WireHost) -> WireHost:
    """A host as one that gets no token sees it: it only learns that it has to boot from its disk."""
    return WireHost(**{name: getattr(host, name) for name in _NOTED})


def show_registration(host: WireHost, agent_version: str, retry_seconds: int) -> HostRegistrationResponse:
    """A host that has just registered, and how its agent goes on."""
    request = NextStepCmdRequest(
        infra_env_id=host.infra_env_id or "", host_id=host.id, agent_version=agent_version
    )
    command = NextStepRunnerCommand(command="", args=(json_text(request),), retry_seconds=retry_seconds)
    values = {name: getattr(host, name) for name in host.__struct_fields__}
    return HostRegistrationResponse(**values, next_step_runner_command=command)


def _request(host: Host) -> WireRequest | None:
    request, approval = host.enrolment_request, host.enrolment_approval
    if request is None:
        return None
    key = fingerprint(request.key)
    return WireRequest(
        key=key,
        address=request.address,
        requested_at=request.requested_at,
        differs=request.differs,
        approved=approval is not None and approval.key == key,
    )


def _stages(host: Host, cluster: Cluster | None) -> dict[str, Any]:
    """The stages ahead of it, once it is known what it is going to be."""
    if cluster is None or host.role == host.suggested_role == "auto-assign":
        return {}
    return {"progress_stages": stages_of(host, cluster)}


def _heard(host: Host, heard_at: datetime | None) -> dict[str, Any]:
    """When it last asked, by our clock and by its own."""
    if heard_at is None:
        return {}
    found: dict[str, Any] = {"checked_in_at": heard_at}
    if host.clock_offset_s is not None:
        found["timestamp"] = int(heard_at.timestamp()) + host.clock_offset_s
    return found


def _reports(host: Host) -> dict[str, Any]:
    """What it told, as JSON in strings."""
    disks = {path: DiskInfo(path=path, disk_speed=speed) for path, speed in host.disk_speeds.items()}
    names = None if host.resolutions is None else DomainResolutionResponse(resolutions=host.resolutions)
    return {
        "validations_info": show_verdicts(host.verdicts, HOST),
        "stage_started_at": host.progress.stage_started_at,
        "stage_updated_at": host.progress.stage_updated_at,
        "free_addresses": json_or_none(host.free_addresses),
        "ntp_sources": json_or_none(host.ntp_sources),
        "domain_name_resolutions": json_or_none(names),
        "disks_info": json_or_none(disks),
        "images_status": json_or_none({image.name: image for image in host.images}),
        "api_vip_connectivity": json_or_none(host.api_vip_connectivity),
        "tang_connectivity": json_or_none(host.tang_connectivity),
        "disks_to_be_formatted": ",".join(host.disks_to_be_formatted) or None,
        "skip_formatting_disks": ",".join(host.skip_formatting_disks) or None,
        "ignition_endpoint_token_set": bool(host.ignition_endpoint_token),
    }
