# SPDX-License-Identifier: Apache-2.0
"""IPv4, IPv6 or both: all networks of a cluster agree on it, and on which comes first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from muster.config.derive import USER_MANAGED_PLATFORMS, host_counts, is_default, platform_name
from muster.config.networks import field_node, lists_of, read_networking
from muster.model.networking import Networking
from muster.model.problem import Place, Problem, problem
from muster.model.schema import Items
from muster.model.site import Site
from muster.model.values import Network


def families(networks: Items[Network]) -> tuple[int, ...]:
    """The IP versions of a list of networks, in the order of the list."""
    return tuple(dict.fromkeys(net.version for net in networks))


def is_dual(networks: Items[Network]) -> bool:
    """Whether a list has networks of both families."""
    return len(families(networks)) > 1


def check_service_count(site: Site) -> Iterator[Problem]:
    """There is one service network for each family."""
    seen: set[int] = set()
    for net, node in lists_of(site).get("serviceNetwork", Items()).located():
        if net.version in seen:
            yield problem("several-service-networks", node, value=net, family=f"IPv{net.version}")
        seen.add(net.version)


def check_families(site: Site) -> Iterator[Problem]:
    """Hosts, services and pods have addresses of the same families."""
    networking, readable = read_networking(site)
    lists = lists_of(site)
    if not readable or site.image_based or not {"serviceNetwork", "clusterNetwork"} <= set(lists):
        return
    machines = lists.get("machineNetwork")
    if machines is not None and (is_default(machines) or _hosts_have_more(site, lists)):
        del lists["machineNetwork"]
    if len({frozenset(families(items)) for items in lists.values()}) > 1:
        shown = ", ".join(f"{field} {_words(items)}" for field, items in lists.items())
        yield problem("network-families", _odd_one(networking, lists), found=shown)


def _hosts_have_more(site: Site, lists: dict[str, Items[Network]]) -> bool:
    """Without VIPs, hosts may stand in networks of a family that the cluster does not use."""
    free = platform_name(site.install) in USER_MANAGED_PLATFORMS and not host_counts(site.install).single_node
    return free and set(families(lists["machineNetwork"])) > set(families(lists["serviceNetwork"]))


def _odd_one(networking: Networking, lists: dict[str, Items[Network]]) -> Place:
    """The list to blame: one that was written, and rather the one that is alone with its families."""
    written = [field for field, items in lists.items() if not is_default(items)]
    for field in written:
        others = [set(families(items)) for name, items in lists.items() if name != field]
        if set(families(lists[field])) not in others:
            return Place.of_key(field_node(networking, field))
    return Place.of_key(field_node(networking, written[0]))


def _words(items: Items[Network]) -> str:
    names = " and ".join(f"IPv{version}" for version in families(items))
    return f"{names} (the default)" if is_default(items) else names


def check_family_order(site: Site) -> Iterator[Problem]:
    """With both families, the same one comes first everywhere."""
    networking, readable = read_networking(site)
    lists = {field: items for field, items in lists_of(site).items() if is_dual(items)}
    if not readable or not lists:
        return
    if platform_name(site.install) == "nutanix":
        right, reason = 4, "on platform nutanix IPv4 must come first"
    else:
        first, items = next(iter(lists.items()))
        right, reason = items[0].version, f"{first} starts with IPv{items[0].version}"
    for field, items in lists.items():
        if items[0].version != right:
            at = Place.of_key(field_node(networking, field))
            yield problem("network-order", at, key=field, reason=reason, value=items[0].version, right=right)


RULES: Final = (check_service_count, check_families, check_family_order)
