# SPDX-License-Identifier: Apache-2.0
"""Virtual addresses of API and applications: present, in the hosts' network, and one per family."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from muster.config.derive import VIP_PLATFORMS, Vips, is_default, platform_name, vips
from muster.config.networks import known_machine_networks, lists_of, network_of
from muster.config.rules.families import families, is_dual
from muster.config.spelling import plural
from muster.model.platform.on_premises import OnPremises
from muster.model.problem import Place, Problem, problem
from muster.model.schema import Items
from muster.model.site import Site
from muster.model.tree import Node
from muster.model.values import IP, Network

MOST: Final = 2
_KINDS: Final = (("apiVIPs", "api", "API"), ("ingressVIPs", "ingress", "applications"))


def _section(site: Site) -> OnPremises | None:
    """The platform's section, when it is one that has VIPs."""
    name = platform_name(site.install)
    if site.install is None or site.install.platform is None or site.image_based is not None:
        return None
    section = getattr(site.install.platform, name) if name in VIP_PLATFORMS and name else None
    return section if isinstance(section, OnPremises) else None


def _located(given: Vips) -> Iterator[tuple[str, Items[IP]]]:
    yield "apiVIPs", given.api
    yield "ingressVIPs", given.ingress


def _readable(section: OnPremises, which: str) -> bool:
    """Whether nothing was left out of a list because it could not be read."""
    return not any(section.is_unread(name) for name in (f"{which}_vips", f"{which}_vip"))


def check_missing_vips(site: Site) -> Iterator[Problem]:
    """API and applications both have an address."""
    section, given = _section(site), vips(site.install)
    if section is None:
        return
    for key, which, purpose in _KINDS:
        if not getattr(given, which) and _readable(section, which):
            written = section.places.get(f"{which}_vips")
            at = Place.of_key(section.node if written is None else written)
            yield problem("missing-vip", at, key=key, purpose=purpose)


def check_vip_lists(site: Site) -> Iterator[Problem]:
    """Each list has one address, or one of each family; both lists have the same number."""
    section, given = _section(site), vips(site.install)
    if section is None:
        return
    for key, addresses in _located(given):
        if len(addresses) > MOST:
            yield problem("too-many-vips", addresses.nodes[MOST], key=key, count=len(addresses))
        elif len(addresses) == MOST and addresses[0].version == addresses[1].version:
            family = f"IPv{addresses[1].version}"
            yield problem("vips-same-family", addresses.nodes[1], key=key, family=family)
    api, ingress = len(given.api), len(given.ingress)
    complete = _readable(section, "api") and _readable(section, "ingress") and min(api, ingress) > 0
    if complete and api != ingress and max(api, ingress) <= MOST:
        shorter = "api" if api < ingress else "ingress"
        at = section.places.get(f"{shorter}_vips", section.at(f"{shorter}_vip"))
        yield problem(
            "vip-counts",
            Place.of_key(at),
            api=plural(api, "API VIP"),
            ingress=plural(ingress, "ingress VIP"),
        )


def check_vips_equal(site: Site) -> Iterator[Problem]:
    """API and applications have different addresses, unless the user's own load balancer holds them."""
    given = vips(site.install)
    if _section(site) is None or given.user_managed:
        return
    for ip, node in given.ingress.located():
        if ip in given.api:
            yield problem("vips-equal", node, value=ip)


def check_vip_places(site: Site) -> Iterator[Problem]:
    """VIPs are addresses of the hosts' network that a host could have."""
    given, machines = vips(site.install), known_machine_networks(site)
    if _section(site) is None or machines is None:
        return
    for key, addresses in _located(given):
        for ip, node in addresses.located():
            net = network_of(ip, machines)
            if net is None:
                if not given.user_managed:
                    yield _outside(key, ip, node, machines)
            elif reserved := _reserved(ip, net):
                yield problem("vip-reserved", node, key=key, value=ip, what=reserved, net=net)


def _outside(key: str, ip: IP, node: Node, machines: Items[Network]) -> Problem:
    known = ", ".join(str(net) for net in machines)
    if is_default(machines):
        known += ", which holds because machineNetwork is not given"
    return problem("vip-outside", node, key=key, value=ip, known=known)


def _reserved(ip: IP, net: Network) -> str:
    """What an address stands for when no host can have it."""
    if net.prefixlen >= net.max_prefixlen - 1:
        return ""
    if ip == net.network_address:
        return "address"
    return "broadcast address" if ip.version == 4 and ip == net.broadcast_address else ""


def check_vip_order(site: Site) -> Iterator[Problem]:
    """With both families, the first VIP is of the family that comes first in the networks."""
    lists = lists_of(site)
    section, given = _section(site), vips(site.install)
    firsts = {families(items)[0] for items in lists.values()}
    if section is None or len(firsts) != 1 or not all(map(is_dual, lists.values())):
        return
    right = 4 if platform_name(site.install) == "nutanix" else firsts.pop()
    for key, addresses in _located(given):
        if addresses and addresses[0].version != right:
            yield problem("vip-order", addresses.nodes[0], key=key, value=addresses[0], right=f"IPv{right}")


RULES: Final = (
    check_missing_vips,
    check_vip_lists,
    check_vips_equal,
    check_vip_places,
    check_vip_order,
)
