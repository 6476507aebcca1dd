# SPDX-License-Identifier: Apache-2.0
"""The programs of a node: a unit for each, and the configuration files of those that want one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import yaml

from muster.model.ignition import PUBLIC, Config, File, Link, Unit
from muster.model.meeting import url_host
from muster.model.voters import VOTERS_FILE, Voters, render_members
from muster.release.model import Release
from muster.release.node.certificates import API, HOME, PKI
from muster.release.node.cluster import Cluster, Member
from muster.release.node.images import KUBE, PROGRAMS, STORE, kube_program
from muster.release.node.runtime import CONF, TRUST
from muster.release.node.templates import fill, load_template, program
from muster.release.node.tuning import Program, Tuning

KUBE_NAMES: Final = (
    "etcd", "etcdctl", "etcdutl", "kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler",
    "kubeadm", "kubectl", "kubelet",
)  # fmt: skip
"""What the one program is called by; it does what its name says."""
_OWN: Final = ("muster-api", "muster-images", "muster-kube", "muster-node-network")
_LEARNER: Final = "/var/lib/muster/etcd-learner"
_REPLACING: Final = f"""\
# A host that is installed again finds that the others know it already. By what stands in {VOTERS_FILE}
# it asks them, takes the place of its old member, and gets its vote when it is in step.
EnvironmentFile=-/run/muster/etcd.env
ExecStartPre=/bin/sh -c '[ -e /var/lib/etcd/member/wal ] || exec /usr/bin/muster host member'
ExecStartPost=-/bin/sh -c '[ ! -e {_LEARNER} ] || exec /usr/bin/muster host member --promote'"""
_API_FILES: Final = ("admission.yaml", "audit-policy.yaml", "authentication.yaml")
_TLS_CIPHERS: Final = tuple(
    f"TLS_ECDHE_{kind}_WITH_{cipher}"
    for cipher in ("AES_128_GCM_SHA256", "AES_256_GCM_SHA384", "CHACHA20_POLY1305_SHA256")
    for kind in ("ECDSA", "RSA")
)
"""Of TLS 1.2; those of TLS 1.3 cannot be chosen."""
_EVERYWHERE: Final = {4: "0.0.0.0", 6: "::"}  # noqa: S104


def programs(release: Release, cluster: Cluster, host: Member, tuning: Tuning) -> Config:
    """All programs of a host's role."""
    values = _values(release, cluster, host)
    units = [Unit(f"{name}.service", fill(load_template(f"units/{name}.service"), values)) for name in _OWN]
    for name in tuning.roles[host.role].programs:
        own = {**values, **_settings(tuning.programs[name], alone=len(cluster.control_plane) == 1)}
        units.append(Unit(f"{name}.service", fill(load_template(f"units/{name}.service"), own)))
    files = [
        File(f"{HOME}/kubelet.yaml", _yaml(_kubelet(cluster, host, tuning))),
        File(f"{HOME}/kube-proxy.yaml", _yaml(_kube_proxy(cluster, host, tuning))),
        *(program(name) for name in ("listens", "wait-for-api")),
    ]
    if host in cluster.control_plane:
        files += [File(f"{API}/{name}", load_template(f"api/{name}").encode()) for name in _API_FILES]
    if host in cluster.voters and len(cluster.voters) > 1:
        files.append(File(VOTERS_FILE, msgspec.json.encode(_voters(cluster, host)), PUBLIC))
    return Config(tuple(files), tuple(units), links=_names(values["kube"]))


def _names(kube: str) -> tuple[Link, ...]:
    """The one program is there by all of its names; what they lead to may come later."""
    return tuple(Link(f"/usr/local/bin/{name}", kube) for name in (KUBE, *KUBE_NAMES))


def _voters(cluster: Cluster, host: Member) -> Voters:
    return Voters(host.name, {each.name: url_host(each.addresses[0]) for each in cluster.voters})


