# SPDX-License-Identifier: Apache-2.0
"""gen_conf writes NetworkManager keyfiles and says where in a document it found a mistake."""

import json
import pickle
from configparser import RawConfigParser

import pytest
from muster_native import NmstateError, gen_conf

MAX_DOCUMENT_BYTES = 4 * 1024 * 1024
ADDRESS = {"ip": "192.0.2.10", "prefix-length": 24}
STATIC_KEYFILE = """\
[connection]
autoconnect=true
autoconnect-slaves=-1
id=eth0
interface-name=eth0
type=802-3-ethernet
uuid=dfd202f5-562f-5f07-8f2a-a7717756fb70

[ipv4]
address0=192.0.2.10/24
dhcp-timeout=2147483647
dns=192.0.2.1;192.0.2.2
dns-priority=40
dns-search=lab.example.com
method=manual
route0=0.0.0.0/0,192.0.2.1,0
route0_options=table=254

[ipv6]
dhcp-timeout=2147483647
method=disabled

[ethernet]
mtu=1500
"""


def ethernet(name: str = "eth0", **settings: object) -> dict[str, object]:
    return {"name": name, "type": "ethernet", "state": "up", **settings}


def ipv4(*addresses: object, **settings: object) -> dict[str, object]:
    return {"enabled": True, "dhcp": False, "address": addresses or (ADDRESS,), **settings}


def route(**settings: object) -> dict[str, object]:
    settings = {key.replace("_", "-"): value for key, value in settings.items()}
    return {"destination": "0.0.0.0/0", "next-hop-interface": "eth0", **settings}


def generate(*interfaces: object, **sections: object) -> dict[str, RawConfigParser]:
    """Call gen_conf and parse each keyfile, by file name in the order given."""
    parsed = {}
    for name, text in gen_conf(json.dumps({"interfaces": interfaces, **sections})):
        parsed[name] = RawConfigParser(delimiters="=", strict=True)
        parsed[name].read_string(text)
    return parsed


def refuse(document: object) -> NmstateError:
    text = document if isinstance(document, str) else json.dumps(document)
    with pytest.raises(NmstateError) as caught:
        gen_conf(text)
    assert str(caught.value) == caught.value.message != ""
    return caught.value


def refuse_third(**settings: object) -> NmstateError:
    """Refuse the last of three interfaces, so that an index is never right by chance."""
    return refuse({"interfaces": [ethernet("ok0"), ethernet("ok1"), ethernet() | settings]})


# What it writes


def test_static_nic_gives_exactly_this_keyfile() -> None:
    document = {
        "interfaces": [ethernet(mtu=1500, ipv4=ipv4())],
        "routes": {"config": [route(next_hop_address="192.0.2.1")]},
        "dns-resolver": {"config": {"server": ["192.0.2.1", "192.0.2.2"], "search": ["lab.example.com"]}},
    }
    assert gen_conf(json.dumps(document)) == (("eth0.nmconnection", STATIC_KEYFILE),)


def test_vlan_on_bond_links_all_parts() -> None:
    bond = {
        "name": "bond0",
        "type": "bond",
        "link-aggregation": {
            "mode": "802.3ad",
            "port": ["eth1", "eth0"],
            "options": {"miimon": 100, "lacp_rate": "fast"},
        },
    }
    vlan = {
        "name": "bond0.7",
        "type": "vlan",
        "ipv4": ipv4(),
        "vlan": {"base-iface": "bond0", "id": 7},
    }
    keyfiles = generate(vlan, bond, ethernet("eth1"), ethernet("eth0"))
    assert set(keyfiles) == {f"{name}.nmconnection" for name in ("bond0", "bond0.7", "eth0", "eth1")}
    assert dict(keyfiles["bond0.nmconnection"]["bond"]) == {
        "lacp_rate": "fast",
        "miimon": "100",
        "mode": "802.3ad",
    }
    for port in ("eth0.nmconnection", "eth1.nmconnection"):
        assert keyfiles[port]["connection"]["slave-type"] == "bond"
        assert keyfiles[port]["connection"]["master"] in (
            "bond0",
            keyfiles["bond0.nmconnection"]["connection"]["uuid"],
        )
    assert keyfiles["bond0.7.nmconnection"]["vlan"]["parent"] == "bond0"
    assert keyfiles["bond0.7.nmconnection"]["vlan"]["id"] == "7"
    assert keyfiles["bond0.7.nmconnection"]["ipv4"]["address0"] == "192.0.2.10/24"


