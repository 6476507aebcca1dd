# SPDX-License-Identifier: Apache-2.0
"""NMState documents: judged by nmstate's own code, with its errors brought back to the user's lines."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable
from functools import lru_cache
from typing import Final

from muster_native import NmstateError, gen_conf

from muster.config import links
from muster.config.document import edit
from muster.config.document.bind import Binder
from muster.config.spelling import closest, near_names
from muster.model.nmstate import Interface, NMState, Route
from muster.model.problem import Edit, Place, Problem, problem
from muster.model.schema import fields_of
from muster.model.tree import Map, Node, Scalar, Sequence, copied, find, to_plain, walk

_QUOTED: Final = re.compile(r"(?:[`'\"]|interface )([\w.:/-]+)[`'\"]?")
_UNKNOWN: Final = re.compile(
    r"(?P<what>.*?)unknown (?P<kind>variant|field) `(?P<word>[^`]*)`(?P<rest>.*)", re.DOTALL
)
_BACKTICKS: Final = re.compile(r"`([^`]*)`")
_HINTS: Final = (
    (r"Bond mode is mandatory", "add link-aggregation.mode, for example active-backup or 802.3ad"),
    (r"suitable\(IP enabled\) interface for DNS", "give an interface an address of the same IP version"),
    (
        r"has been marked as IPv[46] disabled",
        "switch that IP version on for the interface, or correct the route",
    ),
    (r"prefix length", "write the number of bits of the network: up to 32 for IPv4, up to 128 for IPv6"),
    (r"Failed to find mac address of interface", "add mac-address with the card's address to that interface"),
    (r"desired controller \S+ not found", "describe that interface too, or remove controller"),
)
"""What to do about some of nmstate's errors, which say only what is wrong."""
_KINDS_OF_VALUE: Final = (
    ("Need to be boolean", "true or false", "write true or false"),
    ("invalid digit found in string", "a whole number", "write digits only"),
)
"""What nmstate calls a value of the wrong kind, what it should be, and what to do."""
_MOST_REFUSALS: Final = 20
_RUST_DEBUG: Final = re.compile(r": [A-Z]\w* \{.*", re.DOTALL)


def read_network(node: Node, problems: list[Problem]) -> tuple[NMState | None, tuple[tuple[str, str], ...]]:
    """What Muster reads of a network, and the NetworkManager profiles that nmstate makes of it."""
    if not isinstance(node, Map):
        problems.append(_not_a_mapping(node))
        return None, ()
    network = bind_network(node) or NMState()
    try:
        keyfiles = gen_conf(json.dumps(to_plain(node)))
    except NmstateError as error:
        return _mended(node, error, problems) or network, ()
    all_off = network.interfaces and not any(interface.is_up for interface in network.interfaces)
    if not keyfiles and not all_off:
        problems.append(problem("network-empty", Place.of_key(node)))
    return network, keyfiles


@lru_cache(maxsize=4)
def bind_network(node: Map) -> NMState | None:
    """What Muster reads of a network. Dozens of rules ask for that of the same document."""
    return Binder(partial=True).bind(NMState, node)


def _not_a_mapping(node: Node) -> Problem:
    at = Place.start_of(node)
    if isinstance(node, Sequence):
        return problem(
            "network-not-a-mapping", at, found="a list", advice="remove the dash before its first key"
        )
    written = node.source.text[node.start : node.end]
    marker = re.match(r"[|>][-+0-9]*", written)
    if marker is None:
        return problem(
            "network-not-a-mapping", at, found="a single value", advice="write interfaces: below it"
        )
    # A block of text whose lines are the document: without the marker they are read as such.
    start = len(node.source.text[: node.start].rstrip(" "))
    fold = Edit(node.source, start, node.start + marker.end(), "")
    edits = (fold,) if marker[0].startswith("|") else ()
    advice = f"remove the {marker[0]} behind the colon"
    return problem("network-not-a-mapping", at, found="a text", advice=advice, edits=edits)


def _is_repeated(network: NMState, message: str) -> bool:
    """Whether a rule of ours says the same, at a better place."""
    return any(
        re.search(pattern, message) and any(True for _ in find(network)) for pattern, find in links.REPEATED
    )


def _mended(node: Map, error: NmstateError, problems: list[Problem]) -> NMState | None:
    """The network that is meant, if all that nmstate refuses could be mended; that is reported.

    nmstate stops at the first mistake, so each is mended or left out before the next one is looked for.
    """
    rest, lessened = copied(node), list[Node]()
    for _ in range(_MOST_REFUSALS):
        assert isinstance(rest, Map)
        network = Binder(partial=True).bind(NMState, rest) or NMState()
        found = None
        if _is_news(rest, error, lessened) and not _is_repeated(network, error.message):
            found = _refusal(rest, network, error)
            problems.append(found)
        if error.kind != "Parse" or not error.path:
            break
        owner = find(rest, error.path[:-1])
        if not _mend(owner, error.path[-1], found):
            lessened.append(owner)
        try:
            gen_conf(json.dumps(to_plain(rest)))
        except NmstateError as next_error:
            error = next_error
        else:
            break
    return None if lessened else Binder(partial=True).bind(NMState, rest)


def _is_news(rest: Map, error: NmstateError, lessened: list[Node]) -> bool:
    """Whether a mistake is the user's, and does not follow from what was left out."""
    at = find(rest, error.path)
    if error.kind == "Parse" or not lessened:
        return all(each is not at for each in lessened)
    # An interface that was left alone is judged by itself; what routes need may be what is missing now.
    interfaces = find(rest, ("interfaces",))
    at = find(rest, error.path[:2])
    return error.path[:1] == ("interfaces",) and not any(
        each is interfaces or at.start <= each.start < at.end for each in lessened
    )


