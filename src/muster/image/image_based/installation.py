# SPDX-License-Identifier: Apache-2.0
"""Plan → what rhcos-ibi.iso carries: the live system that copies a seed to the disk of its machine. Pure.

Units name no value of the user's: those stand in files that only root can read, so that no password of a
proxy shows in `systemctl cat`, and no percent sign in a URL is taken for a specifier of systemd.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from muster.config.manifests import render_yaml
from muster.image.ignition.merge import merge, parse_override
from muster.image.ignition.scripts import load_script
from muster.model.ignition import PROGRAM, PUBLIC, Config, File, Unit, User, tree_of
from muster.model.image_based_plan import InstallationPlan
from muster.model.registries import render_registries_conf
from muster.model.tree import Plain

POST_SCRIPT: Final = "post.sh"
"""A file beside image-based-installation-config.yaml that is run when the seed is on the disk."""
_DIRECTORY: Final = "/var/tmp"  # noqa: S108 - of the live system, where lca-cli and users look for these
_CONFIGURATION: Final = f"{_DIRECTORY}/ibi-configuration.json"
_LOGINS: Final = f"{_DIRECTORY}/pull-secret.json"
_NETWORK: Final = f"{_DIRECTORY}/network-config.yaml"
_ENVIRONMENT: Final = "/etc/muster/image-based.env"
_INSTALL: Final = "/usr/local/bin/install-rhcos-and-restore-seed.sh"
_APPLY_NETWORK: Final = "/usr/local/bin/muster-apply-network"
_SAY: Final = "/usr/local/bin/muster-say"

_INSTALL_UNIT: Final = f"""\
[Unit]
Description=Copy the seed to the disk of this machine
Wants=network-online.target
After=network-online.target network-config.service

[Service]
Type=oneshot
RemainAfterExit=yes
EnvironmentFile={_ENVIRONMENT}
ExecStartPre=/usr/bin/chcon -t install_exec_t {_INSTALL}
ExecStart={_INSTALL}

[Install]
WantedBy=multi-user.target
"""
_NETWORK_UNIT: Final = f"""\
[Unit]
Description=Set up the network of the live system
After=NetworkManager.service
Before=network-online.target install-rhcos-and-restore-seed.service

[Service]
Type=oneshot
RemainAfterExit=yes
TimeoutStartSec=1200
ExecStart={_APPLY_NETWORK}

[Install]
WantedBy=multi-user.target
"""


def build_installation_ignition(plan: InstallationPlan, post_script: bytes = b"") -> Config:
    """The Ignition config of the live system, without what the user adds to it."""
    units = [Unit("install-rhcos-and-restore-seed.service", _INSTALL_UNIT)]
    if plan.network:
        units.append(Unit("network-config.service", _NETWORK_UNIT))
    return Config(
        files=tuple(_files(plan, post_script)),
        units=tuple(units),
        users=(User("core", plan.ssh_keys),),
    )


def installation_tree(
    plan: InstallationPlan, post_script: bytes = b""
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The config with ignitionConfigOverride, and the places where that replaced something of ours."""
    tree = tree_of(build_installation_ignition(plan, post_script))
    if not plan.ignition_override:
        return tree, ()
    return merge(tree, parse_override(plan.ignition_override, "ignitionConfigOverride"))


def _files(plan: InstallationPlan, post_script: bytes) -> Iterator[File]:
    yield File(_CONFIGURATION, _configuration(plan))
    yield File(_LOGINS, plan.pull_secret.reveal().encode() + b"\n")
    yield File(_ENVIRONMENT, _environment(plan).encode())
    yield File(_INSTALL, load_script("restore-seed"), PROGRAM)
    yield File(_SAY, load_script("say"), PROGRAM)
    if plan.network:
        yield File(_NETWORK, render_yaml(plan.network).encode())
        yield File(_APPLY_NETWORK, load_script("apply-network"), PROGRAM)
    if plan.registries.registries:
        yield File(
            "/etc/containers/registries.conf", render_registries_conf(plan.registries).encode(), PUBLIC
        )
    if plan.trust_bundle:
        anchors = "/etc/pki/ca-trust/source/anchors/additional-trust-bundle.pem"
        yield File(anchors, plan.trust_bundle.encode())
    if post_script:
        yield File(f"{_DIRECTORY}/{POST_SCRIPT}", post_script, PROGRAM)


def _configuration(plan: InstallationPlan) -> bytes:
    """What lca-cli reads."""
    body: dict[str, Plain] = {
        "extraPartitionLabel": plan.extra_partition_label,
        "extraPartitionNumber": plan.extra_partition_number,
        "extraPartitionStart": plan.extra_partition_start,
        "installationDisk": plan.installation_disk,
        "releaseRegistry": plan.release_registry,
        "seedImage": plan.seed_image,
        "seedVersion": plan.seed_version,
        "shutdown": plan.shutdown,
        "skipDiskCleanup": plan.skip_disk_cleanup,
        "coreosInstallerArgs": list(plan.coreos_installer_args),
    }
    said = {key: value for key, value in body.items() if value not in ("", False, [])}
    return json.dumps(said, indent=2, ensure_ascii=False).encode() + b"\n"


def _environment(plan: InstallationPlan) -> str:
    """An environment file of systemd: nothing in it is expanded, so it takes every character."""
    variables = {
        "SEED_IMAGE": plan.seed_image,
        "IBI_CONFIGURATION_FILE": _CONFIGURATION,
        "PULL_SECRET_FILE": _LOGINS,
    }
    if plan.proxy is not None:
        named = {
            "HTTP_PROXY": plan.proxy.http,
            "HTTPS_PROXY": plan.proxy.https,
            "NO_PROXY": plan.proxy.no_proxy,
        }
        for name, value in named.items():
            if value:
                variables |= {name: value, name.lower(): value}
    return "".join(f"{name}={_quoted(value)}\n" for name, value in variables.items())


def _quoted(text: str) -> str:
    for special in ("\\", '"', "$", "`"):
        text = text.replace(special, f"\\{special}")
    return f'"{text}"'
