# SPDX-License-Identifier: Apache-2.0
"""Platform baremetal: own machines, with virtual addresses and a provisioning network for later hosts."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from muster.model.host import BMC, Role, RootDeviceHints
from muster.model.platform.bgp import BGPPeer, BGPVIPs
from muster.model.platform.on_premises import OnPremises
from muster.model.schema import Items, Model, many, nested, value
from muster.model.tree import Node
from muster.model.values import (
    BOOLEAN,
    HOSTNAME,
    IP,
    IP_ADDRESS,
    IP_OR_DOMAIN,
    MAC_ADDRESS,
    NETWORK,
    NMSTATE,
    TEXT,
    Network,
    choice,
)

_NO_BOOTSTRAP_VM: Final = "one of the hosts bootstraps the cluster, so there is no bootstrap machine"
_IN_RELEASE: Final = "the operating system comes with the release"


class BootMode(StrEnum):
    """How the firmware of a host boots."""

    UEFI = "UEFI"
    UEFI_SECURE_BOOT = "UEFISecureBoot"
    LEGACY = "legacy"


class ProvisioningNetwork(StrEnum):
    """Who runs the network that later hosts are installed over."""

    MANAGED = "Managed"
    UNMANAGED = "Unmanaged"
    DISABLED = "Disabled"


class BareMetalMachinePool(Model):
    """Machines of a pool on bare metal; there is nothing to set."""


class BareMetalHost(Model):
    """One machine, when the hosts stand here and not in agent-config.yaml."""

    name: str | None = value(
        HOSTNAME, "Name that the host gets.", default="what DHCP or reverse DNS says", example="master-0"
    )
    role: Role | None = value(
        choice(Role),
        "What the host becomes.",
        default="masters first, then arbiters, then workers",
        example="master",
    )
    boot_mac_address: str | None = value(
        MAC_ADDRESS,
        "MAC address of the card that the host boots from; the host is recognized by it.",
        key="bootMACAddress",
        required=True,
        example="52:54:00:ab:cd:ef",
    )
    bmc: BMC | None = value(nested(BMC), "The host's management controller.")
    root_device_hints: RootDeviceHints | None = value(
        nested(RootDeviceHints), "Which disk to install on.", default="the first disk that fits"
    )
    network_config: Node | None = value(
        NMSTATE, "Static network of the host, as an NMState document.", default="DHCP on all cards"
    )
    boot_mode: BootMode | None = value(
        choice(BootMode),
        "How the firmware boots; here the host keeps the mode that it has.",
        default="UEFI",
        example="UEFI",
    )
    hardware_profile: str | None = value(
        TEXT,
        "Profile of the hardware, from the time before rootDeviceHints.",
        default="default",
        example="default",
    )
    bgp_peers: Items[BGPPeer] = many(
        nested(BGPPeer),
        "Routers of this host, in place of those of bgpVIPConfig.",
        default="bgpVIPConfig.peers",
    )


class BareMetalPlatform(OnPremises):
    """Own machines; the cluster brings its own load balancer and virtual addresses."""

    bgp_vip_config: BGPVIPs | None = value(
        nested(BGPVIPs),
        "Announce the virtual addresses with BGP.",
        key="bgpVIPConfig",
        default="a host that fails hands its addresses over with VRRP",
    )
    hosts: Items[BareMetalHost] = many(
        nested(BareMetalHost), "The machines; used when agent-config.yaml names none.", default="none"
    )
    additional_ntp_servers: Items[str] = many(
        IP_OR_DOMAIN,
        "Time servers of the hosts; used when agent-config.yaml names none.",
        key="additionalNTPServers",
        example="192.0.2.1",
    )
    bmc_verify_ca: str | None = value(
        TEXT,
        "Certificates (PEM) of authorities that management controllers are checked with.",
        key="bmcVerifyCA",
        example="-----BEGIN CERTIFICATE-----...",
    )
    provisioning_network: ProvisioningNetwork | None = value(
        choice(ProvisioningNetwork),
        "Who runs DHCP on the network that later hosts are installed over, or that there is none.",
        default="Managed",
        example="Disabled",
    )
    provisioning_network_interface: str | None = value(
        TEXT, "Network card of control-plane hosts on the provisioning network.", example="eno2"
    )
    provisioning_network_cidr: Network | None = value(
        NETWORK,
        "The provisioning network.",
        key="provisioningNetworkCIDR",
        default="172.22.0.0/24 (none when provisioningNetwork is Disabled)",
        example="198.51.100.0/24",
    )
    provisioning_network_gateway: IP | None = value(
        IP_ADDRESS,
        "Gateway that DHCP offers on a Managed provisioning network.",
        default="none",
        example="198.51.100.1",
    )
    provisioning_dhcp_range: str | None = value(
        TEXT,
        "First and last address that DHCP gives out, with a comma between them.",
        key="provisioningDHCPRange",
        default="from the 10th to the last address of a Managed provisioning network",
        example="198.51.100.10,198.51.100.100",
    )
    cluster_provisioning_ip: IP | None = value(
        IP_ADDRESS,
        "Address of the cluster's provisioning service.",
        key="clusterProvisioningIP",
        default="the third address of the provisioning network",
        example="198.51.100.3",
    )
    provisioning_host_ip: IP | None = value(
        IP_ADDRESS,
        "Address of the cluster's provisioning service.",
        key="provisioningHostIP",
        replaced_by="clusterProvisioningIP",
        example="198.51.100.3",
    )
    provisioning_dhcp_external: bool | None = value(
        BOOLEAN,
        "Whether DHCP on the provisioning network is yours; write provisioningNetwork: Unmanaged.",
        key="provisioningDHCPExternal",
        replaced_by="provisioningNetwork",
        example="true",
    )
    libvirt_uri: str | None = value(
        TEXT,
        "Hypervisor that the bootstrap machine would run on.",
        key="libvirtURI",
        default="qemu:///system",
        ignored=_NO_BOOTSTRAP_VM,
        example="qemu+ssh://admin@host.example.com/system",
    )
    external_bridge: str | None = value(
        TEXT,
        "Bridge of the hypervisor to the hosts' network.",
        default="baremetal",
        ignored=_NO_BOOTSTRAP_VM,
        example="br0",
    )
    external_mac_address: str | None = value(
        MAC_ADDRESS,
        "MAC address of the bootstrap machine on the hosts' network.",
        key="externalMACAddress",
        default="a random one",
        ignored=_NO_BOOTSTRAP_VM,
        example="52:54:00:00:00:01",
    )
    provisioning_bridge: str | None = value(
        TEXT,
        "Bridge of the hypervisor to the provisioning network.",
        default="provisioning",
        ignored=_NO_BOOTSTRAP_VM,
        example="br1",
    )
    provisioning_mac_address: str | None = value(
        MAC_ADDRESS,
        "MAC address of the bootstrap machine on the provisioning network.",
        key="provisioningMACAddress",
        default="a random one",
        ignored=_NO_BOOTSTRAP_VM,
        example="52:54:00:00:00:02",
    )
    bootstrap_provisioning_ip: IP | None = value(
        IP_ADDRESS,
        "Address of the bootstrap machine on the provisioning network.",
        key="bootstrapProvisioningIP",
        default="the second address of the provisioning network",
        ignored=_NO_BOOTSTRAP_VM,
        example="198.51.100.2",
    )
    bootstrap_external_static_ip: IP | None = value(
        IP_ADDRESS,
        "Static address of the bootstrap machine.",
        key="bootstrapExternalStaticIP",
        ignored=_NO_BOOTSTRAP_VM,
        example="192.0.2.7",
    )
    bootstrap_external_static_gateway: IP | None = value(
        IP_ADDRESS, "Gateway of the bootstrap machine.", ignored=_NO_BOOTSTRAP_VM, example="192.0.2.1"
    )
    bootstrap_external_static_dns: IP | None = value(
        IP_ADDRESS,
        "Name server of the bootstrap machine.",
        key="bootstrapExternalStaticDNS",
        ignored=_NO_BOOTSTRAP_VM,
        example="192.0.2.1",
    )
    bootstrap_os_image: str | None = value(
        TEXT,
        "URL of another operating system image for the bootstrap machine.",
        key="bootstrapOSImage",
        ignored=_IN_RELEASE,
        example="https://mirror.example.com/qemu.qcow2.gz?sha256=0123...",
    )
    cluster_os_image: str | None = value(
        TEXT,
        "URL of another operating system image for the nodes.",
        key="clusterOSImage",
        ignored=_IN_RELEASE,
        example="https://mirror.example.com/metal.qcow2.gz?sha256=0123...",
    )
    default_machine_platform: BareMetalMachinePool | None = value(
        nested(BareMetalMachinePool),
        "What machines of all pools have in common; has no fields.",
        ignored="there is nothing to set for machines on bare metal",
    )
