# SPDX-License-Identifier: Apache-2.0
"""Tree → model: reads what can be read and reports everything that cannot.

A value that does not fit leaves its field empty and the rest of the document is still read, so that
one run finds all mistakes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeVar

from muster.config.document import edit
from muster.config.document.forms import as_mapping
from muster.config.document.parse import MAX_PROBLEMS
from muster.config.document.replaced import modern_edits, says_the_same
from muster.config.spelling import closest, slip_of
from muster.model.problem import Edit, Place, Problem, problem
from muster.model.schema import Field, Free, Items, Kind, Leaf, Model, Object, fields_of
from muster.model.tree import Map, Node, Scalar, Sequence, is_null

M = TypeVar("M", bound=Model)


class Binder:
    """Reads trees into models, collecting problems on the way."""

    def __init__(self, *, lenient: str = "", partial: bool = False) -> None:
        self.problems: list[Problem] = []
        self._lenient = lenient
        """Set where unknown keys only warn: which ones do, in words."""
        self._partial = partial
        """The document is a part of a larger one: nothing is missing from it."""

    def report(self, slug: str, at: Node | Place, **values: Any) -> None:
        """Note a broken rule, unless there are too many of them already."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem(slug, at, **values))

    def bind(self, model: type[M], node: Node, listed: str = "") -> M | None:
        """Read a mapping into a model; None when it is not a mapping. ``listed`` is the list it stands in."""
        if not isinstance(node, Map):
            self._wrong_kind(node, "a mapping (key: value)")
            return None
        known = fields_of(model)
        values: dict[str, Any] = {}
        places: dict[str, Node] = {}
        for key, child in node.items.items():
            entry = known.get(key) or self._resolve_key(model, node, key, listed)
            if entry is None:
                continue
            if entry.name in places:
                self.report(
                    "duplicate-key", Place.of_key(child), key=key, first=Place.of_key(places[entry.name]).line
                )
                continue
            places[entry.name] = child
            if is_null(child) or _says_nothing(entry, child):
                continue
            self._remark(entry, child)
            before = len(self.problems)
            found = self._read(entry, child)
            if entry.ignored:
                del self.problems[before:]  # It has no effect, so it does not matter what it says.
            if found is not None:
                values[entry.name] = found
        self._remark_replaced(known, places, values)
        if not self._partial:
            self._require(known, places, values, node)
        return model(node=node, places=places, **values)

    def _resolve_key(self, model: type[Model], node: Map, key: str, listed: str) -> Field | None:
        """The field a key means when it is not spelled exactly so; reports the spelling."""
        if model.open:
            return None
        known = fields_of(model)
        child = node.items[key]
        at = Place.of_key(child)
        for name, entry in known.items():
            if name.lower() == key.lower():
                self.report("key-case", at, key=key, right=name, edits=edit.rename_key(child, name))
                return entry
        right = _meant(key, known, node)
        if right:
            self.report("misspelt-key", at, key=key, right=right, edits=edit.rename_key(child, right))
            return known[right]
        self._unknown(known, node, key, listed)
        return None

    def _unknown(self, known: Mapping[str, Field], node: Map, key: str, listed: str) -> None:
        child = node.items[key]
        at = Place.of_key(child)
        if closest(key, [entry.key for entry in known.values() if entry.secret]):
            child.source.secrets.append((child.start, child.end))
        if self._lenient:
            self.report("unknown-key-ignored", at, key=key, where=self._lenient)
            return
        where = f"an entry of {listed}" if listed else "the top level of this file"
        if node.key is not None:
            where = repr(node.key.text)
        usable = [
            entry.key
            for entry in known.values()
            if not (entry.replaced_by or entry.ignored or entry.forbidden)
        ]
        self.report("unknown-key", at, key=key, where=where, known=", ".join(sorted(usable)))

    def _remark(self, entry: Field, node: Node) -> None:
        at = Place.of_key(node)
        if entry.forbidden:
            self.report("unsupported-field", at, key=entry.key, reason=entry.forbidden)
        elif entry.ignored:
            self.report("ignored-field", at, key=entry.key, reason=entry.ignored)

    def _remark_replaced(
        self, known: Mapping[str, Field], places: Mapping[str, Node], values: Mapping[str, Any]
    ) -> None:
        """Report fields that have a successor, and offer to say the same with that one."""
        for old in known.values():
            written = places.get(old.name)
            if not old.replaced_by or written is None or is_null(written):
                continue
            at, right = Place.of_key(written), old.replaced_by
            new = known.get(right)
            edits: tuple[Edit, ...] = ()
            if _judged_elsewhere(old, known, places):
                continue
            if new is not None and new.many and isinstance(written, Sequence) and new.name not in places:
                edits = edit.rename_key(written, right)
            elif new is not None and old.name in values:
                if is_null(places.get(new.name)):
                    edits = modern_edits(old, new, values, written)
                elif new.name not in values or says_the_same(old, new, values, places):
                    edits = edit.remove_entry(written) if new.name in values else ()
                else:
                    self.report("deprecated-and-current", at, key=old.key, right=right)
                    continue
            self.report("deprecated-field", at, key=old.key, right=right, edits=edits)

    def _require(
        self, known: Mapping[str, Field], places: Mapping[str, Node], values: Mapping[str, Any], node: Map
    ) -> None:
        for entry in known.values():
            if not entry.required or values.get(entry.name):
                continue
            written = places.get(entry.name)
            if written is None or is_null(written) or (isinstance(written, Scalar) and not written.text):
                what, action = ("is missing", "add") if written is None else ("has no value", "fill in")
                example = f", for example {entry.key}: {entry.example}" if entry.example else ""
                self.report(
                    "missing-field",
                    _place_of_gap(written, node),
                    key=entry.key,
                    what=what,
                    action=action,
                    example=example,
                    doc=entry.doc,
                )

    def _read(self, entry: Field, node: Node) -> Any:
        if entry.many:
            return self._read_many(entry, node)
        if entry.table:
            return self._read_table(entry.kind, node)
        return self._read_one(entry.kind, node)

    def _read_many(self, entry: Field, node: Node) -> Items[Any] | None:
        if not isinstance(node, Sequence):
            edits = (
                edit.wrap_in_list(node) if isinstance(node, Scalar) and isinstance(entry.kind, Leaf) else ()
            )
            self._wrong_kind(node, "a list (- item)", edits)
            return None
        items = [item for item in node.items if not is_null(item)]
        read = [(self._read_one(entry.kind, item, entry.key), item) for item in items]
        kept = [(found, item) for found, item in read if found is not None]
        return Items(tuple(found for found, _ in kept), tuple(item for _, item in kept))

    def _read_table(self, kind: Kind[Any], node: Node) -> Mapping[str, Any] | None:
        if not isinstance(node, Map):
            self._wrong_kind(node, "a mapping (name: value)")
            return None
        read = {key: self._read_one(kind, child) for key, child in node.items.items() if not is_null(child)}
        return {key: found for key, found in read.items() if found is not None}

    def _read_one(self, kind: Kind[Any], node: Node, listed: str = "") -> Any:
        """Read one value. ``listed`` is the field whose list it stands in."""
        if isinstance(kind, Leaf) and kind.secret:
            node.source.secrets.append((node.start, node.end))
        match kind:
            case Leaf():
                if not isinstance(node, Scalar):
                    self._not_a_scalar(kind, node, listed)
                    return None
                return kind.parse(node, partial(self._complain, kind, node, listed))
            case Object():
                if not isinstance(node, Map):
                    advice, edits = as_mapping(kind.model, node)
                    self._wrong_kind(node, "a mapping (key: value)", edits, listed, advice)
                    return None
                return self.bind(kind.model, node, listed)
            case Free():
                return node
            case _:
                raise TypeError(kind)

    def _not_a_scalar(self, kind: Leaf[Any], node: Node, listed: str) -> None:
        if kind.secret and isinstance(node, Map) and node.flow and node.key is not None:
            edits = edit.quote(node)
            self.report("json-without-quotes", Place.of_key(node), key=node.key.text, edits=edits)
            return
        self._wrong_kind(node, f"a single value ({kind.name})", listed=listed)

    def _complain(self, kind: Leaf[Any], node: Scalar, listed: str, slug: str, /, **values: Any) -> None:
        repaired, unquoted = values.pop("repaired", None), values.pop("unquoted", None)
        if slug == "not-a-choice":
            choices = str(values["choices"]).split(", ")
            repaired = repaired or slip_of(node.text, choices)
            values |= _choice_words(repaired, closest(node.text, choices), values["choices"])
        edits: tuple[Edit, ...] = ()
        if repaired is not None:
            edits = edit.replace_scalar(node, repaired)
            values.setdefault("right", repaired)
        elif unquoted is not None:
            edits = edit.unquote(node, unquoted)
        if not kind.secret:
            values.setdefault("value", _shorten(node.text))
        values.setdefault("key", node.key.text if node.key else listed)
        self.report(slug, node, edits=edits, **values)

    def _wrong_kind(
        self, node: Node, expected: str, edits: tuple[Edit, ...] = (), listed: str = "", advice: str = ""
    ) -> None:
        match node:
            case Scalar():
                found = "a single value"
            case Sequence():
                found = "a list"
            case _:
                found = "a mapping"
        key = node.key.text if node.key else f"an entry of {listed}"
        values = {"key": key, "expected": expected, "found": found}
        advice = advice or f"write it as {expected}"
        self.report("wrong-kind", Place.start_of(node), edits=edits, advice=advice, **values)


