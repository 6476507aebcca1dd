# SPDX-License-Identifier: Apache-2.0
"""The Ignition config of a discovery medium, and the small files that go with it. Pure."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from ipaddress import ip_address
from typing import Any, Final

from muster import __version__
from muster.errors import UserError
from muster.image.agent import network_members
from muster.image.coreos.customize import Customization
from muster.image.cpio import render_archive
from muster.image.ignition.access import core_user
from muster.image.ignition.clock import clock_files
from muster.image.ignition.images import logins_file, trust_file
from muster.image.ignition.label import PATH as LABEL
from muster.image.ignition.merge import merge, parse_override
from muster.image.ignition.network import network_config, network_files
from muster.image.ignition.proxy import proxy_file
from muster.image.ignition.rendezvous import meeting_files
from muster.image.kernel import edit_arguments
from muster.model.ignition import PUBLIC, Config, File, Unit, join, render_tree, tree_of
from muster.model.meeting import AGENT_TOKEN, ENVIRONMENT, SERVICE_AUTHORITY
from muster.model.plan import ProxyPlan
from muster.model.wire.infra_env import KernelArgument, Proxy
from muster.service.media.network import read_networks
from muster.service.media.order import MediumOrder

AGENT_UNIT: Final = "muster-agent.service"
AGENT_PROGRAM: Final = "/usr/bin/muster host agent"
_UNIT: Final = f"""\
[Unit]
Description=Tell the service what this host is, and do what it asks for
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
EnvironmentFile={ENVIRONMENT}
ExecStart={AGENT_PROGRAM}
Restart=always
RestartSec=3

[Install]
WantedBy=multi-user.target
"""


def discovery_ignition(order: MediumOrder) -> bytes:
    """What every host of an infra-env boots with."""
    tree: dict[str, Any] = tree_of(discovery_config(order))
    if order.ignition_override.strip():
        tree, _ = merge(tree, parse_override(order.ignition_override, "ignition_config_override"))
    return render_tree(tree)


def discovery_config(order: MediumOrder) -> Config:
    """The same without what the user adds."""
    _check(order)
    files = [*_meeting(order), *clock_files(order.ntp_sources), *_label(order)]
    if order.pull_secret:
        files.append(logins_file(order.pull_secret))
    if order.trust_bundle.strip():
        files.append(trust_file(order.trust_bundle))
    if order.proxy is not None and any((order.proxy.http_proxy, order.proxy.https_proxy)):
        files.append(proxy_file(_proxy_plan(order.proxy)))
    users = (core_user(order.ssh_key),) if order.ssh_key.strip() else ()
    own = Config(tuple(files), (Unit(AGENT_UNIT, _UNIT),), users)
    return join((own, network_config(read_networks(order.static_network))))


def discovery_customization(order: MediumOrder, rootfs_url: str = "") -> Customization:
    """What a live image is given. One that fetches its root file system needs the network before that."""
    kernel = edit_arguments(_argument(each) for each in order.kernel_arguments)
    fetch = (f"coreos.live.rootfs_url={rootfs_url}",) if rootfs_url else ()
    return Customization(
        ignition=discovery_ignition(order),
        initrd=network_members(read_networks(order.static_network)) if rootfs_url else (),
        kargs_append=(*fetch, *kernel.append),
        kargs_delete=kernel.delete,
        kargs_replace=kernel.replace,
    )


def minimal_initrd(order: MediumOrder) -> bytes | None:
    """The static networks as an archive for an initial RAM disk; None when all hosts use DHCP."""
    members = network_members(read_networks(order.static_network))
    return gzip.compress(render_archive(members), mtime=0) if members else None


def static_network_archive(order: MediumOrder) -> bytes:
    """The static networks of all hosts as a tar archive, with the paths that they have on a host."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for file in network_files(read_networks(order.static_network)):
            entry = tarfile.TarInfo(file.path.lstrip("/"))
            entry.size, entry.mode, entry.mtime = len(file.data), file.mode, 0
            archive.addfile(entry, io.BytesIO(file.data))
    return held.getvalue()


def _check(order: MediumOrder) -> None:
    """Refuse values that would become more than one line of a file."""
    if order.rendezvous_ip and not _is_address(order.rendezvous_ip):
        raise UserError(
            f"rendezvous_ip {order.rendezvous_ip!r} is not an IP address",
            hint="write one, such as 192.0.2.10",
        )
    for server in order.ntp_sources:
        if not server or server.split() != [server]:
            raise UserError(f"{server!r} is not a time server", hint="write a name or an address")


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _meeting(order: MediumOrder) -> tuple[File, ...]:
    values = {
        "AGENT_TOKEN_FILE": AGENT_TOKEN,
        "INFRA_ENV_ID": order.infra_env_id,
        "SERVICE_BASE_URL": order.service_url,
    }
    if order.rendezvous_ip:
        values["NODE_ZERO_IP"] = order.rendezvous_ip
    if not order.ca_certificate.strip():
        return meeting_files(values, order.agent_token)
    values["SERVICE_CA_FILE"] = SERVICE_AUTHORITY
    authority = File(SERVICE_AUTHORITY, order.ca_certificate.encode(), PUBLIC)
    return (*meeting_files(values, order.agent_token), authority)


def _label(order: MediumOrder) -> tuple[File, ...]:
    """Who the medium is for, once for programs and once for whoever stands before the screen."""
    body = {
        "infraEnv": order.name,
        "infraEnvID": order.infra_env_id,
        "madeBy": f"muster {__version__}",
        "service": order.service_url,
    }
    issue = f"Muster {__version__}: this host reports to {order.service_url}\n"
    return (
        File(LABEL, (json.dumps(body, indent=2, sort_keys=True) + "\n").encode(), PUBLIC),
        File("/etc/issue.d/10-muster.issue", issue.encode(), PUBLIC),
    )


def _proxy_plan(proxy: Proxy) -> ProxyPlan:
    return ProxyPlan(proxy.http_proxy or "", proxy.https_proxy or "", proxy.no_proxy or "")


def _argument(given: KernelArgument) -> tuple[str, str]:
    if not given.value or not given.value.strip():
        raise UserError("a kernel argument has no value", hint="set value, such as rd.net.timeout.carrier=60")
    return given.operation or "append", given.value
