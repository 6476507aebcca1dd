# SPDX-License-Identifier: Apache-2.0
"""Options that people hand on to coreos-installer: the few that are allowed, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from muster.errors import UserError
from muster.frozen import dataclass

_SAVING: Final = ("--save-partlabel", "--save-partindex")
_SOURCE: Final = ("--image-file", "--image-url")
_WITH_VALUE: Final = ("--append-karg", "--delete-karg", "--network-dir", *_SAVING, *_SOURCE)
_SHORT: Final = {"-n": "--copy-network", "-f": "--image-file", "-u": "--image-url"}
_ALONE: Final = ("--copy-network",)
_NETWORK_KARGS: Final = "--append-karg=ip="
_VALUE: Final = re.compile(r"[!-~]+")
_WHY_NOT: Final = {
    "--insecure": "an image that nobody signed would be written",
    "--insecure-ignition": "a configuration that anybody may have changed would be used",
    "--preserve-on-error": "a disk that was only half written could be booted from",
}


@dataclass(frozen=True)
class InstallerArgs:
    """What people ask of coreos-installer."""

    words: tuple[str, ...] = ()
    """Each option is one word with its value, so that no value can be taken for an option."""

    @property
    def saves_partitions(self) -> bool:
        """Whether some of what is on the disk has to stay."""
        return any(_named(word) in _SAVING for word in self.words)

    def copying_network(self) -> InstallerArgs:
        """The same, with the network that this host has now: what the kernel is told of it goes."""
        kept = [word for word in self.words if not word.startswith(_NETWORK_KARGS)]
        return InstallerArgs((*kept, *(each for each in _ALONE if each not in kept)))

    @property
    def has_source(self) -> bool:
        """Whether they say which image is written."""
        return any(_named(word) in _SOURCE for word in self.words)


def parse_installer_args(text: str | None) -> InstallerArgs:
    """A JSON list of words, as the service sends it."""
    if not text:
        return InstallerArgs()
    try:
        given = msgspec.json.decode(text, type=list[str])
    except msgspec.DecodeError as error:
        raise _refused(text, f"they are no JSON list of words: {error}") from error
    return InstallerArgs(tuple(_options(given)))


def _options(given: Sequence[str]) -> Iterator[str]:
    words = iter(given)
    for word in words:
        written, equals, value = word.partition("=")
        name = _SHORT.get(written, written)
        if name in _ALONE and not equals:
            yield name
        elif name in _WITH_VALUE:
            yield f"{name}={_check_value(name, value if equals else next(words, None))}"
        else:
            raise _refused(written, _WHY_NOT.get(name, f"it is not one of {', '.join(_WITH_VALUE + _ALONE)}"))


def _check_value(name: str, value: str | None) -> str:
    if not value:
        raise _refused(name, "no value follows it")
    if not _VALUE.fullmatch(value):
        raise _refused(f"{name} {value!r}", "the value has a space or another character that is not allowed")
    return value


def _refused(what: str, why: str) -> UserError:
    return UserError(
        f"coreos-installer is not given {what}: {why}", hint="change the installer arguments of this host"
    )


def _named(word: str) -> str:
    return word.partition("=")[0]
