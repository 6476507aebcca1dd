# SPDX-License-Identifier: Apache-2.0
"""Image-based installs: the seed, the disk it is copied to, and the single node that it becomes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from muster.config import derive
from muster.config.derive import is_default
from muster.config.document.edit import replace_scalar
from muster.config.formats.ignition import ignition_fault
from muster.config.formats.images import image_fault
from muster.config.network import bind_network, read_network
from muster.config.networks import known_machine_networks, plugin_node, plugin_of, read_networking, uses_ovn
from muster.config.rules.addresses import check_host
from muster.config.rules.installer_args import check_installer_args
from muster.config.rules.machines import ips_of, is_bare_disk, is_uuid
from muster.config.rules.versions import check_unread_type
from muster.model.host import Host
from muster.model.image_based import ImageBasedConfig, ImageBasedInstallationConfig
from muster.model.install_config import FeatureSet, InstallConfig
from muster.model.problem import Place, Problem, problem
from muster.model.site import Site, SiteHost
from muster.model.tree import Map, Node, Scalar
from muster.model.values import name_fault

_VERSION: Final = "v1beta1"
_SEMVER: Final = re.compile(
    r"(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?\Z"
)
_TAG_VERSION: Final = re.compile(
    r"v?(\d+\.\d+\.\d+(?:-(?:rc|ec|fc|alpha|beta)\.?\d+)?)(?:-(?:x86_64|amd64|aarch64|arm64))?\Z"
)
_START: Final = re.compile(r"0\Z|[+-]?\d+[KMGTP]\Z")
_LOOSE_START: Final = re.compile(r"([+-]?\d+) ?([KMGTP])i?B?\Z", re.IGNORECASE)
_PARTITION: Final = re.compile(
    r"/dev/(?:(?:sd|vd|xvd)[a-z]+\d+|(?:nvme\d+n\d+|mmcblk\d+)p\d+)\Z|/dev/disk/\S+-part\d+\Z"
)
_SYSTEM_PARTITIONS: Final = 4
_SYSTEM_LABELS: Final = ("BIOS-BOOT", "EFI-SYSTEM", "boot", "root")
_LONGEST_LABEL: Final = 36
_INFRA_ID: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\Z")
_LONGEST_INFRA_ID: Final = 63
_LABEL_NAME: Final = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?\Z", re.ASCII)


def check_versions(site: Site) -> Iterator[Problem]:
    """A file that says what it holds says that of its name."""
    for item, kind in (
        (site.image_based_installation, "ImageBasedInstallationConfig"),
        (site.image_based, "ImageBasedConfig"),
    ):
        if item is not None:
            yield from check_unread_type(item, "api_version", _VERSION)
            yield from check_unread_type(item, "kind", kind)


def check_complete(site: Site) -> Iterator[Problem]:
    """The configuration of a node has a cluster, and nothing of another way to install."""
    config = site.image_based
    if config is None:
        return
    if site.install is None and not any(source.name == "install-config.yaml" for source in site.sources):
        yield problem("image-based-alone", Place.start_of(config.node))
    if site.agent is not None:
        yield problem("agent-config-unused", Place(site.agent.node.source), file=config.node.source.name)


def check_seed(site: Site) -> Iterator[Problem]:
    """The seed is an image, and its version a version."""
    config = site.image_based_installation
    if config is None:
        return
    if config.seed_image:
        fault = image_fault(config.seed_image)
        if fault:
            node = config.at("seed_image")
            yield problem("bad-image-reference", node, key="seedImage", value=config.seed_image, reason=fault)
    version = config.seed_version
    if not version:
        return
    node = config.at("seed_version")
    if not _SEMVER.match(version):
        bare = version.removeprefix("v")
        right = bare if _SEMVER.match(bare) else None
        yield problem(
            "bad-seed-version", node, edits=replace_scalar(node, right) if right else (), value=version
        )
        return
    tagged = _tag_version(config.seed_image or "")
    if tagged is not None and tagged != version:
        yield problem("seed-version-differs", node, value=version, tag=tagged)


def _tag_version(image: str) -> str | None:
    """The version that an image's tag names."""
    tag = image.partition("@")[0].rpartition("/")[2].partition(":")[2]
    match = _TAG_VERSION.match(tag)
    return match[1] if match else None


def check_disk(site: Site) -> Iterator[Problem]:
    """The seed is written to a whole disk."""
    config = site.image_based_installation
    disk = config.installation_disk if config else None
    if config is None or not disk:
        return
    reason, right = _disk_fault(disk)
    if reason:
        node = config.at("installation_disk")
        yield problem(
            "bad-installation-disk",
            node,
            edits=replace_scalar(node, right) if right else (),
            value=disk,
            reason=reason,
        )


def _disk_fault(disk: str) -> tuple[str, str | None]:
    if re.search(r"\s", disk):
        return "it contains a space", None
    if not disk.startswith("/dev/"):
        return "it is no path below /dev/", f"/dev/{disk}" if is_bare_disk(disk) else None
    if re.match(r"/dev/by-(?:id|path|partlabel|uuid)/", disk):
        return "the folder is called /dev/disk/...", disk.replace("/dev/by-", "/dev/disk/by-", 1)
    if disk.endswith("/"):
        return "it is a folder", None
    if _PARTITION.match(disk):
        return "it is a partition, a whole disk is needed", None
    return "", None


