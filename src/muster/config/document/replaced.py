# SPDX-License-Identifier: Apache-2.0
"""Fields of earlier releases: whether they say the same as the field of today, and how to say it there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muster.config.document import edit
from muster.model.problem import Edit
from muster.model.schema import Field, Object
from muster.model.tree import Node, Scalar, to_plain


def says_the_same(old: Field, new: Field, values: Mapping[str, Any], places: Mapping[str, Node]) -> bool:
    """Whether the old field agrees with the new one; both are written and could be read."""
    was, now = values[old.name], values[new.name]
    if old.key == "hostSubnetLength":
        return bool(_host_prefix(was, values) == now)
    if old.key == "provisioningDHCPExternal":
        return True  # It only chose a default for what the new field says outright.
    if new.many and not old.many:
        return was in now or any(getattr(item, "cidr", None) == was for item in now)
    return bool(was == now) or to_plain(places[old.name]) == to_plain(places[new.name])


def modern_edits(old: Field, new: Field, values: Mapping[str, Any], node: Node) -> tuple[Edit, ...]:
    """Edits that turn the old field into the new one, which is not written yet."""
    was = values.get(old.name)
    if old.key == "hostSubnetLength":
        prefix = _host_prefix(was, values)
        return _rename(node, new.key, str(prefix)) if prefix is not None and prefix > 0 else ()
    if old.key == "provisioningDHCPExternal":
        return _rename(node, new.key, "Unmanaged") if was else edit.remove_entry(node)
    if old.key == "machineCIDR":
        return edit.rename_to_list(node, new.key, under="cidr")
    if new.many and not old.many:
        return () if isinstance(new.kind, Object) else edit.rename_to_list(node, new.key)
    return edit.rename_key(node, new.key) if _same_shape(old, new) else ()


def _rename(node: Node, key: str, text: str) -> tuple[Edit, ...]:
    assert isinstance(node, Scalar)
    return edit.rename_key(node, key) + edit.replace_scalar(node, text)


def _host_prefix(length: int | None, values: Mapping[str, Any]) -> int | None:
    """hostSubnetLength counts the bits that are left to the host, hostPrefix those before them."""
    cidr = values.get("cidr")
    return None if cidr is None or length is None else cidr.max_prefixlen - length


def _same_shape(old: Field, new: Field) -> bool:
    if isinstance(old.kind, Object) and isinstance(new.kind, Object):
        return old.many == new.many and issubclass(new.kind.model, old.kind.model)
    return old.many == new.many and old.kind is new.kind
