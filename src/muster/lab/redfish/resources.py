# SPDX-License-Identifier: Apache-2.0
"""The resources of Redfish as JSON has them, made of what is known about machines. Pure."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from muster.frozen import dataclass
from muster.lab.redfish.machines import BootTarget, MachineView, Power, PowerAction

ROOT: Final = "/redfish/v1"
DEVICE: Final = "Cd"
"""The one virtual drive of each machine."""
_OK: Final = {"State": "Enabled", "Health": "OK"}
_ARCHITECTURES: Final = {"x86_64": ("x86", "x86-64"), "aarch64": ("ARM", "ARM-A64")}

Body: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Inserted:
    """What a client put into a machine's drive, in its own words."""

    address: str
    name: str
    write_protected: bool = True


def system_path(name: str) -> str:
    return f"{ROOT}/Systems/{name}"


def manager_path(name: str) -> str:
    return f"{ROOT}/Managers/{name}"


def chassis_path(name: str) -> str:
    return f"{ROOT}/Chassis/{name}"


def _resource(path: str, kind: str, name: str, **more: Any) -> Body:
    return {"@odata.id": path, "@odata.type": kind, "Id": path.rpartition("/")[2], "Name": name, **more}


def _link(path: str) -> Body:
    return {"@odata.id": path}


def render_versions() -> Body:
    return {"v1": f"{ROOT}/"}


def render_root(identity: str) -> Body:
    """Where everything begins."""
    folders = ("Systems", "Managers", "Chassis", "SessionService")
    return {
        **_resource(ROOT, "#ServiceRoot.v1_5_0.ServiceRoot", "Muster lab"),
        "Id": "RootService",
        "RedfishVersion": "1.5.0",
        "UUID": str(uuid.uuid5(uuid.NAMESPACE_DNS, identity)),
        "Product": "Muster lab",
        **{folder: _link(f"{ROOT}/{folder}") for folder in folders},
        "Links": {"Sessions": _link(f"{ROOT}/SessionService/Sessions")},
    }


def render_collection(path: str, kind: str, members: Iterable[str]) -> Body:
    links = [_link(member) for member in members]
    return {
        "@odata.id": path,
        "@odata.type": f"#{kind}Collection.{kind}Collection",
        "Name": f"{kind} Collection",
        "Members@odata.count": len(links),
        "Members": links,
    }


def render_system(view: MachineView) -> Body:
    """A machine."""
    path = system_path(view.name)
    return _resource(
        path,
        "#ComputerSystem.v1_10_0.ComputerSystem",
        view.name,
        UUID=view.uuid,
        HostName=view.name,
        SystemType="Virtual",
        Manufacturer="Muster",
        Model="Lab",
        SerialNumber=view.name,
        PowerState=view.power.value,
        Status={"State": "Enabled" if view.power is Power.ON else "StandbyOffline", "Health": "OK"},
        MemorySummary={"TotalSystemMemoryGiB": view.memory_mib / 1024, "Status": _OK},
        ProcessorSummary={"Count": view.cpus, "LogicalProcessorCount": view.cpus, "Status": _OK},
        Boot=_render_boot(view),
        Processors=_link(f"{path}/Processors"),
        EthernetInterfaces=_link(f"{path}/EthernetInterfaces"),
        VirtualMedia=_link(f"{path}/VirtualMedia"),
        Links={
            "ManagedBy": [_link(manager_path(view.name))],
            "Chassis": [_link(chassis_path(view.name))],
        },
        Actions={
            "#ComputerSystem.Reset": {
                "target": f"{path}/Actions/ComputerSystem.Reset",
                "ResetType@Redfish.AllowableValues": [action.value for action in PowerAction],
            }
        },
    )


