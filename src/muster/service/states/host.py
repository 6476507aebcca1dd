# SPDX-License-Identifier: Apache-2.0
"""What happens to a host: each trigger of the hosts' table as a function on a draft.

Every change of a state has a text, a time, an event, and what is waited for next.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from muster.model.wire.host import HostProgressInfo
from muster.service.derive.bits import read_bits
from muster.service.engine import BOOTSTRAP_SILENCE, SILENCE
from muster.service.realm import Draft, Severity
from muster.service.refusals import Forbidden, StateConflict, Unavailable
from muster.service.state import Host
from muster.service.states.fitness import UNASKED, HostFitness
from muster.service.states.host_effects import EFFECTS
from muster.service.states.host_rows import RUNNING
from muster.service.states.host_table import HOSTS
from muster.service.states.sight import HostSight, cluster_of
from muster.service.states.stages import has_rebooted, host_percent, stages_of
from muster.service.states.table import Row, Trigger
from muster.service.states.waits import host_waiting
from muster.service.states.words import Words, host_words, missing, name_of, span

_ROUNDS: Final = 8
"""More rows in a row than the tables can give."""
_SEVERITIES: Final[dict[str, Severity]] = {
    "error": "error",
    "disconnected": "warning",
    "disconnected-unbound": "warning",
    "preparing-failed": "warning",
    "installing-pending-user-action": "warning",
    "unbinding-pending-user-action": "warning",
}
_PREPARE: Final = frozenset({"sufficient-installation-disk-speed", "container-images-available"})
_OPEN: Final = frozenset({"failure", "error", "pending"})
_RUNNING: Final = frozenset(RUNNING.split())
ACCEPTING: Final = frozenset({"insufficient", "ready", "pending-for-input", "adding-hosts"})
"""States of clusters that take in new hosts."""
MOST_HOSTS: Final = 2000
"""Hosts of an infra-env in a realm: whoever has its medium can register any number of machines."""
ABANDONED: Final = timedelta(minutes=5)
"""A host that is silent and sent no inventory gives way to another one after so long."""
_UNHEARD: Final = frozenset({"discovering", "disconnected", "discovering-unbound", "disconnected-unbound"})
_UNDECIDED: Final[Mapping[str, object]] = {
    "role": "auto-assign",
    **dict.fromkeys(
        (
            *("requested_hostname", "machine_config_pool_name", "installation_disk_id", "installer_args"),
            *("ignition_config_overrides", "ignition_endpoint_token", "node_labels", "fencing_credentials"),
        ),
        "",
    ),
    "skip_formatting_disks": (),
}
"""What people decide about a host, as it is before."""


def fire(draft: Draft, trigger: Trigger, see: HostSight) -> Row | None:
    """Take the first row that fits; none: nothing fits and nothing happened."""
    row = HOSTS.find(trigger, see.host.status, see)
    if row is not None:
        _take(draft, see, row)
    return row


def _take(draft: Draft, see: HostSight, row: Row) -> None:
    host = see.host
    text = row.reason or host.status_info
    if "{" in row.reason:
        text = row.reason.format_map(_words(see, row))
    if row.refuse:
        refusal = Forbidden if row.refuse == "forbidden" else StateConflict
        raise refusal(f"host {name_of(host)}: {text}", hint=_REFUSED[row.refuse])
    for name in row.also.split():
        EFFECTS[name](see)
    if row.to and row.to != host.status:
        set_status(draft, host, row.to, text)
    else:
        draft.change(host, status_info=text)
        await_next(draft, host)


_REFUSED: Final = {
    "forbidden": "make its disk the first boot device, and reboot it without the installation medium",
    "conflict": "reset the host to install it again",
}


def set_status(draft: Draft, host: Host, status: str, text: str) -> None:
    """A host's state becomes another one: people are told, and it waits for something else."""
    draft.change(host, status=status, status_info=text, status_updated_at=draft.now, updated_at=draft.now)
    await_next(draft, host)
    message = f"Host {name_of(host)}: updated status from {host.status} to {status} ({text})"
    draft.tell(
        host,
        "host_status_updated",
        message,
        severity=_SEVERITIES.get(status, "info"),
        host_name=name_of(host),
        src_status=host.status,
        new_status=status,
    )


def await_next(draft: Draft, host: Host) -> None:
    """Note what a host waits for now."""
    present = draft.hosts[host.id]
    draft.change(present, waiting=host_waiting(present, cluster_of(draft)))