def _mend(owner: Node, step: str | int, found: Problem | None) -> bool:
    """Say what was meant, if that is certain; else leave the value out. Whether it could be said."""
    if isinstance(owner, Sequence) and isinstance(step, int):
        del owner.items[step : step + 1]
    child = owner.items.pop(step, None) if isinstance(owner, Map) and isinstance(step, str) else None
    texts = [each.text for each in found.edits if isinstance(each, Edit)] if found else []
    if child is None or not isinstance(owner, Map) or not isinstance(step, str) or not (found and texts):
        return False
    word = texts[0].strip("'\"")
    if found.place == Place.of_key(child):
        owner.items[word] = child
    else:
        owner.items[step] = Scalar(child.source, child.start, child.end, word, plain=True)
        owner.items[step].key = child.key
    return True


def _refusal(node: Map, network: NMState, error: NmstateError) -> Problem:
    at = find(node, error.path)
    if isinstance(at, Sequence) or not error.path:
        at = _guess(at, error.message)
    unknown = _UNKNOWN.match(error.message)
    if unknown is not None:
        owner = find(node, error.path[:-1])
        return _unknown_word(at, unknown, owner.items if isinstance(owner, Map) else ())
    at = _narrowed(network, at, error.message)
    reason = _RUST_DEBUG.sub("", error.message).rstrip(".").replace("`", "")
    if isinstance(at, Scalar) and at.key is not None and "invalid IP" in reason:
        what = "a network" if at.key.text == "destination" else "an IP address"
        reason = f"{at.key.text} {at.text} is not {what}"
    for pattern, what, hint in _KINDS_OF_VALUE:
        if isinstance(at, Scalar) and at.key is not None and pattern in reason:
            place = Place.of(at)
            return problem("nmstate", place, reason=f"{at.key.text} {at.text} is not {what}", hint=hint)
    hint = _address_hint(at) or _hint(error.message) or _name_hint(error.message, network.interface_names())
    place = Place.of(at) if isinstance(at, Scalar) else Place.of_key(at)
    return problem("nmstate", place, reason=reason, hint=hint or "correct the value at this place")


def _hint(message: str) -> str:
    missing = re.search(r"missing field `([^`]+)`", message)
    if missing is not None:
        return f"add {missing[1]}"
    return next((hint for pattern, hint in _HINTS if re.search(pattern, message)), "")


def _unknown_word(at: Node, unknown: re.Match[str], written: Container[str]) -> Problem:
    """A word that nmstate does not know, with those that it does and that are not there already."""
    word, is_key = unknown["word"], unknown["kind"] == "field"
    known = _BACKTICKS.findall(unknown["rest"]) or list(fields_of(Interface))
    known = [each for each in known if not is_key or each not in written]
    right = closest(word, known)
    edits: tuple[Edit, ...] = ()
    if right is None or len(near_names(word, known)) > 1:
        pass
    elif is_key and at.key is not None and at.key.text == word:
        edits = edit.rename_key(at, right)
    elif isinstance(at, Scalar) and not is_key:
        edits = edit.replace_scalar(at, right)
    place = Place.of_key(at) if is_key else Place.of(at)
    key = at.key.text if at.key else "the value"
    reason = f"{word} is not a known property" if is_key else f"{key} cannot be {word}"
    listed = ", ".join(sorted(known))
    return problem(
        "nmstate",
        place,
        reason=reason,
        hint=f"write {right}" if right else f"{'remove it, or ' if is_key else ''}use one of: {listed}",
        edits=edits,
    )


def _narrowed(network: NMState, at: Node, message: str) -> Node:
    """The value that is meant, when nmstate names only the address or route that it belongs to."""
    if isinstance(at, Map) and "prefix length" in message:
        return at.get("prefix-length") or at
    for route in network.routes.config if network.routes else ():
        if route.node is at:
            return next((route.at(name) for name in _unread(route)), at)
    return at


def _unread(route: Route) -> Iterable[str]:
    return (
        name
        for name in ("destination", "next_hop_address")
        if isinstance(route.places.get(name), Scalar) and getattr(route, name) is None
    )


def _address_hint(at: Node) -> str:
    if not isinstance(at, Scalar) or at.key is None:
        return ""
    match at.key.text:
        case "ip" if "/" in at.text:
            return "write the address alone here, and the number behind the slash as prefix-length"
        case "ip" | "next-hop-address":
            return "write an IPv4 or IPv6 address, for example 192.0.2.10 or 2001:db8::10"
        case "destination" if at.text == "default":
            return "write 0.0.0.0/0, or ::/0 for IPv6"
        case "destination":
            return "write a network, for example 198.51.100.0/24; everything is 0.0.0.0/0 or ::/0"
        case _:
            return ""


def _name_hint(message: str, names: tuple[str, ...]) -> str:
    unknown = [word for word in _QUOTED.findall(message) if word not in names]
    right = next((name for word in unknown if (name := closest(word, list(names)))), None)
    return f"did you mean {right}?" if right else ""


def _guess(node: Node, message: str) -> Node:
    """nmstate names no exact place for some errors; the first value that its message quotes is a good one."""
    words = set(_QUOTED.findall(message))
    for _, scalar in walk(node):
        if scalar.text in words:
            return scalar
    return node
