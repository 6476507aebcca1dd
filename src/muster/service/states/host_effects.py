# SPDX-License-Identifier: Apache-2.0
"""What else happens when a row of the hosts' table is taken: small changes, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from muster.model.wire.cluster import LastInstallationPreparation
from muster.model.wire.host import HostProgressInfo
from muster.service.states.sight import HostSight
from muster.service.states.stages import is_single
from muster.service.states.words import name_of, span

EFFECTS: Final[dict[str, Callable[[HostSight], None]]] = {}
_TOLD: Final[dict[str, Any]] = {
    "inventory": None,
    "asked": "",
    "reached": {},
    "peers": {},
    "reports": {},
    "ntp_sources": None,
    "clock_offset_s": None,
    "free_addresses": None,
    "verified_vips": None,
    "resolutions": None,
    "disk_speeds": {},
    "images": (),
    "api_vip_connectivity": None,
    "tang_connectivity": None,
}
"""What a host told before it booted anew, and what stands there instead."""
_PROGRESS: Final[dict[str, Any]] = {
    "progress": HostProgressInfo(),
    "install_step": "",
    "restarts": 0,
    "disk_unsure": False,
    "connection_timed_out": False,
    "logs_info": "",
    "logs_started_at": None,
    "logs_collected_at": None,
}


def _effect(make: Callable[[HostSight], None]) -> Callable[[HostSight], None]:
    EFFECTS[make.__name__.replace("_", "-")] = make
    return make


@_effect
def forget_told(see: HostSight) -> None:
    """It booted anew: nothing that it told before holds."""
    see.draft.documents.update({(see.host.id, name): None for name in see.host.reports})
    see.draft.change(see.host, **_TOLD, **_PROGRESS, bootstrap=see.host.bootstrap and is_single(see.cluster))


@_effect
def forget_images(see: HostSight) -> None:
    """Images that were in memory are gone."""
    see.draft.change(see.host, images=())


@_effect
def prepare_again(see: HostSight) -> None:
    """What was made for the hosts is made anew."""
    see.draft.change(see.draft.cluster, preparation=LastInstallationPreparation(status="not_started"))


@_effect
def forget_progress(see: HostSight) -> None:
    """It begins at the beginning."""
    see.draft.change(see.host, **_PROGRESS)


@_effect
def install_anew(see: HostSight) -> None:
    """It begins at the beginning, as soon as it told its disks; everybody learns how often that was."""
    host = see.host
    number = host.restarts + 1
    see.draft.change(host, **{**_PROGRESS, "restarts": number, "disk_unsure": True})
    stage = host.progress.current_stage or "before the first stage"
    message = f"Host {name_of(host)}: booted again at the stage {stage}, and is installed anew (no. {number})"
    see.draft.tell(host, "host_installation_repeated", message, severity="warning", stage=stage)


@_effect
def lose_media(see: HostSight) -> None:
    """It cannot read what it booted from."""
    see.draft.change(see.host, media_status="disconnected")


@_effect
def tell_silence(see: HostSight) -> None:
    """People learn that it is silent; it may come back."""
    see.draft.change(see.host, connection_timed_out=True)
    message = f"Host {name_of(see.host)}: it has not asked for instructions for too long"
    see.draft.tell(see.host, "host_connection_timed_out", message, severity="warning")


@_effect
def tell_lateness(see: HostSight) -> None:
    """People learn that its stage takes too long."""
    progress, waiting = see.host.progress, see.host.waiting
    see.draft.change(see.host, progress=msgspec.structs.replace(progress, stage_timed_out=True))
    took = "too long" if waiting is None or waiting.until is None else span(waiting.until - waiting.since)
    message = f"Host {name_of(see.host)}: the stage {progress.current_stage} takes longer than {took}"
    see.draft.tell(see.host, "host_stage_timed_out", message, severity="warning")


@_effect
def end_logs(see: HostSight) -> None:
    """Its logs will not come."""
    see.draft.change(see.host, logs_info="timeout")
    message = f"Host {name_of(see.host)}: its logs did not arrive in time"
    see.draft.tell(see.host, "host_logs_timed_out", message, severity="warning")
