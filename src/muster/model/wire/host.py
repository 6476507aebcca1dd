# SPDX-License-Identifier: Apache-2.0
"""A host, and what may be asked of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from muster.model.wire.enums import DiskRole, HostRole, HostStage, HostStatus, LogsState
from muster.model.wire.struct import Json, JsonList, Time, Wire, about


class BindHostParams(Wire, frozen=True, kw_only=True):
    """The cluster that a host is to join."""

    cluster_id: str


class EnrolmentRequest(Wire, frozen=True, kw_only=True):
    """A host that is being installed asks to register with another key."""

    key: Annotated[str, about("The fingerprint of the key, as the host shows it.")]
    address: Annotated[str, about("Where it called from.")]
    requested_at: Time
    differs: Annotated[tuple[str, ...], about("What is not as it was, in words.")] = ()
    approved: bool = False


class EnrolmentApproval(Wire, frozen=True, kw_only=True):
    """Which key a host may register with."""

    key: Annotated[str, about("The fingerprint of the key, as the console of the host shows it.")]


class DiskConfigParams(Wire, frozen=True, kw_only=True):
    """What a disk of a host is used for."""

    id: str
    role: DiskRole | None = None


class DiskSkipFormattingParams(Wire, frozen=True, kw_only=True):
    """Whether a disk of a host is left as it is."""

    disk_id: str
    skip_formatting: bool


class FencingCredentialsParams(Wire, frozen=True, kw_only=True):
    """How the cluster reaches the management controller of a host."""

    address: str
    username: str
    password: str
    certificate_verification: Literal["Enabled", "Disabled"] | None = None
    mac_address: str | None = None


class HostProgressInfo(Wire, frozen=True, kw_only=True):
    """How far the installation of a host is."""

    installation_percentage: Annotated[int | None, about("0 to 100.")] = None
    current_stage: HostStage | None = None
    progress_info: str | None = None
    stage_started_at: Time | None = None
    stage_updated_at: Time | None = None
    stage_timed_out: bool | None = None


class Host(Wire, frozen=True, kw_only=True):
    """A machine that booted a discovery image."""

    kind: Literal["Host", "AddToExistingClusterHost"]
    id: str
    href: Annotated[str, about("Path of the host under this interface.")]
    status: HostStatus
    status_info: Annotated[str, about("The reason of the status, in words.")]
    cluster_id: str | None = None
    infra_env_id: str | None = None
    validations_info: Annotated[
        str | None, about("JSON in a string: by category, what each check of the host says.")
    ] = None
    logs_info: LogsState | None = None
    status_updated_at: Time | None = None
    progress: HostProgressInfo | None = None
    stage_started_at: Time | None = None
    stage_updated_at: Time | None = None
    progress_stages: Annotated[
        tuple[HostStage, ...] | None, about("The stages that a host of its role goes through.")
    ] = None
    connectivity: Annotated[str | None, about("JSON in a string: what the host found about its peers.")] = (
        None
    )
    api_vip_connectivity: Json = None
    tang_connectivity: Json = None
    inventory: Annotated[str | None, about("JSON in a string: what the host is made of.")] = None
    free_addresses: Json = None
    ntp_sources: Json = None
    disks_info: Annotated[
        str | None, about("JSON in a string: what is known of disks beside the inventory, by id.")
    ] = None
    role: HostRole | None = None
    suggested_role: Annotated[
        HostRole | None, about("The role that it gets if it is left to the service.")
    ] = None
    bootstrap: bool | None = None
    logs_collected_at: Time | None = None
    logs_started_at: Time | None = None
    installer_version: str | None = None
    installation_disk_path: str | None = None
    installation_disk_id: str | None = None
    updated_at: Time | None = None
    created_at: Time | None = None
    checked_in_at: Annotated[Time | None, about("When it last asked for instructions.")] = None
    connection_timed_out: bool | None = None
    registered_at: Annotated[Time | None, about("When it last registered.")] = None
    discovery_agent_version: str | None = None
    requested_hostname: str | None = None
    user_name: str | None = None
    media_status: Annotated[
        Literal["connected", "disconnected"] | None,
        about("Whether the host can still read what it was started from."),
    ] = None
    deleted_at: Any | None = None
    ignition_config_overrides: Annotated[
        str | None, about("JSON in a string that is merged into the Ignition of the host.")
    ] = None
    installer_args: JsonList = None
    timestamp: Annotated[
        int | None, about("The host's own clock, in seconds since 1970, when it was last told.")
    ] = None
    machine_config_pool_name: Annotated[str | None, about("The pool that its node joins.")] = None
    images_status: Annotated[
        str | None, about("JSON in a string: which container images it could pull, by name.")
    ] = None
    domain_name_resolutions: Json = None
    ignition_endpoint_token_set: bool | None = None
    node_labels: Json = None
    disks_to_be_formatted: Annotated[
        str | None, about("Ids of disks that lose their content, separated by commas.")
    ] = None
    skip_formatting_disks: Annotated[
        str | None, about("Ids of disks that are left as they are, separated by commas.")
    ] = None
    fencing_credentials: Annotated[str | None, about("Never shown.")] = None
    key_fingerprint: Annotated[str | None, about("Of the key that it is bound to.")] = None
    enrolment_request: Annotated[
        EnrolmentRequest | None, about("It asks to register with another key; a person has to approve that.")
    ] = None


class HostCreateParams(Wire, frozen=True, kw_only=True):
    """A host that reports for the first time, or again."""

    host_id: str
    discovery_agent_version: str | None = None


class HostIgnitionParams(Wire, frozen=True, kw_only=True):
    """What is merged into the Ignition of a host, as JSON in a string."""

    config: str | None = None


class HostProgress(Wire, frozen=True, kw_only=True):
    """The stage that a host has reached."""

    current_stage: HostStage | None = None
    progress_info: str | None = None


class NextStepRunnerCommand(Wire, frozen=True, kw_only=True):
    """How the agent starts to ask for instructions."""

    command: str | None = None
    args: tuple[str, ...] | None = None
    retry_seconds: int | None = None


class HostRegistrationResponse(Host, frozen=True, kw_only=True):
    """A host as it was registered, and what its agent does next."""

    next_step_runner_command: NextStepRunnerCommand | None = None


class IgnitionEndpointHttpHeader(Wire, frozen=True, kw_only=True):
    """A header that is sent when Ignition is fetched."""

    key: str
    value: str


class NodeLabelParams(Wire, frozen=True, kw_only=True):
    """A label that a host's node gets."""

    key: str
    value: str


class HostUpdateParams(Wire, frozen=True, kw_only=True):
    """What is to change in a host; what is not given stays."""

    host_role: Literal["auto-assign", "master", "arbiter", "worker"] | None = None
    host_name: str | None = None
    disks_selected_config: Annotated[
        tuple[DiskConfigParams, ...] | None,
        Meta(description='The disk that is installed to has the role "install".'),
    ] = None
    disks_skip_formatting: tuple[DiskSkipFormattingParams, ...] | None = None
    machine_config_pool_name: str | None = None
    ignition_endpoint_token: Annotated[str | None, about("It is never shown again.")] = None
    ignition_endpoint_http_headers: tuple[IgnitionEndpointHttpHeader, ...] | None = None
    node_labels: tuple[NodeLabelParams, ...] | None = None
    fencing_credentials: FencingCredentialsParams | None = None


class InstallerArgsParams(Wire, frozen=True, kw_only=True):
    """Further arguments of coreos-installer."""

    args: tuple[str, ...] | None = None


class HostLogLines(Wire, frozen=True, kw_only=True):
    """What a host wrote into its journal."""

    lines: tuple[str, ...]


class LogsProgressParams(Wire, frozen=True, kw_only=True):
    """How far the collection of logs is."""

    logs_state: LogsState
