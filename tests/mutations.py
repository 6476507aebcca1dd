# SPDX-License-Identifier: Apache-2.0
"""Valid sites, broken at random: what people, editors and copy-and-paste do to files."""

from __future__ import annotations

import random
from pathlib import Path

from muster.config.document.folder import Memory

EXAMPLES = Path(__file__).parent.parent / "examples"

JUNK = (
    "", "~", "null", "no", "yes", "on", "0", "-1", "4.10", "0123", "1:30", "1e999", "true", "'", '"', "[]", "{}", "[", "{",
    "- x", "*x", "&x", "!!binary x", "%", "@", "`", "|", ">", "?", "<<: *x", "192.0.2.300", "192.0.2.1/33", "::1", "fe80::1%1",
    "2001:db8::/32", "0.0.0.0/0", "255.255.255.255", "52:54:00:00:00", "ff:ff:ff:ff:ff:ff", "52-54-00-AA-BB-CC", "localhost",
    "-.-", "a" * 300, "é", "\u200b", "\t", "\r", "\x00", "\x07", "\ufeff", "{{ x }}", "99999999999999999999", "🐍", "..", "/dev/sda",
    "http://", "https://u:p@h:99999/", "redfish://[::1", "quay.io/x@sha256:1", "-----BEGIN CERTIFICATE-----", '{"auths": 1}',
    "\x85", "\u2028", "\u2029", "\u2028\u2028 [", "\x0b", "\x0c", "''x''", "''x''\u2028\u2029 [",
    "{a: [1, {b: null}]}", "spec:", "apiVIP: 192.0.2.5", "a b c", "#", "---", "...",
)  # fmt: skip

YAML_PIECES = (
    "a: ", "b:", "''x''", "''", "'", '"', "[", "]", "{", "}", ",", "- ", "? ", ": ", "|\n", ">", " ", "  ", "\t", "x", "&a ",
    "*a", "<<: ", "!!str ", "#", "---\n", "...\n", "password: ", "\n", "\n  ", "\n\t", "\r", "\r\n", "\x85", "\u2028",
    "\u2029", "\x0b", "\x0c", "\x1c", "\ufeff",
)  # fmt: skip
"""What YAML documents are made of, with all characters that end a line for YAML or for `str.splitlines`."""


def load_examples() -> dict[str, dict[str, str]]:
    """The files of every example site."""
    sites = {}
    for site in sorted(path for path in EXAMPLES.iterdir() if path.is_dir()):
        files = (
            path for path in site.rglob("*") if path.is_file() and path.suffix in (".yaml", ".conf", ".crt")
        )
        sites[site.name] = {str(path.relative_to(site)): path.read_text("utf-8") for path in files}
    return sites


def mutate(files: dict[str, str], rng: random.Random) -> dict[str, str]:
    """The same site with a few mistakes."""
    broken = dict(files)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        name = rng.choice(sorted(broken))
        broken[name] = _mutate_text(broken[name], rng)
    if rng.random() < 0.05:
        del broken[rng.choice(sorted(broken))]
    return broken


def folder_of(files: dict[str, str]) -> Memory:
    """The site in memory."""
    return Memory({name: text.encode("utf-8", "surrogateescape") for name, text in files.items()})


def damage(data: bytes, rng: random.Random) -> bytes:
    """The same file with some bits flipped, or cut off."""
    broken = bytearray(data)
    if rng.random() < 0.15:
        del broken[rng.randrange(len(broken)) :]
    for _ in range(rng.choice((1, 4, 30, 300)) if broken else 0):
        broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
    return bytes(broken)


def _mutate_text(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    line = lines[at]
    match rng.randrange(12):
        case 0:
            del lines[at]
        case 1:
            lines.insert(rng.randrange(len(lines) + 1), line)
        case 2:
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        case 3:
            lines[at] = " " * rng.randrange(1, 5) + line
        case 4:
            lines[at] = line[rng.randrange(1, 4) :]
        case 5 | 6 | 7:
            key, colon, _ = line.partition(":")
            lines[at] = f"{key}: {rng.choice(JUNK)}" if colon else f"- {rng.choice(JUNK)}"
        case 8:
            lines[at] = _swap_case(line, rng)
        case 9:
            spot = rng.randrange(len(line) + 1)
            lines[at] = line[:spot] + rng.choice(JUNK)[:6] + line[spot:]
        case 10:
            del lines[at:]
        case _:
            lines.insert(at, " " * rng.randrange(6) + rng.choice(JUNK))
    return "\n".join(lines)


def _swap_case(line: str, rng: random.Random) -> str:
    if len(line) < 2:
        return line
    spot = rng.randrange(len(line) - 1)
    if rng.random() < 0.5:
        return line[:spot] + line[spot + 1] + line[spot] + line[spot + 2 :]
    return line[:spot] + line[spot].swapcase() + line[spot + 1 :]
