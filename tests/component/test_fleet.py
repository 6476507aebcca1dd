# SPDX-License-Identifier: Apache-2.0
"""Configuration ISOs of many sites, from a template and a table."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from muster.files import lock_folder
from tests.component.muster import run
from tests.component.test_image_based import CREATE, OUTPUTS, contents, extract
from tests.fleets import EXAMPLE, HEADER, make_table, make_template, row


@pytest.fixture
def template(tmp_path: Path) -> Path:
    return make_template(tmp_path / "template")


def fleet(template: Path, table: Path, *more: str | Path, **keywords: Any) -> Any:
    return run(*CREATE, "config-images", "--dir", template, "--sites", table, *more, **keywords)


def test_a_fleet_is_made_resumed_and_updated(template: Path, tmp_path: Path) -> None:
    table = make_table(tmp_path / "sites.csv", 40)
    result = fleet(template, table, "--jobs", "2")
    assert (result.status, result.out) == (0, f"40 sites in {tmp_path / 'sites'}: 40 created\n")
    out = tmp_path / "sites"
    assert sorted(path.name for path in out.iterdir()) == [f"site{index:05}" for index in range(40)]
    before = contents(out)
    assert {str(Path(name).name) for name in before} == {Path(name).name for name in OUTPUTS}
    assert len({data for name, data in before.items() if name.endswith("password")}) == 40
    assert "40 unchanged" in fleet(template, table).out
    assert contents(out) == before

    shutil.rmtree(out / "site00007")
    table.write_text(table.read_text().replace(",r3\n", ",other\n", 1))
    result = fleet(template, table)
    assert "1 created, 1 updated, 38 unchanged" in result.out
    assert contents(out)["site00003/auth/kubeconfig"] == before["site00003/auth/kubeconfig"]
    assert contents(out)["site00003/imagebasedconfig.iso"] != before["site00003/imagebasedconfig.iso"]


def test_a_site_of_a_fleet_is_what_one_alone_would_be(template: Path, tmp_path: Path) -> None:
    """The same row, filled in by hand and made with the same secrets, gives the same bytes."""
    table = make_table(tmp_path / "sites.csv", 3)
    fleet(template, table, "--jobs", "1")
    alone = Path(shutil.copytree(EXAMPLE, tmp_path / "alone"))
    for name in ("install-config.yaml", "image-based-config.yaml"):
        text = (alone / name).read_text()
        for old, new in (
            ("site0042", "site00002"), ("52:54:00:b5:00:01", "52:54:00:00:00:02"), (": north", ": r2"),
            ("ip: 192.168.100.10", "ip: 10.20.2.10"), ("- 192.168.100.53", "- 10.20.2.53"),
            ("next-hop-address: 192.168.100.1", "next-hop-address: 10.20.2.1"),
            ("192.168.100.0/24", "10.20.2.0/24"),
        ):  # fmt: skip
            text = text.replace(old, new)
        (alone / name).write_text(text)
    ours = tmp_path / "sites/site00002"
    assert run(*CREATE, "config-image", "--dir", alone, "--secrets", ours).status == 0
    for name in OUTPUTS[:5]:
        assert (alone / name).read_bytes() == (ours / name).read_bytes()


def test_bad_rows_stop_no_others(template: Path, tmp_path: Path) -> None:
    rows = [row(index) for index in range(20)]
    rows[3] = row(3, mac="52:54:00:zz:00:03")
    rows[7] = "only,two"
    rows[9] = row(9, region="")
    rows[11] = row(11, machineNetwork="10.99.0.0/24")
    table = tmp_path / "sites.csv"
    table.write_text("\n".join([HEADER, *rows]) + "\n")
    result = fleet(template, table, "--jobs", "2")
    assert result.status == 3
    assert "20 sites" in result.out
    assert "16 created, 4 failed" in result.out
    for line in (5, 9, 11, 13):
        assert f"line {line}" in result.err
    assert f"{table}:5:" in result.err
    assert "52:54:00:zz:00:03" in result.err
    assert f"{table}:11: region is empty" in result.err
    report = json.loads(fleet(template, table, "--output", "json").out)
    assert (report["unchanged"], report["failed"]) == (16, 4)
    assert [failure["line"] for failure in report["failures"]] == [5, 9, 11, 13]
    assert not (tmp_path / "sites/site00003").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"{HEADER}\n{row(0)}\n{row(1, name='site00000')}\n",
            "the cluster name site00000.sites.example.com is that of line 2",
        ),
        (f"{HEADER}\n{row(0)}\n{row(1, mac='52:54:00:00:00:00')}\n", "the MAC address 52:54:00:00:00:00"),
        (f"{HEADER},colour\n{row(0)},red\n", "column colour is used nowhere"),
        (f"{HEADER.replace('region', 'regoin')}\n{row(0)}\n", "did you mean regoin?"),
        (f"{HEADER}\n", "has no rows"),
        ("", "is empty"),
    ],
)
def test_what_is_wrong_with_the_table_is_found_before_anything_is_written(
    template: Path, tmp_path: Path, text: str, said: str
) -> None:
    table = tmp_path / "sites.csv"
    table.write_text(text)
    result = fleet(template, table)
    assert result.status in (1, 3)
    assert said in result.err
    assert not (tmp_path / "sites").exists()


def test_a_template_that_cannot_be_read(template: Path, tmp_path: Path) -> None:
    (template / "install-config.yaml").write_text("a: [\n")
    result = fleet(template, make_table(tmp_path / "sites.csv", 1))
    assert result.status == 3
    assert "cannot be a template" in result.err


def test_secrets_in_a_table_are_not_shown(template: Path, tmp_path: Path) -> None:
    table = tmp_path / "sites.csv"
    table.write_text(f"{HEADER},install-config.pullSecret\n{row(0, mac='52:54:00:zz:00:00')},hunter2\n")
    result = fleet(template, table)
    assert result.status == 3
    log = (template / ".openshift_install.log").read_text()
    assert "hunter2" not in result.out + result.err + log


def test_a_damaged_state_is_that_row_s_problem(template: Path, tmp_path: Path) -> None:
    table = make_table(tmp_path / "sites.csv", 3)
    fleet(template, table)
    state = tmp_path / "sites/site00001/.muster_state.json"
    state.write_text("{}")
    result = fleet(template, table)
    assert result.status == 3
    assert "site00001/.muster_state.json was not written by this version of Muster" in result.err
    assert "2 unchanged, 1 failed" in result.out


def test_a_site_that_another_muster_works_on_is_left_alone(template: Path, tmp_path: Path) -> None:
    table = make_table(tmp_path / "sites.csv", 2)
    fleet(template, table)
    table.write_text(table.read_text("utf-8").replace(",r0", ",elsewhere"), "utf-8")
    state = tmp_path / "sites/site00000/.muster_state.json"
    before = state.read_bytes()
    with lock_folder(tmp_path / "sites/site00000"):
        result = fleet(template, table)
    assert result.status == 3
    assert "sites.csv:2: another muster is making something in" in result.err
    assert state.read_bytes() == before
    assert "1 updated, 1 unchanged" in fleet(template, table).out


def test_files_of_somebody_else_are_not_replaced(template: Path, tmp_path: Path) -> None:
    table = make_table(tmp_path / "sites.csv", 2)
    folder = tmp_path / "sites/site00001/auth"
    folder.mkdir(parents=True)
    (folder / "kubeconfig").write_text("that of a cluster in use")
    result = fleet(template, table)
    assert "1 created, 1 failed" in result.out
    assert (folder / "kubeconfig").read_text() == "that of a cluster in use"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_leaves_only_whole_sites(template: Path, tmp_path: Path, number: int, jobs: str) -> None:
    table = make_table(tmp_path / "sites.csv", 3000)
    command = [sys.executable, "-m", "muster.cli", *CREATE, "config-images", "--dir", str(template)]
    process = subprocess.Popen(
        [*command, "--sites", str(table), "--jobs", jobs],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    out = tmp_path / "sites"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(list(out.glob("site*"))) <= 5:
        time.sleep(0.05)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 8, err
    assert "Traceback" not in err
    made = sorted(out.iterdir())
    assert 5 < len(made) < 3000
    for folder in made:
        assert not folder.name.endswith(".part")
        assert sorted(contents(folder)) == sorted(OUTPUTS)
    few = make_table(tmp_path / "few.csv", len(made) + 2)
    assert "created" in fleet(template, few, "--out", out).out


def test_a_table_in_yaml(template: Path, tmp_path: Path) -> None:
    table = tmp_path / "sites.yaml"
    table.write_text(
        "sites:\n"
        "- name: a\n"
        "  mac: 52:54:00:00:00:01\n"
        "  region: north\n"
        "  image-based-config:\n"
        "    nodeLabels: {example.com/rack: r1}\n"
        "- {name: b, mac: '52:54:00:00:00:02', region: south, folder: second}\n"
    )
    result = fleet(template, table)
    assert result.status == 0, result.err
    assert sorted(path.name for path in (tmp_path / "sites").iterdir()) == ["a", "second"]
    iso = tmp_path / "sites/a/imagebasedconfig.iso"
    manifest = json.loads(extract(iso, "/cluster-configuration/manifest.json", tmp_path / "m.json"))
    assert manifest["node_labels"] == {"site.example.com/region": "north", "example.com/rack": "r1"}


def test_workers_do_not_outlive_a_killed_parent(template: Path, tmp_path: Path) -> None:
    table = make_table(tmp_path / "sites.csv", 3000)
    command = [sys.executable, "-m", "muster.cli", *CREATE, "config-images", "--dir", str(template)]
    process = subprocess.Popen([*command, "--sites", str(table), "--jobs", "2"], start_new_session=True)
    out = tmp_path / "sites"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(list(out.glob("site*"))) <= 5:
        time.sleep(0.05)
    process.kill()
    process.wait()
    few = make_table(tmp_path / "few.csv", 4)
    while time.monotonic() < deadline and "another muster" in fleet(template, few, "--out", out).err:
        time.sleep(0.1)
    assert fleet(template, few, "--out", out).status == 0
    assert not list(out.glob(".*.part"))
