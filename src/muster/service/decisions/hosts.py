# SPDX-License-Identifier: Apache-2.0
"""Hosts: what people say about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from muster.errors import UserError
from muster.model.installer_args import parse_installer_args
from muster.model.values import name_fault
from muster.model.wire.host import DiskConfigParams, DiskSkipFormattingParams, HostUpdateParams
from muster.service.decisions import checks
from muster.service.decisions.clusters import Seal
from muster.service.realm import Draft
from muster.service.refusals import StateConflict
from muster.service.state import Host

_BEFORE_INSTALLATION: Final = frozenset(
    {
        *("discovering", "known", "disconnected", "insufficient", "pending-for-input", "binding"),
        *("discovering-unbound", "known-unbound", "disconnected-unbound", "insufficient-unbound"),
    }
)
_FORBIDDEN_ARGS: Final = (
    "--ignition",
    "-i",
    "--ignition-file",
    "--ignition-url",
    "--image-url",
    "--image-file",
)


def update_host(draft: Draft, host: Host, params: HostUpdateParams, seal: Seal) -> Host:
    """Role, name, disks and the like, before it is installed."""
    _check_changeable(host)
    values: dict[str, Any] = {}
    if params.host_role is not None:
        values.update(role=params.host_role, suggested_role=params.host_role, role_reason="given")
    if params.host_name is not None:
        values.update(requested_hostname=_hostname(params.host_name), hostname_reason="given")
    if params.disks_selected_config is not None:
        values.update(_select_disk(host, params.disks_selected_config))
    if params.disks_skip_formatting is not None:
        values["skip_formatting_disks"] = _skip(host, params.disks_skip_formatting)
    if params.machine_config_pool_name is not None:
        values["machine_config_pool_name"] = params.machine_config_pool_name
    if params.node_labels is not None:
        labels = {each.key: each.value for each in params.node_labels}
        values["node_labels"] = msgspec.json.encode(labels).decode()
    values.update(_secrets(host, params, seal))
    draft.change(host, **values, updated_at=draft.now)
    if "role" in values and values["role"] != host.role:
        message = f"Host {host.id}: set role {values['role']}"
        draft.tell(host, "host_role_updated", message, role=values["role"])
    return draft.hosts[host.id]


def _secrets(host: Host, params: HostUpdateParams, seal: Seal) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if params.ignition_endpoint_token is not None:
        token = checks.secret("ignition_endpoint_token", params.ignition_endpoint_token)
        values["ignition_endpoint_token"] = seal(host.id, "ignition_endpoint_token", token) if token else ""
    if params.ignition_endpoint_http_headers is not None:
        headers = {each.key: each.value for each in params.ignition_endpoint_http_headers}
        for header in headers.values():
            checks.secret("ignition_endpoint_http_headers", header or "")
        values["ignition_endpoint_http_headers"] = msgspec.json.encode(headers).decode()
    if params.fencing_credentials is not None:
        checks.secret("fencing_credentials.password", params.fencing_credentials.password)
        body = msgspec.json.encode(params.fencing_credentials).decode()
        values["fencing_credentials"] = seal(host.id, "fencing_credentials", body)
    return values


def _check_changeable(host: Host) -> None:
    if host.status not in _BEFORE_INSTALLATION:
        raise StateConflict(
            f"host {host.id} is {host.status} and cannot be changed",
            hint="cancel or reset the installation first",
        )


def _hostname(text: str) -> str:
    if fault := name_fault(text) if text else "":
        raise checks.refuse(
            "host_name", f"{text!r} is no host name: {fault}", "use lower-case letters, digits"
        )
    if text.startswith("localhost"):
        raise checks.refuse("host_name", f"every machine is called {text!r}", "give it a name of its own")
    return text


def _select_disk(host: Host, wanted: Iterable[DiskConfigParams]) -> dict[str, str]:
    """The one disk to install on."""
    chosen = [each.id for each in wanted if each.role == "install"]
    if len(chosen) != 1:
        why = f"{len(chosen)} disks are chosen to install on"
        raise checks.refuse("disks_selected_config", why, "give one disk the role install")
    disks = host.inventory.disks if host.inventory and host.inventory.disks else ()
    disk = next((each for each in disks if chosen[0] in (each.id, each.by_id, each.path)), None)
    if disk is None:
        why = f"host {host.id} has no disk {chosen[0]}"
        raise checks.refuse("disks_selected_config", why, "take an id of its inventory")
    fit = disk.installation_eligibility
    if fit is not None and fit.eligible is False:
        why = f"disk {disk.path or disk.id}: {'; '.join(fit.not_eligible_reasons or ())}"
        raise checks.refuse("disks_selected_config", why, "choose another disk")
    path = disk.path or f"/dev/{disk.name}"
    return {"installation_disk_id": disk.id or path, "installation_disk_path": path, "disk_reason": "given"}


def _skip(host: Host, wanted: Iterable[DiskSkipFormattingParams]) -> tuple[str, ...]:
    skipped = set(host.skip_formatting_disks)
    for each in wanted:
        (skipped.add if each.skip_formatting else skipped.discard)(each.disk_id)
    return tuple(sorted(skipped))


def update_installer_args(draft: Draft, host: Host, args: tuple[str, ...]) -> Host:
    """Words for coreos-installer that hosts pass on; what decides what is written is not among them."""
    _check_changeable(host)
    for word in args:
        if word.split("=")[0] in _FORBIDDEN_ARGS:
            raise checks.refuse("args", f"{word} is not for users to set", "leave it out")
    text = msgspec.json.encode(args).decode() if args else ""
    try:
        parse_installer_args(text)
    except UserError as error:
        raise checks.refuse("args", error.message, error.hint) from error
    draft.change(host, installer_args=text)
    return draft.hosts[host.id]


def update_ignition(draft: Draft, host: Host, config: str) -> Host:
    """What is merged into the host's Ignition config."""
    _check_changeable(host)
    draft.change(host, ignition_config_overrides=checks.ignition("config", config))
    return draft.hosts[host.id]


def deregister_host(draft: Draft, host: Host) -> None:
    """A host is gone; when it asks again it is told so."""
    draft.tell(host, "host_deregistered", f"Host {host.requested_hostname or host.id}: deregistered")
    draft.documents.update({(host.id, name): None for name in host.reports})
    draft.remove(host)


_FORGOTTEN: Final[dict[str, dict[str, Any]]] = {
    "sufficient-installation-disk-speed": {"disk_speeds": {}},
    "container-images-available": {"images": ()},
}


def reset_validation(draft: Draft, host: Host, id: str) -> Host:
    """Forget what a check found, so that it is done again."""
    if id not in _FORGOTTEN:
        raise checks.refuse("validation_id", f"{id} cannot be reset", f"one of {', '.join(_FORGOTTEN)} can")
    draft.change(host, **_FORGOTTEN[id])
    return draft.hosts[host.id]
