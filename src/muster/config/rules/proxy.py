# SPDX-License-Identifier: Apache-2.0
"""The proxy: its URLs, and what is reached without it. A URL may hold a password, so none is ever quoted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_network
from typing import Final

from muster.config.document.edit import replace_scalar
from muster.config.networks import find_inner_network, find_ip
from muster.model.install_config import Proxy
from muster.model.problem import Place, Problem, problem
from muster.model.site import Site
from muster.model.values import IP, name_fault

_SCHEMES: Final = {"http_proxy": ("http",), "https_proxy": ("http", "https")}
_KEYS: Final = {"http_proxy": "httpProxy", "https_proxy": "httpsProxy"}
_PORT: Final = re.compile(r"[0-9]{1,5}\Z")
_URL: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)\Z", re.DOTALL)
_HOST: Final = re.compile(r"(?P<host>\[[^\]]*\]|[^:]*)(?::(?P<port>.*))?\Z", re.DOTALL)


def _proxies(site: Site) -> Iterator[Proxy]:
    """Every proxy of the site."""
    specs = (site.infra_env_spec, site.cluster_install_spec)
    for holder in (site.install, *specs, site.image_based_installation):
        if holder is not None and holder.proxy is not None:
            yield holder.proxy


def check_urls_given(site: Site) -> Iterator[Problem]:
    """There is a URL, and one for HTTPS, which images come by."""
    for proxy in _proxies(site):
        http, https = proxy.http_proxy, proxy.https_proxy
        if not http and not https:
            yield problem("proxy-without-url", Place.of_key(proxy.node))
        elif http and not https and not proxy_fault(http, _SCHEMES["http_proxy"]):
            yield problem("no-https-proxy", Place.of_key(proxy.node))


def check_urls(site: Site) -> Iterator[Problem]:
    """A URL has the right scheme and a host that is outside of the cluster's own networks."""
    for proxy in _proxies(site):
        for name, schemes in _SCHEMES.items():
            url = getattr(proxy, name)
            if not url:
                continue
            node = proxy.at(name)
            fault = proxy_fault(url, schemes)
            if fault:
                yield problem("bad-proxy-url", node, key=_KEYS[name], reason=fault, scheme=schemes[0])
                continue
            ip = _host_ip(url)
            inner = find_inner_network(ip, site) if ip else None
            if inner is not None:
                yield problem(
                    "proxy-inside-cluster",
                    node,
                    key=_KEYS[name],
                    ip=ip,
                    name=inner.name,
                    network=inner.cidr,
                    choice=inner.choice,
                )


def proxy_fault(url: str, schemes: tuple[str, ...]) -> str:
    """Why a text is no URL of a proxy, without a word of it; nothing when it is one."""
    if re.search(r"\s", url):
        return "it contains a space"
    match = _URL.match(url)
    wanted = " or ".join(f"{scheme}://" for scheme in schemes)
    if match is None:
        return f"it has to begin with {wanted}"
    if match["scheme"].lower() not in schemes:
        return f"it begins with {match['scheme']}://, it has to begin with {wanted}"
    if "@" in match["rest"] and re.search(r"[/?#]", match["rest"].rpartition("@")[0]):
        return "its login has a / ? or #, which has to be written as %2F %3F or %23"
    parts = _HOST.match(_authority(match["rest"]))
    if parts is None or not parts["host"]:
        return "it names no host"
    port = parts["port"]
    if port and not (_PORT.match(port) and 0 < int(port) < 65536):
        return "what stands behind the colon is not a port"
    host = parts["host"]
    if host.startswith("["):
        return "" if find_ip(host.strip("[]")) else "what stands in brackets is not an IPv6 address"
    return (
        "" if not name_fault(host.lower().rstrip(".")) else "its host is neither a domain name nor an address"
    )


def _authority(rest: str) -> str:
    """Host and port of what follows the scheme."""
    return re.split(r"[/?#]", rest.rpartition("@")[2], maxsplit=1)[0]


def _host_ip(url: str) -> IP | None:
    parts = _HOST.match(_authority(url.partition("://")[2]))
    return find_ip(parts["host"].strip("[]")) if parts else None


def check_no_proxy(site: Site) -> Iterator[Problem]:
    """noProxy lists addresses, networks and domains, with commas and nothing else between them."""
    for proxy in _proxies(site):
        text = proxy.no_proxy
        if not text or text.strip() == "*":
            continue
        node = proxy.at("no_proxy")
        items = [item.strip() for item in text.split(",")]
        if re.search(r"\s", text.strip()) and all(not re.search(r"\s", item) for item in items):
            right = ",".join(item for item in items if item)
            yield problem("no-proxy-spaces", node, edits=replace_scalar(node, right))
        bad = [item for item in items if not _is_direct(item)]
        if bad:
            right = ",".join(fixed for item in items if (fixed := _mended(item)))
            certain = all(_is_direct(item) for item in right.split(","))
            yield problem(
                "bad-no-proxy",
                node,
                edits=replace_scalar(node, right) if certain and right else (),
                item=bad[0] or "an empty item",
            )


def _mended(item: str) -> str:
    """An item without the star and the port that other programs allow."""
    return item[1:] if item.startswith("*.") else item


def _is_direct(item: str) -> bool:
    if not name_fault(item.removeprefix(".").removesuffix(".")):
        return True
    try:
        ip_network(item, strict=False)
    except ValueError:
        return False
    return True


RULES: Final = (check_urls_given, check_urls, check_no_proxy)
