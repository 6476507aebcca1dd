# SPDX-License-Identifier: Apache-2.0
"""What the medium that a host booted says: which site it is of, and what the service there is to be.

`muster.image.ignition` writes these files, one module for each concern; here they are read again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Final

from cryptography import x509

from muster.certificates.issue import Authority
from muster.certificates.keys import parse_key
from muster.certificates.parse import parse_certificate
from muster.config.document.folder import Memory
from muster.config.kinds import ADD_ONS_FILE
from muster.config.load import load_site
from muster.config.manifests import render_yaml
from muster.config.resolve import resolve_site
from muster.frozen import dataclass
from muster.image.secrets import KeyName
from muster.model.bounded_yaml import UNREADABLE, load_document
from muster.model.medium import RELEASE_KIND
from muster.model.meeting import AGENT_TOKEN, HINTS_FROM, Meeting
from muster.model.plan import Plan
from muster.model.site import Environment, Site
from muster.release.node.authorities import SiteAuthorities
from muster.service.edge.given import Given
from muster.service.rendezvous.clock import Window, find_window
from muster.service.rendezvous.reading import load_meeting, read_release_key, read_text, unusable

_ASSISTED: Final = "etc/assisted"
_TLS: Final = "opt/agent/tls"
_AUTHORITIES: Final = (KeyName.LOCALHOST_SIGNER, KeyName.SERVICE_NETWORK_SIGNER, KeyName.LB_SIGNER)


@dataclass(frozen=True)
class Medium:
    """All that the service on the rendezvous host needs of the medium."""

    meeting: Meeting
    site: Site
    plan: Plan
    authorities: SiteAuthorities
    certificate: Given
    token_key: str
    """The public key (PEM) of the tokens that were handed out when the medium was made."""
    password_hash: str = field(repr=False)
    places: Mapping[str, str] = field(default_factory=dict)
    """Where the site's files have the hints for the disk of a host: file and line, by its MAC addresses."""


def load_window(root: Path) -> Window:
    """When the medium is of use, which a clock is judged by before anything else is done."""
    certificate = _certificate(root / _ASSISTED / "tls/service.crt")
    return find_window(read_text(root / AGENT_TOKEN.lstrip("/")), certificate)


def load_medium(root: Path) -> Medium:
    """Everything; a MediaError names what is missing or cannot be read."""
    meeting = load_meeting(root)
    site = _load_site(root, meeting)
    own = root / _ASSISTED
    return Medium(
        meeting=meeting,
        site=site,
        plan=dataclasses.replace(
            resolve_site(site), release_key=read_release_key(root), release_kind=_release_kind(root)
        ),
        authorities=_load_authorities(root / _TLS),
        certificate=Given(own / "tls/service.crt", own / "tls/service.key"),
        token_key=read_text(own / "tokens/key.pem"),
        password_hash=read_text(root / _TLS / "kubeadmin-password.hash").strip(),
        places=dict(_places(own / "hostconfig")),
    )


def _release_kind(root: Path) -> str:
    """The kind of release that the medium was made for; empty when it does not say."""
    path = root / RELEASE_KIND.lstrip("/")
    return read_text(path).strip() if path.exists() else ""


def _load_site(root: Path, meeting: Meeting) -> Site:
    """The site's files, as far as the medium has them: manifests, and what is said of each host."""
    files: dict[str, bytes | None] = dict(_files(root / _ASSISTED / "manifests", "cluster-manifests"))
    files.update(_files(root / _ASSISTED / "extra-manifests", "openshift"))
    for path, name in (
        (f"{_ASSISTED}/{ADD_ONS_FILE}", ADD_ONS_FILE),
        ("etc/containers/registries.conf", "mirror/registries.conf"),
        ("etc/pki/ca-trust/source/anchors/domain.crt", "mirror/ca-bundle.crt"),
    ):
        if (root / path).is_file():
            files[name] = (root / path).read_bytes()
    body = {
        "apiVersion": "v1beta1",
        "kind": "AgentConfig",
        "rendezvousIP": str(meeting.ip),
        "hosts": list(_hosts(root / _ASSISTED / "hostconfig")),
    }
    files["agent-config.yaml"] = render_yaml(body).encode()
    site, problems = load_site(Memory(files), Environment())
    if site.install is None or site.install.metadata is None:
        why = problems[0].message if problems else "it describes no cluster"
        raise unusable(root / _ASSISTED / "manifests", why)
    return site


def _files(folder: Path, name: str) -> Iterator[tuple[str, bytes]]:
    if folder.is_dir():
        for path in sorted(folder.iterdir()):
            yield f"{name}/{path.name}", path.read_bytes()


def _hosts(folder: Path) -> Iterator[dict[str, Any]]:
    """The hosts that the site describes; a folder that begins with _ is of one without a name."""
    for place in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not place.is_dir():
            continue
        macs = read_text(place / "mac_addresses").split()
        host: dict[str, Any] = {
            "role": read_text(place / "role").strip(),
            "interfaces": [{"name": f"card{n}", "macAddress": mac} for n, mac in enumerate(macs)],
        }
        if not place.name.startswith("_"):
            host["hostname"] = place.name
        if (place / "root-device-hints.yaml").exists():
            host["rootDeviceHints"] = _mapping(place / "root-device-hints.yaml")
        yield host


def _places(folder: Path) -> Iterator[tuple[str, str]]:
    """A comment in front of the hints says where they come from; other tools that make media write none."""
    for path in folder.glob("*/root-device-hints.yaml"):
        first = read_text(path).partition("\n")[0]
        if first.startswith(HINTS_FROM):
            for mac in read_text(path.parent / "mac_addresses").split():
                yield mac, first.removeprefix(HINTS_FROM)


def _mapping(path: Path) -> Mapping[str, Any]:
    try:
        found = load_document(read_text(path))
    except UNREADABLE as error:
        raise unusable(path, "it is not YAML") from error
    if not isinstance(found, dict):
        raise unusable(path, "it is not a mapping")
    return found


def _load_authorities(folder: Path) -> SiteAuthorities:
    """The authorities whose kubeconfig people have already."""
    name = KeyName.LB_SIGNER
    key = parse_key(read_text(folder / f"{name}.key"))
    if key is None:
        raise unusable(folder / f"{name}.key", "it is not a private key")
    return SiteAuthorities(
        serving=Authority(_certificate(folder / f"{name}.crt"), key),
        api_bundle="".join(read_text(folder / f"{each}.crt") for each in _AUTHORITIES),
        admin=read_text(folder / f"{KeyName.ADMIN_SIGNER}.crt"),
    )


def _certificate(path: Path) -> x509.Certificate:
    try:
        return parse_certificate(read_text(path).encode())
    except ValueError as error:
        raise unusable(path, "it is not a certificate") from error
