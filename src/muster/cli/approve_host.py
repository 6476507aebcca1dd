# SPDX-License-Identifier: Apache-2.0
"""`muster agent approve-host`: let a host register with a new key, as its console shows it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from muster.cli import options
from muster.cli.loop import run_async
from muster.cli.wait_for import Sought, seek
from muster.client.calls import open_calls
from muster.client.presence import Goal
from muster.client.target import Caller, Target
from muster.errors import UserError
from muster.image.secrets import renew_tokens
from muster.image.tokens import build_tokens
from muster.model.wire.cluster import Cluster
from muster.model.wire.host import EnrolmentApproval, Host
from muster.redact import printable


@click.command(
    "approve-host",
    epilog=options.examples(
        "muster agent approve-host --dir mysite",
        "muster agent approve-host --dir mysite --key 3F2A-91C0-77DE-0B14-A5E8",
        "muster agent approve-host --dir mysite --key 3F2A-91C0-77DE-0B14-A5E8 --host node1",
    ),
)
@click.option("--key", metavar="KEY", default="", help="Approve the host that shows this key on its console.")
@click.option(
    "--host", metavar="NAME", default="", help="The host, by name or id, if it is not listed as waiting."
)
@options.site_options
def approve_host(
    directory: str | None, log_level: str | None, output_format: str, key: str, host: str
) -> None:
    """Let a host register with a new key.

    A host makes a key pair when it registers. After a restart from the medium it has another one, and the
    service cannot tell it from an attacker that has the medium. Without --key, the hosts that wait are listed
    with what differs. Compare the key with the one on the console of the host before you approve it. If an
    attacker asks too, the list may show another key: the one on the console counts. The approval is valid for
    10 minutes.

    If another machine took the place of a host, the host does not wait; its console and the events show its
    key. Approve it with --key and --host: the other machine is disconnected.

    The command needs the directory of a site. For `muster serve` and an interactive installation, approve the
    key on the page of the installation.
    """
    run = options.begin(directory, log_level, output_format)
    sought = seek(run, Goal.INSTALL, 0.0)
    waiting = run_async(lambda: _approve(sought, key.strip().upper(), host))
    if run.as_json:
        found = [_body(each, key.strip().upper()) for each in waiting]
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    for each in waiting:
        click.echo(_words(each, key.strip().upper()))
    if not waiting:
        click.echo("no host waits for an approval")
    elif not key:
        click.echo("approve one with --key KEY, if the console of that host shows the same key")


async def _approve(sought: Sought, key: str, name: str) -> Sequence[Host]:
    """The hosts that wait for an approval; with a key, the one that was approved."""
    with tempfile.TemporaryDirectory(prefix="muster-approve-") as scratch:
        authority = Path(scratch) / "service-ca.crt"
        authority.write_text(sought.authority, "ascii")
        token = build_tokens(renew_tokens(sought.secrets, datetime.now(UTC))).user
        async with open_calls(Target(sought.target.url, Caller.USER, token, authority)) as calls:
            cluster = await calls.read("GET", f"/clusters/{sought.secrets.cluster_id}", Cluster)
            hosts = cluster.hosts or ()
            if not key:
                return [each for each in hosts if _is_waiting(each)]
            host = _choose(hosts, key, name)
            path = f"/infra-envs/{host.infra_env_id}/hosts/{host.id}/actions/approve-enrolment"
            await calls.call("POST", path, EnrolmentApproval(key=key))
            return (host,)


def _choose(hosts: Sequence[Host], key: str, name: str) -> Host:
    """The host of a name; else the one that waits with a key, or is the only one that waits."""
    if name:
        named = [each for each in hosts if name in (each.requested_hostname, each.id)]
        if len(named) != 1:
            many = f"{len(named)} hosts have" if named else "no host has"
            raise UserError(f"{many} the name {name}", hint="name the host by its id")
        return named[0]
    waiting = [each for each in hosts if _is_waiting(each)]
    found = [each for each in waiting if each.enrolment_request and each.enrolment_request.key == key]
    if len(found or waiting) == 1:
        return (found or waiting)[0]
    if not waiting:
        raise UserError(
            "no host waits for an approval", hint="name the host whose console shows this key with --host"
        )
    raise UserError(
        f"{len(waiting)} hosts wait for an approval, and none of them with the key {key}",
        hint="name the host whose console shows this key with --host",
    )


def _is_waiting(host: Host) -> bool:
    return host.enrolment_request is not None and not host.enrolment_request.approved


def _body(host: Host, approved: str) -> dict[str, Any]:
    body: dict[str, Any] = {"host_id": host.id, "name": host.requested_hostname}
    if approved:
        body.update(approved=approved)
    elif (request := host.enrolment_request) is not None:
        body.update(key=request.key, address=request.address, differs=list(request.differs))
    return body


def _words(host: Host, approved: str) -> str:
    name = host.requested_hostname or host.id
    if approved:
        return f"{name}: the key {approved} is approved for 10 minutes; the host registers within 2 minutes"
    request = host.enrolment_request
    assert request is not None
    return "\n".join(
        (f"{name}: waits with the key {request.key}", *(f"  {printable(each)}" for each in request.differs))
    )
