# SPDX-License-Identifier: Apache-2.0
"""What a discovered host boots with."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from typing import Any

import pytest

from muster.config.formats.ignition import ignition_fault
from muster.errors import UserError
from muster.image.coreos.kargs import Edit, edit_kargs
from muster.image.cpio import parse_archives
from muster.image.reading import decode_data_url
from muster.model.wire.infra_env import HostStaticNetworkConfig, KernelArgument, MacInterface
from muster.service.media.discovery import (
    AGENT_UNIT,
    discovery_customization,
    discovery_ignition,
    minimal_initrd,
    static_network_archive,
)
from muster.service.media.order import MediumOrder
from tests.discovery import CA, INFRA_ENV, PULL_SECRET, TOKEN, host_network, order


def tree(made: MediumOrder) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(discovery_ignition(made))
    return found


def files(made: MediumOrder) -> dict[str, tuple[int, str]]:
    return {
        file["path"]: (file["mode"], decode_data_url(file["contents"]["source"]).decode())
        for file in tree(made)["storage"]["files"]
    }


def test_the_agent_finds_the_service() -> None:
    found = files(order())
    mode, environment = found["/etc/assisted/rendezvous-host.env"]
    assert mode == 0o600
    assert dict(line.split("=", 1) for line in environment.splitlines()) == {
        "AGENT_TOKEN_FILE": "/etc/assisted/tokens/agent",
        "INFRA_ENV_ID": INFRA_ENV,
        "NODE_ZERO_IP": "192.0.2.10",
        "SERVICE_BASE_URL": "https://service.example.com:8090",
        "SERVICE_CA_FILE": "/etc/assisted/tls/service-ca.crt",
    }
    assert found["/etc/assisted/tokens/agent"] == (0o600, TOKEN)
    assert found["/etc/assisted/tls/service-ca.crt"] == (0o644, CA)
    (unit,) = [unit for unit in tree(order())["systemd"]["units"] if unit["name"] == AGENT_UNIT]
    assert unit["enabled"]
    assert "EnvironmentFile=/etc/assisted/rendezvous-host.env\n" in unit["contents"]
    assert TOKEN not in unit["contents"]


def test_everything_that_an_infra_env_says_is_there() -> None:
    found = files(order())
    assert found["/root/.docker/config.json"] == (0o600, PULL_SECRET)
    assert "server ntp.example.com iburst" in found["/etc/chrony.conf"][1]
    assert (
        "HTTP_PROXY=http://proxy.example.com:3128"
        in found["/etc/systemd/system.conf.d/10-default-env.conf"][1]
    )
    assert found["/etc/pki/ca-trust/source/anchors/domain.crt"][1] == CA
    assert found["/etc/assisted/network/host1/mac_interface.ini"][1] == "52:54:00:ad:00:0b=eth0\n"
    assert "192.0.2.11/24" in found["/etc/assisted/network/host1/eth0.nmconnection"][1]
    assert tree(order())["passwd"]["users"][0]["sshAuthorizedKeys"] == ["ssh-ed25519 AAAA user@example.com"]
    assert ignition_fault(discovery_ignition(order()).decode()) == ""


def test_what_is_not_said_is_not_there() -> None:
    bare = order(
        ca_certificate="", ssh_key="", proxy=None, trust_bundle="", ntp_sources=(), static_network=(),
        pull_secret="", rendezvous_ip="",
    )  # fmt: skip
    assert sorted(files(bare)) == [
        "/etc/NetworkManager/conf.d/clientid.conf",
        "/etc/assisted/medium.json",
        "/etc/assisted/rendezvous-host.env",
        "/etc/assisted/tokens/agent",
        "/etc/issue.d/10-muster.issue",
    ]
    assert "passwd" not in tree(bare)
    assert "SERVICE_CA_FILE" not in files(bare)["/etc/assisted/rendezvous-host.env"][1]


def test_the_override_wins_field_by_field() -> None:
    override = {
        "ignition": {"version": "3.1.0"},
        "storage": {"files": [{"path": "/etc/assisted/tokens/agent", "mode": 256}]},
        "systemd": {"units": [{"name": "extra.service", "enabled": True, "contents": "[Service]\n"}]},
    }
    made = order(ignition_override=json.dumps(override))
    assert files(made)["/etc/assisted/tokens/agent"] == (256, TOKEN)
    assert {unit["name"] for unit in tree(made)["systemd"]["units"]} >= {"extra.service", AGENT_UNIT}


def test_the_same_order_gives_the_same_bytes() -> None:
    assert discovery_ignition(order()) == discovery_ignition(order())
    assert order().digest() == order().digest()
    assert order().digest() != order(agent_token="other").digest()


def test_no_secret_is_shown() -> None:
    shown = repr(order(ignition_override="secret-override"))
    for secret in (TOKEN, PULL_SECRET, "secret-override", "proxy.example.com"):
        assert secret not in shown


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ignition_override": "{"}, "ignition_config_override"),
        ({"ignition_override": '{"ignition": {"version": "9.9.9"}}'}, "ignition_config_override"),
        ({"static_network": (host_network(1, "interfaces: ["),)}, r"static_network_config\[0\]"),
        ({"static_network": (host_network(1, "interfaces:\n- name: e\n  state: odd\n"),)}, "network_yaml:3"),
        ({"static_network": (host_network(1, ""),)}, r"static_network_config\[0\]"),
        ({"static_network": (host_network(1), host_network(1))}, r"\[0\] and \[1\] both have"),
        ({"static_network": (HostStaticNetworkConfig(network_yaml="a: b"),)}, "names no card"),
        ({"kernel_arguments": (KernelArgument(operation="append", value=" "),)}, "kernel argument"),
        ({"rendezvous_ip": "192.0.2.1\nA=B"}, "is not an IP address"),
        ({"ntp_sources": ("a b",)}, "is not a time server"),
        ({"kernel_arguments": (KernelArgument(operation="append", value="a\nb"),)}, "kernel argument"),
    ],
)  # fmt: skip
def test_bad_orders(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        edit_kargs("", Edit(append=discovery_customization(order(**changes)).kargs_append))
    assert caught.value.hint


@pytest.mark.parametrize("mac", ["", "52:54:00", "zz:54:00:ad:00:01", "52-54-00-ad-00-01"])
def test_bad_cards(mac: str) -> None:
    card = MacInterface(mac_address=mac, logical_nic_name="eth0")
    with pytest.raises(UserError, match="is not a MAC address"):
        discovery_ignition(order(static_network=(HostStaticNetworkConfig(mac_interface_map=(card,)),)))


def test_a_card_without_a_name() -> None:
    card = MacInterface(mac_address="52:54:00:ad:00:01")
    with pytest.raises(UserError, match="has no name"):
        discovery_ignition(order(static_network=(HostStaticNetworkConfig(mac_interface_map=(card,)),)))


def test_networks_alone() -> None:
    with tarfile.open(fileobj=io.BytesIO(static_network_archive(order()))) as archive:
        assert "etc/assisted/network/host0/eth0.nmconnection" in archive.getnames()
    packed = minimal_initrd(order())
    assert packed is not None
    members = {member.path for member in parse_archives(gzip.decompress(packed), "x")}
    assert "etc/assisted/network/host0/eth0.nmconnection" in members
    assert "usr/local/bin/muster-network" in members
    assert minimal_initrd(order(static_network=())) is None


def test_kernel_arguments() -> None:
    given = (
        KernelArgument(operation="append", value="a=1"),
        KernelArgument(operation="delete", value="quiet"),
        KernelArgument(operation="replace", value="b=1=2"),
        KernelArgument(value="c"),
    )
    wanted = discovery_customization(order(kernel_arguments=given), "http://192.0.2.1/rootfs.img")
    assert wanted.kargs_append == ("coreos.live.rootfs_url=http://192.0.2.1/rootfs.img", "a=1", "c")
    assert (wanted.kargs_delete, wanted.kargs_replace) == (("quiet",), ("b=1=2",))
    assert wanted.initrd
    assert not discovery_customization(order()).initrd
