# SPDX-License-Identifier: Apache-2.0
"""Whether a host is there, and whether its own network will do: networks, routes, time, images."""

from __future__ import annotations

from typing import Final

from muster.model.wire.reports import ContainerImageAvailability
from muster.redact import redact_links, redact_url
from muster.service.state import Host
from muster.service.validations.addresses import FAMILIES, each_address
from muster.service.validations.facts import (
    BALANCER,
    COUNT,
    DAY,
    MANAGED,
    NETWORKS,
    REBOOTED,
    balances_itself,
    cluster_of,
    families,
    is_day2,
    is_single,
    join,
    machine_subnets,
)
from muster.service.validations.registry import (
    SUPPRESSED,
    Answer,
    HostView,
    Reads,
    broken,
    failed,
    on_host,
    passed,
    pending,
)

MOST_BEHIND_S: Final = 20 * 60
MOST_AHEAD_S: Final = 60 * 60
LEAST_RATE_MBPS: Final = 0.001
"""An image that comes slower than this does not come at all."""
_NOWHERE: Final = frozenset({"0.0.0.0", "::", "0.0.0.0/0", "::/0", "default"})  # noqa: S104  # no socket


@on_host("connected", "network", Reads({"silent", "progress"}), pool=True, must=True)
def connected(see: HostView) -> Answer:
    if _has_rebooted(see.host):
        return SUPPRESSED
    return failed() if see.host.silent else passed()


@on_host("media-connected", "network", Reads({"media_status", "progress"}), pool=True)
def media_connected(see: HostView) -> Answer:
    if _has_rebooted(see.host):
        return SUPPRESSED
    return failed() if see.host.media_status == "disconnected" else passed()


def _has_rebooted(host: Host) -> bool:
    return host.progress.current_stage in REBOOTED


@on_host(
    "machine-cidr-defined",
    "network",
    Reads(cluster={"machine_networks", "user_managed_networking", "kind"}),
    must=True,
)
def machine_cidr_defined(see: HostView) -> Answer:
    cluster = cluster_of(see)
    if cluster.user_managed_networking or is_day2(cluster):
        return passed("needless")
    return passed() if cluster.machine_networks else failed()


@on_host(
    "belongs-to-machine-cidr",
    "network",
    Reads({"inventory.interfaces"}, DAY | COUNT | MANAGED | BALANCER | {"machine_networks"}),
)
def belongs_to_machine_cidr(see: HostView) -> Answer:
    cluster, inventory = cluster_of(see), see.host.inventory
    if is_day2(cluster) or (cluster.user_managed_networking and not is_single(cluster)):
        return passed("needless")
    if inventory is None:
        return pending()
    if not cluster.machine_networks:
        return pending("undefined")
    addresses = [address for _, address in each_address(inventory)]
    missing = [
        subnet.text
        for subnet in machine_subnets(cluster)
        if not any(subnet.holds(address) for address in addresses)
    ]
    needed = len(cluster.machine_networks) if balances_itself(cluster) else 1
    if len(missing) < needed:
        return passed()
    found = join(address.text for address in addresses if not address.is_link_local)
    return failed(missing=join(missing), found=found or "none")


@on_host("has-default-route", "network", Reads({"inventory.routes"}), pool=True)
def has_default_route(see: HostView) -> Answer:
    inventory = see.host.inventory
    if inventory is None:
        return pending()
    routes = inventory.routes or ()
    if any(route.gateway and route.destination in _NOWHERE for route in routes):
        return passed()
    return failed(count=len(routes))


@on_host("non-overlapping-subnets", "network", Reads({"inventory.interfaces"}, NETWORKS))
def non_overlapping_subnets(see: HostView) -> Answer:
    inventory = see.host.inventory
    if inventory is None:
        return pending()
    wanted = families(cluster_of(see))
    if wanted is None:
        return broken()
    found = sorted(
        (
            (address.subnet, name)
            for name, address in each_address(inventory)
            if FAMILIES[address.version] in wanted and not address.is_link_local
        ),
        key=lambda each: (each[0].version, each[0].first, each[0].prefix),
    )
    # Networks are apart or one within the other, so the widest one so far is all that matters.
    widest = found[0] if found else None
    for each in found:
        assert widest is not None
        if not widest[0].overlaps(each[0]):
            widest = each
        elif widest[1] != each[1]:
            return failed(first=widest[0].text, on_first=widest[1], second=each[0].text, on_second=each[1])
    return passed()


@on_host("ntp-synced", "network", Reads({"ntp_sources", "progress"}), pool=True, advisory=True)
def ntp_synced(see: HostView) -> Answer:
    if _has_rebooted(see.host):
        return SUPPRESSED
    sources = see.host.ntp_sources
    if sources is None:
        return pending()
    if any(source.source_state == "synced" for source in sources):
        return passed()
    if not sources:
        return failed("none")
    return failed(sources=join(f"{each.source_name} ({each.source_state})" for each in sources))


@on_host("time-synced-between-host-and-service", "network", Reads({"clock_offset_s"}), pool=True)
def time_synced_between_host_and_service(see: HostView) -> Answer:
    ahead = see.host.clock_offset_s
    if ahead is None:
        return pending()
    if -MOST_BEHIND_S <= ahead <= MOST_AHEAD_S:
        return passed()
    return failed(
        minutes=abs(ahead) // 60,
        direction="ahead of" if ahead > 0 else "behind",
        most=(MOST_AHEAD_S if ahead > 0 else MOST_BEHIND_S) // 60,
    )


@on_host("container-images-available", "network", Reads({"images"}), advisory=True)
def container_images_available(see: HostView) -> Answer:
    if not see.host.images:
        return passed("untried")
    missing = [image.name or "an image" for image in see.host.images if not is_available(image)]
    return failed(images=join(missing)) if missing else passed()


def is_available(image: ContainerImageAvailability) -> bool:
    """Whether an image could be pulled, and quickly enough to matter; one that is there already was not."""
    if image.result == "failure":
        return False
    was_pulled = bool(image.size_bytes) and bool(image.time or image.download_rate)
    return not was_pulled or (image.download_rate or 0) >= LEAST_RATE_MBPS


@on_host("ignition-downloadable", "network", Reads({"api_vip_connectivity"}, {"kind"}))
def ignition_downloadable(see: HostView) -> Answer:
    if not is_day2(cluster_of(see)):
        return SUPPRESSED
    told = see.host.api_vip_connectivity
    if told is None:
        return pending()
    if told.is_success is None:
        return broken()
    if told.is_success:
        return passed()
    url, error = redact_links(redact_url(told.url or "")), redact_links(told.download_error or "")
    return failed(url=url or "the cluster", error=error or "no reason given")
