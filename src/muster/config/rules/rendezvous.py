# SPDX-License-Identifier: Apache-2.0
"""The rendezvous host: that there is one, that the others can reach it, and that it can do the work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from muster.config import derive
from muster.config.derive import Rendezvous
from muster.config.links import server_ip
from muster.config.networks import edge_of, known_machine_networks, network_of, network_words
from muster.config.rules.machines import are_roles_known, ips_of, is_agent_based, is_dynamic, is_file
from muster.config.spelling import closest
from muster.model.host import Role
from muster.model.nmstate import NMState
from muster.model.problem import Place, Problem, problem
from muster.model.schema import Items
from muster.model.site import Site, SiteHost
from muster.model.values import IP, Network

_TENTH: Final = 10


def check_rendezvous_known(site: Site) -> Iterator[Problem]:
    """It is known where the hosts meet."""
    if not is_agent_based(site) or derive.rendezvous(site) is not None:
        return
    agent, install = site.agent, site.install
    if agent is not None and (agent.is_unread("rendezvous_ip") or agent.is_unread("hosts")):
        return
    if any(is_file(name, "agent-config.yaml") for name in site.unread):
        return
    if any(host.host.network_config is not None and not _is_understood(host) for host in site.hosts):
        return
    node = agent.node if agent is not None else install.node if install else None
    if node is None:
        return
    at = (
        Place.of_key(agent.at("rendezvous_ip"))
        if agent and agent.has("rendezvous_ip")
        else Place.start_of(node)
    )
    yield problem("rendezvous-missing", at, example=_example(site))


def _example(site: Site) -> str:
    """An address that a host of the site could have."""
    for network in known_machine_networks(site) or ():
        if network.num_addresses > _TENTH:
            return str(network.network_address + _TENTH)
    return "192.0.2.10"


def _is_understood(host: SiteHost) -> bool:
    """Whether all that a host's network says about addresses could be read."""
    return host.network is not None and bool(host.keyfiles)


def check_rendezvous_owner(site: Site) -> Iterator[Problem]:
    """The address that is named belongs to a host."""
    found = _named(site)
    if found is None or found.host is not None or not _all_static(site):
        return
    if any(True for _ in _taken(site, found.ip)):
        return
    known = _candidates(site)
    close = closest(str(found.ip), map(str, known))
    yield problem(
        "rendezvous-not-owned",
        found.node,
        value=found.ip,
        hint=f"; did you mean {close}?" if close else "",
        known=", ".join(map(str, known)) or "none",
    )


def _named(site: Site) -> Rendezvous | None:
    """The rendezvous host when rendezvousIP names it."""
    if not is_agent_based(site) or site.agent is None or site.agent.rendezvous_ip is None:
        return None
    return derive.rendezvous(site)


def _all_static(site: Site) -> bool:
    """Whether every host of the cluster is listed with all of its addresses."""
    listed = len(site.hosts) >= derive.host_counts(site.install).total
    return listed and all(_is_understood(host) and not is_dynamic(host) for host in site.hosts)


def _candidates(site: Site) -> list[IP]:
    """Addresses of hosts that the others can meet at: of the control plane, in a machine network."""
    roles = derive.roles(site.hosts, derive.host_counts(site.install))
    networks = known_machine_networks(site) or Items[Network]()
    able = [host for host, role in zip(site.hosts, roles, strict=True) if role is Role.MASTER]
    ips = [found.ip for host in able for found in ips_of(host)]
    return [ip for ip in ips if network_of(ip, networks)] or ips


def check_rendezvous_network(site: Site) -> Iterator[Problem]:
    """The address that is named is in a network that all hosts are in."""
    found = _named(site)
    networks = known_machine_networks(site)
    if found is None or networks is None or network_of(found.ip, networks) or found.ip.is_loopback:
        return
    words = network_words(networks)
    # A host with no address inside is reported itself.
    if found.host is None and not _all_static(site):
        fix = f"write the address that a control-plane host has in {words}, or correct machineNetwork"
        yield problem("rendezvous-outside", found.node, value=found.ip, networks=words, fix=fix)
    elif found.host is not None:
        better = [each.ip for each in ips_of(found.host) if network_of(each.ip, networks)]
        if better:
            fix = f"write {better[0]}, which {found.host.label} has there"
            yield problem("rendezvous-outside", found.node, value=found.ip, networks=words, fix=fix)


def check_rendezvous_role(site: Site) -> Iterator[Problem]:
    """The host will be part of the control plane, and is large enough."""
    found = derive.rendezvous(site) if is_agent_based(site) else None
    if found is None or found.host is None or not are_roles_known(site):
        return
    given = derive.roles(site.hosts, derive.host_counts(site.install))[found.host.index]
    own = found.host.host.role
    cause = (
        f"role on line {Place.of(found.host.host.at('role')).line}"
        if own
        else "others fill the control plane"
    )
    label = found.host.label
    if given is Role.WORKER:
        known = ", ".join(map(str, _candidates(site))) or "none is static"
        slug = "rendezvous-is-worker"
        yield problem(slug, found.node, value=found.ip, host=label, cause=cause, known=known)
    elif given is Role.ARBITER:
        yield problem("rendezvous-is-arbiter", found.node, value=found.ip, host=label, cause=cause)


def check_rendezvous_free(site: Site) -> Iterator[Problem]:
    """Nothing but a host has the address."""
    found = _named(site)
    if found is not None and found.host is None:
        for what in _taken(site, found.ip):
            yield problem("rendezvous-taken", found.node, value=found.ip, what=what)
            return


def _taken(site: Site, ip: IP) -> Iterator[str]:
    vips = derive.vips(site.install)
    for name, addresses in (("apiVIPs", vips.api), ("ingressVIPs", vips.ingress)):
        for vip, node in addresses.located():
            if vip == ip:
                yield f"one of {name} (line {Place.of(node).line} of {node.source.name})"
    for network in known_machine_networks(site) or ():
        edge = edge_of(ip, network)
        if edge:
            yield f"the {edge} address of {network}"
    for host in site.hosts:
        if host.network is not None:
            yield from _serving(host.label, host.network, ip)


def _serving(label: str, network: NMState, ip: IP) -> Iterator[str]:
    for gateway in network.default_gateways():
        if gateway.address == ip:
            yield f"the gateway of {label} (line {Place.of(gateway.node).line})"
    for server, node in network.name_servers().located():
        if server_ip(server) == ip:
            yield f"the name server of {label} (line {Place.of(node).line})"


RULES: Final = (
    check_rendezvous_known,
    check_rendezvous_owner,
    check_rendezvous_network,
    check_rendezvous_role,
    check_rendezvous_free,
)
