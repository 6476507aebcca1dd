# SPDX-License-Identifier: Apache-2.0
"""What a medium carries is read again on the host as the site that it was made from."""

from __future__ import annotations

import dataclasses
import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from msgspec.structs import replace

from muster.certificates.keys import render_key
from muster.config.document.folder import Directory
from muster.config.load import load_site
from muster.config.resolve import resolve_site
from muster.errors import MediaError
from muster.image.credentials import credentials_of
from muster.image.ignition.agent import agent_config
from muster.image.pki import build_pki, site_authorities
from muster.image.secrets import SiteSecrets
from muster.model.medium import RELEASE_KIND
from muster.model.site import Environment
from muster.model.wire.cluster import DiskEncryption
from muster.service.rendezvous.kept import find_certificate, keep, load_kept
from muster.service.rendezvous.medium import load_medium
from muster.service.rendezvous.reading import load_meeting
from muster.service.rendezvous.release import place_of
from muster.service.rendezvous.serving import course_of, terms_of
from muster.service.site_order import cluster_params, infra_env_params, wishes_of
from muster.signature import render_public_key
from tests.seeds import fixed_secrets

EXAMPLES = Path(__file__).parents[4] / "examples"
RELEASE_KEY = render_public_key(ec.generate_private_key(ec.SECP256R1()).public_key())
NAMES = (
    "single-node-none",
    "compact-baremetal",
    "ha-baremetal",
    "ha-baremetal-dhcp",
    "two-node-arbiter",
    "dual-stack-baremetal",
    "disconnected-mirror",
)


def boot(name: str, root: Path, secrets: SiteSecrets) -> None:
    """A host's file system after Ignition has written what the medium of an example carries."""
    site, _ = load_site(Directory(EXAMPLES / name), Environment())
    plan = dataclasses.replace(resolve_site(site), release_kind="kubernetes", release_key=RELEASE_KEY)
    for file in agent_config(plan, credentials_of(plan, secrets, timedelta(days=7))).files:
        path = root / file.path.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)


@pytest.mark.parametrize("name", NAMES)
def test_the_site_comes_back_from_its_medium(name: str, tmp_path: Path) -> None:
    site, _ = load_site(Directory(EXAMPLES / name), Environment())
    plan, secrets = resolve_site(site), fixed_secrets()
    boot(name, tmp_path, secrets)
    medium = load_medium(tmp_path)
    course = course_of(medium)

    assert medium.plan.release_key == RELEASE_KEY
    assert course.cluster == cluster_params(site, plan)
    own = course.infra_env.additional_ntp_sources if not plan.ntp_sources else None
    assert own in (None, str(medium.meeting.ip))  # A site without time servers follows the rendezvous host.
    wanted_env = infra_env_params(plan, secrets.cluster_id)
    assert course.infra_env == (replace(wanted_env, additional_ntp_sources=own) if own else wanted_env)
    said = {(wish.hostname, wish.macs, wish.role, wish.hints) for wish in course.wishes}
    wanted = wishes_of(site, plan)
    assert {(hostname, macs, hints) for hostname, macs, _, hints in said} == {
        (wish.hostname, wish.macs, wish.hints) for wish in wanted
    }
    assert {role for _, _, role, _ in said} <= {"master", "worker", "arbiter"}
    assert course.expected == plan.masters + plan.arbiters + plan.workers
    found, made = medium.authorities, site_authorities(build_pki(secrets))
    assert (found.api_bundle, found.admin, found.serving.pem) == (
        made.api_bundle,
        made.admin,
        made.serving.pem,
    )
    assert render_key(found.serving.key) == render_key(made.serving.key)
    assert medium.meeting.cluster_id == secrets.cluster_id


