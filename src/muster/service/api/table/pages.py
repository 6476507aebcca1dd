# SPDX-License-Identifier: Apache-2.0
"""Objects about the service itself, for the page for browsers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from muster.model.wire.struct import Wire, about
from muster.service.house import Mode
from muster.service.wizard import StepId


class ServiceAnswer(Wire, frozen=True, kw_only=True):
    """What kind of service this is."""

    mode: Annotated[
        Mode,
        about(
            "many: for any number of clusters; site: its files say what its one cluster is; interactive: "
            "people make its one cluster; status: its host restarted from the disk, nothing can be changed."
        ),
    ]
    version: Annotated[str, about("Of Muster.")]
    url: Annotated[str, about("Where hosts and people find it.")]
    fingerprint: Annotated[str, about("SHA-256 of its certificate, as browsers and consoles show it.")]
    now: Annotated[datetime, about("What time it is here.")]
    started_at: Annotated[datetime, about("When it started: another time is another life of the service.")]
    certificate_expires_at: Annotated[
        datetime | None, about("When its certificate expires; its own is renewed in time.")
    ] = None
    warnings: Annotated[
        tuple[str, ...], about("What is wrong with it: its certificate ends soon, its database lost commits.")
    ] = ()
    cluster_id: Annotated[str, about("The id that its one cluster has or will have.")] = ""
    infra_env_id: Annotated[str, about("The one infra-env, where its hosts appear.")] = ""
    rendezvous_ip: Annotated[str, about("The address where the hosts meet.")] = ""
    pull_secret_there: Annotated[
        bool, about("The medium brought a pull secret: a cluster that is made with an empty one has it.")
    ] = False


class ValidationText(Wire, frozen=True, kw_only=True):
    """What a validation means."""

    title: str
    why: str
    fix: str
    step: Annotated[StepId, about("The step of the wizard at which something can be done about it.")]
    advisory: Annotated[bool, about("An installation may start although it fails.")] = False
    ignorable: Annotated[bool, about("It can be ignored for one cluster.")] = False


class ValidationCatalogue(Wire, frozen=True, kw_only=True):
    """All validations, by id."""

    host: dict[str, ValidationText]
    cluster: dict[str, ValidationText]
