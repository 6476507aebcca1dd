# SPDX-License-Identifier: Apache-2.0
"""The configuration of a site from a seed, and the live system that copies the seed."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509

from muster.config.check import check_folder
from muster.config.derive import signer_key
from muster.config.document.folder import Directory, Memory
from muster.config.resolve_image_based import resolve_configuration, resolve_installation
from muster.image.image_based.config import MANIFEST, MIRRORS, build_configuration, infra_id
from muster.image.image_based.installation import build_installation_ignition, installation_tree
from muster.model.image_based_plan import ConfigurationPlan, InstallationPlan
from muster.model.install_config import InstallConfig
from muster.model.pki import PKI, Curve, ECDSAKey, Key, KeyAlgorithm, KeySpec, RSAKey, SignerCertificates
from muster.model.plan import ProxyPlan
from muster.model.site import Environment
from tests.seeds import fixed_secrets

EXAMPLES = Path(__file__).parents[3] / "examples"


def plan_with(more: str = "", *, replaced: tuple[str, str] = ("", "")) -> ConfigurationPlan:
    folder = EXAMPLES / "image-based-config"
    text = (folder / "install-config.yaml").read_text() + more
    text = text.replace(*replaced) if replaced[0] else text
    site, _ = check_folder(Memory({"install-config.yaml": text.encode()}, Directory(folder)), Environment())
    return resolve_configuration(site)


def manifest_of(plan: ConfigurationPlan) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(build_configuration(plan, fixed_secrets()).files[MANIFEST])
    return found


def installation() -> InstallationPlan:
    site, _ = check_folder(Directory(EXAMPLES / "image-based-installation"), Environment())
    return resolve_installation(site)


def test_the_same_inputs_give_the_same_bytes() -> None:
    assert build_configuration(plan_with(), fixed_secrets()) == build_configuration(
        plan_with(), fixed_secrets()
    )


def test_the_kubeconfig_trusts_what_the_cluster_will_be_signed_with() -> None:
    found = build_configuration(plan_with(), fixed_secrets())
    cluster = yaml.safe_load(found.kubeconfig)["clusters"][0]["cluster"]
    assert cluster["server"] == "https://api.site0042.sites.example.com:6443"
    bundle = x509.load_pem_x509_certificates(base64.b64decode(cluster["certificate-authority-data"]))
    names = [each.subject.rfc4514_string() for each in bundle]
    assert [name.partition(",")[0] for name in names] == [
        "CN=kube-apiserver-localhost-signer",
        "CN=kube-apiserver-service-network-signer",
        "CN=kube-apiserver-lb-signer",
        f"CN={manifest_of(plan_with())['KubeconfigCryptoRetention']['IngresssCrypto']['ingress_certificate_cn']}",
    ]


def test_ids_that_are_given_win() -> None:
    given = replace(plan_with(), cluster_id="8d2c6b1e-4f5a-4c3b-9e7d-0a1b2c3d4e5f", infra_id="site-x")
    body = manifest_of(given)
    assert (body["cluster_id"], body["infra_id"]) == (given.cluster_id, "site-x")
    made = manifest_of(plan_with())
    assert made["cluster_id"] == fixed_secrets().cluster_id
    assert made["infra_id"] == f"site0042-{fixed_secrets().infra_id_suffix}"


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("a", "a-x7k2p"),
        ("a.b--c", "a-b-c-x7k2p"),
        ("n" * 40, "n" * 21 + "-x7k2p"),
        ("n" * 20 + "-more", "n" * 20 + "-x7k2p"),
    ],
)
def test_infra_ids(name: str, right: str) -> None:
    assert infra_id(name, "x7k2p") == right
    assert len(right) <= 27


def test_what_is_not_given_is_not_there() -> None:
    plan = replace(
        plan_with(), hostname="", ntp_sources=(), network=None, node_labels={}, machine_networks=(),
        release_registry="", mirrors=(), trust_bundle="", trusted_by_operators=False,
    )  # fmt: skip
    found = build_configuration(plan, fixed_secrets())
    assert MIRRORS not in found.files
    body = json.loads(found.files[MANIFEST])
    assert not {
        "hostname", "chrony_config", "raw_nm_state_config", "node_labels", "machine_networks", "proxy"
    } & set(body)  # fmt: skip
    empty = {"userCaBundle": "", "proxyConfigmapName": "", "proxyConfigmapBundle": ""}
    assert body["additionalTrustBundle"] == empty


PROXY = "proxy:\n  httpsProxy: http://proxy.example.com:3128\n"


@pytest.mark.parametrize(
    ("more", "shared"),
    [
        ("", False),
        (PROXY, True),
        ("additionalTrustBundlePolicy: Always\n", True),
        ("additionalTrustBundlePolicy: Proxyonly\n", False),
        ("additionalTrustBundlePolicy: Proxyonly\n" + PROXY, True),
    ],
)
def test_who_trusts_the_additional_certificates(more: str, *, shared: bool) -> None:
    trust = manifest_of(plan_with(more))["additionalTrustBundle"]
    assert trust["userCaBundle"].startswith("-----BEGIN CERTIFICATE-----")
    assert trust["proxyConfigmapName"] == ("user-ca-bundle" if shared else "")
    assert trust["proxyConfigmapBundle"] == (trust["userCaBundle"] if shared else "")


def test_what_is_inside_the_cluster_is_reached_directly() -> None:
    plan = plan_with(PROXY + "  noProxy: ' b.example.com , ,192.0.2.0/24'\n")
    assert plan.proxy is not None
    assert plan.proxy.no_proxy.split(",") == sorted(
        [
            ".cluster.local", ".svc", "10.128.0.0/14", "127.0.0.1", "172.30.0.0/16", "192.0.2.0/24",
            "192.168.100.0/24", "api-int.site0042.sites.example.com", "b.example.com", "localhost",
        ]
    )  # fmt: skip
    assert plan.decisions[0].field == "proxy.noProxy"


def test_a_star_means_everything() -> None:
    plan = plan_with(PROXY + "  noProxy: '*'\n")
    assert plan.proxy == ProxyPlan("", "http://proxy.example.com:3128", "*")


def test_the_default_machine_network_is_no_site_s_network() -> None:
    replaced = ("machineNetwork:\n    - cidr: 192.168.100.0/24", "machineNetwork: []")
    assert plan_with(replaced=replaced).machine_networks == ()


def test_policies_and_old_mirrors() -> None:
    more = "imageContentSources:\n- source: quay.io/old\n  mirrors: [mirror.example.com:5000/old]\n"
    line = "  - source: quay.io/openshift-release-dev/ocp-release\n"
    plan = plan_with(more, replaced=(line, f"{line}    sourcePolicy: NeverContactSource\n"))
    files = build_configuration(plan, fixed_secrets()).files
    mirrors = json.loads(files[MIRRORS])["spec"]["imageDigestMirrors"]
    assert mirrors[0]["mirrorSourcePolicy"] == "NeverContactSource"
    assert "mirrorSourcePolicy" not in mirrors[1]
    assert mirrors[2]["source"] == "quay.io/old"


def test_keys_that_install_config_asks_for() -> None:
    def asked(key: Key | None) -> KeySpec:
        return signer_key(InstallConfig(pki=PKI(signer_certificates=SignerCertificates(key=key))))

    assert signer_key(None) == signer_key(InstallConfig()) == asked(None) == KeySpec()
    assert asked(Key(algorithm=KeyAlgorithm.RSA)) == KeySpec(KeyAlgorithm.RSA, bits=2048)
    assert asked(Key(algorithm=KeyAlgorithm.RSA, rsa=RSAKey(key_size=4096))).bits == 4096
    assert asked(Key(algorithm=KeyAlgorithm.ECDSA)).curve is Curve.P384
    assert asked(Key(algorithm=KeyAlgorithm.ECDSA, ecdsa=ECDSAKey(curve=Curve.P521))).curve is Curve.P521


def test_secrets_are_readable_by_root_alone() -> None:
    proxy = ProxyPlan("", 'http://user:a"$`\\%b@proxy.example.com:3128', "")
    config = build_installation_ignition(replace(installation(), proxy=proxy))
    files = {file.path: file for file in config.files}
    environment = files["/etc/muster/image-based.env"]
    assert environment.mode == 0o600
    assert rb'HTTPS_PROXY="http://user:a\"\$\`\\%b@proxy.example.com:3128"' in environment.data
    assert files["/var/tmp/pull-secret.json"].mode == 0o600
    for unit in config.units:
        assert "user:" not in unit.contents


def test_an_override_replaces_what_is_ours() -> None:
    override = {
        "ignition": {"version": "3.2.0"},
        "storage": {
            "files": [{"path": "/usr/local/bin/muster-say", "mode": 0o700, "contents": {"source": "data:,x"}}]
        },
        "systemd": {"units": [{"name": "network-config.service", "mask": True}]},
    }
    tree, replaced = installation_tree(replace(installation(), ignition_override=json.dumps(override)))
    say = next(file for file in tree["storage"]["files"] if file["path"] == "/usr/local/bin/muster-say")
    assert (say["mode"], say["contents"]["source"]) == (0o700, "data:,x")
    assert any("muster-say" in place for place in replaced)
    assert installation_tree(installation())[1] == ()


def test_defaults_of_the_installation() -> None:
    plan = installation()
    assert plan.extra_partition_label == "var-lib-containers"
    assert plan.extra_partition_number == 5
    assert {each.field for each in plan.decisions} == {
        "architecture",
        "extraPartitionLabel",
        "extraPartitionNumber",
    }
