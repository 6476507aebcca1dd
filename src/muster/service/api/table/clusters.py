# SPDX-License-Identifier: Apache-2.0
"""Operations on clusters: their life, their installation, and what people set in them."""

from __future__ import annotations

from typing import Final

from muster.model.release import OPENSHIFT
from muster.service.api.table.cluster_files import FINALIZING, INSTALLING
from muster.service.api.table.route import PREFIX, USER, WATCHER, Route, host, narrowed, under

_START: Final = f"{PREFIX}/v2/clusters"
_get = under("GET", _START)
_post = under("POST", _START)
_put = under("PUT", _START)
_patch = under("PATCH", _START)
_delete = under("DELETE", _START)
_REDUCED: Final = "of other hosts, a host sees only name, role, progress and a request to register again."

CLUSTERS: Final[tuple[Route, ...]] = (
    _post("", "v2RegisterCluster", USER, 201, "Create a cluster."),
    narrowed(_get("", "v2ListClusters", USER | WATCHER, 200, "List the clusters that the caller may see.")),
    _get(
        "/{cluster_id}",
        "v2GetCluster",
        USER | WATCHER | host("the console of a host shows the progress; it gets a reduced answer"),
        200,
        f"Show one cluster with its hosts; {_REDUCED}",
    ),
    _delete("/{cluster_id}", "v2DeregisterCluster", USER, 204, "Delete a cluster and let its hosts go."),
    _patch(
        "/{cluster_id}",
        "V2UpdateCluster",
        USER,
        201,
        "Change a cluster, as long as it is not being installed.",
    ),
    _put(
        "/{cluster_id}/progress",
        "v2UpdateClusterFinalizingProgress",
        host(
            "the host that sets the cluster up reports how far it is",
            control_plane=True,
            cluster_states=INSTALLING,
        ),
        200,
        "Say which step of the finalizing the cluster has reached.",
    ),
    _get(
        "/{cluster_id}/hosts",
        "ListClusterHosts",
        USER | host("the installer waits for the control plane; it gets a reduced answer"),
        200,
        f"List the hosts of a cluster; {_REDUCED}",
    ),
    _get(
        "/{cluster_id}/supported-platforms",
        "GetClusterSupportedPlatforms",
        USER,
        200,
        "List the platforms that all hosts of a cluster can run on.",
    ),
    _get(
        "/default-config",
        "V2GetClusterDefaultConfig",
        USER,
        200,
        "Show the networks and settings that a new cluster begins with.",
    ),
    _post("/{cluster_id}/actions/install", "v2InstallCluster", USER, 202, "Install a cluster."),
    _post(
        "/{cluster_id}/actions/cancel",
        "V2CancelInstallation",
        USER,
        202,
        "Stop the installation of a cluster.",
    ),
    _post(
        "/{cluster_id}/actions/reset",
        "v2ResetCluster",
        USER,
        202,
        "Begin again with a cluster whose installation failed or was stopped.",
    ),
    _post(
        "/{cluster_id}/actions/allow-add-workers",
        "TransformClusterToDay2",
        USER,
        202,
        "Let an installed cluster take further hosts.",
    ),
    _post(
        "/{cluster_id}/actions/allow-add-hosts",
        "TransformClusterToAddingHosts",
        USER,
        202,
        "Let an installed cluster take further hosts; the newer name of the same operation.",
    ),
    _get(
        "/{cluster_id}/preflight-requirements",
        "v2GetPreflightRequirements",
        USER,
        200,
        "Show what hosts need to have to join a cluster.",
    ),
    _post(
        "/{cluster_id}/actions/complete-installation",
        "v2CompleteInstallation",
        host(
            "the controller of an OpenShift cluster ends the installation, and may repeat it",
            control_plane=True,
            release=OPENSHIFT,
            cluster_states=FINALIZING | {"installed"},
        ),
        202,
        "Say that the installation of a cluster is over, and how it ended.",
    ),
    _post(
        "/import",
        "v2ImportCluster",
        USER,
        201,
        "Make a cluster that was installed elsewhere known, so that hosts can be added to it.",
    ),
    _post(
        "/disconnected",
        "v2RegisterDisconnectedCluster",
        USER,
        201,
        "Create a cluster that is installed without this service, to make a self-contained image for it.",
    ),
    _get(
        "/{cluster_id}/ignored-validations",
        "v2GetIgnoredValidations",
        USER,
        200,
        "List the checks that are not to stop the installation of a cluster.",
    ),
    _put(
        "/{cluster_id}/ignored-validations",
        "v2SetIgnoredValidations",
        USER,
        201,
        "Set the checks that are not to stop the installation of a cluster.",
    ),
)
