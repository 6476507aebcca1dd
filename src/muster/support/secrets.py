# SPDX-License-Identifier: Apache-2.0
"""What may not leave a host in a bundle: files that are left out, and what is taken out of all others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any, Final

from muster.config.formats.logins import logins_of, read_login
from muster.redact import MASK, is_secret_key, masked_lines, redact
from muster.support.finding import find_files

LOGINS: Final = "root/.docker/config.json"
CONFIDED: Final = ("etc/assisted", "etc/muster", "run/muster")
"""Where a host keeps what it was told in confidence."""
_SHORTEST: Final = 8
_MOST: Final = 500
_LARGEST: Final = 1 << 20
_SECRET_NAME: Final = re.compile(
    r"tokens?$|secret|passw|credential|kubeconfig|private|auth\.json$|config\.json$|\.(?:key|pem|p12|pfx)$",
    re.IGNORECASE,
)
_SECRET_KIND: Final = re.compile(r"""["']?kind["']?\s*:\s*["']?Secret\b""")
_KEY_BEGIN: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_KEY_END: Final = re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")
_KEY: Final = re.compile(rf"({_KEY_BEGIN.pattern}).*?({_KEY_END.pattern}|\Z)", re.DOTALL)
_SUSPECT: Final = (
    *("@", "b3blbn", "eyj", "auth", "pass", "pwd", "proxy", "secret", "token", "bearer", "basic", "psk"),
    *("mka-cak", "dockerconfigjson", "data:", "key-data", "ls0tls1crudj"),
    *("$1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$", "$7$", "$y$", "$gy$", "$argon2"),
)
"""What every line has, in small letters, that something is taken out of; a close look at all is slow."""
_ASSIGNMENT: Final = re.compile(r"^(\s*(?:export\s+)?([\w.-]+)\s*=\s*)(\S.*)$", re.MULTILINE)
_INLINE: Final = re.compile(
    r"""((?<![\w.-])[\w.-]*(?:token|passw(?:or)?d|passphrase|secret|psk)[\w.-]*\s?=\s?)("[^"]*"|'[^']*'|[^\s,;&]+)""",
    re.IGNORECASE,
)
_FLAG: Final = re.compile(r"(--[\w-]*(?:token|password|secret)\s+)\S+", re.IGNORECASE)
_HEADER: Final = re.compile(r"(\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}", re.IGNORECASE)
_SIGNED: Final = re.compile(r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*")
"""A JSON web token."""
_ENCLOSED: Final = re.compile(r"""(data:[\w/;=.+-]*,)[^\s"']{16,}""")
"""A file within a configuration; nobody sees what is in it."""
_HASH: Final = re.compile(r"\$(?:1|2[aby]|5|6|7|g?y|argon2\w*)\$[\w./$=,+-]{16,}")
"""Of a password."""
_ENCODED_KEY: Final = re.compile(r"LS0tLS1CRUdJTi(?!BDRVJUSUZJQ0FUR)[\w+/=]{16,}")
"""A text that begins as keys do, in base64; certificates begin otherwise."""
_SECRETS_SECTION: Final = re.compile(r"^(\[[\w-]*secrets\]\s*?\n)(?:(?!\[).*(?:\n|\Z))*", re.MULTILINE)
_NETWORK_KEYS: Final = re.compile(r"wep-key\d?|private-key|preshared-key|pin|password-raw", re.IGNORECASE)


def is_secret_path(path: PurePosixPath) -> bool:
    """Whether the name of a file, or of a folder that it is in, says that it is secret."""
    *folders, name = path.parts
    inside_tls = "tls" in folders and not name.endswith(".crt")
    return inside_tls or any(_SECRET_NAME.search(part) for part in (*folders, name))


def is_secret_text(text: str) -> bool:
    """Whether a manifest is made of secrets."""
    return _SECRET_KIND.search(text) is not None


def load_secrets(root: Path) -> tuple[str, ...]:
    """What this host was told in confidence, word by word, so that it is found wherever it was written."""
    found: set[str] = set()
    for path in (path for folder in CONFIDED for path in find_files(root / folder) or ()):
        if is_secret_path(PurePosixPath(path.relative_to(root).as_posix())):
            found.update(line.strip() for line in _find_text(path).splitlines())
        elif path.suffix == ".json":
            found.update(_secret_values(_find_json(path)))
    found.update(words_of_logins(_find_text(root / LOGINS)))
    known = {each for each in found if len(each) >= _SHORTEST and not each.startswith("-----")}
    return tuple(sorted(known, key=lambda each: (-len(each), each))[:_MOST])


def words_of_logins(text: str) -> Iterator[str]:
    """What is secret in a pull secret."""
    for login in (logins_of(text) or {}).values():
        if isinstance(login, dict):
            yield from _texts(login.get("auth"), login.get("identitytoken"), login.get("registrytoken"))
            pair = read_login(login.get("auth"))
            if pair is not None:
                yield from (pair[1], json.dumps(pair[1])[1:-1])


def _texts(*values: Any) -> Iterator[str]:
    return (value for value in values if isinstance(value, str))


def _find_text(path: Path) -> str:
    """The beginning of a plain file; nothing when there is none."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(_LARGEST).decode(errors="replace")
    except OSError:
        return ""


def _find_json(path: Path) -> Any:
    try:
        return json.loads(_find_text(path))
    except (ValueError, RecursionError):
        return None


def _secret_values(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _secret_values(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from _secret_values(each, key)
    elif isinstance(value, str) and is_secret_key(key):
        yield value


def clean_config(text: str, secrets: Sequence[str]) -> str:
    """A file of settings without secrets, in whatever form they are written."""
    text = _SECRETS_SECTION.sub(rf"\1{MASK}\n", _without(text, secrets))
    masked = masked_lines(text)
    lines = (masked.get(number, line) for number, line in enumerate(text.split("\n"), start=1))
    return _clean("\n".join(lines))


def clean_json(text: str, secrets: Sequence[str]) -> str:
    """A JSON document without secrets, which still is one; any other text as settings are."""
    try:
        value = json.loads(text)
        return json.dumps(clean_value(value, secrets), indent=1, ensure_ascii=False) + "\n"
    except (ValueError, RecursionError):
        return clean_config(text, secrets)


def clean_value(value: Any, secrets: Sequence[str], key: str = "") -> Any:
    """Plain data without secrets."""
    if isinstance(value, dict):
        return {name: clean_value(each, secrets, str(name)) for name, each in value.items()}
    if isinstance(value, list):
        return [clean_value(each, secrets, key) for each in value]
    if not isinstance(value, str):
        return value
    return MASK if value and is_secret_key(key) else clean_text(value, secrets)


def clean_text(text: str, secrets: Sequence[str]) -> str:
    """A short log without secrets."""
    return "".join(clean_log((text,), secrets))


def clean_log(pieces: Iterable[str], secrets: Sequence[str]) -> Iterator[str]:
    """A log without secrets, piece by piece; each is some whole lines, and no key is longer than one."""
    carry = ""
    for number, piece in enumerate(pieces):
        text = f"{carry}{piece}" if number else _without_late_key(piece)
        begins = [match.end() for match in _KEY_BEGIN.finditer(piece)]
        is_open = bool(begins) and not _KEY_END.search(piece, begins[-1])
        hidden = _KEY.sub(rf"\1{MASK}\2", _without(text, secrets))
        yield _clean_suspects(hidden[len(carry) :] if carry else hidden)
        carry = "-----BEGIN PRIVATE KEY-----" if is_open else ""


def _without_late_key(text: str) -> str:
    """The beginning of a log that was cut off may have cut off that of a key."""
    begin, end = _KEY_BEGIN.search(text), _KEY_END.search(text)
    is_late = end is not None and (begin is None or end.start() < begin.start())
    return MASK + text[end.start() :] if end is not None and is_late else text


def _clean_suspects(text: str) -> str:
    whole = text.lower()
    suspect = [word for word in _SUSPECT if word in whole]
    if not suspect:
        return text
    lines = text.splitlines(keepends=True)
    marks = [any(word in small for word in suspect) for small in map(str.lower, lines)]
    # A value may stand in the line after that of its name.
    near = [mark or before for mark, before in zip(marks, [False, *marks], strict=False)]
    groups = groupby(zip(near, lines, strict=True), key=lambda pair: pair[0])
    joined = ((mark, "".join(line for _, line in group)) for mark, group in groups)
    return "".join(_clean(redact(block)) if mark else block for mark, block in joined)


def _clean(text: str) -> str:
    text = _ASSIGNMENT.sub(_masked_assignment, text)
    text = _INLINE.sub(rf"\1{MASK}", text)
    text = _FLAG.sub(rf"\1{MASK}", text)
    text = _HEADER.sub(rf"\1{MASK}", text)
    text = _SIGNED.sub(MASK, text)
    text = _HASH.sub(MASK, text)
    text = _ENCODED_KEY.sub(MASK, text)
    return _ENCLOSED.sub(rf"\1{MASK}", text)


def _masked_assignment(match: re.Match[str]) -> str:
    is_secret = is_secret_key(match[2]) or _NETWORK_KEYS.fullmatch(match[2])
    return match[1] + MASK if is_secret else match[0]


def _without(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, MASK)
    return text
