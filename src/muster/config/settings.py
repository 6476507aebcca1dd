# SPDX-License-Identifier: Apache-2.0
"""What a site says that the plan has no field of its own for; what has no effect is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from muster.config import derive
from muster.config.settle import Note, settle_baremetal, settle_vsphere
from muster.model.dump import dump
from muster.model.install_config import InstallConfig
from muster.model.platform.baremetal import BareMetalPlatform
from muster.model.platform.external import ExternalPlatform
from muster.model.platform.vsphere import VSpherePlatform
from muster.model.release import default_os_image_streams
from muster.model.site import Site
from muster.model.tree import Plain

Body: TypeAlias = dict[str, Plain]

_PLANNED: Final = frozenset(
    (
        "apiVersion", "kind", "metadata", "baseDomain", "pullSecret", "sshKey", "proxy", "imageDigestSources",
        "imageContentSources", "additionalTrustBundle", "networking", "controlPlane", "arbiter", "compute",
        "platform", "publish",
    )
)  # fmt: skip
"""Fields of install-config.yaml that the plan has a place of its own for."""
_PLANNED_NETWORKING: Final = frozenset(
    (
        "networkType",
        "type",
        "machineNetwork",
        "machineCIDR",
        "clusterNetwork",
        "clusterNetworks",
        "serviceNetwork",
        "serviceCIDR",
    )
)
_PLANNED_POOL: Final = frozenset(("name", "replicas", "architecture", "hyperthreading", "platform"))
_PLANNED_PLATFORM: Final = frozenset(("apiVIP", "apiVIPs", "ingressVIP", "ingressVIPs", "hosts"))
_PLANNED_HOST: Final = frozenset(
    ("name", "role", "bootMACAddress", "bmc", "rootDeviceHints", "networkConfig")
)
_PLANNED_CLUSTER_INSTALL: Final = frozenset(
    (
        "clusterDeploymentRef", "imageSetRef", "networking", "platformType", "provisionRequirements",
        "sshPublicKey", "apiVIP", "apiVIPs", "ingressVIP", "ingressVIPs", "external", "proxy", "loadBalancer",
    )
)  # fmt: skip
_PLANNED_INFRA_ENV: Final = frozenset(
    (
        "clusterRef", "cpuArchitecture", "nmStateConfigLabelSelector", "pullSecretRef", "sshAuthorizedKey",
        "additionalNTPSources", "additionalTrustBundle", "proxy", "imageType",
    )
)  # fmt: skip
_DEFAULTS: Final[Mapping[str, Plain]] = {
    "fips": False,
    "additionalTrustBundlePolicy": "Proxyonly",
    "featureSet": "",
    "management": "MachineAPI",
    "dnsRecordsType": "Internal",
}
"""Values that say what holds anyway, wherever their key stands."""


def settings(site: Site, platform: str, note: Note) -> Mapping[str, Plain]:
    """The fields of install-config.yaml that the plan has no place for."""
    install = site.install
    assert install is not None
    written = dump(install, effective=True)
    found = _rest(written, _PLANNED)
    if found.get("osImageStream") in default_os_image_streams(derive.release_image(site)):
        del found["osImageStream"]
    networking = _rest(written.get("networking"), _PLANNED_NETWORKING)
    if networking:
        found["networking"] = networking
    inner = _platform(site, platform, note)
    if inner:
        found["platform"] = {platform: inner}
    return found | _pools(install, written)


def _platform(site: Site, name: str, note: Note) -> Body:
    section = getattr(site.install.platform, name, None) if site.install and name else None
    match section:
        case None:
            return {}
        case BareMetalPlatform():
            section = settle_baremetal(section, site, note)
        case VSpherePlatform():
            section = settle_vsphere(section)
        case ExternalPlatform() if not section.cloud_controller_manager:
            section = section.but(cloud_controller_manager=None)
        case _:
            pass
    return _rest(dump(section, effective=True), _PLANNED_PLATFORM)


def _pools(install: InstallConfig, written: Body) -> Body:
    found: Body = {}
    for key in ("controlPlane", "arbiter"):
        pool = _rest(written.get(key), _PLANNED_POOL)
        if pool:
            found[key] = pool
    compute = written.get("compute")
    pools = compute if isinstance(compute, list) else []
    if any(_rest(pool, _PLANNED_POOL) or _differs(pool, install) for pool in pools):
        found["compute"] = [_pool(pool, install) for pool in pools]
    return found


def _pool(pool: Plain, install: InstallConfig) -> Plain:
    """A pool of workers: what says which it is, and what is special about it."""
    if not isinstance(pool, dict):
        return pool
    kept = {"name", "replicas", *(("architecture",) if _differs(pool, install) else ())}
    return {key: value for key, value in pool.items() if key in kept} | _rest(pool, _PLANNED_POOL)


def _differs(pool: Plain, install: InstallConfig) -> bool:
    """Whether a pool has another architecture than the control plane."""
    return isinstance(pool, dict) and pool.get("architecture", "amd64") != derive.architecture(install)


def host_settings(site: Site) -> list[Body]:
    """What install-config.yaml says about its hosts that the plan has no place for, if it names the hosts."""
    if site.agent is not None and site.agent.hosts:
        return []
    baremetal = site.install.platform.baremetal if site.install and site.install.platform else None
    hosts = baremetal.hosts if baremetal else ()
    return [_rest(dump(host, effective=True), _PLANNED_HOST) for host in hosts]


def manifest_settings(site: Site) -> Mapping[str, Plain]:
    """What manifests say that install-config.yaml has no fields for, by the object that says it."""
    found: Body = {}
    if site.cluster_install_spec is not None:
        found["AgentClusterInstall"] = _rest(dump(site.cluster_install_spec), _PLANNED_CLUSTER_INSTALL)
    if site.infra_env_spec is not None:
        found["InfraEnv"] = _rest(dump(site.infra_env_spec), _PLANNED_INFRA_ENV)
    return {kind: fields for kind, fields in found.items() if fields}


def _rest(value: Plain, planned: frozenset[str]) -> Body:
    if not isinstance(value, dict):
        return {}
    return {
        key: each
        for key, each in value.items()
        if key not in planned and each not in ({}, []) and (key not in _DEFAULTS or each != _DEFAULTS[key])
    }