def _place_of_gap(written: Node | None, node: Map) -> Place:
    """Where a field belongs that says nothing: its key, else that of the mapping, else the whole file."""
    if written is not None:
        return Place.of_key(written)
    start = node.source.text[: node.start]
    is_file = node.key is None and node.source.position(node.start)[1] == 1 and "\n---" not in start
    return Place(node.source) if is_file else Place.start_of(node.key or node)


def _choice_words(right: str | None, near: str | None, choices: str) -> dict[str, str]:
    """What to say about a value that is none of its choices: the one that is meant, or all of them."""
    if right is not None:
        return {"hint": f"did you mean {right}?", "advice": f"write {right}; all values are: {choices}"}
    if near is not None:
        return {"hint": f"did you mean {near}?", "advice": f"write {near}, or another of: {choices}"}
    return {"hint": f"it must be one of: {choices}", "advice": f"choose one of: {choices}"}


def _says_nothing(entry: Field, node: Node) -> bool:
    """An empty text where a number, an address or a word is wanted is the same as none."""
    if entry.many or entry.table or entry.required or not isinstance(entry.kind, Leaf):
        return False
    free = entry.secret or entry.kind.name == "text" or "" in entry.kind.json.get("enum", ())
    return not free and isinstance(node, Scalar) and node.text == ""


def _meant(key: str, known: Mapping[str, Field], node: Map) -> str | None:
    """The field that a misspelt key most likely means: one not written yet, of today if it can be."""
    free = [entry for name, entry in known.items() if name not in node.items]
    current = closest(key, [entry.key for entry in free if not entry.replaced_by])
    return current or closest(key, [entry.key for entry in free])


def _judged_elsewhere(old: Field, known: Mapping[str, Field], places: Mapping[str, Node]) -> bool:
    """Whether a rule of its own says more about an old field that stands beside the new one."""
    inside, nested, _ = old.replaced_by.partition("[]")
    if not nested and old.key != "imageContentSources":
        return False
    new = known.get(inside)
    return new is not None and not is_null(places.get(new.name))


def _shorten(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 80 else flat[:77] + "..."