def test_nic_identified_by_mac_is_not_bound_to_a_name() -> None:
    settings = {"identifier": "mac-address", "mac-address": "52:54:00:AB:cd:01"}
    keyfile = generate(ethernet("uplink", **settings))["uplink.nmconnection"]
    assert keyfile["ethernet"]["mac-address"] == "52:54:00:AB:CD:01"
    assert "interface-name" not in keyfile["connection"]


@pytest.mark.parametrize("document", ["{}", ' {"interfaces": []}\n'])
def test_empty_state_gives_no_keyfiles(document: str) -> None:
    assert gen_conf(document) == ()


def test_result_is_immutable_and_does_not_depend_on_the_call() -> None:
    document = json.dumps(
        {
            "interfaces": [
                ethernet(f"eth{number}", ipv4=ipv4({"ip": f"10.0.{number}.1", "prefix-length": 24}))
                for number in range(12)
            ],
            "routes": {
                "config": [
                    route(destination=f"10.1.{number}.0/24", next_hop_interface=f"eth{number % 12}")
                    for number in range(40)
                ]
            },
        }
    )
    first = gen_conf(document)
    assert isinstance(first, tuple)
    assert all(isinstance(keyfile, tuple) for keyfile in first)
    assert {gen_conf(document) for _ in range(20)} == {first}


def test_route_rules_are_ordered_by_priority_and_keep_their_interface() -> None:
    # nmstate alone numbers them at random, and gives table 100's to eth0 or eth1 at random.
    interfaces = [
        ethernet(name, ipv4=ipv4({"ip": f"10.0.{index}.1", "prefix-length": 24}))
        for index, name in enumerate(("eth0", "eth1", "eth2"))
    ]
    routes = [
        route(next_hop_interface="eth1", next_hop_address="10.0.1.254", table_id=100),
        route(next_hop_interface="eth0", next_hop_address="10.0.0.254", table_id=100),
        route(next_hop_interface="eth2", next_hop_address="10.0.2.254", table_id=200),
    ]
    rules = [
        {"ip-from": f"10.0.{priority % 7}.0/24", "priority": priority, "route-table": table}
        for table, priority in ((100, 1000), (200, 7), (100, 20), (100, 3), (200, 1))
    ]
    for _ in range(20):
        keyfiles = generate(*interfaces, routes={"config": routes}, **{"route-rules": {"config": rules}})
        found = {
            name: [value for key, value in keyfile["ipv4"].items() if key.startswith("routing-rule")]
            for name, keyfile in keyfiles.items()
        }
        assert found == {
            "eth0.nmconnection": [
                "priority 3 from 10.0.3.0/24 table 100",
                "priority 20 from 10.0.6.0/24 table 100",
                "priority 1000 from 10.0.6.0/24 table 100",
            ],
            "eth1.nmconnection": [],
            "eth2.nmconnection": [
                "priority 1 from 10.0.1.0/24 table 200",
                "priority 7 from 10.0.0.0/24 table 200",
            ],
        }
        assert keyfiles["eth2.nmconnection"]["ipv4"]["routing-rule0"].startswith("priority 1 ")


# What it cannot read