def _words(see: HostSight, row: Row) -> Words:
    host, waiting = see.host, see.host.waiting
    words = host_words(host, see.cluster)
    if "{missing}" in row.reason:
        words["missing"] = missing(host.verdicts, _failing(see))
    if "{silence}" in row.reason:
        patience = BOOTSTRAP_SILENCE if host.bootstrap else SILENCE
        words["silence"] = int(patience.total_seconds() // 60)
    if waiting is not None and waiting.until is not None:
        words["span"] = span(waiting.until - waiting.since)
    words.update(told=see.told or "no reason was given", reported=see.stage)
    return words


def _failing(see: HostSight) -> tuple[str, ...]:
    """What stands in the way; while a host is prepared, that is what it is prepared for."""
    if see.host.status != "preparing-for-installation":
        return see.fitness.failing
    return tuple(each.id for each in see.host.verdicts if each.id in _PREPARE and each.status in _OPEN)


def _need(draft: Draft, trigger: Trigger, see: HostSight, verb: str, hint: str) -> Host:
    """Something that only some states allow."""
    if fire(draft, trigger, see) is None:
        raise StateConflict(f"host {name_of(see.host)} is {see.host.status} and cannot be {verb}", hint=hint)
    return draft.hosts[see.host.id]


# What hosts do


def register(draft: Draft, host: Host) -> Host:
    """A host asks to be taken in, for the first time or again; then only its agent's version counts."""
    present = draft.hosts.get(host.id)
    if present is None:
        return _take_in(draft, host)
    row = fire(draft, "register", HostSight(draft, present))
    if row is None:
        raise StateConflict(
            f"host {name_of(present)} is {present.status} and cannot register", hint="reset the host first"
        )
    draft.change(
        present,
        discovery_agent_version=host.discovery_agent_version,
        registered_at=draft.now,
        media_status="connected",
        silent=False,
        status_updated_at=draft.now if row.to else present.status_updated_at,
    )
    await_next(draft, present)
    return draft.hosts[host.id]


def _take_in(draft: Draft, host: Host) -> Host:
    if not draft.is_pool and draft.cluster.status not in ACCEPTING:
        raise StateConflict(
            f"cluster {draft.cluster.name} is {draft.cluster.status} and takes in no hosts",
            hint="wait until it is installed, or reset it",
        )
    number = _make_room(draft, host.infra_env_id)
    status = "discovering-unbound" if draft.is_pool else "discovering"
    day_2 = not draft.is_pool and draft.cluster.kind == "AddHostsCluster"
    new = msgspec.structs.replace(
        host,
        number=take_number(draft) if number is None else number,
        cluster_id=None if draft.is_pool else draft.cluster.id,
        kind="AddToExistingClusterHost" if day_2 else "Host",
        status=status,
        status_info="The host has booted; its inventory is awaited",
        status_updated_at=draft.now,
    )
    draft.add(msgspec.structs.replace(new, waiting=host_waiting(new, cluster_of(draft))))
    draft.tell(new, "host_registration_succeeded", f"Host {name_of(new)}: registered")
    return draft.hosts[host.id]


def _make_room(draft: Draft, infra_env_id: str) -> int | None:
    """Remove the oldest abandoned host of an infra-env that is full; its number, if the next one may have it.

    Numbers are places in sets that are stored with every host. Without this, a holder of the medium who
    registers one machine after the other would make them longer and longer.
    """
    there = [each for each in draft.hosts.values() if each.infra_env_id == infra_env_id]
    if len(there) < MOST_HOSTS:
        return None
    abandoned = [each for each in there if _is_abandoned(each, draft.now)]
    if not abandoned:
        raise Unavailable(
            f"infra-env {infra_env_id} has {MOST_HOSTS} hosts already, and takes in no more",
            hint="delete hosts that are not there any more, or boot the medium of another infra-env",
        )
    oldest = min(abandoned, key=lambda each: each.registered_at)
    message = (
        f"Host {name_of(oldest)}: removed, because the infra-env has {MOST_HOSTS} hosts and another one"
        " registers; this host sent no inventory and is silent"
    )
    draft.tell(oldest, "host_gave_way", message, severity="warning")
    draft.documents.update({(oldest.id, name): None for name in oldest.reports})
    draft.remove(oldest)
    is_known = any(read_bits(each.asked) >> oldest.number & 1 for each in draft.hosts.values())
    return None if is_known else oldest.number


def _is_abandoned(host: Host, now: datetime) -> bool:
    """Whether a host registered, sent no inventory and fell silent, and nobody decided anything about it."""
    return (
        host.silent
        and host.inventory is None
        and host.status in _UNHEARD
        and now - host.registered_at >= ABANDONED
        and host.enrolment_approval is None
        and all(getattr(host, name) == default for name, default in _UNDECIDED.items())
    )


def take_number(draft: Draft) -> int:
    """A number that no host of the realm has had."""
    owner = draft.infra_env if draft.is_pool else draft.cluster
    draft.change(owner, hosts_seen=owner.hosts_seen + 1)
    return owner.hosts_seen


def progress(draft: Draft, host: Host, stage: str, info: str = "") -> Host:
    """A host reports how far its installation is. The same again is nothing new."""
    before = host.progress
    stages = stages_of(host, cluster_of(draft))
    if stage == "Rebooting" and stage not in stages:
        stage = "Done"
    if (before.current_stage, before.progress_info or "") == (stage, info):
        return host
    _check_stage(host, stages, stage)
    now, same = draft.now, before.current_stage == stage
    if stage != "Failed":
        new = HostProgressInfo(
            current_stage=stage,  # type: ignore[arg-type]  # it is one of its role's stages
            progress_info=info,
            stage_started_at=before.stage_started_at if same else now,
            stage_updated_at=now,
            stage_timed_out=before.stage_timed_out if same else None,
        )
        percent = host_percent(msgspec.structs.replace(host, progress=new), cluster_of(draft))
        new = msgspec.structs.replace(new, installation_percentage=percent)
        draft.change(host, progress=new, waiting=host.waiting if same else None)
    if not same:
        detail = f": {info}" if info else ""
        message = f"Host {name_of(host)}: reached installation stage {stage}{detail}"
        draft.tell(host, "host_install_progress_updated", message, stage=stage)
    fire(draft, "progress", HostSight(draft, draft.hosts[host.id], stage=stage, told=info))
    return draft.hosts[host.id]


def _check_stage(host: Host, stages: tuple[str, ...], stage: str) -> None:
    here, name = host.progress.current_stage, name_of(host)
    if host.status not in _RUNNING:
        raise StateConflict(
            f"host {name} is {host.status} and makes no progress",
            hint="report progress while it is installed",
        )
    if stage == "Failed":
        return
    if stage not in stages:
        raise StateConflict(
            f"host {name}: {stage!r} is no stage of its role", hint=f"its stages are {', '.join(stages)}"
        )
    if here in stages and stages.index(stage) < stages.index(here):
        raise StateConflict(f"host {name} is at {here!r}, past {stage!r}", hint="report later stages only")


def installation_failed(draft: Draft, host: Host, why: str) -> Host:
    """The step that installs ended with an error; a host that is past that is left alone."""
    fire(draft, "installation-failed", HostSight(draft, host, told=why))
    return draft.hosts[host.id]


def media_disconnected(draft: Draft, host: Host, why: str = "") -> Host:
    """A host cannot read its boot medium any more; one that left it does not need to."""
    if not has_rebooted(host):
        fire(draft, "media-disconnected", HostSight(draft, host, told=why))
    return draft.hosts[host.id]


def fell_silent(draft: Draft, host: Host) -> Host:
    """A host has not asked for instructions for too long; one that rebooted into its own system need not."""
    if not has_rebooted(host):
        draft.change(host, silent=True)
    return draft.hosts[host.id]


def heard_again(draft: Draft, host: Host) -> Host:
    """A host that was silent asks again."""
    draft.change(host, silent=False, connection_timed_out=False)
    return draft.hosts[host.id]


def artifacts(draft: Draft, host: Host, failure: str = "") -> Host:
    """A host that is to boot back into its pool has what it needs for that, or could not get it."""
    see = HostSight(draft, host, told=failure)
    hint = "reclaim the host first"
    return _need(draft, "artifacts-failed" if failure else "artifacts-ready", see, "booted back", hint)


def logs(draft: Draft, host: Host, state: str) -> Host:
    """How far a host is with its logs: requested, collecting, completed."""
    values: dict[str, object] = {"logs_info": state}
    if state == "requested" or (state == "collecting" and host.logs_started_at is None):
        values["logs_started_at"] = draft.now
    if state == "completed":
        values["logs_collected_at"] = draft.now
    draft.change(host, **values)
    await_next(draft, host)
    return draft.hosts[host.id]


# What people do


def cancel(draft: Draft, host: Host) -> Host:
    """The installation is stopped; a host that has no part in it stays as it is."""
    fire(draft, "cancel", HostSight(draft, host))
    return draft.hosts[host.id]


def reset(draft: Draft, host: Host) -> Host:
    """A host starts over: somebody has to boot it from the medium."""
    see, hint = HostSight(draft, host), "wait until it has registered"
    return _need(draft, "reset", see, "reset", hint)


def install_day2(draft: Draft, host: Host) -> Host:
    """A host is added to a cluster that exists."""
    see, hint = HostSight(draft, host), "only a known host of a cluster that hosts are added to can be"
    return _need(draft, "install", see, "installed by itself", hint)


# What follows


def refresh(draft: Draft, host: Host, fitness: HostFitness = UNASKED) -> bool:
    """Bring a host's state up to what is known; whether it is another one then."""
    before = host.status
    for _ in range(_ROUNDS):
        present = draft.hosts[host.id]
        row = fire(draft, "refresh", HostSight(draft, present, fitness))
        if row is None:
            await_next(draft, present)
        if row is None or draft.hosts[host.id].status == present.status:
            break
    return draft.hosts[host.id].status != before
