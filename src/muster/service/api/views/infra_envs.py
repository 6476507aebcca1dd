# SPDX-License-Identifier: Apache-2.0
"""Infra-envs, as clients are shown them."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from muster.model.wire.infra_env import InfraEnv as WireInfraEnv
from muster.service.api.views.text import PREFIX, copier, json_or_none
from muster.service.state import InfraEnv

_REWORDED: Final = ("static_network_config", "kernel_arguments", "size_bytes", "openshift_version")
_copy = copier(InfraEnv, WireInfraEnv, *_REWORDED)


def show_infra_env(
    infra_env: InfraEnv, download_url: str | None = None, expires_at: datetime | None = None
) -> WireInfraEnv:
    """An infra-env, with an address of its image that works until it expires."""
    return WireInfraEnv(
        kind="InfraEnv",
        href=f"{PREFIX}/infra-envs/{infra_env.id}",
        static_network_config=json_or_none(infra_env.static_network_config),
        kernel_arguments=json_or_none(infra_env.kernel_arguments),
        openshift_version=infra_env.openshift_version,
        pull_secret_set=bool(infra_env.pull_secret),
        size_bytes=infra_env.size_bytes or None,
        download_url=download_url or None,
        expires_at=expires_at,
        **_copy(infra_env),
    )