@pytest.mark.parametrize(
    ("settings", "path", "message"),
    [
        ({"mtu": "big"}, ("mtu",), "invalid digit"),
        ({"state": "upp"}, ("state",), "unknown variant `upp`"),
        ({"type": 5}, ("type",), "InterfaceType"),
        ({"name": 5}, ("name",), "expected a string"),
        ({"typo": {"a": 1}}, ("typo",), "unknown field `typo`"),
        ({"link-aggregation": {}}, ("link-aggregation",), "unknown field"),
        ({"ipv4": [True]}, ("ipv4",), "invalid length"),
        ({"ipv4": ipv4(enabled="maybe")}, ("ipv4", "enabled"), "boolean"),
        ({"ipv4": ipv4(typo=1)}, ("ipv4", "typo"), "unknown field `typo`"),
        ({"ipv4": ipv4(autoconf=True)}, ("ipv4", "autoconf"), "not allowed for IPv4"),
        ({"ipv4": ipv4(address=ADDRESS)}, ("ipv4", "address"), "expected a sequence"),
        ({"ipv4": ipv4(ADDRESS, 5)}, ("ipv4", "address", 1), "integer `5`"),
        ({"ipv4": ipv4(ADDRESS, {"prefix-length": 24})}, ("ipv4", "address", 1), "`ip`"),
        ({"ipv4": ipv4(ADDRESS, {"ip": "::"})}, ("ipv4", "address", 1), "`prefix-length`"),
        (
            {"ipv4": ipv4(ADDRESS, ADDRESS | {"prefix-length": 300})},
            ("ipv4", "address", 1, "prefix-length"),
            "out of range",
        ),
        (
            {"ipv4": ipv4(ADDRESS, ADDRESS | {"ip": "192.0.2.1/24"})},
            ("ipv4", "address", 1, "ip"),
            "invalid IP address",
        ),
        (
            {"type": "bond", "link-aggregation": {"mode": "fast", "port": ["ok0"]}},
            ("link-aggregation", "mode"),
            "unknown variant `fast`",
        ),
        (
            {"type": "bond", "bond": {"mode": "802.3ad", "options": {"miimon": "x"}}},
            ("bond", "options", "miimon"),
            "invalid digit",
        ),
        (
            {"type": "vlan", "vlan": {"base-iface": "ok0", "ingress-qos-map": []}},
            ("vlan",),
            "missing field `id`",
        ),
        (
            {"type": "linux-bridge", "bridge": {"port": [{"name": "ok0"}, {"stp-priority": 5}]}},
            ("bridge", "port", 1),
            "missing field `name`",
        ),
    ],
)
def test_unreadable_part_of_an_interface_is_named(
    settings: dict[str, object], path: tuple[str | int, ...], message: str
) -> None:
    error = refuse_third(**settings)
    assert (error.kind, error.path) == ("Parse", ("interfaces", 2, *path))
    assert message in error.message
    assert " at line " not in error.message


def test_interface_without_a_name_is_named_as_a_whole() -> None:
    error = refuse({"interfaces": [ethernet(), {"type": "ethernet", "mtu": 1500}]})
    assert (error.kind, error.path) == ("Parse", ("interfaces", 1))
    assert error.message == "missing field `name`"


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"interface": []}, ("interface",)),
        ({"interfaces": {}}, ("interfaces",)),
        ({"interfaces": [ethernet(), "eth1"]}, ("interfaces", 1)),
        ({"routes": {"config": [route(), route(metric="x")]}}, ("routes", "config", 1, "metric")),
        ({"routes": {"config": [route(), route(typo=1)]}}, ("routes", "config", 1, "typo")),
        (
            {"dns-resolver": {"config": {"server": ["192.0.2.1", 5]}}},
            ("dns-resolver", "config", "server", 1),
        ),
    ],
)
def test_unreadable_part_of_the_document_is_named(document: object, path: tuple[str | int, ...]) -> None:
    error = refuse(document)
    assert (error.kind, error.path) == ("Parse", path)


@pytest.mark.parametrize("document", ["[]", " [null]", "null", "5", '"{}"', "true"])
def test_document_must_be_an_object(document: str) -> None:
    error = refuse(document)
    assert (error.kind, error.path) == ("Parse", ())


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("{", "EOF while parsing an object at line 1 column 1"),
        ("{} {}", "trailing characters at line 1 column 4"),
        ("interfaces: []", "expected value at line 1 column 1"),
        ("\ud800", "document is not valid Unicode text"),
    ],
)
def test_broken_json_tells_the_position_in_the_text(document: str, message: str) -> None:
    error = refuse(document)
    assert (error.kind, error.path, error.message) == ("Parse", (), message)


