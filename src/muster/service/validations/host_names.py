# SPDX-License-Identifier: Apache-2.0
"""Whether a host has a name of its own, and whether it resolves the names of its cluster."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from muster.model.wire.reports import DomainResolution
from muster.service.state import Cluster, Host
from muster.service.validations.addresses import each_address, find_address
from muster.service.validations.facts import NAME, cluster_of, is_day2, is_single, join
from muster.service.validations.registry import (
    Answer,
    HostView,
    Reads,
    broken,
    failed,
    on_host,
    passed,
    pending,
)

HOSTNAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}(?:[.][a-z0-9-]{1,63})*\Z")
FORBIDDEN: Final = frozenset(
    name for v in ("", "4", "6") for name in (f"localhost{v}", f"localhost{v}.localdomain{v}")
)
NO_SUCH_NAME: Final = "validateNoWildcardDNS"
"""A name that nobody has; who resolves it resolves everything."""
_MANAGED: Final = ("/etc/kubernetes/manifests/coredns.yaml", "/etc/kubernetes/manifests/keepalived.yaml")
_SERVER: Final = re.compile(r"\bserver:\s*(\S+)")

_DOMAIN: Final = frozenset({"name", "base_dns_domain"})
_RESOLVES: Final = Reads(
    host=frozenset({"resolutions", "inventory.interfaces", "api_vip_connectivity"}),
    cluster=_DOMAIN | {"kind", "imported", "user_managed_networking", "control_plane_count"},
    peers=frozenset({"api_vip_connectivity"}),
)


@on_host("hostname-unique", "hardware", Reads(NAME | {"inventory.hostname", "twins"}), must=True)
def hostname_unique(see: HostView) -> Answer:
    name = _name(see.host)
    if not name:
        return pending()
    if not see.host.twins:
        return passed()
    return failed(name=name, hosts=join(see.host.twins))


@on_host("hostname-valid", "hardware", Reads(NAME | {"inventory.hostname"}), pool=True, must=True)
def hostname_valid(see: HostView) -> Answer:
    name = _name(see.host)
    if not name:
        return pending()
    if name in FORBIDDEN:
        return failed("forbidden", name=name)
    return passed() if HOSTNAME.match(name) else failed(name=name)


def _name(host: Host) -> str:
    return host.requested_hostname or (host.inventory.hostname if host.inventory else "") or ""


@on_host("api-domain-name-resolved-correctly", "network", _RESOLVES)
def api_domain_name_resolved_correctly(see: HostView) -> Answer:
    return _resolves(see, "api", "api")


@on_host("api-int-domain-name-resolved-correctly", "network", _RESOLVES)
def api_int_domain_name_resolved_correctly(see: HostView) -> Answer:
    return _resolves(see, "api-int", "api-int")


@on_host("apps-domain-name-resolved-correctly", "network", _RESOLVES)
def apps_domain_name_resolved_correctly(see: HostView) -> Answer:
    return _resolves(see, "console-openshift-console.apps", "*.apps")


def _resolves(see: HostView, asked: str, shown: str) -> Answer:
    cluster = cluster_of(see)
    managed = _is_managed(see, cluster)
    if managed is None:
        return pending("ignition")
    if managed or (is_single(cluster) and not is_day2(cluster)):
        return passed("managed")
    if not cluster.base_dns_domain:
        return broken()
    if see.host.resolutions is None:
        return pending()
    domain = f"{cluster.name}.{cluster.base_dns_domain}"
    found = _find(see.host.resolutions, f"{asked}.{domain}")
    shown = f"{shown}.{domain}"
    if found is None or not _targets(found):
        return failed(name=shown)
    own = _own_address(see.host, found)
    return failed("itself", name=shown, address=own) if own else passed(name=shown)


def _is_managed(see: HostView, cluster: Cluster) -> bool | None:
    """Whether the cluster answers for its own names; None while that cannot be told."""
    if not cluster.imported:
        return not cluster.user_managed_networking
    for host in chain((see.host,), see.hosts.values()):
        told = host.api_vip_connectivity
        if told is not None and told.is_success:
            return manages_names(told.ignition or "")
    return None


@lru_cache(16)
def manages_names(ignition: str) -> bool:
    """Whether a cluster whose Ignition this is answers for its own names; yes when it does not say."""
    try:
        files = json.loads(ignition)["storage"]["files"]
        contents = {str(each["path"]): each.get("contents") or {} for each in files}
    except (ValueError, KeyError, TypeError, AttributeError):
        return True
    if any(path in contents for path in _MANAGED):
        return True
    server = _SERVER.search(_data(contents.get("/etc/kubernetes/kubeconfig", {})))
    # Its nodes reach it by address: no name is needed.
    return server is not None and find_address(urlsplit(server[1]).hostname or "") is not None


def _data(contents: Any) -> str:
    source = contents.get("source") if isinstance(contents, dict) else None
    return unquote(source.partition(",")[2]) if isinstance(source, str) else ""


def _find(told: Iterable[DomainResolution], name: str) -> DomainResolution | None:
    return next((each for each in told if each.domain_name == name), None)


def _targets(found: DomainResolution) -> tuple[str, ...]:
    return (*(found.ipv4_addresses or ()), *(found.ipv6_addresses or ()), *(found.cnames or ()))


def _own_address(host: Host, found: DomainResolution) -> str:
    """The address of the host itself that a name leads to, if it does."""
    if host.inventory is None:
        return ""
    own = {(address.version, address.number) for _, address in each_address(host.inventory)}
    for text in _targets(found):
        address = find_address(text)
        if address is not None and (address.version, address.number) in own:
            return address.text
    return ""


@on_host("dns-wildcard-not-configured", "network", Reads({"resolutions"}, _DOMAIN | {"kind"}))
def dns_wildcard_not_configured(see: HostView) -> Answer:
    cluster = cluster_of(see)
    if is_day2(cluster):
        return passed("added")
    if see.host.resolutions is None:
        return pending()
    domain = f"{cluster.name}.{cluster.base_dns_domain}"
    for dot in (".", ""):
        found = _find(see.host.resolutions, f"{NO_SUCH_NAME}.{domain}{dot}")
        if found is None:
            return broken(name=f"{NO_SUCH_NAME}.{domain}{dot}")
        if targets := _targets(found):
            return failed(
                "failure" if dot else "relative",
                name=f"{NO_SUCH_NAME}.{domain}",
                domain=domain,
                targets=join(targets),
            )
    return passed()
