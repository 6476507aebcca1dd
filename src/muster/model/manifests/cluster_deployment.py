# SPDX-License-Identifier: Apache-2.0
"""cluster-deployment.yaml: the name of a cluster, and what a management cluster would do with it."""

from __future__ import annotations

from enum import StrEnum

from muster.model.manifests.cluster_metadata import ClusterMetadata
from muster.model.manifests.hive_platform import HivePlatform
from muster.model.manifests.references import LabelSelector, Reference
from muster.model.manifests.words import choice_or_empty
from muster.model.metadata import Metadata
from muster.model.schema import Items, Model, many, nested, value
from muster.model.tree import Node
from muster.model.values import BOOLEAN, DOMAIN, FREE, IP, IP_ADDRESS, SECRET, TEXT, Secret, number, url


class PowerState(StrEnum):
    """Whether the cluster's machines run."""

    RUNNING = "Running"
    HIBERNATING = "Hibernating"


class ClusterInstallReference(Model):
    """The object that says how the cluster is installed."""

    group: str | None = value(TEXT, "API group of the object.", example="extensions.hive.openshift.io")
    version: str | None = value(TEXT, "API version of the object.", example="v1beta1")
    kind: str | None = value(TEXT, "Kind of the object.", example="AgentClusterInstall")
    name: str | None = value(TEXT, "Name of the object.", example="site1")


class ClusterPoolReference(Model):
    """The pool that the cluster comes from."""

    namespace: str | None = value(TEXT, "Namespace of the pool.", example="pools")
    pool_name: str | None = value(TEXT, "Name of the pool.", example="pool1")
    claim_name: str | None = value(TEXT, "Name of the claim that took the cluster.", example="claim1")
    claimed_timestamp: str | None = value(TEXT, "When the cluster was taken.", example="2026-01-31T12:00:00Z")
    cluster_deployment_customization: Reference | None = value(
        nested(Reference), "Customization that the pool chose."
    )


class AdditionalCertificate(Model):
    """A certificate of the API for one more domain."""

    name: str | None = value(TEXT, "Name of the certificate bundle.", required=True, example="api")
    domain: str | None = value(DOMAIN, "Domain that it is for.", required=True, example="api.example.com")


class ServingCertificates(Model):
    """Certificates that the API shows."""

    default: str | None = value(TEXT, "Name of the certificate bundle that is used first.", example="api")
    additional: Items[AdditionalCertificate] = many(
        nested(AdditionalCertificate), "Certificates for further domains."
    )


class ControlPlaneConfig(Model):
    """How a management cluster reaches the API."""

    serving_certificates: ServingCertificates | None = value(
        nested(ServingCertificates), "Certificates that the API shows.", default="the cluster's own"
    )
    api_url_override: str | None = value(
        url("https"),
        "Address of the API to use instead.",
        key="apiURLOverride",
        example="https://api.example.com:6443",
    )
    api_server_ip_override: IP | None = value(
        IP_ADDRESS,
        "IP address of the API to use instead of asking DNS.",
        key="apiServerIPOverride",
        example="192.0.2.5",
    )


class CertificateBundle(Model):
    """A certificate with its key."""

    name: str | None = value(TEXT, "Name that others refer to it by.", required=True, example="api")
    generate: bool | None = value(BOOLEAN, "Whether the certificate is to be made.", default="false")
    certificate_secret_ref: Reference | None = value(
        nested(Reference), "Secret with the certificate and its key.", required=True
    )


class ClusterIngress(Model):
    """A way in for applications."""

    name: str | None = value(TEXT, "Name of the ingress controller.", required=True, example="default")
    domain: str | None = value(
        DOMAIN, "Domain of the applications.", required=True, example="apps.site1.example.com"
    )
    namespace_selector: LabelSelector | None = value(
        nested(LabelSelector), "Namespaces that are served.", default="all"
    )
    route_selector: LabelSelector | None = value(
        nested(LabelSelector), "Routes that are served.", default="all"
    )
    serving_certificate: str | None = value(
        TEXT, "Name of the certificate bundle that is used.", example="apps"
    )
    http_error_code_pages: Reference | None = value(
        nested(Reference), "ConfigMap with the pages that are shown for errors."
    )
    tuning_options: Node | None = value(FREE, "Tuning of the ingress controller.")


class EnvironmentVariable(Model):
    """A variable of the installer's environment."""

    name: str | None = value(TEXT, "Name of the variable.", required=True, example="TZ")
    text: Secret | None = value(SECRET, "Value of the variable.", key="value")
    value_from: Node | None = value(FREE, "Object that the value is taken from.")


