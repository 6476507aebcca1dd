# SPDX-License-Identifier: Apache-2.0
"""`muster media`: what a medium holds, whether it is what it should be, and which secrets are on it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, Final

import click

from muster.cli import options, progress
from muster.errors import ExitStatus, UserError, cannot
from muster.image.audit import audit_within as find_secrets
from muster.image.audit import hide, purpose_of
from muster.image.checksum import SIGNATURE_SUFFIX, SUFFIX, parse_checksum
from muster.image.ignition.images import RELEASE_FILE
from muster.image.ignition.merge import list_entries
from muster.image.reading import Reading, read_medium, text_of
from muster.image.verity import hash_leaves
from muster.model.medium import RELEASE_KEY
from muster.model.meeting import parse_environment
from muster.progress import by_total
from muster.redact import printable
from muster.signature import fingerprint, is_signed_by, load_public_key, parse_public_key
from muster.units import render_size

_AUDIT_S: Final = 10.0
"""For the search; the rest is named as not searched."""
_SHOWN: Final = 10
_medium = click.argument("medium", metavar="ISO", type=click.Path(path_type=Path))


@click.group(epilog=options.examples("muster media inspect mysite/agent.x86_64.iso"))
def media() -> None:
    """Look at finished media: what is on them, whether they are right, which secrets they carry."""


@media.command(
    epilog=options.examples(
        "muster media inspect mysite/agent.x86_64.iso",
        "muster media inspect mysite/agent.x86_64.iso --show /etc/chrony.conf",
    )
)
@_medium
@options.output
@click.option("--show", metavar="PATH", help="Print one embedded file, without its secrets.")
def inspect(medium: Path, output_format: str, *, show: str | None) -> None:
    """Tell what is embedded in a medium: who it is for, kernel arguments, network, files, units.

    Secrets are masked.
    """
    as_json = options.begin_without_site(output_format=output_format)
    reading = read_medium(medium)
    if show is not None:
        click.echo(_masked(reading, show), nl=False)
    elif as_json:
        _echo_json(_facts(reading))
    else:
        click.echo("\n".join(_lines(medium, reading)))


def _masked(reading: Reading, path: str) -> str:
    text = reading.texts().get(path)
    if text is None:
        raise UserError(
            f"there is no {path} on the medium",
            hint="`muster media inspect` without --show lists what there is",
        )
    return printable(hide(text))


def _facts(reading: Reading) -> dict[str, Any]:
    live, tree = reading.live, reading.tree or {}
    facts: dict[str, Any] = {
        "kind": str(reading.kind),
        "label": reading.label,
        "size": reading.size_bytes,
        "madeFor": dict(reading.made_for),
        "release": _release_facts(reading),
        "files": [
            {"path": file.path, "mode": f"{file.mode:04o}", "size": len(file.data)} for file in reading.files
        ],
        "units": [
            {"name": text_of(unit, "name"), "enabled": bool(unit.get("enabled"))}
            for unit in list_entries(tree, "systemd", "units")
        ],
        "users": [
            {
                "name": text_of(user, "name"),
                "sshKeys": _count(user.get("sshAuthorizedKeys")),
                "password": bool(user.get("passwordHash")),
            }
            for user in list_entries(tree, "passwd", "users")
        ],
    }
    if live is not None:
        facts |= {
            "customized": live.is_customized,
            "kernelArguments": live.kargs,
            "defaultKernelArguments": live.default_kargs,
            "network": sorted(live.network),
            "initrd": [member.path for member in live.initrd],
            "features": dict(live.features),
            "roomForIgnition": live.capacity_bytes,
            "roomWasMoved": live.is_moved,
        }
    return facts


def _release_facts(reading: Reading) -> dict[str, Any]:
    """The release that hosts install, and how they tell that it is the right one."""
    files = {file.path: file.data.decode("utf-8", "replace") for file in reading.files}
    image = parse_environment(files.get(RELEASE_FILE, "")).get("RELEASE_IMAGE", "")
    return {
        "image": image,
        "byDigest": "@sha256:" in image,
        "keyFingerprint": _fingerprint(files[RELEASE_KEY]) if RELEASE_KEY in files else "",
    }


def _fingerprint(pem: str) -> str:
    try:
        return fingerprint(parse_public_key(pem.encode(), Path(RELEASE_KEY)))
    except UserError:
        return "not a public key"


def _release_lines(release: dict[str, Any]) -> list[str]:
    if not release["image"]:
        return []
    by_tag = ""
    if not release["byDigest"]:
        by_tag = " (by tag: hosts install what their registry has under it)"
    key = release["keyFingerprint"]
    return [
        f"release  {release['image']}{by_tag}",
        f"signed   {f'by the key {key}; hosts check it' if key else 'hosts check no signature'}",
    ]


def _count(entries: Any) -> int:
    return len(entries) if isinstance(entries, list) else 0


def _echo_json(body: Any) -> None:
    """Print JSON; names on a medium may hold halves of characters, which only an escape can stand for."""
    text = json.dumps(body, indent=2, ensure_ascii=False)
    click.echo(text.encode("utf-8", "backslashreplace").decode())


def _lines(medium: Path, reading: Reading) -> list[str]:
    facts = _facts(reading)
    made = facts["madeFor"]
    lines = [
        f"MEDIUM   {medium}",
        f"kind     {facts['kind']}, label {facts['label']}, {render_size(facts['size'])}",
    ]
    if made:
        lines += [
            f"made by  {made.get('madeBy')}",
            f"made for {made.get('cluster')}: {_hosts(made)}",
            f"meet at  {made.get('rendezvousIP') or 'not known yet'}",
        ]
    lines += _release_lines(facts["release"])
    if reading.live is not None:
        lines += [
            f"boots    {facts['kernelArguments']}",
            f"default  {facts['defaultKernelArguments']}",
            f"room     {render_size(facts['roomForIgnition'])} for Ignition"
            + (", moved to the end of the image" if facts["roomWasMoved"] else ""),
        ]
        if not facts["customized"]:
            lines.append("nothing was embedded: this is a base image")
    lines += [_user_line(user) for user in facts["users"]]
    lines += [f"unit     {unit['name']}{'' if unit['enabled'] else ' (disabled)'}" for unit in facts["units"]]
    lines += [f"network  {name} (initrd)" for name in facts.get("network", ())]
    lines += [f"initrd   {name}" for name in facts.get("initrd", ())]
    lines += [f"{file['mode']} {file['size']:>8}  {file['path']}" for file in facts["files"]]
    return [printable(line) for line in lines]


def _hosts(made: dict[str, Any]) -> str:
    hosts = made.get("hosts")
    return ", ".join(hosts) if hosts and isinstance(hosts, list) else "any host"


def _user_line(user: dict[str, Any]) -> str:
    keys = f"{user['sshKeys']} SSH key{'' if user['sshKeys'] == 1 else 's'}"
    return f"user     {user['name']}: {keys}, {'a' if user['password'] else 'no'} password"


@media.command(epilog=options.examples("muster media audit mysite/agent.x86_64.iso"))
@_medium
@options.output
def audit(medium: Path, output_format: str) -> None:
    """List every secret on a medium by kind and place, without its value, and say who needs it."""
    as_json = options.begin_without_site(output_format=output_format)
    deadline = time.monotonic() + _AUDIT_S
    reading = read_medium(medium)
    found, unread = find_secrets(reading.texts(), lambda: time.monotonic() > deadline)
    if reading.budget.unread:
        unread = (reading.budget.unread, *unread)
    release = _release_facts(reading)
    if as_json:
        body = [
            {
                "place": each.place,
                "kind": each.kind,
                "detail": each.detail,
                "purpose": purpose_of(each.place),
            }
            for each in found
        ]
        _echo_json({"secrets": body, "release": release, "notSearched": list(unread)})
        return
    width = max((len(each.kind) for each in found), default=0)
    for each in found:
        detail = f": {each.detail}" if each.detail else ""
        purpose = f" ({purpose})" if (purpose := purpose_of(each.place)) else ""
        click.echo(printable(f"{each.kind:<{width}}  {each.place}{detail}{purpose}"))
    for line in _release_lines(release):
        click.echo(printable(line))
    count = f"{len(found)} secret{'' if len(found) == 1 else 's'}"
    click.echo(f"{count}; whoever has the medium has them" if found else "no secrets found")
    for why in unread[:_SHOWN]:
        click.echo(printable(f"not searched: {why}"))
    if len(unread) > _SHOWN:
        click.echo(f"not searched: {len(unread) - _SHOWN} more; --output json lists them")


@media.command(
    epilog=options.examples(
        "muster media verify mysite/agent.x86_64.iso",
        "muster media verify agent.x86_64.iso --public-key release.pub",
        "muster media verify stick.img --rebuild mysite --base-image rhcos-live.iso",
    )
)
@_medium
@options.output
@click.option(
    "--checksum",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help=f"Checksum file.  [default: ISO{SUFFIX}]",
)
@click.option(
    "--public-key",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Whose signature the checksum file must have (PEM).",
)
@click.option(
    "--rebuild",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Compare with what this site directory gives, and name the first difference.",
)
@click.option("--valid-for", metavar="TIME", default="7d", help="As it was given when the medium was made.")
@click.option(
    "--ignition-override",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="As it was given when the medium was made.",
)
@options.base_image
@options.release_trust
def verify(
    medium: Path,
    output_format: str,
    *,
    checksum: Path | None,
    public_key: Path | None,
    rebuild: Path | None,
    **how: Any,
) -> ExitStatus:
    """Check that a medium is complete and unchanged.

    That is told by its checksum file, by a signature of that, or by making the medium again and comparing.
    """
    as_json = options.begin_without_site(output_format=output_format)
    if not medium.exists():
        raise UserError(f"there is no {medium}", hint="name the image to verify")
    findings = [_verify_checksum(medium, checksum)] if rebuild is None or checksum else []
    if public_key is not None:
        findings.append(_verify_signature(medium, checksum, public_key))
    if rebuild is not None:
        from muster.cli.rebuild import Rebuild, compare_with_site

        findings.append(compare_with_site(medium, Rebuild(rebuild, **how)))
    is_good = all(good for good, _ in findings)
    if as_json:
        body = {"medium": str(medium), "good": is_good, "findings": [text for _, text in findings]}
        _echo_json(body)
    else:
        for good, text in findings:
            click.echo(printable(f"{'good' if good else 'BAD'}: {text}"))
    return ExitStatus.OK if is_good else ExitStatus.FAILED


def _beside(medium: Path, suffix: str) -> Path:
    return medium.with_name(medium.name + suffix)


def _verify_checksum(medium: Path, checksum: Path | None) -> tuple[bool, str]:
    path = checksum or _beside(medium, SUFFIX)
    wanted = parse_checksum(_read(path, "name one with --checksum, or make the medium again"), str(path))
    found = _hash(medium)
    if found == wanted:
        return True, f"{medium} has the digest that {path} tells"
    return False, f"{medium} has the digest {found.hex()}, and {path} tells {wanted.hex()}"


def _hash(path: Path) -> bytes:
    """The digest of any file: the kernel and the root file system of a network boot have one, too."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)

            def read(offset: int, length: int) -> bytes:
                file.seek(offset)
                return file.read(length)

            with progress.bar(f"reading {path.name}", total=size) as advance:
                return hash_leaves(read, size, by_total(advance)).digest
    except OSError as error:
        raise cannot("read", path, error) from error


def _verify_signature(medium: Path, checksum: Path | None, public_key: Path) -> tuple[bool, str]:
    path, signature = checksum or _beside(medium, SUFFIX), _beside(medium, SIGNATURE_SUFFIX)
    data = _read(signature, "--sign-key makes one when the medium is made")
    if is_signed_by(load_public_key(public_key), _read(path, ""), data):
        return True, f"{path} is signed by the owner of {public_key}"
    return False, f"{signature} is not a signature of {path} by the owner of {public_key}"


def _read(path: Path, hint: str) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise UserError(f"there is no {path}", hint=hint) from error
    except OSError as error:
        raise cannot("read", path, error) from error
