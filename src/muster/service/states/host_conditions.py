# SPDX-License-Identifier: Apache-2.0
"""What the rows of the hosts' table ask: small questions, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from muster.service.states.sight import HostSight
from muster.service.states.stages import has_rebooted, is_paused, is_single, role_of
from muster.service.states.tally import RUNNING, is_enough, tally_of

RESTARTS: Final = 3
"""So often a host that boots again while it is written is installed anew; then something is wrong with it."""
CONDITIONS: Final[dict[str, Callable[[HostSight], bool]]] = {}


def _host(check: Callable[[HostSight], bool]) -> Callable[[HostSight], bool]:
    CONDITIONS[check.__name__.replace("_", "-")] = check
    return check


@_host
def connected(see: HostSight) -> bool:
    """It was heard of lately, or has left our medium and need not be."""
    return not see.host.silent or has_rebooted(see.host)


@_host
def media_readable(see: HostSight) -> bool:
    """It can read its boot medium, or does not need that any more."""
    return see.host.media_status == "connected" or has_rebooted(see.host)


@_host
def has_inventory(see: HostSight) -> bool:
    """It told what it is made of."""
    return see.host.inventory is not None


@_host
def min_hardware(see: HostSight) -> bool:
    """Its hardware is enough for any role."""
    return see.fitness.min_hardware


@_host
def required_input(see: HostSight) -> bool:
    """All that only a user can give is given."""
    return see.fitness.required_input


@_host
def sufficient(see: HostSight) -> bool:
    """Everything else passes that must."""
    return see.fitness.sufficient


@_host
def prepared(see: HostSight) -> bool:
    """Its disk is quick enough and it has the images."""
    return see.fitness.prepare


@_host
def disk_too_slow(see: HostSight) -> bool:
    """The check of its installation disk failed."""
    return _has_failed(see, "sufficient-installation-disk-speed")


@_host
def images_failed(see: HostSight) -> bool:
    """It cannot get the images."""
    return _has_failed(see, "container-images-available")


def _has_failed(see: HostSight, id: str) -> bool:
    """Whether a check of the preparation said no, and somebody minds."""
    ignored = see.cluster.ignored_host_validations if see.cluster is not None else ()
    if see.fitness.prepare or id in ignored or "all" in ignored:
        return False
    return any(each.id == id and each.status in ("failure", "error") for each in see.host.verdicts)


@_host
def role_chosen(see: HostSight) -> bool:
    """It was told, or found, what it is going to be."""
    return (see.host.role, see.host.suggested_role) != ("auto-assign", "auto-assign")


@_host
def day_2(see: HostSight) -> bool:
    """It is added to a cluster that exists."""
    return see.cluster is not None and see.cluster.kind == "AddHostsCluster"


@_host
def cluster_preparing(see: HostSight) -> bool:
    """The installation of its cluster is being prepared."""
    return see.cluster is not None and see.cluster.status == "preparing-for-installation"


@_host
def cluster_installing(see: HostSight) -> bool:
    """Its cluster is being installed."""
    states = ("installing", "installing-pending-user-action", "finalizing")
    return see.cluster is not None and see.cluster.status in states


@_host
def cluster_failed(see: HostSight) -> bool:
    """The installation of its cluster failed."""
    return see.cluster is not None and see.cluster.status == "error"


@_host
def soft_timeouts(see: HostSight) -> bool:
    """Timeouts are told of, but fail nothing."""
    return see.cluster is not None and see.cluster.org_soft_timeouts_enabled


@_host
def overdue(see: HostSight) -> bool:
    """It waited until its deadline, and its clock did not stand still."""
    waiting = see.host.waiting
    if waiting is None or waiting.until is None or waiting.until > see.draft.now:
        return False
    return not is_paused(see.host, see.cluster)


@_host
def logs_awaited(see: HostSight) -> bool:
    """Its logs have not arrived yet."""
    return see.host.logs_info not in ("completed", "timeout")


@_host
def rebooting(see: HostSight) -> bool:
    """The last that was heard of it is that it reboots."""
    return see.host.progress.current_stage == "Rebooting"


@_host
def wrong_boot_order(see: HostSight) -> bool:
    """It should boot from its disk now, and booted our medium again."""
    stage = see.host.progress.current_stage
    return has_rebooted(see.host) and (stage != "Done" or day_2(see))


@_host
def repeatable(see: HostSight) -> bool:
    """Its disk is not complete, and nothing of its cluster is lost with its memory: it can start over."""
    return not has_rebooted(see.host) and (not see.host.bootstrap or is_single(see.cluster))


@_host
def restarts_left(see: HostSight) -> bool:
    """It did not start over too often already."""
    return see.host.restarts < RESTARTS


@_host
def may_return(see: HostSight) -> bool:
    """It may have lost power: when it boots the medium again it is installed anew."""
    return repeatable(see) and restarts_left(see)


@_host
def lateness_told(see: HostSight) -> bool:
    """People know already that its stage takes too long."""
    return bool(see.host.progress.stage_timed_out)


@_host
def silence_told(see: HostSight) -> bool:
    """People know already that it is silent."""
    return see.host.connection_timed_out


@_host
def stage_done(see: HostSight) -> bool:
    """It reports that it is done."""
    return see.stage == "Done"


@_host
def stage_failed(see: HostSight) -> bool:
    """It reports that it failed."""
    return see.stage == "Failed"


@_host
def dispensable(see: HostSight) -> bool:
    """Its cluster can be installed without it."""
    if see.cluster is None:
        return False
    return is_enough(see.cluster, tally_of(see.draft), RUNNING, without=role_of(see.host))
