# SPDX-License-Identifier: Apache-2.0
"""An apt of our own: its lists and settings lie in the cache, and the machine's packages are nothing to it.

Everything here is text that is made, or text that is read; ``packages.py`` runs it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from muster.debian.mirror import NONE, SECURITY_VARIABLE, VARIABLE, Mirror
from muster.errors import ExternalError
from muster.frozen import dataclass

KEYRING: Final = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
FOLDERS: Final = (
    "etc/apt/apt.conf.d",
    "etc/apt/preferences.d",
    "etc/apt/sources.list.d",
    "etc/apt/trusted.gpg.d",
    "var/cache/apt",
    "var/lib/apt/lists/partial",
    "var/lib/dpkg",
)

_URI_LINE: Final = re.compile(r"'(?P<uri>[^']+)' (?P<file>\S+) (?P<size>\d+) SHA256:(?P<sha256>[0-9a-f]{64})")
_SNAPSHOT: Final = re.compile(r"/\d{8}T\d{6}Z(/|\Z)")
_STATUS_LINE: Final = re.compile(r"dlstatus:\d+:(?P<percent>[0-9.]+):")
_KEPT: Final = re.compile(r"Acquire::(http|https|ftp|socks5h|Force\w+|Retries)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Wanted:
    """Packages that somebody wants, with all that they depend on.

    A name may be a pattern of apt's: ``?essential`` is what every Debian system has.
    """

    packages: tuple[str, ...]
    architecture: str = "amd64"
    suite: str = "trixie"
    components: tuple[str, ...] = ("main",)
    recommends: bool = False


@dataclass(frozen=True)
class Package:
    """One package as the archive's signed lists have it."""

    name: str
    version: str
    architecture: str
    sha256: str
    size: int
    uri: str
    """Where it was found; the only thing here that depends on the mirror."""

    def describe(self) -> dict[str, str | int]:
        """What it is, wherever it came from."""
        names = ("name", "version", "architecture", "sha256", "size")
        return {name: getattr(self, name) for name in names}

    @property
    def file_name(self) -> str:
        return f"{self.name}_{self.version.replace(':', '%3a')}_{self.architecture}.deb"

    @property
    def pinned(self) -> str:
        """How apt is asked for exactly this one."""
        suffix = "" if self.architecture == "all" else f":{self.architecture}"
        return f"{self.name}{suffix}={self.version}"


def render_sources(wanted: Wanted, mirror: Mirror, keyring: Path = KEYRING) -> str:
    """The archives of a release: as released, with its updates and its security updates."""
    archives = [(mirror.archive, wanted.suite), (mirror.archive, f"{wanted.suite}-updates")]
    if mirror.security:
        archives.append((mirror.security, f"{wanted.suite}-security"))
    components = " ".join(wanted.components)
    return "".join(
        f"deb [signed-by={keyring}{_age(uri)}] {uri} {suite} {components}\n" for uri, suite in archives
    )


def _age(uri: str) -> str:
    """A snapshot of the archive says itself that it is out of date; that is what it is for."""
    return " check-valid-until=no" if _SNAPSHOT.search(uri) else ""


def render_config(root: Path, archives: Path, wanted: Wanted, machine: str = "") -> str:
    """apt.conf; of ``machine``, which ``apt-config dump`` said, only the way to the network is kept."""
    lines = [
        f'Dir "{root}/";',
        f'Dir::Cache::archives "{archives}/";',
        f'Dir::State::status "{root}/var/lib/dpkg/status";',
        'Dir::Etc::netrc "/etc/apt/auth.conf";',
        'Dir::Etc::netrcparts "/etc/apt/auth.conf.d";',
        f'APT::Architecture "{wanted.architecture}";',
        f'APT::Architectures {{ "{wanted.architecture}"; }};',
        f'APT::Install-Recommends "{str(wanted.recommends).lower()}";',
        'APT::Sandbox::User "root";',
        'APT::Update::Error-Mode "any";',
        'APT::Get::Assume-Yes "true";',
        'Acquire::Languages "none";',
        'Acquire::PDiffs "false";',
        'Acquire::ForceHash "SHA256";',
        'Acquire::Retries "3";',
        'Acquire::http::Timeout "30";',
        'Acquire::https::Timeout "30";',
        *(line for line in machine.splitlines() if _KEPT.match(line)),
    ]
    return "\n".join(lines) + "\n"


def resolve_argv(wanted: Wanted, empty: Path) -> list[str]:
    """Asks for the addresses of packages; where nothing was fetched yet, all of them are told."""
    return [
        *("apt-get", "install", "-qq", "--print-uris"),
        *("-o", f"Dir::Cache::archives={empty}/", "--", *wanted.packages),
    ]


def download_argv(packages: Sequence[Package]) -> list[str]:
    """Fetches exactly these packages; half of a file that was fetched earlier is used."""
    return [
        *("apt-get", "install", "-q", "--download-only", "-o", "APT::Status-Fd=1"),
        *("--", *(package.pinned for package in packages)),
    ]


def parse_packages(text: str) -> tuple[Package, ...]:
    """What ``--print-uris`` says, in an order that does not depend on how apt got there."""
    found = [_parse_package(line) for line in text.splitlines() if line.startswith("'")]
    return tuple(sorted(found, key=lambda package: (package.name, package.architecture)))


def _parse_package(line: str) -> Package:
    match = _URI_LINE.fullmatch(line)
    if match is None:
        raise ExternalError(
            f"apt-get names a package in an unknown way: {line}", hint="report it, with this line"
        )
    name, version, architecture = unquote(match["file"]).removesuffix(".deb").split("_")
    return Package(name, version, architecture, match["sha256"], int(match["size"]), match["uri"])


def find_percent(line: str) -> float | None:
    """How far a download is, if that is what this line of apt's tells."""
    match = _STATUS_LINE.match(line)
    return float(match["percent"]) if match else None


def explain_failure(error: ExternalError, wanted: Wanted, mirror: Mirror) -> ExternalError:
    """Say what a failure of apt's means, and what to do about it."""
    said = error.message
    last = "\n".join(line for line in said.splitlines() if line.strip().startswith(("E:", "W:"))) or said
    if "NO_PUBKEY" in said:
        return ExternalError(
            f"the keys in {KEYRING} do not know Debian's {wanted.suite}:\n{last}",
            hint="apt-get install debian-archive-keyring, in a version that knows that release",
        )
    if "Unable to locate package" in said or "has no installation candidate" in said:
        return ExternalError(
            f"{mirror.archive} has not all packages of {wanted.suite} that are needed:\n{last}",
            hint=f"if it is a partial mirror, name a complete one in {VARIABLE}",
        )
    if "enough free space" in said or "No space left" in said:
        return ExternalError(
            f"there is no space for the packages:\n{last}", hint="free some, then run it again"
        )
    if mirror.security and mirror.security in said:
        return ExternalError(
            f"the mirror of Debian's security updates did not give what is needed:\n{last}",
            hint=f"run it again, or name another one in {SECURITY_VARIABLE}, or {NONE} where there is none",
        )
    return ExternalError(
        f"the mirror of Debian did not give what is needed:\n{last}",
        hint=f"run it again: what was fetched is kept. Another mirror can be named in {VARIABLE}",
    )
