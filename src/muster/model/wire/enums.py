# SPDX-License-Identifier: Apache-2.0
"""The words that clients of the interface know: never answer with another."""

from __future__ import annotations

from typing import Literal, TypeAlias

Architecture: TypeAlias = Literal["x86_64", "aarch64", "arm64", "ppc64le", "s390x"]

ReleaseArchitecture: TypeAlias = Literal["x86_64", "aarch64", "arm64", "ppc64le", "s390x", "multi"]

ArchitectureSupportLevelId: TypeAlias = Literal[
    "X86_64_ARCHITECTURE",
    "ARM64_ARCHITECTURE",
    "PPC64LE_ARCHITECTURE",
    "S390X_ARCHITECTURE",
    "MULTIARCH_RELEASE_IMAGE",
]

ClusterStatus: TypeAlias = Literal[
    "insufficient",
    "ready",
    "error",
    "preparing-for-installation",
    "pending-for-input",
    "installing",
    "finalizing",
    "installed",
    "adding-hosts",
    "cancelled",
    "installing-pending-user-action",
    "unmonitored",
]

ClusterValidationId: TypeAlias = Literal[
    "machine-cidr-defined",
    "cluster-cidr-defined",
    "service-cidr-defined",
    "no-cidrs-overlapping",
    "networks-same-address-families",
    "network-prefix-valid",
    "machine-cidr-equals-to-calculated-cidr",
    "api-vips-defined",
    "api-vips-valid",
    "ingress-vips-defined",
    "ingress-vips-valid",
    "all-hosts-are-ready-to-install",
    "sufficient-masters-count",
    "dns-domain-defined",
    "pull-secret-set",
    "ntp-server-configured",
    "lso-requirements-satisfied",
    "ocs-requirements-satisfied",
    "odf-requirements-satisfied",
    "cnv-requirements-satisfied",
    "lvm-requirements-satisfied",
    "mce-requirements-satisfied",
    "mtv-requirements-satisfied",
    "osc-requirements-satisfied",
    "network-type-valid",
    "custom-manifests-requirements-satisfied",
    "platform-requirements-satisfied",
    "node-feature-discovery-requirements-satisfied",
    "nvidia-gpu-requirements-satisfied",
    "pipelines-requirements-satisfied",
    "servicemesh-requirements-satisfied",
    "serverless-requirements-satisfied",
    "openshift-ai-requirements-satisfied",
    "openshift-ai-gpu-requirements-satisfied",
    "authorino-requirements-satisfied",
    "nmstate-requirements-satisfied",
    "amd-gpu-requirements-satisfied",
    "kmm-requirements-satisfied",
    "node-healthcheck-requirements-satisfied",
    "self-node-remediation-requirements-satisfied",
    "fence-agents-remediation-requirements-satisfied",
    "node-maintenance-requirements-satisfied",
    "kube-descheduler-requirements-satisfied",
    "cluster-observability-requirements-satisfied",
    "numa-resources-requirements-satisfied",
    "oadp-requirements-satisfied",
    "metallb-requirements-satisfied",
    "loki-requirements-satisfied",
    "openshift-logging-requirements-satisfied",
]

ContainerImageAvailabilityResult: TypeAlias = Literal["success", "failure"]

DiskRole: TypeAlias = Literal["none", "install"]

DriveType: TypeAlias = Literal[
    "Unknown",
    "HDD",
    "FDD",
    "ODD",
    "SSD",
    "virtual",
    "Multipath",
    "iSCSI",
    "FC",
    "LVM",
    "RAID",
    "ECKD",
    "ECKD (ESE)",
    "FBA",
]

