# SPDX-License-Identifier: Apache-2.0
"""The management controllers by real HTTP, with plain requests and with the client that Ironic uses."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from muster.errors import UserError
from muster.lab.redfish.access import Login
from muster.lab.redfish.app import App
from muster.lab.redfish.machines import BootTarget, Power
from muster.lab.redfish.server import Endpoint, RedfishServer
from tests.redfish import FakeMachines

LOGIN = Login("admin", "secret")
SYSTEM = "/redfish/v1/Systems/master-0"
ISO = b"CD001" * 100_000


class Controllers:
    """Controllers that serve, and their machines."""

    def __init__(self, folder: Path) -> None:
        self.machines = FakeMachines()
        self.folder = folder
        self.server = RedfishServer(App(self.machines, folder, LOGIN), Endpoint())

    @property
    def url(self) -> str:
        return self.server.url


@pytest.fixture
def controllers(tmp_path: Path) -> Iterator[Controllers]:
    made = Controllers(tmp_path / "media")
    with _serving(made.server):
        yield made


@pytest.fixture
def images(tmp_path: Path) -> Iterator[str]:
    """Where an image can be fetched."""
    folder = tmp_path / "images"
    folder.mkdir()
    (folder / "agent.iso").write_bytes(ISO)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    with _serving(server):
        yield f"http://127.0.0.1:{server.server_port}"


@contextlib.contextmanager
def _serving(server: ThreadingHTTPServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def ask(controllers: Controllers, method: str, path: str, body: object = None) -> tuple[int, Any]:
    passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
    passwords.add_password(None, controllers.url, LOGIN.user, LOGIN.password)
    opener = urllib.request.build_opener(urllib.request.HTTPBasicAuthHandler(passwords))
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(controllers.url + path, data, method=method)
    request.add_header("Content-Type", "application/json")
    try:
        with opener.open(request, timeout=10) as reply:
            return reply.status, json.loads(reply.read() or b"null")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def test_a_machine_boots_from_an_image_by_plain_requests(controllers: Controllers, images: str) -> None:
    drive = "/redfish/v1/Managers/master-0/VirtualMedia/Cd"
    image = {"Image": f"{images}/agent.iso"}
    assert ask(controllers, "POST", f"{drive}/Actions/VirtualMedia.InsertMedia", image)[0] == 204
    assert ask(controllers, "GET", f"{drive}/")[1]["Image"] == image["Image"]
    boot = {"Boot": {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"}}
    assert ask(controllers, "PATCH", SYSTEM, boot)[0] == 200
    reset = f"{SYSTEM}/Actions/ComputerSystem.Reset"
    assert ask(controllers, "POST", reset, {"ResetType": "On"})[0] == 204
    view = controllers.machines.look("master-0")
    assert (view.power, view.boot, view.boot_once) == (Power.ON, BootTarget.CD, True)
    assert view.medium is not None
    assert view.medium.read_bytes() == ISO
    status, body = ask(controllers, "POST", reset, {"ResetType": "Explode"})
    assert status == 400
    assert "Explode" in body["error"]["message"]


def test_an_image_that_cannot_be_had_is_told(controllers: Controllers, images: str) -> None:
    action = "/redfish/v1/Systems/master-0/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia"
    for address, words in [
        (f"{images}/nothing.iso", "answered 404"),
        ("http://127.0.0.1:1/agent.iso", "cannot reach"),
    ]:
        status, body = ask(controllers, "POST", action, {"Image": address})
        assert status == 500
        assert words in body["error"]["message"]
    assert controllers.machines.look("master-0").medium is None
    assert not list(controllers.folder.rglob("*.part"))


def test_connections_are_kept_and_odd_requests_survived(controllers: Controllers) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", controllers.server.server_port, timeout=10)
    for method in ("HEAD", "GET", "GET"):
        connection.request(method, "/redfish/v1/?x=1")
        reply = connection.getresponse()
        assert reply.status == 200
        assert reply.getheader("OData-Version") == "4.0"
        assert bool(reply.read()) is (method == "GET")
    connection.request(
        "POST", "/redfish/v1/SessionService/Sessions", headers={"Content-Length": str(1 << 30)}
    )
    assert connection.getresponse().status == 413
    connection.close()


def test_a_port_in_use_is_told(controllers: Controllers, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot listen"):
        RedfishServer(App(FakeMachines(), tmp_path), Endpoint(port=controllers.server.server_port))


def test_https(tmp_path: Path) -> None:
    certificate = tmp_path / "both.pem"
    certificate.write_bytes(make_certificate())
    server = RedfishServer(App(FakeMachines(), tmp_path), Endpoint(certificate=certificate))
    trust = ssl.create_default_context(cafile=str(certificate))
    trust.check_hostname = False
    with _serving(server):
        assert server.url.startswith("https://127.0.0.1:")
        with urllib.request.urlopen(f"{server.url}/redfish", context=trust, timeout=10) as reply:
            assert json.load(reply)["v1"] == "/redfish/v1/"
        with socket.create_connection(
            ("127.0.0.1", server.server_port)
        ):  # Says nothing, and holds up nobody.
            assert urllib.request.urlopen(f"{server.url}/redfish", context=trust, timeout=10).read()


def make_certificate() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "lab")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    return made.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, form, plain
    )


@pytest.mark.parametrize("auth", ["BasicAuth", "SessionAuth", "SessionOrBasicAuth"])
def test_the_client_of_ironic(controllers: Controllers, images: str, auth: str) -> None:
    sushy = import_module("sushy")  # It has no types.
    login = getattr(import_module("sushy.auth"), auth)(LOGIN.user, LOGIN.password)
    root = sushy.Sushy(controllers.url, auth=login, verify=False)
    system = root.get_system(SYSTEM)
    assert system.power_state == sushy.PowerState.OFF
    assert [each.identity for each in root.get_system_collection().get_members()] == ["master-0", "master-1"]
    assert system.ethernet_interfaces.summary == {
        "52:54:00:00:00:01": sushy.State.ENABLED,
        "52:54:00:00:00:02": sushy.State.ENABLED,
    }
    assert system.memory_summary.size_gib == 2
    assert system.processors.summary.architecture == sushy.ProcessorArchitecture.X86

    (manager,) = system.managers
    for owner in (manager, system):
        (drive,) = owner.virtual_media.get_members()
        assert sushy.VirtualMediaType.CD in drive.media_types
        drive.insert_media(f"{images}/agent.iso", inserted=True, write_protected=True)
        drive.refresh()
        assert drive.inserted
        assert drive.image == f"{images}/agent.iso"
        drive.eject_media()
        drive.refresh()
        assert not drive.inserted

    system.set_system_boot_options(sushy.BootSource.CD, sushy.BootSourceOverrideEnabled.ONCE)
    system.refresh()
    assert system.boot.target == sushy.BootSource.CD
    assert system.boot.enabled == sushy.BootSourceOverrideEnabled.ONCE
    assert system.boot.mode == sushy.BootSourceOverrideMode.UEFI
    for action, power in [
        (sushy.ResetType.ON, sushy.PowerState.ON),
        (sushy.ResetType.FORCE_RESTART, sushy.PowerState.ON),
        (sushy.ResetType.GRACEFUL_SHUTDOWN, sushy.PowerState.OFF),
    ]:
        system.reset_system(action)
        system.refresh()
        assert system.power_state == power
    if auth != "BasicAuth":
        login.close()  # Else it waits for the server when it is forgotten.