def test_what_the_cluster_gets_besides_comes_back_too(tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(EXAMPLES / "single-node-none", site)
    (site / "add-ons.yaml").write_text("addOns: [traefik, metrics-server]\n")
    (site / "openshift").mkdir(exist_ok=True)
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n"
    (site / "openshift/own.yaml").write_text(manifest)
    boot(str(site), tmp_path / "root", fixed_secrets())
    medium = load_medium(tmp_path / "root")
    assert course_of(medium).on_top == ("manifests", "traefik", "metrics-server")
    terms = terms_of(medium, "default")
    assert terms.add_ons == ("traefik", "metrics-server")
    assert ("openshift/own.yaml", manifest) in terms.manifests


def test_the_place_of_hints_is_that_of_the_file_that_the_medium_was_made_from(tmp_path: Path) -> None:
    boot("compact-baremetal", tmp_path, fixed_secrets())
    wish = next(each for each in course_of(load_medium(tmp_path)).wishes if each.hints is not None)
    name, _, line = wish.place.partition(":")
    lines = (EXAMPLES / "compact-baremetal" / name).read_text("utf-8").splitlines()
    assert "rootDeviceHints" in lines[int(line) - 1]


def test_a_directory_is_all_that_has_to_be_handed_over(tmp_path: Path) -> None:
    boot("single-node-none", tmp_path / "root", fixed_secrets())
    medium = load_medium(tmp_path / "root")
    kept = keep(tmp_path / "data", medium)
    assert load_kept(tmp_path / "data") == kept
    assert kept.meeting == medium.meeting
    given = find_certificate(tmp_path / "data")
    assert given is not None
    assert given.certificate.read_bytes() == medium.certificate.certificate.read_bytes()
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "data").iterdir()} == {0}


@pytest.mark.parametrize(
    ("path", "content", "said"),
    [
        ("etc/assisted/rendezvous-host.env", None, "rendezvous-host.env"),
        ("etc/assisted/rendezvous-host.env", b"CLUSTER_ID=a\n", "does not say where the hosts meet"),
        ("opt/agent/tls/kube-apiserver-lb-signer.key", b"no key", "not a private key"),
        ("opt/agent/tls/kube-apiserver-lb-signer.crt", b"no certificate", "not a certificate"),
        ("etc/assisted/hostconfig/node1/root-device-hints.yaml", b"- [", "not YAML"),
        ("etc/assisted/manifests/agent-cluster-install.yaml", b"\xff\xfe", "manifests"),
        ("etc/assisted/release-key.pem", b"", "release-key.pem: it does not hold a public key"),
    ],
)
def test_a_damaged_medium_is_named(path: str, content: bytes | None, said: str, tmp_path: Path) -> None:
    boot("single-node-none", tmp_path, fixed_secrets())
    if content is None:
        (tmp_path / path).unlink()
    else:
        (tmp_path / path).write_bytes(content)
    with pytest.raises(MediaError, match="cannot be used") as caught:
        load_medium(tmp_path)
    assert said in caught.value.message


def test_only_where_to_go_is_read_first(tmp_path: Path) -> None:
    boot("single-node-none", tmp_path, fixed_secrets())
    meeting = load_meeting(tmp_path)
    assert (str(meeting.ip), meeting.url) == ("192.0.2.10", "https://192.0.2.10:8090")


def test_disk_encryption_on_a_medium_reaches_the_service(tmp_path: Path) -> None:
    """`muster check` refuses it, but another tool may have made the medium: the validation fails then."""
    boot("compact-baremetal", tmp_path, fixed_secrets())
    path = tmp_path / "etc/assisted/manifests/agent-cluster-install.yaml"
    path.write_text(path.read_text() + "  diskEncryption:\n    enableOn: masters\n    mode: tpmv2\n")
    assert course_of(load_medium(tmp_path)).cluster.disk_encryption == DiskEncryption(
        enable_on="masters", mode="tpmv2"
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_medium_of_an_older_version_does_not_say_the_kind_of_its_release(name: str, tmp_path: Path) -> None:
    boot(name, tmp_path, fixed_secrets())
    medium = load_medium(tmp_path)
    assert medium.plan.release_kind == "kubernetes"
    (tmp_path / RELEASE_KIND.lstrip("/")).unlink()
    medium = load_medium(tmp_path)
    place = place_of(medium)
    assert (medium.plan.release_kind, place.kind) == ("", "")
    assert place.find_refused("kubernetes") == ""


def test_a_site_is_judged_by_what_its_medium_says(tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(EXAMPLES / "compact-baremetal", site)
    with (site / "install-config.yaml").open("a") as file:
        file.write("fips: true\n")
    (site / "openshift").mkdir(exist_ok=True)
    text = "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {name: a}\n"
    (site / "openshift/a.yaml").write_text(text)
    boot(str(site), tmp_path / "root", fixed_secrets())
    place = place_of(load_medium(tmp_path / "root"))
    why = place.find_refused("kubernetes")
    assert "fips: not done by a release of Kubernetes" in why
    assert "MachineConfig: not done" in why
    assert place.find_refused("openshift") == ""
