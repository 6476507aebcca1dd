# SPDX-License-Identifier: Apache-2.0
"""`muster simulate` on the sites that users start from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.component.muster import Result, run

EXAMPLES = Path(__file__).parents[3] / "examples"
CLUSTERS = sorted(
    path.name
    for path in EXAMPLES.iterdir()
    if path.is_dir()
    and not (path / "image-based-config.yaml").exists()
    and ((path / "install-config.yaml").exists() or (path / "cluster-manifests").exists())
)


def simulate(name: str, place: Path, *words: str) -> Result:
    """Simulate a copy, so that no log ends up among the examples."""
    shutil.copytree(EXAMPLES / name, place / name, ignore=shutil.ignore_patterns(".*"), dirs_exist_ok=True)
    return run("simulate", place / name, *words)


@pytest.mark.parametrize("name", CLUSTERS)
def test_every_example_is_installed(name: str, tmp_path: Path) -> None:
    done = simulate(name, tmp_path, "--output", "json")
    body = json.loads(done.out)
    assert (done.status, body["outcome"]) == (0, "installed"), body["blockers"]
    assert {host["status"] for host in body["hosts"]} == {"installed"}
    assert all(host["disk"] for host in body["hosts"])
    legs = body["criticalPath"]
    assert legs[0]["sinceSeconds"] == 0
    assert sum(leg["seconds"] for leg in legs) == pytest.approx(body["durationSeconds"], abs=0.1)


def test_the_same_run_again(tmp_path: Path) -> None:
    first, again = (simulate("compact-baremetal", tmp_path, "--seed", "3") for _ in range(2))
    assert first == again
    assert simulate("compact-baremetal", tmp_path, "--seed", "4").out != first.out


def test_what_blocks_says_where_in_the_files(tmp_path: Path) -> None:
    done = simulate("compact-baremetal", tmp_path, "--fault", "vip-in-use:192.168.10.5", "--output", "json")
    assert done.status == 1
    (blocker,) = json.loads(done.out)["blockers"]
    assert blocker["id"] == "api-vips-valid"
    assert blocker["place"]["file"] == "install-config.yaml"
    written = (tmp_path / "compact-baremetal" / "install-config.yaml").read_text().splitlines()
    assert written[blocker["place"]["line"] - 1].strip() == "apiVIPs:"
    assert blocker["faults"] == ["vip-in-use:192.168.10.5"]


def test_a_host_that_never_comes(tmp_path: Path) -> None:
    done = simulate("compact-baremetal", tmp_path, "--fault", "link:master-2")
    assert done.status == 1
    assert "agent-config.yaml:43:5: not-registered (master-2): master-2 has not registered" in done.out
    assert "asked for: --fault link:master-2" in done.out


def test_a_failure_says_who_failed(tmp_path: Path) -> None:
    done = simulate("compact-baremetal", tmp_path, "--fault", "lost:master-1=installing", "--output", "json")
    body = json.loads(done.out)
    assert (done.status, body["outcome"]) == (1, "error")
    assert [each["hosts"] for each in body["blockers"]] == [["master-1"]]


def test_more_hosts_than_the_network_has_room_for(tmp_path: Path) -> None:
    done = simulate("compact-baremetal", tmp_path, "--hosts", "40", "--until", "5m", "--output", "json")
    assert len(json.loads(done.out)["hosts"]) == 40
    done = simulate("compact-baremetal", tmp_path, "--hosts", "300", "--until", "1s", "--output", "json")
    assert json.loads(done.out)["notes"] == [
        "192.168.10.0/24 has no room for 300 hosts: 192.168.10.0/23 is taken"
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--fault", "nonsense"), "'nonsense' is no fault"),
        (("--fault", "link:nobody"), "there is no host nobody to break"),
        (("--until", "soon"), "'soon' is not a time span"),
    ],
)
def test_bad_flags(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = simulate("compact-baremetal", tmp_path, *words)
    assert done.status == 1
    assert said in done.err


def test_files_that_do_not_hold(tmp_path: Path) -> None:
    (tmp_path / "install-config.yaml").write_text("apiVersion: v1\n")
    assert run("simulate", tmp_path).status == 3
