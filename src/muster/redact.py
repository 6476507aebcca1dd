# SPDX-License-Identifier: Apache-2.0
"""Takes secrets out of text before anybody sees it: messages, logs, excerpts, crash files.

It works on bare text, so that it also holds for files that cannot be parsed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

MASK: Final = "••••"
HIDDEN: Final = "(hidden)"
"""The same in files that other programs read, where it has to be plain."""

_HIDDEN: Final = (
    r"pullsecret|pass(?:word|wd|phrase)|\bpwd|secret|token|dockerconfigjson|\bauth\b|\bpsk|mka-cak"
    r"|client-key-data"
)
_SECRET_KEY: Final = re.compile(
    rf"""^(?P<indent>[\s-]*+)["']?(?P<key>(?=[\w.-]*?(?:{_HIDDEN}))[\w.-]++)["']?\s*:(?P<rest>.*)$""",
    re.IGNORECASE,
)
"""Lines come from anywhere, and take time in proportion to their length: `++` gives nothing back."""
_DATA_KEY: Final = re.compile(r"^(?P<indent>)(?P<key>data|stringData)\s*:(?P<rest>.*)$")
"""All of a Kubernetes Secret's values stand under these."""
_INLINE: Final = re.compile(
    r"""(["']?(?:auth|password|passwordHash|passwd|passphrase|pwd|identitytoken|registrytoken|token|pullSecret|client-key-data)["']?\s*:\s*)"""
    r"""("(?:[^"\\]|\\.)*"?|'[^']*'?|[^,}\n]+)""",
    re.IGNORECASE,
)
_URL_LOGIN: Final = re.compile(
    r"((?<!\w)[\w+]{1,20}://)[^/@\s'\"]+@|(?<=[/\s'\"])[^\s/:@'\"]{1,64}:[^\s/@'\"]{1,256}@"
)
_PROXY: Final = re.compile(r"""proxy["']?\s*:\s*["']?(?:\w+://)?""", re.IGNORECASE)
_WORD: Final = re.compile(r"\S*+")
_PROXY_NO_PORT: Final = re.compile(
    r"""(proxy["']?\s*:\s*["']?\w+://[^\s/:@\[]*:)(?!\d+(?:[/\s"']|\Z))[^\s/@]+""", re.IGNORECASE
)
"""The same without its end: what stands where a port should may be a password."""
_PRIVATE_BODY: Final = re.compile(r"b3BlbnNzaC1rZXktdjE[\w+/=]*")
"""A private key of OpenSSH without its first line."""
_PRIVATE_KEY: Final = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END|\Z)", re.DOTALL)
_PRIVATE_BEGIN: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_NOT_SECRET: Final = frozenset(("pullsecretref", "secretref", "secretname", "tokenref"))
_QUERY: Final = re.compile(r"(\w+://[^\s?]+\?)\S+")
"""A signed link carries its permission there."""
_SECRET_FLAGS: Final = ("--key", "--master", "--password", "--token", "--pull-secret")


def redact(text: str) -> str:
    """A text without what looks like a login, a token or a private key."""
    text = _without_proxy_logins(text)
    text = _PROXY_NO_PORT.sub(rf"\1{MASK}", text)
    text = _URL_LOGIN.sub(lambda match: f"{match[1] or ''}{MASK}@", text)
    text = _INLINE.sub(rf"\1{MASK}", text)
    text = _PRIVATE_BODY.sub(MASK, text)
    return _PRIVATE_KEY.sub(rf"\1{MASK}\2", text)


def _without_proxy_logins(text: str) -> str:
    """A text without logins of proxies whose URLs are not written well; passwords may hold any character.

    They end at the last @ before a space, which is looked for once, however many proxies come before it.
    """
    pieces, done, seen, last = list[str](), 0, 0, -1
    for proxy in _PROXY.finditer(text):
        begin = proxy.end()
        if begin >= seen and (word := _WORD.match(text, begin)):
            seen = word.end()
            last = text.rfind("@", begin, seen)
        if proxy.start() >= done and begin <= last:
            pieces += [text[done:begin], MASK]
            done = last
    return "".join([*pieces, text[done:]])


def redact_url(text: str) -> str:
    """A URL without its login, whatever characters that has."""
    head, at, tail = text.rpartition("@")
    scheme, slashes, _ = head.partition("://")
    return f"{scheme}{slashes}{MASK}@{tail}" if at and slashes else MASK + at + tail if at else text


def redact_links(text: str) -> str:
    """A text without logins, and without the queries of its URLs: tokens stand there."""
    return _QUERY.sub(rf"\1{MASK}", redact(text))


def printable(text: str) -> str:
    """A text that cannot make a terminal do anything: control characters are written out."""
    return "".join(char if char.isprintable() or char == "\n" else repr(char)[1:-1] for char in text)


def redact_arguments(arguments: Sequence[str]) -> list[str]:
    """A command line without the values of flags that take secrets, and without the queries of URLs."""
    shown: list[str] = []
    hide = False
    for argument in arguments:
        flag, equals, _ = argument.partition("=")
        if hide:
            shown.append(MASK)
            hide = False
        elif flag in _SECRET_FLAGS:
            shown.append(f"{flag}={MASK}" if equals else flag)
            hide = not equals
        else:
            shown.append(redact_links(argument))
    return shown


def is_secret_key(key: str) -> bool:
    """Whether a key is called like one whose value is secret."""
    return key.lower() not in _NOT_SECRET and re.search(_HIDDEN, key, re.IGNORECASE) is not None


def masked_lines(text: str, spans: Iterable[tuple[int, int]] = ()) -> dict[int, str]:
    """The lines of a file that may not be shown as they are, by number (from 1).

    ``spans`` are values that are known to be secret; everything else is found by how it looks.
    """
    masked = _masked_by_look(text)
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    shown: dict[int, str] = {}
    for start, end in sorted(spans, reverse=True):
        first, last = bisect_right(starts, start) - 1, bisect_right(starts, max(start, end - 1)) - 1
        for index in range(first + 1, last + 1):
            shown[index] = MASK
        line = shown.get(first, lines[first])
        tail = line[end - starts[first] :] if first == last else ""
        if start < end:
            shown[first] = line[: start - starts[first]] + MASK + tail
    return masked | {index + 1: redact(line) for index, line in shown.items()}


def _masked_by_look(text: str) -> dict[int, str]:
    masked: dict[int, str] = {}
    is_secret = re.search(r"^kind:\s*[\"']?Secret\b", text, re.MULTILINE) is not None
    inside: int | None = None
    private = False
    for number, line in enumerate(text.split("\n"), start=1):
        indent = len(line) - len(line.lstrip(" -"))
        if inside is not None and line.strip() and indent <= inside and not private:
            inside = None
        match = _SECRET_KEY.match(line) or (_DATA_KEY.match(line) if is_secret else None)
        if private or (inside is not None and line.strip()):
            masked[number] = line[:indent] + MASK
            private = private and "-----END" not in line
        elif match and match["key"].lower() not in _NOT_SECRET:
            inside = len(match["indent"])
            if match["rest"].strip():
                masked[number] = line[: match.start("rest")] + " " + MASK
        elif _PRIVATE_BEGIN.search(line):
            private = "-----END" not in line
            masked[number] = line[:indent] + MASK
        elif (shown := redact(line)) != line:
            masked[number] = shown
    return masked
