# SPDX-License-Identifier: Apache-2.0
"""Which licence a module has, by what its licence file says: a few words that no other licence has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_FILE: Final = re.compile(r"(?:LICEN[CS]E|COPYING|UNLICENSE)(?:[.-].*)?", re.IGNORECASE)
_LARGEST: Final = 200_000
_BSD: Final = "redistribution and use in source and binary forms"
_SIGNS: Final = (
    ("Apache-2.0", ("apache license", "version 2.0")),
    ("MPL-2.0", ("mozilla public license", "2.0")),
    ("LGPL-3.0", ("gnu lesser general public license", "version 3")),
    ("AGPL-3.0", ("gnu affero general public license", "version 3")),
    ("GPL-3.0", ("gnu general public license", "version 3")),
    ("BSD-3-Clause", (_BSD, "neither the name")),
    ("BSD-3-Clause", (_BSD, "may not be used to endorse")),
    ("BSD-2-Clause", (_BSD,)),
    ("MIT", ("permission is hereby granted, free of charge", "the above copyright notice")),
    ("MIT-0", ("permission is hereby granted, free of charge",)),
    ("ISC", ("permission to use, copy, modify, and/or distribute",)),
    ("ISC", ("permission to use, copy, modify, and distribute",)),
    ("Unlicense", ("this is free and unencumbered software",)),
    ("CC0-1.0", ("creative commons", "cc0")),
)


def find_licences(folder: Path) -> tuple[str, ...]:
    """The licences, as SPDX names them, of the files of a folder that are named like one."""
    try:
        files = sorted(path for path in folder.iterdir() if _FILE.fullmatch(path.name) and path.is_file())
        texts = [path.read_bytes()[:_LARGEST].decode("utf-8", "replace") for path in files]
    except OSError:
        return ()
    return tuple(sorted({found for text in texts if (found := name_licence(text))}))


def name_licence(text: str) -> str:
    """The licence that a text is, or is mostly; empty when it is none of the common ones."""
    words = " ".join(re.sub(r"[^a-z0-9.,/-]+", " ", text.lower()).split())
    for name, signs in _SIGNS:
        if all(sign in words for sign in signs):
            return name
    return ""
