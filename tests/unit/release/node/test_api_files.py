# SPDX-License-Identifier: Apache-2.0
"""The files that the API server reads: encryption of Secrets, audit policy, admission, authentication."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatch
from importlib.resources import files
from typing import Any

import pytest
import yaml

from muster.model.host import Role
from muster.model.ignition import SECRET
from muster.release.node.authorities import make_authorities
from muster.release.node.payload import plan_cluster
from tests.clusters import CLUSTERS, ID, RELEASE, authorities
from tests.seeds import NOW, seeded

ENCRYPTION = "/etc/kubernetes/api/encryption.yaml"


def load(name: str) -> Any:
    return yaml.safe_load(files("muster.release.node").joinpath(f"api/{name}").read_text("utf-8"))


@pytest.mark.parametrize("name", CLUSTERS)
def test_all_control_plane_hosts_encrypt_secrets_with_the_key_of_the_cluster(name: str) -> None:
    configs = plan_cluster(RELEASE, CLUSTERS[name], authorities(), seeded("hosts"))
    found = {
        host: file for host, config in configs.items() for file in config.files if file.path == ENCRYPTION
    }
    assert {*found} == {each.name for each in CLUSTERS[name].members if each.role is Role.MASTER}
    for file in found.values():
        assert file.mode == SECRET
        (rule,) = yaml.safe_load(file.data)["resources"]
        assert rule["resources"] == ["secrets"]
        (provider,) = rule["providers"]
        (key,) = provider["secretbox"]["keys"]
        assert base64.b64decode(key["secret"]) == authorities().secrets_key


def test_the_key_is_random_and_has_256_bits() -> None:
    other = make_authorities(authorities().site, ID, seeded("other"), NOW)
    assert len(authorities().secrets_key) == len(other.secrets_key) == 32
    assert authorities().secrets_key != other.secrets_key


def test_a_host_without_an_api_has_no_files_of_one() -> None:
    workers = plan_cluster(RELEASE, CLUSTERS["with-worker"], authorities(), seeded("hosts"))
    assert not [file.path for file in workers["worker-0"].files if "/api/" in file.path]


USER = ("alice", ["system:authenticated"])
NODE = ("system:node:node1", ["system:nodes", "system:authenticated"])
MANAGER = ("system:kube-controller-manager", ["system:authenticated"])
CONTROLLER = (
    "system:serviceaccount:kube-system:job-controller",
    ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
)


def level(who: tuple[str, list[str]], verb: str, what: str) -> str:
    """The level at which a request is logged, as the first rule that matches it says.

    ``what`` is a resource with its group (secrets, leases.coordination.k8s.io), or a path.
    """
    user, groups = who
    for rule in load("audit-policy.yaml")["rules"]:
        if (
            user in rule.get("users", [user])
            and ({*groups} & {*rule.get("userGroups", groups)})
            and verb in rule.get("verbs", [verb])
            and _matches(rule, what)
        ):
            return str(rule["level"])
    raise AssertionError("no rule matches")


def _matches(rule: Mapping[str, Any], what: str) -> bool:
    if "nonResourceURLs" in rule:
        return any(fnmatch(what, pattern) for pattern in rule["nonResourceURLs"])
    if "resources" not in rule:
        return True
    resource, _, group = what.partition(".")
    return not what.startswith("/") and any(
        each["group"] == group and resource in each.get("resources", [resource]) for each in rule["resources"]
    )


@pytest.mark.parametrize("who", [USER, NODE, MANAGER, CONTROLLER], ids=lambda who: who[0])
@pytest.mark.parametrize("verb", ["get", "list", "watch", "create", "update", "patch", "delete"])
@pytest.mark.parametrize("what", ["secrets", "serviceaccounts/token", "tokenreviews.authentication.k8s.io"])
def test_access_to_credentials_is_logged_without_their_bodies(
    who: tuple[str, list[str]], verb: str, what: str
) -> None:
    assert level(who, verb, what) == "Metadata"


@pytest.mark.parametrize("who", [USER, NODE, MANAGER, CONTROLLER], ids=lambda who: who[0])
@pytest.mark.parametrize("verb", ["get", "create"])
@pytest.mark.parametrize(
    "what",
    [
        *(f"pods/{each}" for each in ("exec", "attach", "portforward", "proxy")),
        "services/proxy",
        "nodes/proxy",
    ],
)
def test_commands_and_proxies_into_pods_and_nodes_are_logged(
    who: tuple[str, list[str]], verb: str, what: str
) -> None:
    assert level(who, verb, what) == "Metadata"


@pytest.mark.parametrize(
    ("who", "verb", "what", "expected"),
    [
        (USER, "delete", "events", "Metadata"),
        (USER, "create", "configmaps", "Metadata"),
        (USER, "get", "pods", "Metadata"),
        (USER, "create", "pods/exec", "Metadata"),
        (USER, "create", "clusterrolebindings.rbac.authorization.k8s.io", "RequestResponse"),
        (USER, "update", "leases.coordination.k8s.io", "Metadata"),
        (USER, "get", "/metrics", "Metadata"),
        (NODE, "create", "pods", "Metadata"),
        (CONTROLLER, "create", "pods", "Metadata"),
        (USER, "get", "/readyz", "None"),
        (USER, "get", "/livez/etcd", "None"),
        (USER, "get", "/apis/apps/v1", "None"),
        (NODE, "update", "leases.coordination.k8s.io", "None"),
        (NODE, "watch", "configmaps", "None"),
        (NODE, "patch", "nodes/status", "None"),
        (NODE, "create", "events", "None"),
        (MANAGER, "update", "leases.coordination.k8s.io", "None"),
        (MANAGER, "watch", "endpointslices.discovery.k8s.io", "None"),
        (CONTROLLER, "list", "jobs.batch", "None"),
    ],
)
def test_what_is_logged(who: tuple[str, list[str]], verb: str, what: str, expected: str) -> None:
    assert level(who, verb, what) == expected


def test_pods_of_namespaces_without_labels_are_held_to_baseline() -> None:
    plugin = next(each for each in load("admission.yaml")["plugins"] if each["name"] == "PodSecurity")
    body = plugin["configuration"]
    assert {name: body["defaults"][name] for name in ("enforce", "audit", "warn")} == {
        "enforce": "baseline",
        "audit": "restricted",
        "warn": "restricted",
    }
    assert body["exemptions"] == {"usernames": [], "runtimeClasses": [], "namespaces": []}


def test_the_cluster_s_own_pods_are_admitted() -> None:
    """CoreDNS asks for nothing that the level restricted does not allow."""
    configs = plan_cluster(RELEASE, replace(CLUSTERS["single-node"]), authorities(), seeded("hosts"))
    text = next(file.data for file in configs["node1"].files if file.path.endswith("coredns.yaml"))
    deployment = next(each for each in yaml.safe_load_all(text) if each["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in pod["containers"]:
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert not container["securityContext"]["allowPrivilegeEscalation"]
    assert not any("hostPath" in volume for volume in pod["volumes"])
