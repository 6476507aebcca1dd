# SPDX-License-Identifier: Apache-2.0
"""No secret is in what is shown of the state."""

from __future__ import annotations

import json

import msgspec
import pytest

from muster.model.wire.infra_env import HostStaticNetworkConfig, Proxy
from muster.service.masking import mask_subject
from muster.service.state import TYPES, InfraEnv, Kind, Subject
from tests.realms import NOW, make_cluster, make_host

SECRET = "hunter2-hunter2"
POOL = InfraEnv(id="i1", name="pool", created_at=NOW, updated_at=NOW)


@pytest.mark.parametrize("subject", [make_cluster(), make_host(), POOL], ids=lambda each: type(each).__name__)
def test_what_is_sealed_or_of_users_is_not_shown(subject: Subject) -> None:
    names = {
        "pull_secret",
        "signing_key",
        "ignition_endpoint_token",
        "ignition_endpoint_http_headers",
        "fencing_credentials",
        "ignition_config_override",
        "ignition_config_overrides",
        "install_config_overrides",
    } & {each.name for each in msgspec.structs.fields(type(subject))}
    assert names
    shown = mask_subject(msgspec.structs.replace(subject, **dict.fromkeys(names, SECRET)))
    assert SECRET not in json.dumps(shown)
    assert {shown[name] for name in names} == {"••••"}


@pytest.mark.parametrize("kind", TYPES)
def test_every_field_that_is_sealed_is_known(kind: Kind) -> None:
    """A name that sounds like a secret is one: a new field has to be thought about here."""
    sounds = [
        each.name
        for each in msgspec.structs.fields(TYPES[kind])
        if any(
            word in each.name for word in ("secret", "token", "credential", "password", "_key", "override")
        )
    ]
    public = {"ssh_public_key", "ssh_authorized_key", "public_key"}
    subjects: dict[Kind, Subject] = {"cluster": make_cluster(), "host": make_host(), "infra-env": POOL}
    subject = subjects[kind]
    for name in set(sounds) - public:
        shown = mask_subject(msgspec.structs.replace(subject, **{name: SECRET}))
        assert SECRET not in json.dumps(shown), name


def test_logins_of_proxies_and_what_is_in_networks() -> None:
    url = f"http://user:{SECRET}@proxy.example.com:3128"
    pool = msgspec.structs.replace(
        POOL,
        proxy=Proxy(http_proxy=url, no_proxy="example.com"),
        static_network_config=(HostStaticNetworkConfig(network_yaml=f"psk: {SECRET}"),),
    )
    shown = mask_subject(pool)
    assert SECRET not in json.dumps(shown)
    assert shown["proxy"] == {"http_proxy": "http://••••@proxy.example.com:3128", "no_proxy": "example.com"}
    assert SECRET not in json.dumps(mask_subject(msgspec.structs.replace(make_cluster(), https_proxy=url)))


def test_the_rest_is_as_it_is() -> None:
    assert mask_subject(make_cluster()) == {
        "kind": "cluster",
        "id": "c1",
        "name": "ocp",
        "status": "pending-for-input",
        **dict.fromkeys(("status_updated_at", "created_at", "updated_at"), "2026-03-01T12:00:00Z"),
    }
