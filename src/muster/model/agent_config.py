# SPDX-License-Identifier: Apache-2.0
"""agent-config.yaml: the hosts of a site, and which of them the others meet at."""

from __future__ import annotations

from muster.model.host import Host
from muster.model.metadata import Metadata
from muster.model.schema import Items, Model, many, nested, value
from muster.model.values import BOOLEAN, IP, IP_ADDRESS, IP_OR_DOMAIN, TEXT, url


class AgentConfig(Model):
    """The hosts of a site, and which of them the others meet at."""

    api_version: str | None = value(
        TEXT, "Version of this file's format: v1beta1 or v1alpha1.", example="v1beta1"
    )
    kind: str | None = value(TEXT, "Always AgentConfig.", example="AgentConfig")
    metadata: Metadata | None = value(nested(Metadata), "Name of the cluster.")
    rendezvous_ip: IP | None = value(
        IP_ADDRESS,
        "Address of the host that all others meet at; it runs the installation and is the last to join.",
        key="rendezvousIP",
        default="the first static address in a machine network of a host that may be a control-plane host",
        example="192.0.2.10",
    )
    additional_ntp_sources: Items[str] = many(
        IP_OR_DOMAIN, "Time servers for all hosts.", key="additionalNTPSources", example="192.0.2.1"
    )
    boot_artifacts_base_url: str | None = value(
        url("http", "https"),
        "Where the boot files will be served from (PXE, minimal ISO).",
        key="bootArtifactsBaseURL",
        example="http://192.0.2.1:8080/boot",
    )
    minimal_iso: bool | None = value(
        BOOLEAN,
        "Make a small ISO that downloads its root file system from bootArtifactsBaseURL.",
        key="minimalISO",
        default="false (true on platform external with bootArtifactsBaseURL)",
    )
    hosts: Items[Host] = many(
        nested(Host), "The machines of the site.", default="hosts are accepted as they come, with DHCP"
    )