def check_partition(site: Site) -> Iterator[Problem]:
    """The partition for containers has a place on the disk that nothing else takes."""
    config = site.image_based_installation
    if config is None:
        return
    start = config.extra_partition_start
    node = config.at("extra_partition_start")
    if start is not None and not _START.match(start):
        match = _LOOSE_START.match(start.strip())
        right = f"{match[1]}{match[2].upper()}" if match else None
        yield problem(
            "bad-partition-start", node, edits=replace_scalar(node, right) if right else (), value=start
        )
    number = config.extra_partition_number
    if number is not None and number <= _SYSTEM_PARTITIONS:
        yield problem("partition-number-taken", config.at("extra_partition_number"), value=number)
    label = config.extra_partition_label
    if label is not None and (fault := _label_fault(label)):
        yield problem("bad-partition-label", config.at("extra_partition_label"), value=label, reason=fault)


def _label_fault(label: str) -> str:
    if not label:
        return "it is empty"
    if label in _SYSTEM_LABELS:
        return "a partition of the operating system has this name"
    if len(label) > _LONGEST_LABEL:
        return f"it has {len(label)} characters, {_LONGEST_LABEL} are allowed"
    return (
        "" if re.match(r"[\w.-]+\Z", label, re.ASCII) else "only letters, digits and . _ - can be found again"
    )


def check_live_system(site: Site) -> Iterator[Problem]:
    """What the live system is given can be used."""
    config = site.image_based_installation
    if config is None:
        return
    if config.ignition_config_override:
        fault = ignition_fault(config.ignition_config_override)
        if fault:
            node = config.at("ignition_config_override")
            yield problem("bad-ignition-override", node, key="ignitionConfigOverride", reason=fault)
    yield from check_installer_args(config.coreos_installer_args)


def check_networks(site: Site) -> Iterator[Problem]:
    """networkConfig is what nmstate takes."""
    configs: tuple[ImageBasedInstallationConfig | ImageBasedConfig | None, ...] = (
        site.image_based_installation,
        site.image_based,
    )
    for config in configs:
        if config is not None and config.network_config is not None:
            found: list[Problem] = []
            read_network(config.network_config, found)
            yield from found


def check_address(site: Site) -> Iterator[Problem]:
    """The node has an address in the networks that the cluster knows."""
    config, networks = site.image_based, known_machine_networks(site)
    if config is None or not isinstance(config.network_config, Map) or not networks or is_default(networks):
        return
    node = SiteHost(0, Host(hostname=config.hostname or "the node"), bind_network(config.network_config))
    if ips_of(node):
        yield from check_host(node, networks)


def check_identity(site: Site) -> Iterator[Problem]:
    """The ids and labels of the node are such."""
    config = site.image_based
    if config is None:
        return
    if config.cluster_id and not is_uuid(config.cluster_id):
        yield problem("bad-cluster-id", config.at("cluster_id"), value=config.cluster_id)
    infra = config.infra_id
    if infra and (not _INFRA_ID.match(infra) or len(infra) > _LONGEST_INFRA_ID):
        yield problem("bad-infra-id", config.at("infra_id"), value=infra)
    places = config.at("node_labels")
    for name, label in config.node_labels.items():
        fault = _node_label_fault(name, label)
        if fault:
            node = places.items[name] if isinstance(places, Map) else places
            yield problem("bad-node-label", Place.of_key(node), name=name, reason=fault)


def _node_label_fault(name: str, label: str) -> str:
    prefix, slash, short = name.rpartition("/")
    if slash and (fault := name_fault(prefix)):
        return f"the prefix in front of the slash is no domain name: {fault}"
    if not short or len(short) > 63 or not _LABEL_NAME.match(short):
        return "a name has 1 to 63 letters, digits and inner . _ -"
    if label and (len(label) > 63 or not _LABEL_NAME.match(label)):
        return f"its value {label!r} is not up to 63 letters, digits and inner . _ -"
    return ""


def check_cluster(site: Site) -> Iterator[Problem]:
    """The cluster is a single node like the seed."""
    install = site.install
    if install is None or site.image_based is None:
        return
    names = derive.platform_names(install)
    wrong = [name for name in names if name != "none"]
    if len(names) == 1 and wrong and install.platform is not None:
        yield problem("image-based-platform", Place.of_key(install.platform.at(wrong[0])), platform=wrong[0])
    yield from _check_counts(install)
    networking, _ = read_networking(site)
    if not uses_ovn(networking):
        yield problem("image-based-network-type", plugin_node(networking), value=plugin_of(networking))
    if len(networking.machine_network) > 2:
        at = Place.of_key(networking.at("machine_network"))
        yield problem("image-based-networks", at, count=len(networking.machine_network))
    if install.feature_set not in (None, FeatureSet.DEFAULT):
        yield problem("image-based-feature-set", install.at("feature_set"), value=install.feature_set)


def _check_counts(install: InstallConfig) -> Iterator[Problem]:
    control = install.control_plane
    counts = derive.host_counts(install)
    if counts.masters != 1 and not (control and control.is_unread("replicas")):
        at = control.at("replicas") if control and control.has("replicas") else install.at("control_plane")
        yield problem(
            "image-based-topology", _place(at), key="controlPlane.replicas", value=counts.masters, right=1
        )
    if counts.arbiters and install.arbiter is not None:
        at = install.arbiter.at("replicas")
        yield problem("image-based-topology", at, key="arbiter.replicas", value=counts.arbiters, right=0)
    if counts.workers == 0:
        return
    pool = next((pool for pool in install.compute if pool.replicas != 0), None)
    if pool is not None and pool.is_unread("replicas"):
        return
    at = pool.at("replicas") if pool else install.at("compute")
    yield problem("image-based-topology", _place(at), key="compute.replicas", value=counts.workers, right=0)


def _place(node: Node) -> Place:
    return Place.of(node) if isinstance(node, Scalar) else Place.of_key(node)


RULES: Final = (
    check_versions,
    check_complete,
    check_seed,
    check_disk,
    check_partition,
    check_live_system,
    check_networks,
    check_address,
    check_identity,
    check_cluster,
)
