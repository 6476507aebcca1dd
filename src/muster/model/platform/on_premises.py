# SPDX-License-Identifier: Apache-2.0
"""What platforms without a cloud share: virtual addresses, and who balances the load and serves names."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from muster.model.schema import Items, Model, many, nested, value
from muster.model.values import IP, IP_ADDRESS, choice, number

PORT: Final = number(1, 65535, why="TCP has no other ports.")
AS_THEY_ARE: Final = "the machines exist already and are used as they are"
"""Why settings of machines that an installer would create have no effect."""


class LoadBalancerType(StrEnum):
    """Who balances the load of API and applications."""

    OPENSHIFT_MANAGED_DEFAULT = "OpenShiftManagedDefault"
    USER_MANAGED = "UserManaged"


class DNSRecordsType(StrEnum):
    """Who serves the names of API and applications to the nodes."""

    INTERNAL = "Internal"
    EXTERNAL = "External"


class LoadBalancer(Model):
    """Who balances the load of API and applications."""

    type: LoadBalancerType | None = value(
        choice(LoadBalancerType),
        "The cluster itself, or a load balancer of yours.",
        default="OpenShiftManagedDefault",
        example="UserManaged",
    )


class OnPremises(Model):
    """A platform without a cloud."""

    api_vips: Items[IP] = many(
        IP_ADDRESS,
        "Virtual addresses of the API, one per IP family; no host may have them.",
        key="apiVIPs",
        example="192.0.2.5",
    )
    ingress_vips: Items[IP] = many(
        IP_ADDRESS,
        "Virtual addresses of the applications, one per IP family; no host may have them.",
        key="ingressVIPs",
        example="192.0.2.6",
    )
    api_vip: IP | None = value(
        IP_ADDRESS,
        "The one virtual address of the API.",
        key="apiVIP",
        replaced_by="apiVIPs",
        example="192.0.2.5",
    )
    ingress_vip: IP | None = value(
        IP_ADDRESS,
        "The one virtual address of the applications.",
        key="ingressVIP",
        replaced_by="ingressVIPs",
        example="192.0.2.6",
    )
    load_balancer: LoadBalancer | None = value(
        nested(LoadBalancer), "Who balances the load.", default="the cluster itself"
    )
    dns_records_type: DNSRecordsType | None = value(
        choice(DNSRecordsType),
        "Who serves the names of API and applications; External only with a load balancer of yours.",
        default="Internal",
        example="External",
    )
