# SPDX-License-Identifier: Apache-2.0
"""What is installed on top of a cluster."""

from __future__ import annotations

from typing import Literal

from muster.model.wire.enums import OperatorStatus, OperatorType
from muster.model.wire.struct import Time, Wire


class Bundle(Wire, frozen=True, kw_only=True):
    """Operators that are installed together."""

    id: str | None = None
    title: str | None = None
    description: str | None = None
    operators: tuple[str, ...] | None = None
    optional_operators: tuple[str, ...] | None = None


class BundleCreateParams(Wire, frozen=True, kw_only=True):
    """A group of operators that is asked for."""

    id: str
    optional_operators: tuple[str, ...] | None = None


class MonitoredOperator(Wire, frozen=True, kw_only=True):
    """An operator of a cluster, with its state."""

    cluster_id: str | None = None
    name: str | None = None
    version: str | None = None
    namespace: str | None = None
    subscription_name: str | None = None
    operator_type: OperatorType | None = None
    properties: str | None = None
    timeout_seconds: int | None = None
    status: OperatorStatus | None = None
    status_info: str | None = None
    status_updated_at: Time | None = None
    bundles: tuple[str, ...] | None = None
    dependency_only: bool | None = None
    source_bundles: tuple[str, ...] | None = None


class OperatorCreateParams(Wire, frozen=True, kw_only=True):
    """An operator that is asked for."""

    name: str | None = None
    properties: str | None = None


class OperatorMonitorReport(Wire, frozen=True, kw_only=True):
    """The state of an operator, as the cluster tells it."""

    name: str | None = None
    version: str | None = None
    status: OperatorStatus | None = None
    status_info: str | None = None


class OperatorProperty(Wire, frozen=True, kw_only=True):
    """A setting of an operator."""

    name: str | None = None
    data_type: Literal["boolean", "string", "integer", "float"] | None = None
    mandatory: bool | None = None
    options: tuple[str, ...] | None = None
    description: str | None = None
    default_value: str | None = None
