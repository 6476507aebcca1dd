# SPDX-License-Identifier: Apache-2.0
"""Plan → text and JSON for people and scripts: without secrets, with a reason for every derived value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_interface

from muster.model.dump import dump
from muster.model.plan import HostPlan, Plan, ProxyPlan
from muster.model.tree import Plain
from muster.model.values import IP, Network
from muster.redact import MASK, is_secret_key, redact, redact_url


def render_plan(plan: Plan) -> str:
    """The whole plan for people."""
    parts = (
        _summary(plan),
        ["", "HOSTS", *_host_lines(plan)],
        ["", "NETWORKS", *_network_lines(plan)],
        ["", "SOURCES", *_source_lines(plan)],
        ["", "TOPOLOGY", *_topology_lines(plan)],
        ["", "DERIVED", *_decision_lines(plan)] if plan.decisions else [],
    )
    return "\n".join(line.rstrip() for part in parts for line in part)


def _summary(plan: Plan) -> Iterator[str]:
    counts = [(plan.masters, "control plane"), (plan.arbiters, "arbiter"), (plan.workers, "worker")]
    shape = ", ".join(f"{count} {word}" for count, word in counts if count)
    yield f"CLUSTER    {plan.domain}"
    yield f"platform   {plan.platform}, {plan.architecture}"
    yield f"topology   {plan.topology}: {shape}"
    yield f"release    {plan.release_image}"
    meeting = plan.rendezvous
    if meeting is None:
        yield "rendezvous not known yet"
    else:
        who = meeting.host or "the host that gets this address by DHCP"
        yield f"rendezvous {meeting.ip} ({who}): {meeting.reason}"


def _host_lines(plan: Plan) -> Iterator[str]:
    if not plan.hosts:
        yield "  none described: hosts are accepted as they come, with DHCP"
        return
    rows = [("NAME", "ROLE", "ADDRESSES", "CARDS", "DISK")]
    for host in plan.hosts:
        role = str(host.role) if host.role_reason == "given" else f"{host.role}*"
        cards = ", ".join(f"{card.name} {card.mac_address}".strip() for card in host.cards)
        rows.append((host.label, role, ", ".join(host.addresses) or "DHCP", cards, _disk(host)))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  " + "  ".join([*cells, row[4]])
    if any(host.role_reason != "given" for host in plan.hosts):
        yield "  * not given: masters are filled first, then arbiters, then workers"
    known = {"master": plan.masters, "arbiter": plan.arbiters, "worker": plan.workers}
    for role, wanted in known.items():
        missing = wanted - sum(str(host.role) == role for host in plan.hosts)
        if missing > 0:
            yield f"  and {missing} more {role}{'s' if missing > 1 else ''}, accepted as they come"


def _disk(host: HostPlan) -> str:
    if host.disk is None:
        return "first that fits"
    return ", ".join(f"{key}={value}" for key, value in dump(host.disk).items())


def _network_lines(plan: Plan) -> Iterator[str]:
    networks = plan.networks
    yield f"  machine   {_join(networks.machine) or 'as the hosts have it'}"
    pods = ", ".join(f"{each.cidr} (/{each.host_prefix} per host)" for each in networks.cluster)
    yield f"  pods      {pods}"
    yield f"  services  {_join(networks.service)}"
    yield f"  plugin    {networks.type}"
    if plan.api_vips or plan.ingress_vips:
        yield f"  API VIP   {_join(plan.api_vips)}  api.{plan.domain}"
        yield f"  apps VIP  {_join(plan.ingress_vips)}  *.apps.{plan.domain}"
    elif plan.masters > 1:
        yield f"  balancer  yours: api.{plan.domain}, api-int.{plan.domain}, *.apps.{plan.domain}"


def _join(items: Iterable[IP | Network]) -> str:
    return ", ".join(str(item) for item in items)


def _source_lines(plan: Plan) -> Iterator[str]:
    if not plan.registries.registries:
        yield "  images    from their own registries, no mirrors"
    for registry in plan.registries.registries:
        mirrors = ", ".join(mirror.location for mirror in registry.mirrors)
        blocked = " (never asked itself)" if registry.blocked else ""
        yield f"  images    {registry.scope}{blocked} <- {mirrors or 'no mirror'}"
    certificates = plan.trust_bundle.count("BEGIN CERTIFICATE")
    yield f"  trust     {certificates} additional certificate{'' if certificates == 1 else 's'}"
    yield f"  time      {', '.join(plan.ntp_sources) or 'the default time servers'}"
    if plan.proxy:
        address = redact_url(plan.proxy.http or plan.proxy.https)
        yield f"  proxy     {address}, directly: {plan.proxy.no_proxy or 'nothing'}"
    yield f"  ssh       {len(plan.ssh_key.splitlines())} key{'s' if plan.ssh_key.count(chr(10)) else ''}"
    if plan.add_ons:
        yield f"  add-ons   {', '.join(plan.add_ons)}"
    if plan.extra_manifests:
        yield f"  manifests {', '.join(name for name, _ in plan.extra_manifests)}"
    further = sorted(plan.settings)
    for kind, fields in plan.manifest_settings.items():
        further += [f"{kind}.{key}" for key in sorted(fields if isinstance(fields, dict) else {})]
    if further:
        yield f"  settings  {', '.join(further)}"


def _topology_lines(plan: Plan) -> Iterator[str]:
    """Networks with what stands in them: a machine network is a line, hosts and VIPs hang on it."""
    placed: set[str] = set()
    for network in plan.networks.machine:
        yield f"  ══ {network} machine network"
        vips = [(ip, "API VIP") for ip in plan.api_vips] + [(ip, "apps VIP") for ip in plan.ingress_vips]
        entries = [f"{ip}  ({what})" for ip, what in vips if ip in network]
        for host in plan.hosts:
            for text in host.addresses:
                ip = ip_interface(text).ip
                if ip in network:
                    placed.add(host.label)
                    mark = "  <- rendezvous" if plan.rendezvous and ip == plan.rendezvous.ip else ""
                    entries.append(f"{ip}  {host.label} [{host.role}]{mark}")
        yield from _branches(entries)
    rest = [f"{host.label} [{host.role}]" for host in plan.hosts if host.label not in placed]
    if rest:
        yield "  ══ addresses by DHCP or outside the machine networks"
        yield from _branches(rest)


def _branches(entries: list[str]) -> Iterator[str]:
    for index, entry in enumerate(entries):
        yield f"  {'╰' if index == len(entries) - 1 else '├'}── {entry}"


def _decision_lines(plan: Plan) -> Iterator[str]:
    width = max(len(decision.field) for decision in plan.decisions)
    for decision in plan.decisions:
        yield f"  {decision.field.ljust(width)}  {decision.value}: {decision.reason}"


def plan_json(plan: Plan) -> dict[str, object]:
    """The whole plan for scripts."""
    meeting = plan.rendezvous
    return {
        "name": plan.name,
        "baseDomain": plan.base_domain,
        "platform": plan.platform,
        "architecture": plan.architecture,
        "topology": str(plan.topology),
        "releaseImage": plan.release_image,
        "controlPlane": plan.masters,
        "arbiters": plan.arbiters,
        "workers": plan.workers,
        "networks": {
            "type": plan.networks.type,
            "machine": [str(each) for each in plan.networks.machine],
            "cluster": [
                {"cidr": str(each.cidr), "hostPrefix": each.host_prefix} for each in plan.networks.cluster
            ],
            "service": [str(each) for each in plan.networks.service],
        },
        "apiVIPs": [str(ip) for ip in plan.api_vips],
        "ingressVIPs": [str(ip) for ip in plan.ingress_vips],
        "userManagedNetworking": plan.user_managed_networking,
        "rendezvous": {"ip": str(meeting.ip), "host": meeting.host or None, "reason": meeting.reason}
        if meeting
        else None,
        "hosts": [_host_json(host) for host in plan.hosts],
        "mirrors": [
            {
                "source": each.scope,
                "mirrors": [mirror.location for mirror in each.mirrors],
                "blocked": each.blocked,
            }
            for each in plan.registries.registries
        ],
        "ntpSources": list(plan.ntp_sources),
        "sshKeys": plan.ssh_key.splitlines(),
        "trustBundleCertificates": plan.trust_bundle.count("BEGIN CERTIFICATE"),
        "proxy": _proxy_json(plan.proxy) if plan.proxy else None,
        "minimalISO": plan.minimal_iso,
        "bootArtifactsBaseURL": plan.boot_artifacts_base_url or None,
        "addOns": list(plan.add_ons),
        "extraManifests": [name for name, _ in plan.extra_manifests],
        "settings": masked(dict(plan.settings)),
        "manifestSettings": masked(dict(plan.manifest_settings)),
        "derived": [
            {"field": each.field, "value": each.value, "reason": each.reason} for each in plan.decisions
        ],
    }


def _proxy_json(proxy: ProxyPlan) -> dict[str, str | None]:
    return {
        "http": redact_url(proxy.http) or None,
        "https": redact_url(proxy.https) or None,
        "noProxy": proxy.no_proxy or None,
    }


def _host_json(host: HostPlan) -> dict[str, object]:
    return {
        "hostname": host.hostname or None,
        "role": str(host.role),
        "roleReason": host.role_reason,
        "interfaces": [{"name": card.name or None, "macAddress": card.mac_address} for card in host.cards],
        "addresses": list(host.addresses),
        "rootDeviceHints": dump(host.disk) if host.disk else None,
        "networkConfig": masked(dict(host.network)) if host.network else None,
        "bmc": masked(dump(host.bmc)) if host.bmc else None,
    }


def masked(value: Plain) -> Plain:
    """Plain data with the values of secret keys masked."""
    match value:
        case Mapping():
            return {
                key: MASK if isinstance(item, str) and is_secret_key(key) else masked(item)
                for key, item in value.items()
            }
        case list():
            return [masked(item) for item in value]
        case str():
            return redact(value)
        case _:
            return value
