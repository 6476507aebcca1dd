# SPDX-License-Identifier: Apache-2.0
"""image-based-*.yaml: a single-node cluster that is copied from a seed instead of installed."""

from __future__ import annotations

from collections.abc import Mapping

from muster.model.install_config import ImageSource, Proxy
from muster.model.machine_pool import Architecture
from muster.model.manifests.words import word
from muster.model.metadata import Metadata
from muster.model.schema import Items, Model, many, nested, table, value
from muster.model.tree import Node
from muster.model.values import (
    BOOLEAN,
    HOSTNAME,
    IP_OR_DOMAIN,
    NMSTATE,
    SECRET,
    TEXT,
    Secret,
    number,
)


class ImageBasedInstallationConfig(Model):
    """image-based-installation-config.yaml: how a seed gets onto a disk, before the site is known."""

    api_version: str | None = value(TEXT, "Version of this file's format: v1beta1.", example="v1beta1")
    kind: str | None = value(
        TEXT, "Always ImageBasedInstallationConfig.", example="ImageBasedInstallationConfig"
    )
    metadata: Metadata | None = value(nested(Metadata), "Name of the object.")
    seed_image: str | None = value(
        TEXT,
        "Image with the cluster to copy.",
        required=True,
        example="registry.example.com/seeds/sno:4.21.0",
    )
    seed_version: str | None = value(
        TEXT, "Release of the seed; the seed has to say the same.", required=True, example="4.21.0"
    )
    installation_disk: str | None = value(
        TEXT,
        "Disk that the seed is written to.",
        required=True,
        example="/dev/disk/by-id/wwn-0x5002538e40a2b3c4",
    )
    pull_secret: Secret | None = value(
        SECRET, "Credentials of the registries that images are pulled from, as JSON.", required=True
    )
    ssh_key: str | None = value(
        TEXT,
        "Public SSH keys that may log in to the live system as core, one per line.",
        default="nobody can log in with SSH",
        example="ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA... admin@example.com",
    )
    architecture: Architecture | None = value(
        word({"amd64": Architecture.AMD64, "arm64": Architecture.ARM64}),
        "CPU architecture of the machine.",
        default="amd64",
        example="arm64",
    )
    extra_partition_label: str | None = value(
        TEXT,
        "Label of the partition for /var/lib/containers.",
        default="var-lib-containers",
        example="var-lib-containers",
    )
    extra_partition_number: int | None = value(
        number(1, 128, why="A partition table has places 1 to 128."),
        "Number of the partition for /var/lib/containers.",
        default="5",
        example="5",
    )
    extra_partition_start: str | None = value(
        TEXT,
        "Where that partition begins: 0, or a size (K, M, G, T, P); with a minus from the disk's end.",
        default="-40G",
        example="-40G",
    )
    additional_trust_bundle: str | None = value(
        TEXT,
        "Certificates (PEM) of authorities that hosts trust, for example of a mirror registry.",
        example="-----BEGIN CERTIFICATE-----...",
    )
    image_digest_sources: Items[ImageSource] = many(
        nested(ImageSource), "Mirrors of image repositories.", default="images come from their own registries"
    )
    network_config: Node | None = value(
        NMSTATE, "Static network of the live system, as an NMState document.", default="DHCP on all cards"
    )
    proxy: Proxy | None = value(
        nested(Proxy), "Proxy that the live system uses to reach the outside.", default="none"
    )
    release_registry: str | None = value(
        TEXT, "Registry that holds the images of the release.", example="registry.example.com:5000"
    )
    coreos_installer_args: Items[str] = many(
        TEXT,
        "Options of coreos-installer, name and value as two entries.",
        default="none",
        example="--save-partindex",
    )
    ignition_config_override: str | None = value(
        TEXT,
        "Ignition config (JSON) that is merged into the one of the live system.",
        example='{"ignition": {"version": "3.2.0"}}',
    )
    shutdown: bool | None = value(
        BOOLEAN, "Switch the machine off when the seed is written.", default="false"
    )
    skip_disk_cleanup: bool | None = value(
        BOOLEAN, "Leave what is on the disk until it is overwritten.", default="false"
    )


class ImageBasedConfig(Model):
    """image-based-config.yaml: what turns the copy of a seed into the cluster of a site."""

    api_version: str | None = value(TEXT, "Version of this file's format: v1beta1.", example="v1beta1")
    kind: str | None = value(TEXT, "Always ImageBasedConfig.", example="ImageBasedConfig")
    metadata: Metadata | None = value(nested(Metadata), "Name of the object.")
    hostname: str | None = value(HOSTNAME, "Name that the node gets.", example="sno-0")
    network_config: Node | None = value(
        NMSTATE, "Static network of the node, as an NMState document.", default="DHCP on all cards"
    )
    additional_ntp_sources: Items[str] = many(
        IP_OR_DOMAIN, "Time servers for the node.", key="additionalNTPSources", example="192.0.2.1"
    )
    release_registry: str | None = value(
        TEXT, "Registry that holds the images of the release.", example="registry.example.com:5000"
    )
    cluster_id: str | None = value(
        TEXT,
        "Identifier that no other cluster has.",
        key="cluster_id",
        default="a new one",
        example="8d2c6b1e-4f5a-4c3b-9e7d-0a1b2c3d4e5f",
    )
    infra_id: str | None = value(
        TEXT,
        "Identifier in the names of what belongs to the cluster.",
        key="infra_id",
        default="the cluster's name and five random characters",
        example="site1-x7k2p",
    )
    node_labels: Mapping[str, str] = table(TEXT, "Labels that the node gets.")
