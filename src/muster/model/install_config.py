# SPDX-License-Identifier: Apache-2.0
"""install-config.yaml: the cluster that a site gets."""

from __future__ import annotations

from enum import StrEnum

from muster.model.capabilities import Capabilities
from muster.model.machine_pool import MachinePool
from muster.model.metadata import Metadata
from muster.model.networking import Networking
from muster.model.pki import PKI
from muster.model.platform import Platform
from muster.model.schema import Items, Model, many, nested, value
from muster.model.values import BOOLEAN, DOMAIN, SECRET, TEXT, Secret, choice


class Publish(StrEnum):
    """Who can reach the cluster's endpoints."""

    EXTERNAL = "External"
    INTERNAL = "Internal"
    MIXED = "Mixed"


class Visibility(StrEnum):
    """Who can reach one endpoint."""

    EXTERNAL = "External"
    INTERNAL = "Internal"


class TrustBundlePolicy(StrEnum):
    """When nodes trust the additional certificates."""

    PROXY_ONLY = "Proxyonly"
    ALWAYS = "Always"


class CPUPartitioningMode(StrEnum):
    """Whether nodes can keep CPUs apart for the platform and for workloads."""

    NONE = "None"
    ALL_NODES = "AllNodes"


class CredentialsMode(StrEnum):
    """How operators get credentials of the cloud."""

    MINT = "Mint"
    PASSTHROUGH = "Passthrough"
    MANUAL = "Manual"


class FeatureSet(StrEnum):
    """Features that are switched on beyond the stable ones."""

    TECH_PREVIEW_NO_UPGRADE = "TechPreviewNoUpgrade"
    DEV_PREVIEW_NO_UPGRADE = "DevPreviewNoUpgrade"
    CUSTOM_NO_UPGRADE = "CustomNoUpgrade"
    OKD = "OKD"
    DEFAULT = ""


class OSImageStream(StrEnum):
    """Line of operating system images."""

    RHEL_9 = "rhel-9"
    RHEL_10 = "rhel-10"
    CENTOS_10 = "centos-10"


class SourcePolicy(StrEnum):
    """Whether the source is asked when no mirror has an image."""

    NEVER_CONTACT_SOURCE = "NeverContactSource"
    ALLOW_CONTACTING_SOURCE = "AllowContactingSource"


class Proxy(Model):
    """Proxy that hosts and cluster use to reach the outside; at least one of the two URLs."""

    http_proxy: str | None = value(
        TEXT, "URL of the proxy for HTTP requests.", example="http://proxy.example.com:3128"
    )
    https_proxy: str | None = value(
        TEXT, "URL of the proxy for HTTPS requests.", example="http://proxy.example.com:3128"
    )
    no_proxy: str | None = value(
        TEXT,
        "Domains, addresses and networks that are reached directly, separated by commas.",
        default="the cluster's own networks and names, which are always added",
        example=".example.com,192.0.2.0/24",
    )


class ImageContentSource(Model):
    """A repository, and the mirrors that hold the same images."""

    source: str | None = value(
        TEXT,
        "Repository that image names refer to.",
        required=True,
        example="registry.example.com/openshift/release",
    )
    mirrors: Items[str] = many(
        TEXT, "Repositories that are asked first, in this order.", example="mirror.example.com:5000/release"
    )


class ImageSource(ImageContentSource):
    """A repository, the mirrors that hold the same images, and what to do when they fail."""

    source_policy: SourcePolicy | None = value(
        choice(SourcePolicy),
        "Whether the source itself is asked when no mirror has an image.",
        default="AllowContactingSource",
        example="NeverContactSource",
    )


class OperatorPublishingStrategy(Model):
    """Who can reach API and applications, each by itself."""

    ingress: Visibility | None = value(
        choice(Visibility), "Who can reach the applications.", default="External", example="Internal"
    )
    api_server: Visibility | None = value(
        choice(Visibility),
        "Who can reach the API.",
        key="apiserver",
        default="External",
        example="Internal",
    )


class BootstrapInPlace(Model):
    """How a single node installs itself."""

    installation_disk: str | None = value(
        TEXT, "Disk that the node installs itself on.", example="/dev/disk/by-id/wwn-0x5002538e40a2b3c4"
    )


