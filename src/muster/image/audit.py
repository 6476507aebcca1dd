# SPDX-License-Identifier: Apache-2.0
"""Which secrets a medium carries, by kind and place, without their values; on media of other tools, too."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any, Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from muster.model.bounded_yaml import UNREADABLE, load_documents
from muster.model.replacement import CONFIG_FILE
from muster.redact import MASK, is_secret_key, masked_lines

# The text comes from outside. Each expression takes time in proportion to the length of the text: the search
# for a run of characters starts at its beginning only and does not backtrack (`++`).
_KEY_BEGIN: Final = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----")
_KEY_END: Final = re.compile(r"-----END [A-Z0-9 ]*PRIVATE KEY-----")
_TOKEN: Final = re.compile(r"(?<![\w-])(?=([\w-]*?)\beyJ[\w-])[\w-]++\.(eyJ[\w-]++)\.[\w-]++")
"""What stands before it, and its claims."""
_HASH: Final = re.compile(r"\$(2[abxy]|5|6|7|y|gy|argon2id)\$[\w./$=,+-]{20,}")
_LOGIN: Final = re.compile(r"\b\w+://[^/@\s:'\"]+:[^/@\s'\"]+@([\w.\[\]:-]+)")
_ENCRYPTION_KEY: Final = re.compile(r"\.(?:secretbox|aescbc|aesgcm)\.keys\[\d+\]\.secret\Z")
"""A key of an EncryptionConfiguration of Kubernetes."""
_CARRIED: Final = re.compile(r"(;base64,)[A-Za-z0-9+/=_-]{16,}")
"""A file in a URL: what it holds cannot be seen, and so it is not shown."""
_SETTING: Final = re.compile(
    r"^((?:Environment=[\"']?)?(?=[\w.-]*?(?:psk|password|passwd|passphrase|cak|token|secret))[\w.-]++)=(?=\S).*",
    re.M | re.I,
)
"""A line of a keyfile, of a file with an environment, or of a unit that sets one."""


_MOST_TEXT: Final = 4 << 20
"""Characters of one text that are searched."""
_MOST_PATH: Final = 500
"""Characters of a place in a document that are told: the last ones."""


@dataclass(frozen=True, order=True)
class Secret:
    """A secret that was found."""

    place: str
    kind: str
    detail: str = ""


_TLS: Final = "/opt/agent/tls/"
_OPENSHIFT_ONLY: Final = "only OpenShift's installer signs with it; media for Kubernetes do not have it"
_PURPOSES: Final[Mapping[str, str]] = {
    f"{_TLS}kube-apiserver-lb-signer.key": "the rendezvous host signs the API's certificates with it, once it"
    " knows the names and addresses of the hosts",
    f"{_TLS}kube-apiserver-localhost-signer.key": _OPENSHIFT_ONLY,
    f"{_TLS}kube-apiserver-service-network-signer.key": _OPENSHIFT_ONLY,
    f"{_TLS}kubeadmin-password.hash": "the service checks the password of kubeadmin with it",
    "/etc/assisted/tls/service.key": "the service proves itself to hosts and people with it",
    "/etc/assisted/tokens/agent": "hosts register with it",
    "/etc/assisted/manifests/pull-secret.yaml": "the service reads the release with it",
    "/root/.docker/config.json": "hosts pull images with it",
    "passwd.users[core]": "lets core log in at the console of a live host",
}
"""Who needs a secret of our own media."""
_LOGIN_OF: Final = "of the host logs in to the API with it"
_NODE_PURPOSES: Final[Mapping[str, str]] = {
    "/etc/kubernetes/api/encryption.yaml": "the API server of the host decrypts the Secrets in etcd with it",
    "/etc/kubernetes/controller-manager.conf": f"the controller manager {_LOGIN_OF}",
    "/etc/kubernetes/kube-proxy.conf": f"kube-proxy {_LOGIN_OF}",
    "/etc/kubernetes/kubelet.conf": f"the kubelet {_LOGIN_OF}",
    "/etc/kubernetes/scheduler.conf": f"the scheduler {_LOGIN_OF}",
    "/etc/kubernetes/setup/kubeconfig": "the set-up of the cluster logs in as an administrator with it; valid"
    " for 7 days from the installation on",
    "/etc/kubernetes/pki/apiserver.key": "the API server of the host proves itself with it",
    "/etc/kubernetes/pki/apiserver-kubelet-client.key": "the API server of the host calls kubelets with it",
    "/etc/kubernetes/pki/etcd/member.key": "etcd of the host calls the other members with it, and is called;"
    " it gives access to all data of the cluster",
    "/etc/kubernetes/pki/front-proxy-client.key": "the API server of the host calls those of add-ons with it",
    "/etc/kubernetes/pki/kubelet.key": "the kubelet of the host proves itself with it",
    "/etc/kubernetes/pki/service-account.key": "control-plane hosts sign tokens of service accounts with it;"
    " its holder is root of the cluster",
    "/root/.docker/config.json": "the host pulls images with it",
}
"""Who needs a secret in the configuration of a node, which the ISO that replaces a host has."""


def purpose_of(place: str) -> str:
    """Who needs the secret at a place, and for what; empty where that is not known."""
    medium, *configs = place.split(": ")
    if medium != CONFIG_FILE or not configs:
        return _PURPOSES.get(place, "")
    purpose = _NODE_PURPOSES.get(configs[-1], "")
    if len(configs) == 1 or not purpose:
        return purpose
    name = configs[-2].rpartition("/")[2].removesuffix(".ign")
    return f"to replace {name}, whose configuration the new host keeps: {purpose}"


def audit(texts: Mapping[str, str]) -> tuple[Secret, ...]:
    """The secrets in texts, by the place where each text stands."""
    return audit_within(texts, lambda: False)[0]


def audit_within(
    texts: Mapping[str, str], is_late: Callable[[], bool]
) -> tuple[tuple[Secret, ...], tuple[str, ...]]:
    """The secrets in texts, and what was not searched to its end: because it is long, or it is late."""
    found: set[Secret] = set()
    known: dict[str, tuple[Secret, ...]] = {}
    """Media have the same texts in many places."""
    unread: list[str] = []
    for place, text in texts.items():
        if is_late():
            unread.append(f"{place}: there was no time left")
            continue
        if len(text) > _MOST_TEXT:
            unread.append(f"{place}: only its first {_MOST_TEXT >> 20} Mi characters were searched")
        if text not in known:
            secrets = _find(place, text[:_MOST_TEXT], is_late)
            known[text] = tuple(takewhile(lambda _: not is_late(), secrets))
        found.update(replace(secret, place=place) for secret in known[text])
        if is_late():
            unread.append(f"{place}: there was no time left for its rest")
    return tuple(sorted(found)), tuple(unread)


def hide(text: str) -> str:
    """A text without the secrets that are found in it by how they look."""
    text = _without_keys(text)
    text = _CARRIED.sub(rf"\1{MASK}", _TOKEN.sub(rf"\1{MASK}", _HASH.sub(MASK, text)))
    text = _SETTING.sub(rf"\1={MASK}", text)
    masked = masked_lines(text)
    return "\n".join(masked.get(number, line) for number, line in enumerate(text.split("\n"), start=1))


def _find(place: str, text: str, is_late: Callable[[], bool]) -> Iterator[Secret]:
    documents = list(_documents(text))
    for document in documents:
        yield from _walk(place, document, is_late)
    if not documents:
        yield from _look(place, text, "")


def _look(place: str, text: str, path: str) -> Iterator[Secret]:
    """The secrets in a text by how they look; ``path`` is its place in a document."""
    at = f"{path}: " if path else ""
    for start, end in _keys(text):
        yield Secret(place, "private key", at + _describe_key(text[start:end]))
    for match in _TOKEN.finditer(text):
        yield Secret(place, "token", at + _describe_token(match[2]))
    if _HASH.search(text):
        yield Secret(place, "password hash", path)
    for match in _LOGIN.finditer(text):
        yield Secret(place, "login in a URL", f"{at}for {match[1]}")
    for match in _SETTING.finditer(text):
        yield Secret(place, "password in a setting", at + match[1].strip())


def _keys(text: str) -> Iterator[tuple[int, int]]:
    """Where private keys begin and end. One without an end is the last: what follows it has none either."""
    at = 0
    while (begin := _KEY_BEGIN.search(text, at)) and (end := _KEY_END.search(text, begin.end())):
        at = end.end()
        yield begin.start(), at


def _without_keys(text: str) -> str:
    pieces, at = list[str](), 0
    for start, end in _keys(text):
        pieces += [text[at:start], f"-----BEGIN PRIVATE KEY----- {MASK}"]
        at = end
    return "".join([*pieces, text[at:]])


def _documents(text: str) -> Iterator[Any]:
    """The text as YAML, of which JSON is a part, if it is a mapping in one of them."""
    try:
        found = load_documents(text)
    except UNREADABLE:
        return
    yield from (document for document in found if isinstance(document, dict))


def _walk(place: str, document: Any, is_late: Callable[[], bool]) -> Iterator[Secret]:
    for path, value in _values(document):
        if is_late():
            return
        if isinstance(value, dict | list):
            yield from _logins(place, value)
        elif isinstance(value, str) and value:
            yield from _look(place, value, path)
            keys = list(_keys(decoded := _decoded(value)))
            for start, end in keys:
                yield Secret(place, "private key", f"{path}: {_describe_key(decoded[start:end])}")
            if not keys and _is_password(path.rpartition(".")[2], value):
                kind = "encryption key" if _ENCRYPTION_KEY.search(path) else "password"
                yield Secret(place, kind, path)


def _values(document: Any) -> Iterator[tuple[str, Any]]:
    """All values in a document by their paths. Aliases may repeat one any number of times; it comes once."""
    seen: dict[int, Any] = {}  # With the values, so that none of these numbers is given away again.
    waiting: list[Iterator[tuple[str, Any]]] = [iter((("", document),))]
    while waiting:
        for path, written in waiting[-1]:
            inner = _json_in(written)
            value = written if inner is None else inner
            if not isinstance(value, dict | list):
                yield path, value
            elif id(value) not in seen:
                seen[id(value)] = value
                yield path, value
                waiting.append(_entries(value, path))
                break
        else:
            waiting.pop()


def _logins(place: str, value: dict[Any, Any] | list[Any]) -> Iterator[Secret]:
    auths = value.get("auths") if isinstance(value, dict) else None
    if isinstance(auths, dict):
        yield from (Secret(place, "registry login", f"for {_name_of(host)}") for host in auths)


def _entries(value: dict[Any, Any] | list[Any], path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        yield from ((_end_of(f"{path}[{index}]"), entry) for index, entry in enumerate(value))
        return
    for key, entry in value.items():
        if key != "auths" or not isinstance(entry, dict):
            yield _end_of(f"{path}.{_name_of(key)}" if path else _name_of(key)), entry


def _end_of(path: str) -> str:
    """A path, of a long one the end: a long key would stand once more in the path of each value under it."""
    return path if len(path) <= _MOST_PATH else f"…{path[-_MOST_PATH:]}"


def _name_of(key: Any) -> str:
    try:
        return str(key)
    except ValueError:
        return "a number"  # Of more digits than Python writes.


def _json_in(entry: Any) -> Any:
    """The document that a text is, plain or in base64, as pull secrets and annotations have it."""
    if not isinstance(entry, str):
        return None
    for text in (entry, _decoded(entry)):
        if text.lstrip()[:1] in ("{", "["):
            try:
                return json.loads(text)
            except (ValueError, RecursionError):
                continue
    return None


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


def _is_password(key: str, text: str) -> bool:
    """Whether a value is secret by its key; what is found by how it looks was told already."""
    return is_secret_key(key) and not (any(_keys(text)) or _TOKEN.search(text) or _HASH.search(text))


def _describe_key(pem: str) -> str:
    try:
        # It is not used, only described; to check the numbers of one RSA key takes 0.05 to 1 s.
        key = load_pem_private_key(pem.encode(), None, unsafe_skip_rsa_key_validation=True)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "encrypted, or of an unknown kind"
    if isinstance(key, rsa.RSAPrivateKey):
        return f"RSA {key.key_size}"
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return f"ECDSA {key.curve.name}"
    return type(key).__name__.removesuffix("PrivateKey")


def _describe_token(claims: str) -> str:
    try:
        body = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return ""
    if not isinstance(body, dict):
        return ""
    role = f"for {body['auth_scheme']}, " if isinstance(body.get("auth_scheme"), str) else ""
    expires = body.get("exp")
    if not isinstance(expires, int | float):
        return f"{role}never expires"
    try:
        return f"{role}valid until {datetime.fromtimestamp(expires, UTC):%Y-%m-%d %H:%M} UTC"
    except (OverflowError, OSError, ValueError):
        return f"{role}valid until a time that no calendar has"