FeatureSupportLevelId: TypeAlias = Literal[
    "SNO",
    "TNA",
    "TNF",
    "VIP_AUTO_ALLOC",
    "CUSTOM_MANIFEST",
    "SINGLE_NODE_EXPANSION",
    "LVM",
    "ODF",
    "LSO",
    "CNV",
    "MCE",
    "MTV",
    "OSC",
    "NUTANIX_INTEGRATION",
    "BAREMETAL_PLATFORM",
    "NONE_PLATFORM",
    "VSPHERE_INTEGRATION",
    "DUAL_STACK_VIPS",
    "CLUSTER_MANAGED_NETWORKING",
    "USER_MANAGED_NETWORKING",
    "MINIMAL_ISO",
    "FULL_ISO",
    "EXTERNAL_PLATFORM_OCI",
    "DUAL_STACK",
    "PLATFORM_MANAGED_NETWORKING",
    "EXTERNAL_PLATFORM",
    "OVN_NETWORK_TYPE",
    "SDN_NETWORK_TYPE",
    "CILIUM_NETWORK_TYPE",
    "CALICO_NETWORK_TYPE",
    "CISCO_ACI_NETWORK_TYPE",
    "NONE_NETWORK_TYPE",
    "NODE_FEATURE_DISCOVERY",
    "NVIDIA_GPU",
    "PIPELINES",
    "SERVICEMESH",
    "SERVERLESS",
    "OPENSHIFT_AI",
    "NON_STANDARD_HA_CONTROL_PLANE",
    "AUTHORINO",
    "USER_MANAGED_LOAD_BALANCER",
    "NMSTATE",
    "AMD_GPU",
    "KMM",
    "NODE_HEALTHCHECK",
    "SELF_NODE_REMEDIATION",
    "FENCE_AGENTS_REMEDIATION",
    "NODE_MAINTENANCE",
    "KUBE_DESCHEDULER",
    "CLUSTER_OBSERVABILITY",
    "NUMA_RESOURCES",
    "OADP",
    "METALLB",
    "DUAL_STACK_PRIMARY_IPV6",
    "LOKI",
    "OPENSHIFT_LOGGING",
]

FinalizingStage: TypeAlias = Literal[
    "Waiting for cluster operators",
    "Adding router ca",
    "Applying olm manifests",
    "Waiting for olm operators csv initialization",
    "Waiting for olm operators csv",
    "Waiting for OLM operator setup jobs",
    "Done",
]

HostRole: TypeAlias = Literal["auto-assign", "master", "arbiter", "worker", "bootstrap"]

HostStage: TypeAlias = Literal[
    "Starting installation",
    "Waiting for control plane",
    "Waiting for bootkube",
    "Waiting for controller",
    "Installing",
    "Writing image to disk",
    "Copying registry data to disk",
    "Rebooting",
    "Waiting for ignition",
    "Configuring",
    "Joined",
    "Done",
    "Failed",
]

HostStatus: TypeAlias = Literal[
    "discovering",
    "known",
    "disconnected",
    "insufficient",
    "disabled",
    "preparing-for-installation",
    "preparing-failed",
    "preparing-successful",
    "pending-for-input",
    "installing",
    "installing-in-progress",
    "installing-pending-user-action",
    "resetting-pending-user-action",
    "installed",
    "error",
    "resetting",
    "added-to-existing-cluster",
    "cancelled",
    "binding",
    "unbinding",
    "unbinding-pending-user-action",
    "known-unbound",
    "disconnected-unbound",
    "insufficient-unbound",
    "disabled-unbound",
    "discovering-unbound",
    "reclaiming",
    "reclaiming-rebooting",
]

