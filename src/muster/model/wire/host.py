# SPDX-License-Identifier: Apache-2.0
"""A host, and what may be asked of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from muster.model.wire.enums import DiskRole, HostRole, HostStage, LogsState
from muster.model.wire.struct import Wire


class BindHostParams(Wire):
    """TODO"""

    cluster_id: str


class DiskConfigParams(Wire):
    """TODO"""

    id: str
    role: DiskRole | None = None


class DiskSkipFormattingParams(Wire):
    """TODO"""

    disk_id: str
    skip_formatting: bool


class FencingCredentialsParams(Wire):
    """TODO"""

    address: str
    username: str
    password: str
    certificate_verification: Literal["Enabled", "Disabled"] | None = None
    mac_address: str | None = None


class HostProgressInfo(Wire):
    """TODO"""

    installation_percentage: int | None = None
    current_stage: HostStage | None = None
    progress_info: str | None = None
    stage_started_at: datetime | None = None
    stage_updated_at: datetime | None = None
    stage_timed_out: bool | None = None


class Host(Wire):
    """TODO"""

    kind: Literal["Host", "AddToExistingClusterHost"]
    id: str
    href: str
    status: Literal[
        "discovering",
        "known",
        "disconnected",
        "insufficient",
        "disabled",
        "preparing-for-installation",
        "preparing-failed",
        "preparing-successful",
        "pending-for-input",
        "installing",
        "installing-in-progress",
        "installing-pending-user-action",
        "resetting-pending-user-action",
        "installed",
        "error",
        "resetting",
        "added-to-existing-cluster",
        "cancelled",
        "binding",
        "unbinding",
        "unbinding-pending-user-action",
        "known-unbound",
        "disconnected-unbound",
        "insufficient-unbound",
        "disabled-unbound",
        "discovering-unbound",
        "reclaiming",
        "reclaiming-rebooting",
    ]
    status_info: str
    cluster_id: str | None = None
    infra_env_id: str | None = None
    validations_info: str | None = None
    logs_info: LogsState | None = None
    status_updated_at: datetime | None = None
    progress: HostProgressInfo | None = None
    stage_started_at: datetime | None = None
    stage_updated_at: datetime | None = None
    progress_stages: tuple[HostStage, ...] | None = None
    connectivity: str | None = None
    api_vip_connectivity: str | None = None
    tang_connectivity: str | None = None
    inventory: str | None = None
    free_addresses: str | None = None
    ntp_sources: str | None = None
    disks_info: str | None = None
    role: HostRole | None = None
    suggested_role: HostRole | None = None
    bootstrap: bool | None = None
    logs_collected_at: datetime | None = None
    logs_started_at: datetime | None = None
    installer_version: str | None = None
    installation_disk_path: str | None = None
    installation_disk_id: str | None = None
    updated_at: datetime | None = None
    created_at: datetime | None = None
    checked_in_at: datetime | None = None
    connection_timed_out: bool | None = None
    registered_at: datetime | None = None
    discovery_agent_version: str | None = None
    requested_hostname: str | None = None
    user_name: str | None = None
    media_status: Literal["connected", "disconnected"] | None = None
    deleted_at: Any | None = None
    ignition_config_overrides: str | None = None
    installer_args: str | None = None
    timestamp: int | None = None
    machine_config_pool_name: str | None = None
    images_status: str | None = None
    domain_name_resolutions: str | None = None
    ignition_endpoint_token_set: bool | None = None
    node_labels: str | None = None
    disks_to_be_formatted: str | None = None
    skip_formatting_disks: str | None = None
    fencing_credentials: str | None = None


class HostCreateParams(Wire):
    """TODO"""

    host_id: str
    discovery_agent_version: str | None = None


class HostIgnitionParams(Wire):
    """TODO"""

    config: str | None = None


class HostProgress(Wire):
    """TODO"""

    current_stage: HostStage | None = None
    progress_info: str | None = None


class HostRegistrationResponseNextStepRunnerCommand(Wire):
    """TODO"""

    command: str | None = None
    args: tuple[str, ...] | None = None
    retry_seconds: int | None = None


class HostRegistrationResponse(Wire):
    """TODO"""

    next_step_runner_command: HostRegistrationResponseNextStepRunnerCommand | None = None


class IgnitionEndpointHttpHeadersParams(Wire):
    """TODO"""

    key: str
    value: str


class NodeLabelParams(Wire):
    """TODO"""

    key: str
    value: str


class HostUpdateParams(Wire):
    """TODO"""

    host_role: Literal["auto-assign", "master", "arbiter", "worker"] | None = None
    host_name: str | None = None
    disks_selected_config: tuple[DiskConfigParams, ...] | None = None
    disks_skip_formatting: tuple[DiskSkipFormattingParams, ...] | None = None
    machine_config_pool_name: str | None = None
    ignition_endpoint_token: str | None = None
    ignition_endpoint_http_headers: tuple[IgnitionEndpointHttpHeadersParams, ...] | None = None
    node_labels: tuple[NodeLabelParams, ...] | None = None
    fencing_credentials: FencingCredentialsParams | None = None


class InstallerArgsParams(Wire):
    """TODO"""

    args: tuple[str, ...] | None = None


class LogsProgressParams(Wire):
    """TODO"""

    logs_state: LogsState
