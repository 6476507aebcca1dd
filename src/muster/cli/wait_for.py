# SPDX-License-Identifier: Apache-2.0
"""`muster agent wait-for bootstrap-complete | install-complete`: follow an installation to its end."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import Any, Final, TypeVar

import click

from muster.certificates.kubeconfig import Access
from muster.cli import log, options, site
from muster.cli.loop import run_async
from muster.cli.options import Run
from muster.cli.teller import Teller, open_teller, print_json
from muster.client.kubeconfig import load_access
from muster.client.kubernetes import open_kubernetes
from muster.client.phases import render_spent
from muster.client.presence import Aim, Goal
from muster.client.snapshot import Snapshot
from muster.client.story import End, Outcome, Story
from muster.client.target import Caller, Target
from muster.client.telling import make_line
from muster.client.watching import open_watcher, watch
from muster.config.state import STATE_FILE, load_state
from muster.errors import ExitStatus, Interrupted, MusterError, UserError
from muster.frozen import dataclass
from muster.image.kept import find_secrets
from muster.image.pki import build_service_authority
from muster.image.secrets import SiteSecrets, renew_tokens
from muster.image.tokens import build_tokens
from muster.model.meeting import service_url
from muster.model.plan import Plan
from muster.model.values import IP
from muster.units import parse_span

F = TypeVar("F", bound=Callable[..., Any])
KUBECONFIG: Final = "auth/kubeconfig"


@dataclass(frozen=True)
class Call:
    """How the command was called."""

    run: Run
    timeout: str
    show_password: bool


@dataclass(frozen=True)
class Sought:
    """All that it takes to look at the installation of a site."""

    aim: Aim
    target: Target
    authority: str
    secrets: SiteSecrets
    access: Access
    known: tuple[IP, ...]


def _wait_options(default: str) -> Callable[[F], F]:
    """The flags of a verb; the command is given them as `call`."""
    timeout = click.option(
        "--timeout", metavar="TIME", default=default, show_default=True, help="How long to wait: 90s, 2h."
    )
    password = click.option("--show-password", is_flag=True, help="Print the kubeadmin password at the end.")

    def decorate(command: F) -> F:
        @wraps(command)
        def gathered(
            directory: str | None,
            log_level: str | None,
            output_format: str,
            *,
            timeout: str,
            show_password: bool,
        ) -> Any:
            run = options.begin(directory, log_level, output_format)
            return command(call=Call(run, timeout, show_password))

        return options.site_options(timeout(password(gathered)))  # type: ignore[return-value]

    return decorate


@click.command(
    "bootstrap-complete",
    epilog=options.examples("muster agent wait-for bootstrap-complete --dir mysite --timeout 30m"),
)
@_wait_options("60m")
def bootstrap_complete(call: Call) -> ExitStatus:
    """Wait until the Kubernetes API of the site is ready.

    Tells what hosts do, what is waited for, and what stands in the way with its fix. It may be started at any
    time, ended with Ctrl-C and started again: it only looks. The exit status is 0 when the API answered in
    time, else 5.
    """
    return wait_for(call, Goal.BOOTSTRAP)


@click.command(
    "install-complete",
    epilog=options.examples(
        "muster agent wait-for install-complete --dir mysite",
        "muster agent wait-for install-complete --dir mysite --output json | jq -r .message",
    ),
)
@_wait_options("100m")
def install_complete(call: Call) -> ExitStatus:
    """Wait until the cluster of the site is installed.

    Does what bootstrap-complete does, and goes on over the reboot of the rendezvous host until the service
    says that the cluster is installed or, when it does not come back, all nodes are Ready. The exit status is
    0 then, 6 when the installation failed or takes too long.
    """
    return wait_for(call, Goal.INSTALL)


def wait_for(call: Call, goal: Goal) -> ExitStatus:
    """Follow the installation of a site until it is there, or is known not to get there."""
    patience_s = parse_span(call.timeout).total_seconds()
    sought = seek(call.run, goal, patience_s)
    with open_teller(as_json=call.run.as_json) as teller:
        try:
            end = run_async(lambda: follow(sought, teller))
        except Interrupted as error:
            again = f"muster agent wait-for {goal} --dir {call.run.directory}"
            end = End(
                Outcome.INTERRUPTED,
                error.status,
                "interrupted; the installation goes on without us",
                f"wait again with `{again}`",
            )
    _tell_end(call, sought.secrets, end)
    return end.status


def seek(run: Run, goal: Goal, patience_s: float) -> Sought:
    """What the directory of a site says about where its installation is to be seen."""
    secrets = find_secrets(load_state(run.directory), run.directory)
    way_out = (
        f"`muster agent create image --dir {run.directory}` makes it; or name the medium's own directory"
    )
    if secrets is None:
        raise UserError(f"no medium was made in {run.directory}: it has no {STATE_FILE}", hint=way_out)
    kubeconfig = run.directory / KUBECONFIG
    if not kubeconfig.exists():
        raise UserError(f"there is no {kubeconfig}", hint=way_out)
    access = load_access(kubeconfig)
    _, plan = site.load_cluster(run)
    if plan.rendezvous is None:
        raise UserError(
            f"the files in {run.directory} do not say where the hosts meet",
            hint="give rendezvousIP in agent-config.yaml, or a host with a static address",
        )
    url = service_url(plan.rendezvous.ip)
    token = build_tokens(renew_tokens(secrets, datetime.now(UTC))).watcher
    return Sought(
        aim=_aim(plan, goal, patience_s, url),
        target=Target(url, Caller.WATCHER, token),
        authority=build_service_authority(secrets).pem,
        secrets=secrets,
        access=access,
        known=(*plan.api_vips, plan.rendezvous.ip),
    )


def _aim(plan: Plan, goal: Goal, patience_s: float, url: str) -> Aim:
    assert plan.rendezvous is not None
    address = str(plan.rendezvous.ip)
    return Aim(
        goal=goal,
        patience_s=patience_s,
        name=plan.domain,
        url=url,
        address=address,
        since=f"{datetime.now(UTC):%H:%M:%S} UTC",
        nodes=tuple(host.hostname for host in plan.hosts if host.hostname),
        count=plan.masters + plan.arbiters + plan.workers,
        hosts_line=f"{plan.api_vips[0] if plan.api_vips else address} api.{plan.domain}",
    )


async def follow(sought: Sought, teller: Teller) -> End:
    """Look at an installation, and tell of it, until it has ended one way or the other."""
    story = Story(sought.aim, time.monotonic())
    end: End | None = None

    def tell(snapshot: Snapshot) -> bool:
        nonlocal end
        now = time.monotonic()
        for line in story.go_on(snapshot, now):
            teller.tell(line)
        teller.show(lambda extent: story.view(now, extent))
        end = story.find_end(now)
        return end is not None

    async with (
        open_watcher(sought.target, sought.authority, sought.secrets.cluster_id) as watcher,
        open_kubernetes(sought.access, sought.known) as kubernetes,
    ):
        await watch(watcher, kubernetes, tell)
        if is_installed(sought.aim, end) and (course := await watcher.course()) is not None:
            teller.tell(make_line("timeline", render_spent(course)))
    assert end is not None
    return end


def is_installed(aim: Aim, end: End | None) -> bool:
    """Whether all of it is over, and well."""
    return aim.goal is Goal.INSTALL and end is not None and end.outcome is Outcome.COMPLETE


def _tell_end(call: Call, secrets: SiteSecrets, end: End) -> None:
    kubeconfig = (call.run.directory / KUBECONFIG).absolute()
    is_good = end.outcome is Outcome.COMPLETE
    if call.run.as_json:
        body = {"kind": "end", "outcome": end.outcome, "status": int(end.status), "message": end.message}
        more = {"hint": end.hint, "kubeconfig": str(kubeconfig) if is_good else ""}
        more["password"] = secrets.kubeadmin_password if is_good and call.show_password else ""
        print_json({**body, **{name: text for name, text in more.items() if text}})
        log.note("%s: %s", end.outcome, end.message)
    elif is_good:
        log.note("%s", end.message)
        click.echo(f"{end.message}\nnext:\n  export KUBECONFIG={kubeconfig}\n  kubectl get nodes")
        if call.show_password:
            click.echo(f"kubeadmin's password: {secrets.kubeadmin_password}")
    else:
        log.failure(MusterError(end.message, hint=end.hint))