HostValidationId: TypeAlias = Literal[
    "connected",
    "media-connected",
    "has-inventory",
    "inventory-not-partially-truncated",
    "inventory-not-fully-truncated",
    "has-min-cpu-cores",
    "has-min-valid-disks",
    "has-min-memory",
    "machine-cidr-defined",
    "has-cpu-cores-for-role",
    "has-memory-for-role",
    "hostname-unique",
    "hostname-valid",
    "belongs-to-machine-cidr",
    "ignition-downloadable",
    "belongs-to-majority-group",
    "valid-platform-network-settings",
    "ntp-synced",
    "time-synced-between-host-and-service",
    "container-images-available",
    "lso-requirements-satisfied",
    "ocs-requirements-satisfied",
    "odf-requirements-satisfied",
    "lvm-requirements-satisfied",
    "mce-requirements-satisfied",
    "mtv-requirements-satisfied",
    "osc-requirements-satisfied",
    "sufficient-installation-disk-speed",
    "cnv-requirements-satisfied",
    "sufficient-network-latency-requirement-for-role",
    "sufficient-packet-loss-requirement-for-role",
    "has-default-route",
    "api-domain-name-resolved-correctly",
    "api-int-domain-name-resolved-correctly",
    "apps-domain-name-resolved-correctly",
    "release-domain-name-resolved-correctly",
    "compatible-with-cluster-platform",
    "dns-wildcard-not-configured",
    "disk-encryption-requirements-satisfied",
    "non-overlapping-subnets",
    "vsphere-disk-uuid-enabled",
    "compatible-agent",
    "no-skip-installation-disk",
    "no-skip-missing-disk",
    "no-ip-collisions-in-network",
    "no-iscsi-nic-belongs-to-machine-cidr",
    "node-feature-discovery-requirements-satisfied",
    "nvidia-gpu-requirements-satisfied",
    "pipelines-requirements-satisfied",
    "servicemesh-requirements-satisfied",
    "serverless-requirements-satisfied",
    "openshift-ai-requirements-satisfied",
    "authorino-requirements-satisfied",
    "mtu-valid",
    "nmstate-requirements-satisfied",
    "amd-gpu-requirements-satisfied",
    "kmm-requirements-satisfied",
    "node-healthcheck-requirements-satisfied",
    "self-node-remediation-requirements-satisfied",
    "fence-agents-remediation-requirements-satisfied",
    "node-maintenance-requirements-satisfied",
    "kube-descheduler-requirements-satisfied",
    "cluster-observability-requirements-satisfied",
    "numa-resources-requirements-satisfied",
    "oadp-requirements-satisfied",
    "metallb-requirements-satisfied",
    "loki-requirements-satisfied",
    "openshift-logging-requirements-satisfied",
]

ImageType: TypeAlias = Literal["full-iso", "minimal-iso", "disconnected-iso"]

IncompatibilityReason: TypeAlias = Literal[
    "cpuArchitecture", "platform", "openshiftVersion", "ociExternalIntegrationDisabled"
]

LogsState: TypeAlias = Literal["requested", "collecting", "completed", "timeout", ""]

LogsType: TypeAlias = Literal["host", "controller", "all", ""]

MemoryMethod: TypeAlias = Literal["dmidecode", "ghw", "meminfo"]

NetworkType: TypeAlias = Literal["OpenShiftSDN", "OVNKubernetes", "CiscoACI", "Cilium", "Calico", "None"]

NodeRoles: TypeAlias = Literal[
    "none",
    "masters",
    "arbiters",
    "workers",
    "masters,arbiters",
    "masters,workers",
    "arbiters,workers",
    "masters,arbiters,workers",
    "all",
]

OperatorStatus: TypeAlias = Literal["failed", "progressing", "available"]

OperatorType: TypeAlias = Literal["builtin", "olm"]

PlatformType: TypeAlias = Literal["baremetal", "nutanix", "vsphere", "none", "external"]

ReleaseChannel: TypeAlias = Literal["candidate", "fast", "stable", "eus"]

SecureBootState: TypeAlias = Literal["Unknown", "NotSupported", "Enabled", "Disabled"]

SourceState: TypeAlias = Literal["synced", "combined", "not_combined", "error", "variable", "unreachable"]

StepType: TypeAlias = Literal[
    "connectivity-check",
    "execute",
    "inventory",
    "install",
    "free-network-addresses",
    "dhcp-lease-allocate",
    "api-vip-connectivity-check",
    "tang-connectivity-check",
    "ntp-synchronizer",
    "installation-disk-speed-check",
    "container-image-availability",
    "domain-resolution",
    "stop-installation",
    "logs-gather",
    "next-step-runner",
    "upgrade-agent",
    "download-boot-artifacts",
    "reboot-for-reclaim",
    "verify-vips",
]

SupportLevel: TypeAlias = Literal["supported", "unsupported", "tech-preview", "dev-preview", "unavailable"]

UpgradeAgentResult: TypeAlias = Literal["success", "failure"]

VipType: TypeAlias = Literal["api", "ingress"]

VipVerification: TypeAlias = Literal["unverified", "failed", "succeeded"]
