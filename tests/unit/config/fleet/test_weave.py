# SPDX-License-Identifier: Apache-2.0
"""Rows meet the template: what each column does, and what is found before anything is made."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.config.check import check_folder
from muster.config.document.folder import Directory, Memory
from muster.config.fleet.check import Checker
from muster.config.fleet.fault import RowError
from muster.config.fleet.table import CsvTable, load_table, parse_csv
from muster.config.fleet.template import Template, load_template
from muster.config.fleet.twins import Twins, claims_of
from muster.config.fleet.weave import Loom, build_loom
from muster.model.dump import dump
from muster.model.problem import Place
from muster.model.site import Environment
from muster.model.tree import Map, Node, to_plain
from tests.fleets import EXAMPLE, HEADER, make_template, row


def plain(node: Node) -> Any:
    return to_plain(node)


def template_of(**changes: tuple[str, str]) -> Template:
    """The example as a template; a change replaces a text in one of its files."""
    files: dict[str, bytes | None] = {}
    for name, (old, new) in changes.items():
        file = name.replace("_", "-") + ".yaml"
        text = (EXAMPLE / file).read_text()
        assert old in text
        files[file] = text.replace(old, new).encode()
    template, problems = load_template(Memory(files, Directory(EXAMPLE)), Environment())
    assert template is not None
    assert not problems
    return template


def woven(template: Template, table: CsvTable, index: int = 0) -> dict[str, Map]:
    loom = build_loom(template, table.columns, "t:1")
    assert not loom.faults
    return loom.weave(table.cells(index))


def test_short_columns_go_to_their_places() -> None:
    header = "name,baseDomain,hostname,machineNetwork,interface,mac,address,prefix,gateway,dns"
    cells = "s1,b.example.com,h1,10.1.0.0/25,ens1,52:54:00:00:00:01,10.1.0.10,25,10.1.0.1,10.1.0.53"
    trees = woven(template_of(), parse_csv("t", f"{header}\n{cells}\n"))
    install, config = plain(trees["install-config"]), plain(trees["image-based-config"])
    assert install["metadata"] == {"name": "s1"}
    assert install["baseDomain"] == "b.example.com"
    assert install["networking"]["machineNetwork"] == [{"cidr": "10.1.0.0/25"}]
    network = config["networkConfig"]
    card = network["interfaces"][0]
    assert (config["hostname"], card["name"], card["mac-address"]) == ("h1", "ens1", "52:54:00:00:00:01")
    assert card["ipv4"]["address"] == [{"ip": "10.1.0.10", "prefix-length": 25}]
    assert network["routes"]["config"][0]["next-hop-interface"] == "ens1"
    assert network["routes"]["config"][0]["next-hop-address"] == "10.1.0.1"
    assert network["dns-resolver"]["config"]["server"] == ["10.1.0.53"]


def test_the_template_is_not_touched() -> None:
    template = template_of()
    before = plain(template.trees["install-config"])
    woven(template, parse_csv("t", "name,install-config.fips\na,true\n"))
    assert plain(template.trees["install-config"]) == before


def test_placeholders_in_the_middle_of_a_text_and_escaped() -> None:
    template = template_of(image_based_config=("site0042.sites.example.com", "${name}-$${x}-${n}"))
    trees = woven(template, parse_csv("t", "name,n\nsite1,7\n"))
    assert plain(trees["image-based-config"].items["hostname"]) == "site1-${x}-7"


def test_a_placeholder_at_its_usual_place_decides() -> None:
    template = template_of(install_config=("name: site0042", "name: edge-${name}"))
    trees = woven(template, parse_csv("t", "name\n7\n"))
    assert plain(trees["install-config"].items["metadata"]) == {"name": "edge-7"}


def test_numbers_are_numbers_unless_quoted() -> None:
    old = "prefix-length: 24"
    trees = woven(
        template_of(image_based_config=(old, "prefix-length: ${p}")), parse_csv("t", "name,p\na,25\n")
    )
    assert "'prefix-length': 25" in str(plain(trees["image-based-config"]))
    trees = woven(
        template_of(image_based_config=(old, 'prefix-length: "${p}"')), parse_csv("t", "name,p\na,25\n")
    )
    assert "'prefix-length': '25'" in str(plain(trees["image-based-config"]))


def test_fields_that_the_template_does_not_have() -> None:
    table = parse_csv(
        "t", 'name,"image-based-config.nodeLabels[""x.y/z""]",install-config.proxy.httpsProxy\na,b,http://c\n'
    )
    trees = woven(template_of(), table)
    assert plain(trees["install-config"].items["proxy"]) == {"httpsProxy": "http://c"}
    assert plain(trees["image-based-config"].items["nodeLabels"]) == {
        "site.example.com/region": "north",
        "x.y/z": "b",
    }


def test_an_entry_can_be_appended_but_not_left_out() -> None:
    trees = woven(
        template_of(), parse_csv("t", "name,image-based-config.additionalNTPSources[1]\na,10.0.0.1\n")
    )
    assert plain(trees["image-based-config"].items["additionalNTPSources"]) == [
        "192.168.100.123",
        "10.0.0.1",
    ]
    loom = build_loom(template_of(), ["image-based-config.additionalNTPSources[3]"], "t:1")
    assert "the template has no image-based-config.additionalNTPSources[3]" in loom.faults[0].message


def test_an_empty_cell_leaves_the_template_as_it_is() -> None:
    trees = woven(template_of(), parse_csv("t", "name,hostname\na,\n"))
    assert plain(trees["image-based-config"].items["hostname"]) == "site0042.sites.example.com"


def test_an_empty_cell_for_a_placeholder_is_a_mistake() -> None:
    template = template_of(image_based_config=(": north", ": ${region}"))
    table = parse_csv("t", "name,region\na,\n")
    with pytest.raises(RowError, match=re.escape("region is empty, but image-based-config.nodeLabels")):
        build_loom(template, table.columns, "t:1").weave(table.cells(0))


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("hostnme", "used nowhere; did you mean hostname?"),
        ("install-config.metdata.name", "did you mean metadata?"),
        ("colour", "used nowhere"),
    ],
)
def test_columns_that_are_not_known(column: str, said: str) -> None:
    loom = build_loom(template_of(), ["name", column], "t:1")
    assert len(loom.faults) == 1
    assert said in loom.faults[0].message


def test_placeholders_without_a_column() -> None:
    template = template_of(image_based_config=(": north", ": ${region}"))
    fault = build_loom(template, ["name", "regoin"], "t:1").faults
    assert any(
        "there is no column region for ${region} in image-based-config.yaml:13; did you mean regoin?"
        in each.message
        for each in fault
    )


def test_secret_columns_are_known() -> None:
    template = template_of(install_config=("pullSecret: '{", "pullSecret: '${login}{"))
    loom = build_loom(template, ["name", "login", "install-config.sshKey"], "t:1")
    assert loom.hidden == {"login"}


def test_nested_values_of_a_yaml_table(tmp_path: Path) -> None:
    path = tmp_path / "sites.yaml"
    path.write_text(
        "- name: a\n"
        "  servers: [10.0.0.1, 10.0.0.2]\n"
        "  image-based-config:\n"
        "    nodeLabels: {example.com/rack: r1}\n"
        "    networkConfig:\n"
        "      interfaces: [{name: eno2, type: ethernet, state: up}]\n"
    )
    table = load_table(path)
    template = template_of(
        image_based_config=("additionalNTPSources:\n  - 192.168.100.123", "additionalNTPSources: ${servers}")
    )
    loom = build_loom(template, table.columns, "t:1")
    assert not loom.faults
    config = plain(loom.weave(table.cells(0))["image-based-config"])
    assert config["additionalNTPSources"] == ["10.0.0.1", "10.0.0.2"]
    assert config["nodeLabels"] == {"site.example.com/region": "north", "example.com/rack": "r1"}
    assert config["networkConfig"]["interfaces"] == [{"name": "eno2", "type": "ethernet", "state": "up"}]
    assert "routes" in config["networkConfig"]


def loom_of(tmp_path: Path, text: str) -> tuple[Loom, CsvTable]:
    template, _ = load_template(Directory(make_template(tmp_path / "template")), Environment())
    assert template is not None
    table = parse_csv("sites.csv", text)
    return build_loom(template, table.columns, "sites.csv:1"), table


def test_a_row_is_judged_like_a_site_of_its_own(tmp_path: Path) -> None:
    """The shared way gives the same site and problems as writing the files out and reading them."""
    rows = [
        row(0),
        row(1, mac="52:54:00:zz:00:00"),
        row(2, address="10.99.0.10"),
        row(3, name="Site-3"),
        row(4, gateway="10.20.4.999", machineNetwork="10.20.4.1/24"),
        row(5, region="no spaces here"),
    ]
    loom, table = loom_of(tmp_path, "\n".join([HEADER, *rows]))
    checker = Checker(loom.template)
    for index in range(len(rows)):
        trees = loom.weave(table.cells(index))
        site, problems = checker.check(trees)
        files: dict[str, bytes | None] = {
            f"{file}.yaml": yaml.safe_dump(plain(tree), sort_keys=False).encode()
            for file, tree in trees.items()
        }
        alone, expected = check_folder(Memory(files, Directory(EXAMPLE)), Environment())
        found = sorted((each.rule.id, each.message) for each in problems)
        assert found == sorted((each.rule.id, each.message) for each in expected), rows[index]
        assert bool(found) == (index > 0)
        assert site.install is not None
        assert alone.install is not None
        assert dump(site.install) == dump(alone.install)


def test_problems_stand_in_the_table(tmp_path: Path) -> None:
    loom, table = loom_of(tmp_path, "\n".join([HEADER, row(0), row(1, mac="52:54:00:zz:00:00")]))
    _, problems = Checker(loom.template).check(loom.weave(table.cells(1)))
    assert [str(each.place) for each in problems] == ["sites.csv:3:11"]
    assert "52:54:00:zz:00:00" in problems[0].message + str(Place.of(table.cells(1)["mac"]))


def twins_of(tmp_path: Path, rows: list[str], *, same_addresses: bool = False) -> list[str]:
    loom, table = loom_of(tmp_path, "\n".join([HEADER, *rows]))
    twins = Twins("sites.csv", len(table), same_addresses)
    for index in range(len(table)):
        cells = table.cells(index)
        twins.add(table.line(index), claims_of(loom.weave(cells), cells, "sites.csv"))
    return [f"{fault.where}: {fault.message}" for fault in twins.faults]


def test_twins(tmp_path: Path) -> None:
    assert twins_of(tmp_path, [row(0), row(1)]) == []


def test_twins_by_name(tmp_path: Path) -> None:
    found = twins_of(tmp_path, [row(0), row(1), row(2, name="site00000")])
    assert "sites.csv:4: the cluster name site00000.sites.example.com is that of line 2, too" in found
    assert "sites.csv:4: the folder site00000 is that of line 2, too" in found
    assert "sites.csv:4: the host name site00000.sites.example.com is that of line 2, too" in found


def test_twins_by_card_and_address(tmp_path: Path) -> None:
    rows = [row(0), row(1, mac="52:54:00:00:00:00", address="10.20.0.10")]
    assert [line.partition(" is that")[0] for line in twins_of(tmp_path / "a", rows)] == [
        "sites.csv:3: the MAC address 52:54:00:00:00:00",
        "sites.csv:3: the IP address 10.20.0.10",
    ]
    assert len(twins_of(tmp_path / "b", rows, same_addresses=True)) == 1


def test_what_all_sites_share_is_told_once() -> None:
    template = template_of()
    table = parse_csv("t", "name\na\nb\nc\n")
    loom = build_loom(template, table.columns, "t:1")
    twins = Twins("t", 3)
    for index in range(3):
        cells = table.cells(index)
        twins.add(index, claims_of(loom.weave(cells), cells, "t"))
    messages = [fault.message for fault in twins.faults]
    assert messages.count("all 3 sites have the MAC address 52:54:00:b5:00:01, which is in the template") == 1
    assert not [message for message in messages if "IP address" in message]


def test_a_name_that_no_column_gives_is_told_once() -> None:
    table = parse_csv("t", "mac\n52:54:00:00:00:01\n52:54:00:00:00:02\n52:54:00:00:00:03\n")
    loom = build_loom(template_of(), table.columns, "t:1")
    twins = Twins("t", 3)
    for index in range(3):
        cells = table.cells(index)
        twins.add(table.line(index), claims_of(loom.weave(cells), cells, "t"))
    assert [fault.message for fault in twins.faults] == [
        f"all 3 sites have the {kind}, which is in the template"
        for kind in (
            "cluster name site0042.sites.example.com",
            "folder site0042",
            "host name site0042.sites.example.com",
        )
    ]