class Provisioning(Model):
    """How the installer is run when there is no clusterInstallRef."""

    install_config_secret_ref: Reference | None = value(
        nested(Reference), "Secret with the install-config.yaml."
    )
    customization_ref: Reference | None = value(nested(Reference), "Changes to the installer's manifests.")
    release_image: str | None = value(
        TEXT, "Release to install.", example="registry.example.com/openshift/release:4.21.0-x86_64"
    )
    installer_image_override: str | None = value(
        TEXT, "Installer to use instead of the release's own.", example="registry.example.com/installer:dev"
    )
    image_set_ref: Reference | None = value(
        nested(Reference), "ClusterImageSet with the release; releaseImage wins."
    )
    manifests_config_map_ref: Reference | None = value(
        nested(Reference), "ConfigMap with further manifests for the cluster."
    )
    manifests_secret_ref: Reference | None = value(
        nested(Reference), "Secret with further manifests for the cluster."
    )
    ssh_private_key_secret_ref: Reference | None = value(
        nested(Reference), "Secret with the SSH key that logs are fetched with."
    )
    ssh_known_hosts: Items[str] = many(
        TEXT, "SSH host keys that are trusted.", example="192.0.2.10 ssh-ed25519 AAAA..."
    )
    installer_env: Items[EnvironmentVariable] = many(
        nested(EnvironmentVariable), "Environment that the installer runs with."
    )


class ClusterDeploymentSpec(Model):
    """The name of the cluster, and what a management cluster does with it."""

    cluster_name: str | None = value(TEXT, "Name of the cluster.", required=True, example="site1")
    base_domain: str | None = value(
        DOMAIN,
        "Domain of the cluster's names, like api.NAME.DOMAIN and *.apps.NAME.DOMAIN.",
        required=True,
        example="example.com",
    )
    platform: HivePlatform | None = value(nested(HivePlatform), "What the cluster runs on.")
    pull_secret_ref: Reference | None = value(nested(Reference), "Secret that images are pulled with.")
    cluster_install_ref: ClusterInstallReference | None = value(
        nested(ClusterInstallReference), "AgentClusterInstall that says how the cluster is installed."
    )
    cluster_metadata: ClusterMetadata | None = value(
        nested(ClusterMetadata), "What the cluster is called, once it is installed."
    )
    installed: bool | None = value(BOOLEAN, "Whether the cluster is installed already.", default="false")
    control_plane_config: ControlPlaneConfig | None = value(
        nested(ControlPlaneConfig), "How a management cluster reaches the API."
    )
    ingress: Items[ClusterIngress] = many(nested(ClusterIngress), "Ways in for applications.")
    certificate_bundles: Items[CertificateBundle] = many(
        nested(CertificateBundle), "Certificates for the API and the ways in."
    )
    provisioning: Provisioning | None = value(
        nested(Provisioning), "How the installer is run when there is no clusterInstallRef."
    )
    cluster_pool_ref: ClusterPoolReference | None = value(
        nested(ClusterPoolReference), "Pool that the cluster comes from."
    )
    manage_dns: bool | None = value(
        BOOLEAN, "Whether a DNS zone is made for the cluster.", key="manageDNS", default="false"
    )
    preserve_on_delete: bool | None = value(
        BOOLEAN, "Whether the cluster outlives this object.", default="false"
    )
    power_state: PowerState | None = value(
        choice_or_empty(PowerState),
        "Whether the cluster's machines run.",
        default="Running",
        example="Running",
    )
    hibernate_after: str | None = value(
        TEXT, "How long the cluster runs before it is put to sleep.", default="never", example="8h"
    )
    install_attempts_limit: int | None = value(
        number(0, why="It is counted."), "How often the installation is tried.", example="1"
    )
    bound_service_account_signing_key_secret_ref: Reference | None = value(
        nested(Reference), "Secret with the key that signs tokens of service accounts."
    )


class ClusterDeployment(Model):
    """The name of a cluster, as an object that others refer to."""

    api_version: str | None = value(
        TEXT, "Version of this object's format: hive.openshift.io/v1.", example="hive.openshift.io/v1"
    )
    kind: str | None = value(TEXT, "Always ClusterDeployment.", example="ClusterDeployment")
    metadata: Metadata | None = value(nested(Metadata), "Name of the object.")
    spec: ClusterDeploymentSpec | None = value(
        nested(ClusterDeploymentSpec), "The name of the cluster.", required=True
    )
    status: Node | None = value(FREE, "What became of the object.")
