# SPDX-License-Identifier: Apache-2.0
"""Repairs as the smallest change of text: comments, order and quoting stay as they are.

Every function gives the edits, or none when the text is written in a way that it would not dare to touch.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from functools import lru_cache
from typing import Final

import yaml

from muster.config.document.slips import MAX_DEPTH
from muster.model.problem import Edit
from muster.model.tree import Map, Node, Scalar, Sequence, Source

_COLON: Final = re.compile(r"[ \t]*:")


def replace_scalar(node: Node | None, text: str) -> tuple[Edit, ...]:
    """Say ``text`` where a scalar stands, in the quotes that it had."""
    if not isinstance(node, Scalar):
        return ()
    written = node.source.text[node.start : node.end]
    if not written:
        return set_value(node, text)
    if not is_verbatim(node):
        return ()
    if written[:1] not in "'\"":
        return (Edit(node.source, node.start, node.start + len(written.rstrip()), text),)
    quote = written[0]
    body = text.replace("'", "''") if quote == "'" else text.replace("\\", "\\\\").replace('"', '\\"')
    return (Edit(node.source, node.start, node.end, f"{quote}{body}{quote}"),)


def unquote(node: Scalar, text: str) -> tuple[Edit, ...]:
    """Say ``text`` without quotes where ``node`` stands."""
    return (Edit(node.source, node.start, node.end, text),) if is_verbatim(node) else ()


def quote(node: Node) -> tuple[Edit, ...]:
    """Put single quotes around a value that is meant as text, such as JSON."""
    written = node.source.text[node.start : node.end]
    if "'" in written or "\n" in written:
        return ()
    return (Edit(node.source, node.start, node.end, f"'{written}'"),)


def set_value(node: Scalar, text: str) -> tuple[Edit, ...]:
    """Give a value to a key that has none: ``key:`` → ``key: text``."""
    if node.key is None or not is_verbatim(node.key) or node.source.text[node.start : node.end]:
        return ()
    behind = key_end(node.key)
    return () if behind is None else (Edit(node.source, behind, behind, f" {text}"),)


def rename_key(value: Node, name: str) -> tuple[Edit, ...]:
    """Give the key of ``value`` another name."""
    return replace_scalar(value.key, name) if value.key else ()


def wrap_in_list(node: Scalar, under: str = "") -> tuple[Edit, ...]:
    """Make a list of one out of a value: ``key: a`` → ``key:`` and ``- a`` on a line of its own.

    With ``under`` the item is a mapping: ``- under: a``. Inside braces the list is written as ``[a]``.
    """
    source, key = node.source, node.key
    written = source.text[node.start : node.end].rstrip()
    if "\n" in written or not written or not is_verbatim(node):
        return ()
    end = node.start + len(written)
    if key is None or source.position(key.start)[0] != source.position(node.start)[0] or in_flow(key):
        item = f"{{{under}: {written}}}" if under else written
        return (Edit(source, node.start, end, f"[{item}]"),)
    behind = key_end(key)
    if behind is None:
        return ()
    # From behind the colon, so that an anchor comes along with its value.
    written = source.text[behind:end].strip()
    item = f"{under}: {written}" if under else written
    return (Edit(source, behind, end, f"{newline(source)}{indent_of(key)}- {item}"),)


def nest(node: Scalar, text: str, *, keep: bool = False) -> tuple[Edit, ...]:
    """Put an entry in place of a value: ``key: a`` → ``key:`` and ``text`` on a line of its own.

    With ``keep`` the value follows the text. Inside braces the entry is written as ``{text}``.
    """
    source, key = node.source, node.key
    written = source.text[node.start : node.end].rstrip()
    if not written or "\n" in written or not is_verbatim(node) or written.startswith("*"):
        return ()
    entry = f"{text}{written}" if keep else text
    end = node.start + len(written)
    if in_flow(node):
        return (Edit(source, node.start, end, f"{{{entry}}}"),)
    if key is None:
        return (Edit(source, node.start, end, entry),)
    behind = key_end(key)
    if behind is None or source.text[behind : node.start].strip():
        return ()
    return (Edit(source, behind, end, f"{newline(source)}{indent_of(key)}  {entry}"),)


def rename_to_list(node: Node, name: str, under: str = "") -> tuple[Edit, ...]:
    """Both at once: ``apiVIP: a`` → ``apiVIPs:`` and ``- a``."""
    wrapped = wrap_in_list(node, under) if isinstance(node, Scalar) else ()
    return rename_key(node, name) + wrapped if wrapped else ()


def insert_entry(parent: Node, key: str, text: str) -> tuple[Edit, ...]:
    """Put ``key: text`` before the first entry of a mapping."""
    if not isinstance(parent, Map):
        return ()
    source = parent.source
    if parent.flow:
        if source.text[parent.start : parent.start + 1] != "{":
            return ()
        more = ", " if parent.items else ""
        return (Edit(source, parent.start + 1, parent.start + 1, f"{key}: {text}{more}"),)
    keys = [child.key.start for child in parent.items.values() if child.key and child.key.source is source]
    own = [start for start in keys if parent.start <= start < parent.end]
    if not own:
        return ()
    first = min(own)
    indent = " " * (source.position(first)[1] - 1)
    return (Edit(source, first, first, f"{key}: {text}{newline(source)}{indent}"),)


def add_entry(after: Node, key: str, text: str) -> tuple[Edit, ...]:
    """Put ``key: text`` behind another entry of the same mapping."""
    source = after.source
    if after.key is None or not is_verbatim(after.key) or key_end(after.key) is None:
        return ()
    if in_flow(after.key):
        return (Edit(source, after.end, after.end, f", {key}: {text}"),)
    end = block_end(after)
    line = f"{indent_of(after.key)}{key}: {text}"
    if end and source.text[end - 1] != "\n":
        return (Edit(source, end, end, f"{newline(source)}{line}"),)
    return (Edit(source, end, end, f"{line}{newline(source)}"),)


def remove_entry(value: Node) -> tuple[Edit, ...]:
    """Remove a key and its value, with the lines they stand on."""
    key = value.key
    if key is None or not is_verbatim(key) or key_end(key) is None:
        return ()
    if in_flow(key):
        return _remove_in_flow(key, value)
    source = value.source
    line, column = source.position(key.start)
    end = block_end(value)
    if source.line(line)[: column - 1].strip():
        # The first entry of a list item: the dash stays, and the next entry moves up to it.
        behind = len(source.text) - len(source.text[end:].lstrip(" \r\n"))
        same_item = behind < len(source.text) and source.position(behind)[1] == column
        return (Edit(source, key.start, behind, ""),) if same_item else ()
    return (Edit(source, source.line_starts[line - 1], end, ""),)


def _remove_in_flow(key: Scalar, value: Node) -> tuple[Edit, ...]:
    text = value.source.text
    behind = len(text) - len(text[value.end :].lstrip())
    if text[behind : behind + 1] == ",":
        end = len(text) - len(text[behind + 1 :].lstrip(" "))
        return (Edit(value.source, key.start, end, ""),)
    before = text[: key.start].rstrip()
    start = len(before) - 1 if before.endswith(",") else key.start
    return (Edit(value.source, start, value.end, ""),)


def remove_item(node: Node) -> tuple[Edit, ...]:
    """Remove an entry of a list that has a line of its own."""
    source = node.source
    line = source.position(node.start)[0]
    start = source.line_starts[line - 1]
    if source.text[start : node.start].strip() != "-" or source.position(node.end)[0] != line:
        return ()
    return (Edit(source, start, block_end(node), ""),)


def is_verbatim(node: Scalar) -> bool:
    """Whether its place holds just this scalar, on one line: not so when it was parsed out of a text."""
    written = node.source.text[node.start : node.end].rstrip()
    if written.startswith('"'):
        try:
            return bool(json.loads(written) == node.text)
        except ValueError:
            return False
    if written.startswith("'"):
        return written[1:-1].replace("''", "'") == node.text
    return written == node.text or written.startswith("*")


def key_end(key: Scalar) -> int | None:
    """Index just behind the colon of a key; None when the colon does not follow it, as with ``? key``."""
    colon = _COLON.match(key.source.text, key.end)
    return colon.end() if colon else None


def indent_of(key: Scalar) -> str:
    """Spaces up to the column of a key, also when it stands behind the dash of a list item."""
    return " " * (key.source.position(key.start)[1] - 1)


def in_flow(node: Node) -> bool:
    """Whether a node stands inside ``{}`` or ``[]``."""
    ranges = _flow_ranges(node.source)
    index = bisect_left(ranges, (node.start, 0)) - 1
    return index >= 0 and ranges[index][0] < node.start < ranges[index][1]


@lru_cache(maxsize=16)
def _flow_ranges(source: Source) -> list[tuple[int, int]]:
    """From where to where the outermost braces and brackets of a file reach."""
    ranges: list[tuple[int, int]] = []
    opened: list[int] = []
    try:
        for token in yaml.scan(source.text, Loader=yaml.CSafeLoader):
            if isinstance(token, yaml.FlowMappingStartToken | yaml.FlowSequenceStartToken):
                opened.append(token.start_mark.index)
                if len(opened) > MAX_DEPTH:
                    break  # Nothing in there is read, nor is anything behind it.
            elif opened and isinstance(token, yaml.FlowMappingEndToken | yaml.FlowSequenceEndToken):
                start = opened.pop()
                if not opened:
                    ranges.append((start, token.end_mark.index))
    except yaml.YAMLError:
        pass  # What follows cannot be read by anybody, so no repair will be asked for there.
    ranges.extend((start, len(source.text)) for start in opened[:1])
    return ranges


def newline(source: Source) -> str:
    """The line end that a file uses."""
    return "\r\n" if "\r\n" in source.text else "\n"


def block_end(node: Node) -> int:
    """Index of the start of the first line behind a value."""
    source = node.source
    last = max(node.start, _last_char(node))
    line = source.position(last)[0]
    return source.line_starts[line] if line < len(source.line_starts) else len(source.text)


def _last_char(node: Node) -> int:
    """Index of the last character that belongs to a value (libyaml ends blocks behind the blank lines)."""
    match node:
        case Map() if not node.flow:
            return max((_last_char(child) for child in node.items.values()), default=node.start)
        case Sequence() if not node.flow:
            return max((_last_char(child) for child in node.items), default=node.start)
    written = node.source.text[node.start : node.end].rstrip()
    end = node.start + max(len(written) - 1, 0)
    return max(end, node.key.start if node.key else end)
