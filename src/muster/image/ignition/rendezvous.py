# SPDX-License-Identifier: Apache-2.0
"""Where the hosts meet, and how they know each other."""

from __future__ import annotations

from typing import Final

from muster.image.credentials import Credentials
from muster.model.ignition import Config, File
from muster.model.plan import Plan
from muster.model.values import IP

SERVICE_PORT: Final = 8090


def rendezvous(plan: Plan, credentials: Credentials) -> Config:
    """The address, the service's certificate and its authority, and the token that agents register with."""
    values = {"CLUSTER_ID": credentials.cluster_id, "INFRA_ENV_ID": credentials.infra_env_id}
    if plan.rendezvous is not None:
        values["NODE_ZERO_IP"] = str(plan.rendezvous.ip)
        values["SERVICE_BASE_URL"] = f"https://{bracketed(plan.rendezvous.ip)}:{SERVICE_PORT}/"
    text = "".join(f"{name}={value}\n" for name, value in sorted(values.items()))
    return Config(
        (
            File("/etc/assisted/rendezvous-host.env", text.encode()),
            File("/etc/assisted/tokens/agent", credentials.agent_token.encode()),
            File("/etc/assisted/tokens/key.pem", credentials.token_key),
            *(File(f"/etc/assisted/tls/{name}", data) for name, data in credentials.service_tls),
        )
    )


def bracketed(ip: IP) -> str:
    """An address as URLs have it."""
    return f"[{ip}]" if ip.version == 6 else str(ip)
