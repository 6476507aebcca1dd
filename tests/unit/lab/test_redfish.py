# SPDX-License-Identifier: Apache-2.0
"""What the management controllers answer, without a network."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from muster.lab.redfish.access import Login
from muster.lab.redfish.app import App
from muster.lab.redfish.machines import BootTarget, Power, PowerAction, choose_action
from muster.lab.redfish.media import Image
from muster.lab.redfish.messages import Request, Response, matches
from muster.lab.redfish.resources import ROOT
from tests.redfish import FakeMachines

SYSTEM = f"{ROOT}/Systems/master-0"
DRIVE = f"{ROOT}/Managers/master-0/VirtualMedia/Cd"


class Client:
    """Asks the application."""

    def __init__(self, folder: Path, login: Login | None = None) -> None:
        self.machines = FakeMachines()
        self.app = App(self.machines, folder, login)

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Response:
        content = b"" if body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.app.answer(Request(method, path, named, content))

    def get(self, path: str) -> dict[str, Any]:
        response = self.ask("GET", path)
        assert response.status == 200, response.body
        return dict(response.body or {})


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path)


def message_of(response: Response) -> str:
    assert response.body is not None
    return str(response.body["error"]["message"])


def links_of(body: object) -> set[str]:
    """Every address that a resource names."""
    if isinstance(body, dict):
        own = {value for key, value in body.items() if key in ("@odata.id",) and isinstance(value, str)}
        return own.union(*(links_of(value) for value in body.values()))
    return set().union(*(links_of(each) for each in body)) if isinstance(body, list) else set()


def test_every_link_leads_somewhere(client: Client) -> None:
    seen: set[str] = set()
    waiting = {ROOT}
    while waiting:
        path = waiting.pop()
        seen.add(path)
        waiting |= links_of(client.get(path)) - seen
    assert {SYSTEM, DRIVE, f"{SYSTEM}/VirtualMedia/Cd", f"{SYSTEM}/EthernetInterfaces/1"} <= seen


def test_a_machine_is_described(client: Client) -> None:
    system = client.get(SYSTEM)
    assert system["PowerState"] == "Off"
    assert system["MemorySummary"]["TotalSystemMemoryGiB"] == 2
    assert system["Boot"]["BootSourceOverrideMode"] == "UEFI"
    assert client.get(f"{SYSTEM}/EthernetInterfaces/0")["MACAddress"] == "52:54:00:00:00:01"
    by_uuid = client.get(f"{ROOT}/Systems/{system['UUID'].upper()}")
    assert by_uuid["@odata.id"] == SYSTEM


@pytest.mark.parametrize(
    ("asked", "power", "action"),
    [
        (PowerAction.ON, Power.OFF, PowerAction.ON),
        (PowerAction.ON, Power.ON, None),
        (PowerAction.FORCE_OFF, Power.OFF, None),
        (PowerAction.GRACEFUL_SHUTDOWN, Power.ON, PowerAction.GRACEFUL_SHUTDOWN),
        (PowerAction.PUSH_POWER_BUTTON, Power.OFF, PowerAction.ON),
        (PowerAction.PUSH_POWER_BUTTON, Power.ON, PowerAction.PUSH_POWER_BUTTON),
        (PowerAction.FORCE_RESTART, Power.ON, PowerAction.FORCE_RESTART),
    ],
)
def test_only_what_is_not_so_yet_is_done(
    asked: PowerAction, power: Power, action: PowerAction | None
) -> None:
    machines = FakeMachines()
    if power is Power.ON:
        machines.power("master-0", PowerAction.ON)
    assert choose_action(asked, machines.look("master-0")) is action


def test_a_machine_that_is_off_is_not_restarted(client: Client) -> None:
    path = f"{SYSTEM}/Actions/ComputerSystem.Reset"
    response = client.ask("POST", path, {"ResetType": "ForceRestart"})
    assert response.status == 409
    assert "is off" in message_of(response)
    assert client.ask("POST", path, {"ResetType": "On"}).status == 204
    assert client.ask("POST", path, {"ResetType": "ForceRestart"}).status == 204
    assert client.machines.done == ["master-0 On", "master-0 ForceRestart"]


@pytest.mark.parametrize(
    ("boot", "target", "once"),
    [
        ({"BootSourceOverrideTarget": "Cd"}, BootTarget.CD, True),
        (
            {"BootSourceOverrideTarget": "Hdd", "BootSourceOverrideEnabled": "Continuous"},
            BootTarget.HDD,
            False,
        ),
        ({"BootSourceOverrideTarget": "Pxe", "BootSourceOverrideMode": "UEFI"}, BootTarget.PXE, True),
        ({"BootSourceOverrideEnabled": "Disabled"}, BootTarget.NONE, False),
    ],
)
def test_what_is_booted_is_set(client: Client, boot: dict[str, str], target: BootTarget, once: bool) -> None:
    response = client.ask("PATCH", SYSTEM, {"Boot": boot})
    assert response.status == 200
    view = client.machines.look("master-0")
    assert (view.boot, view.boot_once) == (target, once)
    enabled = {True: "Once", False: "Continuous"}[once] if target is not BootTarget.NONE else "Disabled"
    assert response.body
    assert response.body["Boot"]["BootSourceOverrideEnabled"] == enabled


def test_a_boot_that_stays_is_not_made_one_for_once(client: Client) -> None:
    continuous = {"BootSourceOverrideTarget": "Hdd", "BootSourceOverrideEnabled": "Continuous"}
    client.ask("PATCH", SYSTEM, {"Boot": continuous})
    client.ask("PATCH", SYSTEM, {"Boot": {"BootSourceOverrideTarget": "Cd"}})
    assert client.machines.look("master-0").boot_once is False


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"Boot": {"BootSourceOverrideTarget": "Floppy"}}, "not one of None, Cd, Hdd, Pxe"),
        ({"Boot": {"BootSourceOverrideEnabled": "Twice"}}, "not one of Disabled, Once, Continuous"),
        ({"Boot": {"BootSourceOverrideMode": "Legacy"}}, "cannot be changed"),
        ({"AssetTag": "x"}, "can be changed"),
        ({"Boot": "Cd"}, "can be changed"),
        ([], "not a JSON object"),
    ],
)
def test_what_cannot_be_set_is_refused(client: Client, body: object, words: str) -> None:
    response = client.ask("PATCH", SYSTEM, body)
    assert response.status == 400
    assert words in message_of(response)


def test_an_image_is_inserted_and_ejected(client: Client, tmp_path: Path) -> None:
    image = tmp_path / "muster agent.iso"
    image.touch()
    body = {"Image": f"file://{tmp_path}/muster%20agent.iso", "Inserted": True, "WriteProtected": True}
    assert client.ask("POST", f"{DRIVE}/Actions/VirtualMedia.InsertMedia", body).status == 204
    drive = client.get(DRIVE)
    assert (drive["Inserted"], drive["Image"], drive["ImageName"]) == (
        True,
        body["Image"],
        "muster agent.iso",
    )
    assert client.machines.look("master-0").medium == image
    assert client.get(f"{SYSTEM}/VirtualMedia/Cd")["Inserted"] is True
    assert client.ask("POST", f"{DRIVE}/Actions/VirtualMedia.EjectMedia", {}).status == 204
    drive = client.get(DRIVE)
    assert (drive["Inserted"], drive["Image"]) == (False, None)
    assert client.ask("POST", f"{DRIVE}/Actions/VirtualMedia.EjectMedia").status == 204, "it is empty: fine"


def test_a_drive_can_be_patched_instead(client: Client, tmp_path: Path) -> None:
    (tmp_path / "a.iso").touch()
    assert client.ask("PATCH", DRIVE, {"Image": str(tmp_path / "a.iso"), "Inserted": True}).status == 200
    assert client.get(DRIVE)["Inserted"] is True
    assert client.ask("PATCH", DRIVE, {"Image": None, "Inserted": False}).status == 200
    assert client.get(DRIVE)["Inserted"] is False


def test_what_somebody_else_inserted_is_seen(client: Client) -> None:
    client.machines.insert("master-0", Path("/images/a.iso"))
    assert client.get(DRIVE)["Image"] == "/images/a.iso"


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({}, 400, "Image is missing"),
        ({"Image": "/nowhere/a.iso"}, 409, "there is no image /nowhere/a.iso"),
        ({"Image": "a.iso"}, 409, "absolute path"),
        ({"Image": "nfs://server/a.iso"}, 409, "cannot be had by nfs"),
        ({"Image": "/a.iso", "Inserted": False}, 400, "not inserted"),
        ({"Image": "/a.iso", "Colour": "red"}, 400, "unknown: Colour"),
    ],
)
def test_what_cannot_be_inserted_is_refused(
    client: Client, body: dict[str, object], status: int, words: str
) -> None:
    response = client.ask("POST", f"{DRIVE}/Actions/VirtualMedia.InsertMedia", body)
    assert response.status == status
    assert words in message_of(response)


def test_what_a_machine_refuses_is_told(client: Client, tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    response = client.ask(
        "POST", f"{DRIVE}/Actions/VirtualMedia.InsertMedia", {"Image": str(tmp_path / "a.txt")}
    )
    assert response.status == 409
    assert message_of(response) == "a.txt is no image of a disc; insert an ISO"
    assert client.get(DRIVE)["Inserted"] is False


def test_logins_in_addresses_are_not_shown() -> None:
    image = Image("https://user:secret@mirror/a.iso", "user", "secret")
    assert "secret" not in repr(image)
    assert image.shown == "https://mirror/a.iso"
    assert "secret" not in repr(Login("user", "secret"))


def test_changes_in_between_are_noticed(client: Client) -> None:
    etag = str(client.get(SYSTEM)["@odata.etag"])
    assert client.ask("GET", SYSTEM, if_none_match=etag).status == 304
    boot = {"Boot": {"BootSourceOverrideTarget": "Cd"}}
    assert client.ask("PATCH", SYSTEM, boot, if_match=f"W/{etag}").status == 200
    assert client.ask("PATCH", SYSTEM, boot, if_match=etag).status == 412
    assert client.ask("PATCH", SYSTEM, boot, if_match="*").status == 200


def test_tags_are_compared() -> None:
    assert matches('"a"', '"b", W/"a"')
    assert not matches('"a"', "")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", f"{ROOT}/Nothing", 404),
        ("GET", f"{ROOT}/Systems/nobody", 404),
        ("GET", f"{SYSTEM}/EthernetInterfaces/2", 404),
        ("DELETE", SYSTEM, 405),
        ("GET", f"{SYSTEM}/Actions/ComputerSystem.Reset", 405),
    ],
)
def test_what_is_not_there_is_said(client: Client, method: str, path: str, status: int) -> None:
    response = client.ask(method, path)
    assert response.status == status
    assert message_of(response)
    assert ("Allow" in dict(response.headers)) is (status == 405)


def test_a_body_that_is_no_json_is_refused(client: Client) -> None:
    path = f"{SYSTEM}/Actions/ComputerSystem.Reset"
    assert client.app.answer(Request("POST", path, {}, b"ResetType=On")).status == 400
    assert client.ask("POST", path, {"ResetType": ["On"]}).status == 400


def basic(user: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def test_only_the_user_comes_in(tmp_path: Path) -> None:
    client = Client(tmp_path, Login("admin", "secret"))
    assert client.ask("GET", ROOT).status == 200, "where to log in is told to everybody"
    refused = client.ask("GET", SYSTEM)
    assert refused.status == 401
    assert dict(refused.headers)["WWW-Authenticate"].startswith("Basic")
    assert client.ask("GET", SYSTEM, authorization=basic("admin", "secret")).status == 200
    for wrong in (basic("admin", "Secret"), basic("", ""), "Basic !", "Bearer secret", "Basic YWRtaW4="):
        assert client.ask("GET", SYSTEM, authorization=wrong).status == 401
    assert client.ask("GET", SYSTEM, x_auth_token="").status == 401


def test_a_session_is_opened_and_closed(tmp_path: Path) -> None:
    client = Client(tmp_path, Login("admin", "secret"))
    sessions = f"{ROOT}/SessionService/Sessions"
    assert client.ask("POST", sessions, {"UserName": "admin", "Password": "wrong"}).status == 401
    opened = client.ask("POST", sessions, {"UserName": "admin", "Password": "secret"})
    assert opened.status == 201
    headers = dict(opened.headers)
    token, path = headers["X-Auth-Token"], headers["Location"]
    assert client.ask("GET", SYSTEM, x_auth_token=token).status == 200
    assert client.ask("GET", path, x_auth_token=token).status == 200
    assert client.ask("DELETE", path, x_auth_token=token).status == 204
    assert client.ask("GET", SYSTEM, x_auth_token=token).status == 401


def test_clients_that_never_log_out_push_out_the_oldest(tmp_path: Path) -> None:
    client = Client(tmp_path, Login("admin", "secret"))
    body = {"UserName": "admin", "Password": "secret"}
    tokens = [
        dict(client.ask("POST", f"{ROOT}/SessionService/Sessions", body).headers)["X-Auth-Token"]
        for _ in range(65)
    ]
    assert client.ask("GET", SYSTEM, x_auth_token=tokens[0]).status == 401
    assert client.ask("GET", SYSTEM, x_auth_token=tokens[1]).status == 200
