# SPDX-License-Identifier: Apache-2.0
"""`muster agent approve-host`: let a host that restarted during its installation register with a new key."""

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
from muster.client.calls import Calls, open_calls
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
    ),
)
@click.option("--key", metavar="KEY", default="", help="Approve the host that shows this key on its console.")
@click.option("--host", metavar="NAME", default="", help="The host, if several wait and none with that key.")
@options.site_options
def approve_host(
    directory: str | None, log_level: str | None, output_format: str, key: str, host: str
) -> None:
    """Let a host that restarted during its installation register with a new key.

    A host makes a key pair when it registers. After a restart from the medium it has another one, and the
    service cannot tell it from an attacker that has the medium. Without --key, the hosts that wait are listed
    with what differs. Compare the key with the one on the console of the host before you approve it. If an
    attacker asks too, the list may show another key: the one on the console counts.
    """
    run = options.begin(directory, log_level, output_format)
    sought = seek(run, Goal.INSTALL, 0.0)
    waiting = run_async(lambda: _approve(sought, key.strip().upper(), host))
    if run.as_json:
        click.echo(json.dumps([_body(each) for each in waiting], indent=2, ensure_ascii=False))
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
            waiting = await _find_waiting(calls, sought.secrets.cluster_id)
            if not key:
                return waiting
            host = _choose(waiting, key, name)
            path = f"/infra-envs/{host.infra_env_id}/hosts/{host.id}/actions/approve-enrolment"
            await calls.call("POST", path, EnrolmentApproval(key=key))
            return (host,)


def _choose(waiting: Sequence[Host], key: str, name: str) -> Host:
    """The host that waits with a key, has a name, or is the only one that waits."""
    named = [each for each in waiting if not name or name in (each.requested_hostname, each.id)]
    found = [each for each in named if each.enrolment_request and each.enrolment_request.key == key] or named
    if len(found) == 1:
        return found[0]
    if not found:
        who = f"the host {name} does not wait" if name else "no host waits"
        raise UserError(f"{who} for an approval", hint="run `muster agent approve-host` to see those that do")
    raise UserError(
        f"{len(found)} hosts wait for an approval, and none of them with the key {key}",
        hint="name the host whose console shows this key with --host",
    )


async def _find_waiting(calls: Calls, cluster_id: str) -> list[Host]:
    cluster = await calls.read("GET", f"/clusters/{cluster_id}", Cluster)
    return [
        each for each in cluster.hosts or () if each.enrolment_request and not each.enrolment_request.approved
    ]


def _body(host: Host) -> dict[str, Any]:
    request = host.enrolment_request
    assert request is not None
    return {
        "host_id": host.id,
        "name": host.requested_hostname,
        "key": request.key,
        "address": request.address,
        "differs": list(request.differs),
    }


def _words(host: Host, approved: str) -> str:
    request = host.enrolment_request
    assert request is not None
    name = host.requested_hostname or host.id
    if approved:
        return f"{name}: the key {approved} is approved; the host registers within a minute"
    return "\n".join(
        (f"{name}: waits with the key {request.key}", *(f"  {printable(each)}" for each in request.differs))
    )
