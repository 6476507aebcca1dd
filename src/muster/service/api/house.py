# SPDX-License-Identifier: Apache-2.0
"""Answers about what kind of service this is, and what that means for who wants to change something."""

from __future__ import annotations

from functools import cache
from typing import Final

import msgspec

from muster import __version__
from muster.service.api.call import JSON, Call, Reply, answers, empty, reply
from muster.service.api.table.pages import ServiceAnswer, ValidationCatalogue, ValidationText
from muster.service.api.table.route import Route
from muster.service.auth.personas import Grant, Persona
from muster.service.decisions.house import start_over
from muster.service.house import House
from muster.service.realm import Realm
from muster.service.refusals import StateConflict
from muster.service.service import Service
from muster.service.validations.registry import CLUSTER, HOST, Of, Validation, texts
from muster.service.validations.run import validations
from muster.service.wizard import step_of

_LOOKS: Final = ("GET", "HEAD")
_ALWAYS: Final = frozenset({"v2Login", "v2Logout", "v2ValidateNetworks", "v2ValidateManifest"})
_OF_MANY: Final = frozenset(
    {
        *("v2ImportCluster", "v2RegisterDisconnectedCluster", "RegisterInfraEnv", "DeregisterInfraEnv"),
        *("BindHost", "UnbindHost", "TransformClusterToDay2", "TransformClusterToAddingHosts"),
    }
)
"""What makes sense only where there are several clusters."""


def check_house(house: House, route: Route, grant: Grant | None) -> None:
    """A StateConflict when people want what this service does not do."""
    is_person = grant is not None and grant.persona is Persona.USER
    if route.method in _LOOKS or not is_person or route.operation_id in _ALWAYS:
        return
    if house.mode == "status":
        raise StateConflict(
            "the rendezvous host has restarted from its disk: nothing can be changed any more",
            hint="wait until the cluster is complete; to begin anew, boot the hosts from the medium again",
        )
    if house.mode == "interactive" and route.operation_id in _OF_MANY:
        raise StateConflict(
            "this service is for one cluster, and the hosts that meet here are its own",
            hint="make the cluster with POST /v2/clusters; to begin again, POST /v2/start-over",
        )


@answers("v2GetService")
async def get_service(call: Call) -> Reply:
    service = call.service
    house = service.around.house
    meeting = house.meeting
    return reply(
        ServiceAnswer(
            mode=house.mode,
            version=__version__,
            url=service.around.url,
            fingerprint=service.around.fingerprint(),
            now=service.now(),
            started_at=service.started_at,
            certificate_expires_at=service.around.certificate_expires(),
            warnings=service.around.warnings(),
            cluster_id="" if meeting is None else meeting.cluster_id,
            infra_env_id="" if meeting is None else meeting.infra_env_id,
            rendezvous_ip=house.rendezvous_ip,
            pull_secret_there=bool(house.pull_secret),
        )
    )


@answers("v2ListValidations")
async def list_validations(_call: Call) -> Reply:
    return Reply(200, _validations(), JSON)


@cache
def _validations() -> bytes:
    return msgspec.json.encode(
        ValidationCatalogue(host=_texts("host", HOST), cluster=_texts("cluster", CLUSTER))
    )


def _texts(of: Of, known: dict[str, Validation]) -> dict[str, ValidationText]:
    words = texts()[of]
    return {
        each.id: ValidationText(
            title=words[each.id]["title"],
            why=words[each.id]["why"],
            fix=words[each.id]["fix"],
            step=step_of(each.id),
            advisory=known[each.id].advisory,
            ignorable=known[each.id].ignorable,
        )
        for each in validations(of)
    }


@answers("v2StartOver")
async def begin_again(call: Call) -> Reply:
    service, house = call.service, call.service.around.house
    if house.mode != "interactive" or house.meeting is None:
        raise StateConflict(
            "only a service for one cluster that people make can start over",
            hint="delete the cluster, or reset it: POST /v2/clusters/{cluster_id}/actions/reset",
        )
    meeting = house.meeting

    def concerned() -> list[Realm]:
        realms = [service.engine.realm_of("infra-env", meeting.infra_env_id)]
        if service.engine.has_cluster(meeting.cluster_id):
            realms.append(service.engine.realm_of("cluster", meeting.cluster_id))
        return realms

    files = _files(service, meeting.cluster_id)
    await service.move(concerned, lambda *drafts: start_over(files, *drafts), call.request_id)
    return empty(202)


def _files(service: Service, cluster_id: str) -> list[tuple[str, str]]:
    has = service.engine.has_cluster(cluster_id)
    return list(service.store.documents(cluster_id)) if has else []