class InstallConfig(Model):
    """The cluster that a site gets."""

    api_version: str | None = value(TEXT, "Version of this file's format: v1.", example="v1")
    kind: str | None = value(TEXT, "Kind of this file; not checked.", example="InstallConfig")
    metadata: Metadata | None = value(nested(Metadata), "Name of the cluster.", required=True)
    base_domain: str | None = value(
        DOMAIN,
        "Domain of the cluster's names, like api.NAME.DOMAIN and *.apps.NAME.DOMAIN.",
        required=True,
        example="example.com",
    )
    networking: Networking | None = value(
        nested(Networking), "Networks of hosts, pods and services.", default="the defaults of its fields"
    )
    control_plane: MachinePool | None = value(
        nested(MachinePool), "Hosts that run the control plane.", default="three hosts"
    )
    arbiter: MachinePool | None = value(
        nested(MachinePool), "Small host that keeps two control-plane hosts in agreement.", default="none"
    )
    compute: Items[MachinePool] = many(
        nested(MachinePool), "Hosts that run the workloads.", default="one pool named worker, of three hosts"
    )
    platform: Platform | None = value(
        nested(Platform), "What the cluster runs on; exactly one platform.", required=True
    )
    pull_secret: Secret | None = value(
        SECRET, "Credentials of the registries that images are pulled from, as JSON.", required=True
    )
    ssh_key: str | None = value(
        TEXT,
        "Public SSH keys that may log in to the hosts as core, one per line.",
        default="nobody can log in with SSH",
        example="ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA... admin@example.com",
    )
    proxy: Proxy | None = value(
        nested(Proxy), "Proxy that hosts and cluster use to reach the outside.", default="none"
    )
    image_digest_sources: Items[ImageSource] = many(
        nested(ImageSource), "Mirrors of image repositories.", default="images come from their own registries"
    )
    image_content_sources: Items[ImageContentSource] = many(
        nested(ImageContentSource), "Mirrors of image repositories.", replaced_by="imageDigestSources"
    )
    additional_trust_bundle: str | None = value(
        TEXT,
        "Certificates (PEM) of authorities that hosts trust, for example of a mirror registry.",
        example="-----BEGIN CERTIFICATE-----...",
    )
    additional_trust_bundle_policy: TrustBundlePolicy | None = value(
        choice(TrustBundlePolicy),
        "When the cluster's operators trust additionalTrustBundle; the nodes always do.",
        default="Proxyonly",
        example="Always",
    )
    publish: Publish | None = value(
        choice(Publish),
        "Who can reach the cluster's endpoints; without a cloud always External.",
        default="External",
        example="External",
    )
    operator_publishing_strategy: OperatorPublishingStrategy | None = value(
        nested(OperatorPublishingStrategy),
        "Who can reach API and applications, each by itself.",
        forbidden="it belongs to publish Mixed, which exists only on Azure",
    )
    fips: bool | None = value(
        BOOLEAN, "Let nodes use only cryptography that FIPS 140 approves.", default="false", example="true"
    )
    cpu_partitioning_mode: CPUPartitioningMode | None = value(
        choice(CPUPartitioningMode),
        "Whether nodes can keep CPUs apart for the platform; cannot be changed later.",
        default="None",
        example="AllNodes",
    )
    credentials_mode: CredentialsMode | None = value(
        choice(CredentialsMode),
        "How operators get credentials of the cloud.",
        ignored="there is no cloud to get credentials from",
        example="Manual",
    )
    bootstrap_in_place: BootstrapInPlace | None = value(
        nested(BootstrapInPlace),
        "How a single node installs itself.",
        ignored="a single node bootstraps itself anyway; choose its disk with rootDeviceHints",
    )
    capabilities: Capabilities | None = value(
        nested(Capabilities), "Optional parts of the cluster that are installed.", default="all of them"
    )
    feature_set: FeatureSet | None = value(
        choice(FeatureSet),
        "Features beyond the stable ones; with a NoUpgrade set no upgrade is possible.",
        default="stable features only",
        example="TechPreviewNoUpgrade",
    )
    feature_gates: Items[str] = many(
        TEXT,
        "Single features to switch on or off; only with featureSet CustomNoUpgrade.",
        default="none",
        example="ExampleFeature=true",
    )
    os_image_stream: OSImageStream | None = value(
        choice(OSImageStream),
        "Line of operating system images for all hosts.",
        default="rhel-9 before release 5, rhel-10 from then on (centos-10 with OKD)",
        example="rhel-10",
    )
    pki: PKI | None = value(
        nested(PKI),
        "Keys of the cluster's certificate authorities.",
        default="the release's own choice",
    )
