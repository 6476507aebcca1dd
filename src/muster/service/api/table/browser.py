# SPDX-License-Identifier: Apache-2.0
"""Operations that the page for browsers is made with: the kind of service, choices, checks, files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from muster.model.wire import host
from muster.service.add_ons import AddOnCatalogue
from muster.service.api.table import pages
from muster.service.api.table.route import ANYONE, PREFIX, USER, WATCHER, Route, under
from muster.service.api.table.route import host as by_host
from muster.service.api.table.shape import Shape, header, may, need
from muster.service.checking.manifests import ManifestReport, ManifestToCheck
from muster.service.checking.networks import NetworksReport, NetworksToCheck
from muster.service.farewell import Farewell
from muster.service.logs import HostLog
from muster.service.timeline import Timeline

_get = under("GET", f"{PREFIX}/v2")
_post = under("POST", f"{PREFIX}/v2")
_put = under("PUT", f"{PREFIX}/v2")
_CLUSTER: Final = "/clusters/{cluster_id}"

BROWSER: Final[tuple[Route, ...]] = (
    _get(
        "/service",
        "v2GetService",
        ANYONE,
        200,
        "Say what kind of service this is, what its certificate is, and what time it is here.",
    ),
    _get(
        "/validations",
        "v2ListValidations",
        ANYONE,
        200,
        "List all validations: what each means, why it matters, what to do, and at which step.",
    ),
    _post(
        "/start-over",
        "v2StartOver",
        USER,
        202,
        "Stop everything, and begin again: the one cluster and all hosts are forgotten; hosts come back.",
    ),
    _get("/add-ons", "v2ListAddOns", USER, 200, "List what can be installed on top of a release."),
    _get(
        f"{_CLUSTER}/add-ons",
        "v2ListClusterAddOns",
        USER | WATCHER,
        200,
        "List what can be installed on top of a cluster, what is chosen, and what cannot be, and why.",
    ),
    _post(
        "/nmstate/validate",
        "v2ValidateNetworks",
        USER,
        200,
        "Check static networks of hosts, each by itself and against the others; nothing is changed.",
    ),
    _post("/manifests/validate", "v2ValidateManifest", USER, 200, "Check a manifest; nothing is changed."),
    _get(
        f"{_CLUSTER}/downloads/everything",
        "v2DownloadEverything",
        USER,
        200,
        "Download all that is to be kept of a cluster as one file: kubeconfig, password, addresses.",
    ),
    _get(
        f"{_CLUSTER}/farewell",
        "v2GetFarewell",
        USER | WATCHER,
        200,
        "Show what people need when the service is away: addresses of the cluster, and which host restarts.",
    ),
    _get(
        f"{_CLUSTER}/timeline",
        "v2GetTimeline",
        USER | WATCHER,
        200,
        "Show which stage of the installation each host was in, from when to when.",
    ),
    _get(
        f"{_CLUSTER}/hosts/{{host_id}}/log",
        "v2GetHostLog",
        USER,
        200,
        'Show the end of the log of a host; with "Prefer: wait=N" the answer waits until a line comes.',
    ),
    _put(
        "/infra-envs/{infra_env_id}/hosts/{host_id}/log-lines",
        "v2TellLogLines",
        by_host("the page shows the log of a host while it is installed"),
        204,
        "Tell what a host wrote into its journal, for those who watch; it is not kept for long.",
    ),
)

_LINES: Final = Annotated[int, Meta(ge=1, le=5000)]
Natural: TypeAlias = Annotated[int, Meta(ge=0)]

BROWSER_SHAPES: Final[Mapping[str, Shape]] = {
    "v2GetService": Shape(answer=pages.ServiceAnswer),
    "v2ListValidations": Shape(answer=pages.ValidationCatalogue),
    "v2StartOver": Shape(),
    "v2ListAddOns": Shape(
        (
            need("openshift_version", str, "The release that is meant."),
            may("cpu_architecture", str, "`x86_64` if it is not given."),
        ),
        answer=AddOnCatalogue,
    ),
    "v2ListClusterAddOns": Shape(answer=AddOnCatalogue),
    "v2ValidateNetworks": Shape(body=NetworksToCheck, answer=NetworksReport),
    "v2ValidateManifest": Shape(body=ManifestToCheck, answer=ManifestReport),
    "v2DownloadEverything": Shape(answer=bytes),
    "v2GetFarewell": Shape(answer=Farewell),
    "v2GetTimeline": Shape(answer=Timeline),
    "v2GetHostLog": Shape(
        (
            may("lines", _LINES, "At most so many, the last ones; 500 if it is not given."),
            may("filter", str, "Only lines that contain this, in any case of letters."),
            may("after", Natural, "Only lines after this one: `next` of the answer before."),
            header("Prefer", str, "`wait=N`: the answer may wait for N seconds until a line comes."),
        ),
        answer=HostLog,
    ),
    "v2TellLogLines": Shape(body=host.HostLogLines),
}
