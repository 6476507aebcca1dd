# SPDX-License-Identifier: Apache-2.0
"""Operations on hosts, by people and by the agents that run on them."""

from __future__ import annotations

from typing import Final

from muster.service.api.table.route import KEYLESS, PREFIX, USER, Route, host, medium, narrowed, under

_START: Final = f"{PREFIX}/v2"
_get = under("GET", _START)
_post = under("POST", _START)
_put = under("PUT", _START)
_patch = under("PATCH", _START)
_delete = under("DELETE", _START)

_WRITING: Final = frozenset({"installing", "installing-in-progress"})

HOSTS: Final[tuple[Route, ...]] = (
    _post(
        "/infra-envs/{infra_env_id}/hosts",
        "v2RegisterHost",
        USER | host("an agent that was restarted registers again") | medium("hosts register"),
        201,
        "Register a host; registering again changes nothing.",
    ),
    narrowed(
        _get(
            "/infra-envs/{infra_env_id}/hosts",
            "v2ListHosts",
            USER,
            200,
            "List the hosts of an infra-env.",
        )
    ),
    _get("/infra-envs/{infra_env_id}/hosts/{host_id}", "v2GetHost", USER, 200, "Show one host."),
    _patch(
        "/infra-envs/{infra_env_id}/hosts/{host_id}",
        "v2UpdateHost",
        USER,
        201,
        "Change a host: name, role, disks, labels.",
    ),
    _delete(
        "/infra-envs/{infra_env_id}/hosts/{host_id}",
        "v2DeregisterHost",
        USER,
        204,
        "Forget a host; it comes back when its agent starts again.",
    ),
    _get(
        "/infra-envs/{infra_env_id}/hosts/{host_id}/instructions",
        "v2GetNextSteps",
        host("the agent asks for its steps") | KEYLESS,
        200,
        'Ask what the host is to do next; with "Prefer: wait=N" the answer waits until there is something.',
    ),
    _post(
        "/infra-envs/{infra_env_id}/hosts/{host_id}/instructions",
        "v2PostStepReply",
        host("the agent reports its inventory and its checks") | KEYLESS,
        204,
        "Report what came of a step.",
    ),
    _put(
        "/infra-envs/{infra_env_id}/hosts/{host_id}/progress",
        "v2UpdateHostInstallProgress",
        host("the installer and the node report their stage")
        | KEYLESS
        | medium("a node reports that the service lost its installation", unknown=True),
        200,
        "Say which stage of the installation the host has reached.",
    ),
    _post(
        "/infra-envs/{infra_env_id}/hosts/{host_id}/actions/bind",
        "BindHost",
        USER,
        200,
        "Add a host of the pool to a cluster.",
    ),
    _post(
        "/infra-envs/{infra_env_id}/hosts/{host_id}/actions/unbind",
        "UnbindHost",
        USER,
        200,
        "Take a host out of its cluster, back into the pool.",
    ),
    _patch(
        "/infra-envs/{infra_env_id}/hosts/{host_id}/actions/reset-validation/{validation_id}",
        "v2ResetHostValidation",
        USER,
        200,
        "Forget the result of one check of a host, so that it is made again.",
    ),
    _post(
        "/infra-envs/{infra_env_id}/hosts/{host_id}/actions/reset",
        "v2ResetHost",
        USER,
        200,
        "Begin again with one host of a cluster that is already there.",
    ),
    _post(
        "/infra-envs/{infra_env_id}/hosts/{host_id}/actions/install",
        "v2InstallHost",
        USER,
        202,
        "Install one host into a cluster that is already there.",
    ),
    _patch(
        "/infra-envs/{infra_env_id}/hosts/{host_id}/installer-args",
        "v2UpdateHostInstallerArgs",
        USER,
        201,
        "Set further arguments of coreos-installer for a host.",
    ),
    _get(
        "/infra-envs/{infra_env_id}/hosts/{host_id}/ignition",
        "v2GetHostIgnition",
        USER,
        200,
        "Show the Ignition that a host boots with after the installation.",
    ),
    _patch(
        "/infra-envs/{infra_env_id}/hosts/{host_id}/ignition",
        "v2UpdateHostIgnition",
        USER,
        201,
        "Set what is merged into the Ignition of a host.",
    ),
    _put(
        "/infra-envs/{infra_env_id}/hosts/{host_id}/logs-progress",
        "v2UpdateHostLogsProgress",
        host("the agent reports that it collects logs") | KEYLESS,
        204,
        "Say how far the collection of a host's logs is.",
    ),
    _get(
        "/infra-env/{infra_env_id}/hosts/{host_id}/downloads/ignition",
        "v2DownloadHostIgnition",
        USER | host("the installer writes it to the disk", host_states=_WRITING),
        200,
        "Download the Ignition that a host boots with after the installation.",
    ),
)
