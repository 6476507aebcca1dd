# SPDX-License-Identifier: Apache-2.0
"""`muster agent create host-image`: the ISO that makes a machine take the place of a control-plane host."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from muster.cli import base_image as base_images
from muster.cli import log, options, progress, site
from muster.cli.loop import run_async
from muster.cli.medium import media_options, read_text, tell
from muster.cli.options import BaseImageFlags, Run
from muster.cli.reaching import Login, login_options, make_reach, planned_hosts
from muster.cli.wish import settle_release, wish_of
from muster.config.state import load_state
from muster.errors import UserError, cannot
from muster.image.coreos.architecture import check_architecture
from muster.image.coreos.customize import Customization
from muster.image.ignition.merge import list_entries
from muster.image.ignition.replacement import Lost, replacement_config
from muster.image.iso.volume import Volume
from muster.image.kept import find_secrets
from muster.image.kernel import kernel_arguments
from muster.image.live_image import build_live_image
from muster.image.making import digest_inputs, start_making
from muster.image.manner import Manner
from muster.image.product import Source
from muster.model.host import Role
from muster.model.ignition import render_tree, tree_of
from muster.model.plan import HostPlan, Plan
from muster.model.release import RPM_ARCHITECTURES
from muster.service.drivers.keeping import FOLDER, keep_others
from muster.support.kept import COMMAND, Kept, fetch_kept, name_of, parse_config
from muster.support.reaching import Known, choose


@click.command(
    "host-image",
    epilog=options.examples(
        "muster agent create host-image --dir mysite --host master-1",
        "muster agent create host-image --dir mysite --host master-1 --from 192.168.10.11 --disk /dev/sdb",
        "muster agent create host-image --dir mysite --host master-1 --config master-1.ign",
    ),
)
@click.option("--host", metavar="NAME", required=True, help="The host that was lost.")
@click.option(
    "--from", "sources", metavar="NAME|ADDRESS", multiple=True,
    help="A control-plane host that is left; may be repeated.  [default: all others]",
)  # fmt: skip
@click.option(
    "--config", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
    help="The configuration of the lost host, copied from /etc/muster/kept of another one.",
)  # fmt: skip
@click.option("--disk", metavar="DEVICE", default="", help="The disk to erase, whatever rootDeviceHints say.")
@login_options("Reach the hosts as machines of this lab.")
@options.site_options
@media_options
@options.base_image
def host_image(
    directory: str | None, log_level: str | None, output_format: str, base_image: BaseImageFlags, **how: Any
) -> None:
    """Make the ISO that installs a machine in the place of a lost control-plane host.

    The machine gets name, address, role and certificates of the lost host, and becomes a member of etcd in
    its place, by itself. The configuration comes from the control-plane hosts that are left, over ssh: each
    keeps those of the others. If the machine has other network cards than the lost one, put their MAC
    addresses into the site's files first: no other machine is erased.

    The ISO has the keys of the lost host, the key that signs tokens of service accounts, and the keys of all
    control-plane hosts whose configurations the hosts that answer keep. Its holder is root of the cluster.
    """
    run = options.begin(directory, log_level, output_format)
    found, plan = site.load_cluster(run, base_image)
    host = find_lost(plan, how["host"])
    kept = _load_config(how["config"]) if how["config"] else _ask(plan, host, how["sources"], how["login"])
    lost = Lost(host, _config_of(host, kept), _password_hash(run), how["disk"])
    _make(run, (found, settle_release(base_image, found, plan)), lost, base_image, how["manner"])


def find_lost(plan: Plan, name: str) -> HostPlan:
    """A host of the control plane, by its name; others cannot be replaced like this."""
    host = next((each for each in plan.hosts if name and name in _names_of(each)), None)
    voters = [each.label for each in plan.hosts if each.role in (Role.MASTER, Role.ARBITER)]
    if host is None:
        raise UserError(
            f"the site has no host {name}", hint=f"its control-plane hosts are: {', '.join(voters) or 'none'}"
        )
    if host.label not in voters:
        raise UserError(
            f"{name} is a worker, and nobody keeps configurations of workers",
            hint="only hosts of the control plane are written again like this",
        )
    if len(voters) == 1:
        raise UserError(
            f"{name} is the only control-plane host: nobody keeps its configuration, or its data",
            hint="install the site anew: muster agent create image",
        )
    if not host.hostname:
        raise UserError(
            f"the site's files give {name} no name, and its configuration is kept by that",
            hint="set hostname in agent-config.yaml to the name that the node has",
        )
    return host


def _names_of(host: HostPlan) -> tuple[str, ...]:
    return (host.label, host.hostname.partition(".")[0])


def _ask(plan: Plan, lost: HostPlan, sources: tuple[str, ...], login: Login) -> Kept:
    masters = {each.label for each in plan.hosts if each.role is Role.MASTER}
    known = [each for each in planned_hosts(plan) if each.name in masters - {lost.label} or not masters]
    asked = choose(known, sources) if sources else tuple(known)
    log.say("asking %s for the configuration of %s", _names(asked), lost.label)
    with tempfile.TemporaryDirectory(prefix="muster-host-image-") as scratch:
        reach = make_reach(login, Path(scratch) / "known_hosts", COMMAND)
        kept = run_async(lambda: fetch_kept(asked, reach))
    for trouble in kept.troubles:
        log.warn("%s", trouble)
    return kept


def _names(hosts: tuple[Known, ...]) -> str:
    return ", ".join(each.name for each in hosts) or "nobody"


def _load_config(path: Path) -> Kept:
    try:
        tree = parse_config(path.read_bytes())
    except OSError as error:
        raise cannot("read", path, error) from error
    if tree is None:
        raise UserError(
            f"{path} is not an Ignition config", hint="copy it from /etc/muster/kept of a host, as root"
        )
    return Kept({name_of(tree): tree})


def _config_of(host: HostPlan, kept: Kept) -> Mapping[str, Any]:
    """The configuration of the lost host, which keeps those of the others again."""
    config = kept.configs.get(host.hostname)
    if config is None:
        there = ", ".join(filter(None, sorted(kept.configs))) or "none"
        raise UserError(
            f"nobody has the configuration of {host.hostname}; there are those of: {there}",
            hint="name a control-plane host that is left with --from, or a copy of its"
            f" /etc/muster/kept/{host.hostname}.ign with --config",
        )
    return keep_others(host.hostname, config, kept.configs) if host.role is Role.MASTER else config


def _password_hash(run: Run) -> str:
    secrets = find_secrets(load_state(run.directory), run.directory)
    return secrets.kubeadmin_password_hash if secrets is not None else ""


def _make(run: Run, loaded: tuple[Any, Plan], lost: Lost, flags: BaseImageFlags, manner: Manner) -> None:
    found, plan = loaded
    architecture = RPM_ARCHITECTURES[plan.architecture]
    name = f"host-{lost.host.hostname}.{architecture}.iso"
    ignition = render_tree(tree_of(replacement_config(plan, lost)))
    kernel = kernel_arguments(plan)
    wanted = Customization(
        ignition=ignition,
        kargs_append=kernel.append,
        kargs_delete=kernel.delete,
        kargs_replace=kernel.replace,
    )
    with (
        base_images.open_cache(flags.cache_dir) as cache,
        start_making(run.directory, name, manner) as making,
    ):
        base = base_images.obtain(flags, cache, wish_of(found, plan))
        given = {
            "the base image": base.sha256,
            "the configuration of the host": ignition.decode(),
            "--sha256": str(manner.with_sha256),
            "--sign-key": read_text(manner.sign_key),
        }
        if not making.is_current(digest_inputs(found, None, given)):
            with Volume.open(base.path) as volume:
                check_architecture(volume, architecture)
                base_images.warn_customized(volume)
                build_live_image(making, Source(base, volume, cache), wanted, (), progress)
            making.finish()
        tell(run, making, _advice(lost))


def _advice(lost: Lost) -> list[str]:
    macs = ", ".join(card.mac_address for card in lost.host.cards)
    return [
        f"next: switch the old {lost.host.label} off for good, and boot the machine with {macs} from it;"
        " what is on its disk is lost",
        f"it has the keys of {', '.join((lost.host.hostname, *_kept_in(lost.config)))}: its holder is root of"
        " the cluster; keep it safe, and erase it when the node is Ready",
    ]


def _kept_in(config: Mapping[str, Any]) -> list[str]:
    """Names of the other hosts whose configurations, with their keys, are in the one of the lost host."""
    paths = [str(each.get("path", "")) for each in list_entries(config, "storage", "files")]
    return [Path(path).stem for path in paths if path.startswith(f"{FOLDER}/")]