def test_section_given_twice_is_refused() -> None:
    assert "duplicate field" in refuse('{"interfaces": [], "interfaces": []}').message


@pytest.mark.parametrize("depth", [200, 1_000_000])
def test_deep_nesting_is_refused(depth: int) -> None:
    document = '{"interfaces": [{"name": "a", "x": ' + "[" * depth + "]" * depth + "}]}"
    error = refuse(document)
    assert error.kind == "Parse"
    assert "recursion limit" in error.message
    assert error.path[:3] == ("interfaces", 0, "x")


def test_size_is_limited_in_bytes() -> None:
    frame = '{"description": "%s"}'
    room = MAX_DOCUMENT_BYTES - len(frame % "")
    assert gen_conf(frame % ("x" * room)) == ()
    for filling in ("x" * (room + 1), "ä" * (room // 2 + 1)):
        error = refuse(frame % filling)
        assert (error.kind, error.path) == ("Parse", ())
        assert f"more than the {MAX_DOCUMENT_BYTES} allowed" in error.message


def test_document_must_be_text() -> None:
    with pytest.raises(TypeError):
        gen_conf(b"{}")  # type: ignore[arg-type]


# What it can read but refuses


def test_route_to_an_unknown_interface_is_named() -> None:
    error = refuse(
        {
            "interfaces": [ethernet(ipv4=ipv4())],
            "routes": {"config": [route(), route(next_hop_interface="eth9")]},
        }
    )
    assert (error.kind, error.path) == ("InvalidArgument", ("routes", "config", 1))
    assert "eth9 not found" in error.message


@pytest.mark.parametrize(
    ("settings", "path", "message"),
    [
        (
            {"ipv4": ipv4(ADDRESS, ADDRESS | {"prefix-length": 33})},
            ("ipv4", "address", 1),
            "prefix length '33'",
        ),
        ({"type": "bond", "link-aggregation": {"port": ["ok0"]}}, (), "mode is mandatory"),
        # Not ("vlan", "id"): what is there is not at fault for what is missing.
        ({"type": "vlan", "vlan": {"id": 5}}, ("vlan",), "Missing 'vlan.base-iface'"),
        ({"dispatch": {"post-activation": "true"}}, ("dispatch",), "not supported"),
        # Without a known type it is read late, but must not go unchecked.
        ({"type": "token-ring", "ipv4": ipv4({"ip": "::"})}, ("ipv4", "address", 0), "missing field"),
    ],
)
def test_refused_part_of_an_interface_is_named(
    settings: dict[str, object], path: tuple[str | int, ...], message: str
) -> None:
    error = refuse_third(**settings)
    assert (error.kind, error.path) == ("InvalidArgument", ("interfaces", 2, *path))
    assert message in error.message


def test_path_ends_where_the_conflicting_parts_meet() -> None:
    bonds = [
        {
            "name": name,
            "type": "bond",
            "link-aggregation": {"mode": "active-backup", "port": ["eth0"]},
        }
        for name in ("bond0", "bond1")
    ]
    # Repeated because nmstate orders the two names in its message at random.
    for _ in range(20):
        error = refuse({"interfaces": [ethernet(), *bonds]})
        assert (error.kind, error.path) == ("InvalidArgument", ("interfaces",))


def test_other_kinds_are_nmstate_s_own() -> None:
    error = refuse({"interfaces": [ethernet()], "routes": {"config": [{"destination": "::/0"}]}})
    assert (error.kind, error.path) == ("NotImplementedError", ("routes", "config", 0))


def test_search_for_the_place_ends_early_in_a_huge_document() -> None:
    interfaces: list[object] = [ethernet(f"eth{number}") for number in range(16_000)]
    error = refuse({"interfaces": [*interfaces, ethernet("bad", ipv4=ipv4(ADDRESS | {"prefix-length": 33}))]})
    assert (error.kind, error.path) == ("InvalidArgument", ("interfaces",))


def test_error_is_a_value_error_and_survives_pickling() -> None:
    error = refuse_third(mtu="big")
    assert isinstance(error, ValueError)
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, NmstateError)
    assert (copy.kind, copy.message, copy.path) == (error.kind, error.message, error.path)
