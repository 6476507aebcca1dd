# SPDX-License-Identifier: Apache-2.0
"""Single values that people give: what each must be, or why it is not that."""

from __future__ import annotations

import json
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import Any

from muster.config.formats.ignition import ignition_fault
from muster.model.values import name_fault, url_fault
from muster.redact import HIDDEN, MASK
from muster.service.refusals import BadRequest


def refuse(field: str, why: str, fix: str = "") -> BadRequest:
    """The refusal of one field's value."""
    return BadRequest(f"{field}: {why}", hint=fix)


@lru_cache(4096)
def cidr(field: str, text: str) -> str:
    """A network such as 192.0.2.0/24, as it is written properly."""
    try:
        return str(ip_network(text.strip()))
    except ValueError:
        pass
    try:
        proper = ip_network(text.strip(), strict=False)
    except ValueError:
        raise refuse(field, f"{text!r} is no network", "write it as 192.0.2.0/24") from None
    raise refuse(field, f"{text!r} has bits behind its prefix", f"write {proper}")


def ip(field: str, text: str) -> str:
    """An address."""
    try:
        return str(ip_address(text.strip()))
    except ValueError:
        raise refuse(field, f"{text!r} is no IP address", "write it as 192.0.2.10") from None


def name(field: str, text: str) -> str:
    """One label of a DNS name."""
    fault = name_fault(text) or ("it has dots" if "." in text else "")
    if fault:
        raise refuse(field, f"{text!r} is no name: {fault}", "use lower-case letters, digits and hyphens")
    return text


def domain(field: str, text: str) -> str:
    """A DNS name."""
    fault = name_fault(text.rstrip("."))
    if fault:
        raise refuse(field, f"{text!r} is no domain: {fault}", "write it as example.com")
    return text


def domain_or_ip(field: str, text: str) -> str:
    """A DNS name, or an address where there is none."""
    try:
        return str(ip_address(text.strip()))
    except ValueError:
        return domain(field, text)


def proxy(field: str, text: str) -> str:
    """The URL of a proxy, or nothing."""
    secret(field, text)
    schemes = ("http", "https") if field.endswith("https_proxy") else ("http",)
    if text and (fault := url_fault(text, schemes)):
        raise refuse(field, f"it is no URL of a proxy: {fault}", "write it as http://proxy.example.com:3128")
    return text


def ntp(field: str, text: str) -> str:
    """Time servers, separated by commas."""
    for each in filter(None, (part.strip() for part in text.split(","))):
        try:
            ip_address(each)
        except ValueError:
            if fault := name_fault(each.lower()):
                raise refuse(field, f"{each!r} is no time server: {fault}") from None
    return text


def secret(field: str, text: str) -> str:
    """Any secret, but not what stands where one was shown."""
    if text.strip() == HIDDEN or MASK in text:
        why = "it is what is shown in the place of a secret, not the secret"
        raise refuse(field, why, "give the secret itself, or leave it out: the one that is there stays")
    return text


def _secrets(field: str, body: Any) -> None:
    """The same of all texts in JSON."""
    if isinstance(body, str):
        secret(field, body)
    elif isinstance(body, dict | list):
        for each in body.values() if isinstance(body, dict) else body:
            _secrets(field, each)


def pull_secret(field: str, text: str) -> str:
    """Logins of registries, as JSON. What is in it is never repeated.

    Who copies it from a terminal gets line breaks where none were; a login has none, so they are taken out.
    """
    secret(field, text)
    text = "".join(text.splitlines())
    try:
        body = json.loads(text)
    except ValueError:
        raise refuse(field, "it is not JSON", 'paste it whole, as {"auths": {...}}') from None
    if not isinstance(body, dict) or not isinstance(body.get("auths"), dict):
        raise refuse(field, "it has no auths", 'it looks like {"auths": {"registry.example.com": {...}}}')
    _secrets(field, body)
    return text


def json_object(field: str, text: str) -> str:
    """JSON whose outermost value is an object, or nothing."""
    try:
        body = json.loads(text) if text else {}
    except ValueError as error:
        raise refuse(field, f"it is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise refuse(field, "it is JSON, but no object", "begin with {")
    _secrets(field, body)
    return text


def ignition(field: str, text: str) -> str:
    """An Ignition config that is merged into another, or nothing."""
    if text and (fault := ignition_fault(text)):
        raise refuse(field, f"it is no Ignition config that can be merged: {fault}")
    _secrets(field, json.loads(text) if text else None)
    return text


def text(field: str, value: str) -> str:
    """Any text that is to be shown again: no control characters."""
    if any(ord(each) < 32 and each not in "\n\t\r" for each in value):
        raise refuse(field, "it has control characters")
    return value
