# SPDX-License-Identifier: Apache-2.0
"""Operations on what belongs to a cluster: manifests, files, credentials, logs, operators."""

from __future__ import annotations

from typing import Final

from muster.model.release import OPENSHIFT
from muster.service.api.table.route import KEYLESS, PREFIX, USER, Route, host, under

_START: Final = f"{PREFIX}/v2/clusters/{{cluster_id}}"
_get = under("GET", _START)
_post = under("POST", _START)
_put = under("PUT", _START)
_patch = under("PATCH", _START)
_delete = under("DELETE", _START)

INSTALLING: Final = frozenset({"installing", "installing-pending-user-action", "finalizing"})
FINALIZING: Final = frozenset({"finalizing"})
ENDED: Final = frozenset({"installed", "error", "cancelled"})

CLUSTER_FILES: Final[tuple[Route, ...]] = (
    _get(
        "/downloads/credentials-presigned",
        "V2GetPresignedForClusterCredentials",
        USER,
        200,
        "Get an address of a credential of a cluster that works for a limited time.",
    ),
    _get(
        "/credentials",
        "V2GetCredentials",
        USER,
        200,
        "Show the user name, password and console of an installed cluster.",
    ),
    _get(
        "/downloads/files",
        "V2DownloadClusterFiles",
        USER,
        200,
        "Download a file of a cluster: Ignition, metadata, install-config, manifests.",
    ),
    _get(
        "/downloads/credentials",
        "V2DownloadClusterCredentials",
        USER,
        200,
        "Download the kubeconfig or the password of a cluster.",
    ),
    _get(
        "/downloads/files-presigned",
        "V2GetPresignedForClusterFiles",
        USER,
        200,
        "Get an address of a file of a cluster that works for a limited time.",
    ),
    _get(
        "/install-config",
        "v2GetClusterInstallConfig",
        USER,
        200,
        "Show the install-config that the cluster is installed from, without its secrets.",
    ),
    _patch(
        "/install-config",
        "v2UpdateClusterInstallConfig",
        USER,
        201,
        "Set what is merged into the install-config of a cluster.",
    ),
    _post(
        "/uploads/ingress-cert",
        "v2UploadClusterIngressCert",
        host(
            "a cluster of `muster serve` is installed when the authority of its routes is there",
            control_plane=True,
            cluster_states=FINALIZING,
        ),
        201,
        "Keep the certificate authority of the cluster's ingress.",
    ),
    _put(
        "/logs-progress",
        "v2UpdateClusterLogsProgress",
        host(
            "the controller of an OpenShift cluster collects its logs",
            control_plane=True,
            release=OPENSHIFT,
            cluster_states=INSTALLING | ENDED,
        ),
        204,
        "Say how far the collection of a cluster's logs is.",
    ),
    _get("/manifests", "V2ListClusterManifests", USER, 200, "List the manifests of a cluster."),
    _post("/manifests", "V2CreateClusterManifest", USER, 201, "Add a manifest to a cluster."),
    _patch(
        "/manifests", "V2UpdateClusterManifest", USER, 200, "Change, rename or move a manifest of a cluster."
    ),
    _delete("/manifests", "V2DeleteClusterManifest", USER, 200, "Remove a manifest from a cluster."),
    _get("/manifests/files", "v2DownloadClusterManifest", USER, 200, "Download a manifest of a cluster."),
    _get("/logs", "V2DownloadClusterLogs", USER, 200, "Download the logs of a cluster or of one host."),
    _post(
        "/logs",
        "V2UploadLogs",
        host("the support bundle has the logs of every host; controller logs: control plane only") | KEYLESS,
        204,
        "Upload the logs of a host or of the controller.",
    ),
    _get(
        "/monitored-operators",
        "V2ListOfClusterOperators",
        host(
            "the controller of an OpenShift cluster waits for its operators",
            control_plane=True,
            release=OPENSHIFT,
            cluster_states=INSTALLING,
        ),
        200,
        "List the operators of a cluster with their state.",
    ),
    _put(
        "/monitored-operators",
        "v2ReportMonitoredOperatorStatus",
        host(
            "the host that sets the cluster up reports its parts",
            control_plane=True,
            cluster_states=INSTALLING,
        ),
        200,
        "Say what the state of an operator of a cluster is.",
    ),
    _get(
        "/ui-settings",
        "V2GetClusterUISettings",
        USER,
        200,
        "Show what the web interface has kept with a cluster.",
    ),
    _put(
        "/ui-settings",
        "V2UpdateClusterUISettings",
        USER,
        200,
        "Set what the web interface keeps with a cluster.",
    ),
)