def _values(release: Release, cluster: Cluster, host: Member) -> dict[str, str]:
    kube = kube_program(release)
    everywhere = _EVERYWHERE[host.addresses[0].version]
    voters = _voters(cluster, host)
    return {
        "name": host.name,
        "address": url_host(host.addresses[0]),
        "plain_address": str(host.addresses[0]),
        "node_addresses": ",".join(map(str, host.addresses)),
        "everywhere": f"[{everywhere}]" if ":" in everywhere else everywhere,
        "plain_everywhere": everywhere,
        "etcd_members": render_members(voters.initial),
        "replacing": _REPLACING if len(cluster.voters) > 1 else "",
        "majority": " etcd.service" if len(cluster.voters) > 1 else "",
        "peers": " muster-node-network.service" if len(cluster.voters) > 1 else "",
        "pods": " muster-images.service" if len(cluster.members) > 1 else "",
        "api": "kube-apiserver.service" if host in cluster.control_plane else "muster-api.service",
        "cluster_id": cluster.id,
        "cluster_name": cluster.name,
        "dns_domain": cluster.dns_domain,
        "server": cluster.server_for(host),
        "service_networks": ",".join(map(str, cluster.services)),
        "kube": f"{PROGRAMS}/{kube.sha256}",
        "kube_image": kube.image.name,
        "kube_path": kube.path,
        "kube_hash": kube.sha256,
        "ca_bundle": f" --ca-bundle {TRUST}" if cluster.trust_bundle else "",
        "registries_conf": f" --registries-conf {CONF}" if cluster.registries.registries else "",
        "images": STORE,
        "tls_ciphers": ",".join(_TLS_CIPHERS),
    }


def _settings(program: Program, *, alone: bool) -> dict[str, str]:
    flags = program.flags_of(alone=alone)
    return {
        "flags": "".join(f" \\\n    --{name}={_word(flags[name])}" for name in sorted(flags)),
        "environment": "\n".join(f"Environment={name}={each}" for name, each in program.environment.items()),
        "service": "\n".join(f"{name}={each}" for name, each in program.service.items()),
    }


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _kubelet(cluster: Cluster, host: Member, tuning: Tuning) -> dict[str, Any]:
    role = tuning.roles[host.role]
    tainted = role.taint and (cluster.has_workers or not role.taint_only_beside_workers)
    taints = [{"key": role.taint, "effect": "NoSchedule"}] if tainted else []
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{PKI}/kubelet-client-ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": f"{PKI}/kubelet.crt",
        "tlsPrivateKeyFile": f"{PKI}/kubelet.key",
        "tlsMinVersion": "VersionTLS12",
        "tlsCipherSuites": list(_TLS_CIPHERS),
        "rotateCertificates": False,
        "readOnlyPort": 0,
        "streamingConnectionIdleTimeout": "5m",
        "seccompDefault": True,
        "protectKernelDefaults": True,
        "makeIPTablesUtilChains": True,
        "eventRecordQPS": 50,
        "podPidsLimit": 4096,
        "cgroupDriver": "systemd",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "clusterDNS": [str(address) for address in cluster.dns_addresses],
        "clusterDomain": cluster.dns_domain,
        "registerWithTaints": taints,
        **tuning.programs["kubelet"].config,
    }


def _kube_proxy(cluster: Cluster, host: Member, tuning: Tuning) -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clusterCIDR": ",".join(str(network.cidr) for network in cluster.pods),
        "hostnameOverride": host.name,
        "clientConnection": {"kubeconfig": f"{HOME}/kube-proxy.conf"},
        "metricsBindAddress": "127.0.0.1:10249",
        **tuning.programs["kube-proxy"].config,
    }


def _yaml(body: Mapping[str, Any]) -> bytes:
    text: str = yaml.dump(dict(body), Dumper=yaml.CSafeDumper, sort_keys=False)
    return text.encode()