def _render_boot(view: MachineView) -> Body:
    enabled = "Once" if view.boot_once else "Continuous"
    return {
        "BootSourceOverrideEnabled": "Disabled" if view.boot is BootTarget.NONE else enabled,
        "BootSourceOverrideTarget": view.boot.value,
        "BootSourceOverrideMode": boot_mode(view),
        "BootSourceOverrideTarget@Redfish.AllowableValues": [target.value for target in BootTarget],
    }


def boot_mode(view: MachineView) -> str:
    """What Redfish calls the firmware of a machine."""
    return "UEFI" if view.firmware == "uefi" else "Legacy"


def render_processor(view: MachineView, path: str) -> Body:
    kind, instructions = _ARCHITECTURES.get(view.architecture, ("OEM", "OEM"))
    return _resource(
        path,
        "#Processor.v1_4_0.Processor",
        "CPU",
        ProcessorType="CPU",
        ProcessorArchitecture=kind,
        InstructionSet=instructions,
        TotalCores=view.cpus,
        TotalThreads=view.cpus,
        Status=_OK,
    )


def render_card(path: str, mac_address: str) -> Body:
    return _resource(
        path,
        "#EthernetInterface.v1_4_0.EthernetInterface",
        "Card",
        MACAddress=mac_address,
        PermanentMACAddress=mac_address,
        InterfaceEnabled=True,
        LinkStatus="LinkUp",
        Status=_OK,
    )


def render_manager(view: MachineView) -> Body:
    """The management controller of a machine."""
    path = manager_path(view.name)
    return _resource(
        path,
        "#Manager.v1_5_0.Manager",
        f"{view.name} manager",
        ManagerType="BMC",
        UUID=str(uuid.uuid5(uuid.NAMESPACE_DNS, view.uuid)),
        Model="Muster lab",
        FirmwareVersion="1",
        PowerState="On",
        Status=_OK,
        VirtualMedia=_link(f"{path}/VirtualMedia"),
        Links={
            "ManagerForServers": [_link(system_path(view.name))],
            "ManagerForChassis": [_link(chassis_path(view.name))],
        },
    )


def render_chassis(view: MachineView) -> Body:
    return _resource(
        chassis_path(view.name),
        "#Chassis.v1_5_0.Chassis",
        f"{view.name} chassis",
        ChassisType="RackMount",
        Manufacturer="Muster",
        PowerState=view.power.value,
        Status=_OK,
        Links={
            "ComputerSystems": [_link(system_path(view.name))],
            "ManagedBy": [_link(manager_path(view.name))],
        },
    )


def render_drive(view: MachineView, path: str, inserted: Inserted | None) -> Body:
    """The virtual drive; what was put in by somebody else than us has only a path."""
    if view.medium is None:
        inserted = None
    elif inserted is None:
        inserted = Inserted(str(view.medium), view.medium.name)
    actions = {
        f"#VirtualMedia.{verb}": {"target": f"{path}/Actions/VirtualMedia.{verb}"}
        for verb in ("InsertMedia", "EjectMedia")
    }
    return _resource(
        path,
        "#VirtualMedia.v1_3_0.VirtualMedia",
        "Virtual drive",
        MediaTypes=["CD", "DVD"],
        Image=inserted.address if inserted else None,
        ImageName=inserted.name if inserted else None,
        Inserted=inserted is not None,
        ConnectedVia="URI" if inserted else "NotConnected",
        WriteProtected=inserted.write_protected if inserted else True,
        Actions=actions,
    )


def render_session_service() -> Body:
    path = f"{ROOT}/SessionService"
    return _resource(
        path,
        "#SessionService.v1_1_3.SessionService",
        "Session service",
        ServiceEnabled=True,
        SessionTimeout=86400,
        Status=_OK,
        Sessions=_link(f"{path}/Sessions"),
    )


def render_session(session: str, user: str) -> Body:
    path = f"{ROOT}/SessionService/Sessions/{session}"
    return _resource(path, "#Session.v1_1_0.Session", "Session", UserName=user)


def with_etag(body: Mapping[str, Any], etag: str) -> Body:
    return {"@odata.etag": etag, **body}
