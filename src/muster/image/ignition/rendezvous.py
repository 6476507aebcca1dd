# SPDX-License-Identifier: Apache-2.0
"""Where the hosts meet, and how they know each other."""

from __future__ import annotations

from collections.abc import Mapping

from muster.image.credentials import Credentials
from muster.model.ignition import Config, File
from muster.model.meeting import AGENT_TOKEN, ENVIRONMENT, render_environment, service_url
from muster.model.plan import Plan


def rendezvous(plan: Plan, credentials: Credentials) -> Config:
    """The address, the service's certificate and its authority, and the token that agents register with."""
    values = {"CLUSTER_ID": credentials.cluster_id, "INFRA_ENV_ID": credentials.infra_env_id}
    if plan.rendezvous is not None:
        values["NODE_ZERO_IP"] = str(plan.rendezvous.ip)
        values["SERVICE_BASE_URL"] = f"{service_url(plan.rendezvous.ip)}/"
    return Config(
        (
            *meeting_files(values, credentials.agent_token),
            File("/etc/assisted/tokens/key.pem", credentials.token_key),
            *(File(f"/etc/assisted/tls/{name}", data) for name, data in credentials.service_tls),
        )
    )


def meeting_files(values: Mapping[str, str], token: str) -> tuple[File, ...]:
    """Where the service is and who asks for it, as an environment; and the token to be shown there."""
    return (File(ENVIRONMENT, render_environment(values).encode()), File(AGENT_TOKEN, token.encode()))
