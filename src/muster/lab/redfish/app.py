# SPDX-License-Identifier: Apache-2.0
"""What each request means: a table of paths, and a small method for each thing that can be asked or done."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from muster.errors import ExternalError, MusterError
from muster.lab.redfish import resources
from muster.lab.redfish.access import Access, Login
from muster.lab.redfish.machines import BootTarget, Machines, MachineView, PowerAction, choose_action
from muster.lab.redfish.media import Image, get_image
from muster.lab.redfish.messages import Refused, Request, Response, etag_of, matches
from muster.lab.redfish.resources import DEVICE, ROOT, Body, Inserted

Answer: TypeAlias = Callable[..., Response]
Choice = TypeVar("Choice", bound=StrEnum)

_OPEN: Final = {("GET", "/redfish"), ("GET", ROOT), ("POST", f"{ROOT}/SessionService/Sessions")}
"""What everybody may ask before a login."""
_BOOT_KEYS: Final = {"BootSourceOverrideTarget", "BootSourceOverrideEnabled", "BootSourceOverrideMode"}
_INSERT_KEYS: Final = {
    *("Image", "Inserted", "WriteProtected", "UserName", "Password"),
    *("MediaType", "TransferMethod", "TransferProtocolType", "Oem"),
}


class App:
    """Answers requests about the machines of a lab."""

    def __init__(self, machines: Machines, folder: Path, login: Login | None = None) -> None:
        self._machines = machines
        self._folder = folder
        """Where images are fetched to."""
        self._access = Access(login)
        self._inserted: dict[str, Inserted] = {}
        self._lock = threading.Lock()
        """Machines are changed one after the other; images are fetched side by side."""
        drive = rf"(?:Systems|Managers)/(?P<name>[^/]+)/VirtualMedia/{DEVICE}"
        self._routes: list[tuple[re.Pattern[str], dict[str, Answer]]] = [
            (re.compile(pattern if pattern.startswith("/") else f"{ROOT}/{pattern}"), answers)
            for pattern, answers in (
                ("/redfish", {"GET": self._versions}),
                (ROOT, {"GET": self._root}),
                (r"(?P<kind>Systems|Managers|Chassis)", {"GET": self._members}),
                (r"Systems/(?P<name>[^/]+)", {"GET": self._system, "PATCH": self._change_system}),
                (r"Systems/(?P<name>[^/]+)/Actions/ComputerSystem\.Reset", {"POST": self._reset}),
                (r"Systems/(?P<name>[^/]+)/Processors", {"GET": self._processors}),
                (r"Systems/(?P<name>[^/]+)/Processors/(?P<cpu>CPU)", {"GET": self._processor}),
                (r"Systems/(?P<name>[^/]+)/EthernetInterfaces", {"GET": self._cards}),
                (r"Systems/(?P<name>[^/]+)/EthernetInterfaces/(?P<card>\d{1,3})", {"GET": self._card}),
                (r"Managers/(?P<name>[^/]+)", {"GET": self._manager}),
                (r"Chassis/(?P<name>[^/]+)", {"GET": self._chassis}),
                (r"(?P<owner>Systems|Managers)/(?P<name>[^/]+)/VirtualMedia", {"GET": self._drives}),
                (drive, {"GET": self._drive, "PATCH": self._change_drive}),
                (rf"{drive}/Actions/VirtualMedia\.InsertMedia", {"POST": self._insert}),
                (rf"{drive}/Actions/VirtualMedia\.EjectMedia", {"POST": self._eject}),
                (r"SessionService", {"GET": self._session_service}),
                (r"SessionService/Sessions", {"GET": self._sessions, "POST": self._log_in}),
                (
                    r"SessionService/Sessions/(?P<session>[^/]+)",
                    {"GET": self._session, "DELETE": self._log_out},
                ),
            )
        ]

    def answer(self, request: Request) -> Response:
        """The response to a request, whatever it is."""
        try:
            return self._answer(request)
        except Refused as refused:
            return refused.response()
        except MusterError as error:
            status = 500 if isinstance(error, ExternalError) else 409
            message = f"{error.message}; {error.hint}" if error.hint else error.message
            return Refused(status, "GeneralError", message).response()

    def _answer(self, request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        if (method, request.path) not in _OPEN:
            self._access.check(request.headers)
        for pattern, answers in self._routes:
            match = pattern.fullmatch(request.path)
            if match is None:
                continue
            if method not in answers:
                allowed = (("Allow", ", ".join(answers)),)
                raise Refused(405, "OperationNotAllowed", f"{method} is not for {request.path}", allowed)
            return answers[method](request, **match.groupdict())
        raise Refused(404, "ResourceMissingAtURI", f"there is nothing at {request.path}")

    # Things that are told.

    def _versions(self, request: Request) -> Response:
        return _tell(request, resources.render_versions())

    def _root(self, request: Request) -> Response:
        return _tell(request, resources.render_root(" ".join(sorted(self._machines.names()))))

    def _members(self, request: Request, kind: str) -> Response:
        schema = {"Systems": "ComputerSystem", "Managers": "Manager", "Chassis": "Chassis"}[kind]
        paths = [f"{ROOT}/{kind}/{name}" for name in self._machines.names()]
        return _tell(request, resources.render_collection(request.path, schema, paths))

    def _system(self, request: Request, name: str) -> Response:
        return _tell(request, resources.render_system(self._find(name)))

    def _manager(self, request: Request, name: str) -> Response:
        return _tell(request, resources.render_manager(self._find(name)))

    def _chassis(self, request: Request, name: str) -> Response:
        return _tell(request, resources.render_chassis(self._find(name)))

    def _processors(self, request: Request, name: str) -> Response:
        self._find(name)
        return _tell(request, resources.render_collection(request.path, "Processor", [f"{request.path}/CPU"]))

    def _processor(self, request: Request, name: str, cpu: str) -> Response:  # noqa: ARG002
        return _tell(request, resources.render_processor(self._find(name), request.path))

    def _cards(self, request: Request, name: str) -> Response:
        paths = [f"{request.path}/{index}" for index, _ in enumerate(self._find(name).mac_addresses)]
        return _tell(request, resources.render_collection(request.path, "EthernetInterface", paths))

    def _card(self, request: Request, name: str, card: str) -> Response:
        mac_addresses = self._find(name).mac_addresses
        if int(card) >= len(mac_addresses):
            raise Refused(404, "ResourceMissingAtURI", f"{name} has {len(mac_addresses)} cards")
        return _tell(request, resources.render_card(request.path, mac_addresses[int(card)]))

    def _drives(self, request: Request, name: str, owner: str) -> Response:  # noqa: ARG002
        self._find(name)
        paths = [f"{request.path}/{DEVICE}"]
        return _tell(request, resources.render_collection(request.path, "VirtualMedia", paths))

    def _drive(self, request: Request, name: str) -> Response:
        return _tell(request, self._render_drive(self._find(name), request.path))

    def _render_drive(self, view: MachineView, path: str) -> Body:
        return resources.render_drive(view, path, self._inserted.get(view.name))

    # Things that are done.

    def _reset(self, request: Request, name: str) -> Response:
        asked = _choose(request.parse_json(), "ResetType", PowerAction)
        with self._lock:
            action = choose_action(asked, self._find(name))
            if action is not None:
                self._machines.power(self._find(name).name, action)
        return Response(204)

    def _change_system(self, request: Request, name: str) -> Response:
        body = request.parse_json()
        boot = body.get("Boot")
        if set(body) != {"Boot"} or not isinstance(boot, dict) or not set(boot) <= _BOOT_KEYS:
            raise Refused(
                400, "PropertyUnknown", f"only {', '.join(sorted(_BOOT_KEYS))} of Boot can be changed"
            )
        with self._lock:
            view = self._find(name)
            _check_unchanged(request, resources.render_system(view))
            target, once = _parse_boot(boot, view)
            self._machines.set_boot(view.name, target, once=once)
        return self._system(request, name)

    def _insert(self, request: Request, name: str) -> Response:
        body = request.parse_json()
        if not set(body) <= _INSERT_KEYS:
            raise Refused(
                400, "ActionParameterUnknown", f"unknown: {', '.join(sorted(set(body) - _INSERT_KEYS))}"
            )
        address = body.get("Image")
        if not isinstance(address, str) or not address:
            raise Refused(400, "ActionParameterMissing", "Image is missing: the address of an image")
        if body.get("Inserted", True) is not True:
            raise Refused(
                400, "ActionParameterNotSupported", "an image that is not inserted is of no use here"
            )
        image = Image(address, str(body.get("UserName") or ""), str(body.get("Password") or ""))
        view = self._find(name)
        path = get_image(image, self._folder / view.name)
        with self._lock:
            self._machines.insert(view.name, path)
            protected = bool(body.get("WriteProtected", True))
            self._inserted[view.name] = Inserted(image.shown, image.name, protected)
        return Response(204)

    def _eject(self, request: Request, name: str) -> Response:  # noqa: ARG002
        with self._lock:
            view = self._find(name)
            if view.medium is not None:
                self._machines.eject(view.name)
            self._inserted.pop(view.name, None)
        return Response(204)

    def _change_drive(self, request: Request, name: str) -> Response:
        """Some clients insert and eject this way, as controllers without the two actions want it."""
        body = request.parse_json()
        _check_unchanged(request, self._render_drive(self._find(name), request.path))
        if body.get("Image") and body.get("Inserted", True):
            self._insert(request, name)
        else:
            self._eject(request, name)
        return self._drive(request, name)

    # Sessions.

    def _session_service(self, request: Request) -> Response:
        return _tell(request, resources.render_session_service())

    def _sessions(self, request: Request) -> Response:
        paths = [f"{request.path}/{session}" for session in self._access.sessions()]
        return _tell(request, resources.render_collection(request.path, "Session", paths))

    def _log_in(self, request: Request) -> Response:
        body = request.parse_json()
        user, password = str(body.get("UserName", "")), str(body.get("Password", ""))
        session, token = self._access.open_session(user, password)
        path = f"{request.path}/{session}"
        headers = (("Location", path), ("X-Auth-Token", token))
        return Response(201, resources.render_session(session, user), headers)

    def _session(self, request: Request, session: str) -> Response:
        if session not in self._access.sessions():
            raise Refused(404, "ResourceMissingAtURI", "there is no such session")
        return _tell(request, resources.render_session(session, self._access.user))

    def _log_out(self, request: Request, session: str) -> Response:  # noqa: ARG002
        if not self._access.close_session(session):
            raise Refused(404, "ResourceMissingAtURI", "there is no such session")
        return Response(204)

    def _find(self, name: str) -> MachineView:
        """A machine by its name, or by its UUID, as automation often has it."""
        names = self._machines.names()
        if name in names:
            return self._machines.look(name)
        for each in names:
            view = self._machines.look(each)
            if view.uuid.lower() == name.lower():
                return view
        raise Refused(
            404, "ResourceMissingAtURI", f"there is no machine {name}; there are {', '.join(names)}"
        )


def _tell(request: Request, body: Body) -> Response:
    etag = etag_of(body)
    if matches(etag, request.headers.get("if-none-match", "")):
        return Response(304, None, (("ETag", etag),))
    return Response(200, resources.with_etag(body, etag), (("ETag", etag),))


def _check_unchanged(request: Request, body: Body) -> None:
    condition = request.headers.get("if-match")
    if condition is not None and not matches(etag_of(body), condition):
        raise Refused(412, "PreconditionFailed", "it has changed since you looked at it: look again")


def _choose(body: Mapping[str, Any], key: str, kind: type[Choice]) -> Choice:
    try:
        return kind(body.get(key, ""))
    except ValueError as error:
        known = ", ".join(each.value for each in kind)
        raise Refused(
            400, "PropertyValueNotInList", f"{key} is {body.get(key)!r}, not one of {known}"
        ) from error


def _parse_boot(boot: Mapping[str, Any], view: MachineView) -> tuple[BootTarget, bool]:
    """What to boot, and whether only once; what is not said stays as it is."""
    mode = boot.get("BootSourceOverrideMode", resources.boot_mode(view))
    if mode != resources.boot_mode(view):
        message = f"{view.name} is a machine of mode {resources.boot_mode(view)}, which cannot be changed"
        raise Refused(400, "PropertyValueNotInList", message)
    target = _choose({"BootSourceOverrideTarget": view.boot, **boot}, "BootSourceOverrideTarget", BootTarget)
    now = "Once" if view.boot_once or view.boot is BootTarget.NONE else "Continuous"
    enabled = boot.get("BootSourceOverrideEnabled", now)
    if enabled not in ("Disabled", "Once", "Continuous"):
        message = f"BootSourceOverrideEnabled is {enabled!r}, not one of Disabled, Once, Continuous"
        raise Refused(400, "PropertyValueNotInList", message)
    return (BootTarget.NONE, False) if enabled == "Disabled" else (target, enabled == "Once")
