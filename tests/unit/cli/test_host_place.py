# SPDX-License-Identifier: Apache-2.0
"""What the programs of a host share."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.cli.host_place import TokenFile, UnitInstaller, await_papers, load_order, load_place
from muster.errors import ExternalError, MediaError
from muster.model.wire.steps import InstallCmdRequest
from muster.run import Said
from tests.unit.agent.steps.recorded import Recorded, finish, good

REQUEST = InstallCmdRequest(
    cluster_id="c",
    infra_env_id="i",
    host_id="h",
    role="master",
    boot_device="/dev/sda",
    controller_image="",
    installer_image="",
)
START = "systemctl start --no-block muster-install.service"
STOP = "systemctl stop muster-install.service"
ACTIVE = "systemctl is-active muster-install.service"


def test_papers_that_a_service_makes_are_awaited_on_a_generic_medium_alone(tmp_path: Path) -> None:
    left = ["etc/assisted/tls/service-ca.crt", "etc/assisted/tokens/agent"]

    async def sleep(_: float) -> None:
        path = tmp_path / left.pop()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    finish(await_papers(tmp_path, sleep))
    assert len(left) == 2
    (tmp_path / "etc/assisted").mkdir(parents=True)
    (tmp_path / "etc/assisted/interactive-ui").touch()
    finish(await_papers(tmp_path, sleep))
    assert left == []


def test_a_medium_says_where_to_go(tmp_path: Path) -> None:
    (tmp_path / "etc/assisted/tokens").mkdir(parents=True)
    (tmp_path / "etc/assisted/tokens/agent").write_text("medium\n")
    (tmp_path / "etc/assisted/rendezvous-host.env").write_text(
        "SERVICE_BASE_URL=https://192.0.2.10:8090/\nINFRA_ENV_ID=i\n"
    )
    place = load_place(tmp_path)
    assert (place.url, place.infra_env_id) == ("https://192.0.2.10:8090", "i")
    assert place.target().token == "medium"
    assert place.target("own").token == "own"
    (tmp_path / "etc/assisted/rendezvous-host.env").write_text("")
    with pytest.raises(MediaError, match="does not say where this host is to go"):
        load_place(tmp_path)


def test_a_token_is_kept_for_this_host_alone(tmp_path: Path) -> None:
    keeper = TokenFile(tmp_path / "run")
    assert keeper.load() == ""
    keeper.save("own")
    assert TokenFile(tmp_path / "run").load() == "own"
    assert (tmp_path / "run/host-token").stat().st_mode & 0o777 == 0o600


def test_an_installer_is_started_with_what_it_is_to_do(tmp_path: Path) -> None:
    machine = Recorded({ACTIVE: Said(3, "inactive\n", ""), START: good()})
    finish(UnitInstaller(machine, "h", tmp_path).start(REQUEST, "install-1"))
    assert machine.asked == [ACTIVE, START]
    order = load_order(tmp_path)
    assert (order.step_id, order.request) == ("install-1", REQUEST)


def test_one_that_runs_is_not_disturbed(tmp_path: Path) -> None:
    begun = Recorded({ACTIVE: Said(3, "inactive\n", ""), START: good()})
    finish(UnitInstaller(begun, "h", tmp_path).start(REQUEST, "install-1"))
    machine = Recorded({ACTIVE: good("activating\n")})
    finish(UnitInstaller(machine, "h", tmp_path).start(REQUEST, "install-1"))
    assert machine.asked == [ACTIVE]


def test_one_of_another_installation_is_stopped_first(tmp_path: Path) -> None:
    begun = Recorded({ACTIVE: Said(3, "inactive\n", ""), START: good()})
    finish(UnitInstaller(begun, "h", tmp_path).start(REQUEST, "install-1"))
    machine = Recorded({ACTIVE: good("active\n"), STOP: good(), START: good()})
    finish(UnitInstaller(machine, "h", tmp_path).start(REQUEST, "install-2"))
    assert machine.asked == [ACTIVE, STOP, START]
    assert load_order(tmp_path).step_id == "install-2"


def test_an_installation_of_another_host_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExternalError, match="not for this one"):
        finish(UnitInstaller(Recorded({}), "other", tmp_path).start(REQUEST, "install-1"))


def test_an_installer_that_does_not_start_is_told(tmp_path: Path) -> None:
    machine = Recorded({ACTIVE: Said(3, "failed\n", ""), START: Said(1, "", "Unit is masked.\n")})
    with pytest.raises(ExternalError, match="Unit is masked"):
        finish(UnitInstaller(machine, "h", tmp_path).start(REQUEST, "install-1"))
