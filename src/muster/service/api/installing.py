# SPDX-License-Identifier: Apache-2.0
"""Answers about installations: begin, stop, begin again, and what a cluster that comes up tells."""

from __future__ import annotations

from typing import Any

import msgspec

from muster.model.wire.cluster import ClusterFinalizingProgress, CompletionParams
from muster.model.wire.operators import OperatorMonitorReport
from muster.service.api.call import Call, Reply, answers, empty, reply
from muster.service.api.clusters import change, cluster_of
from muster.service.api.showing import cluster_reply
from muster.service.decisions.house import settle_watched, unsettle_watched
from muster.service.decisions.installing import begin_installation
from muster.service.preparing import keep_ingress, parse_authorities
from muster.service.realm import Draft
from muster.service.refusals import BadRequest, NotFound
from muster.service.states import cluster as states


async def _act(call: Call, decision: Any) -> Reply:
    await change(call, decision)
    return await cluster_reply(call, call.ids["cluster_id"], 202)


@answers("v2InstallCluster")
async def install(call: Call) -> Reply:
    house = call.service.around.house
    addresses = {
        each.rendezvous_ip
        for each in call.service.engine.infra_envs()
        if each.cluster_id == call.ids["cluster_id"] and each.rendezvous_ip
    }

    def decision(draft: Draft) -> None:
        begin_installation(draft, house.rendezvous_ip or min(addresses, default=""))
        if house.mode == "interactive":
            settle_watched(draft)

    return await _act(call, decision)


@answers("V2CancelInstallation")
async def cancel(call: Call) -> Reply:
    return await _act(call, states.cancel)


@answers("v2ResetCluster")
async def reset(call: Call) -> Reply:
    def decision(draft: Draft) -> None:
        states.reset(draft)
        if call.service.around.house.mode == "interactive":
            unsettle_watched(draft)

    return await _act(call, decision)


@answers("TransformClusterToDay2")
async def add_workers(call: Call) -> Reply:
    return await _act(call, states.transform_to_day2)


@answers("TransformClusterToAddingHosts")
async def add_hosts(call: Call) -> Reply:
    return await _act(call, states.transform_to_day2)


@answers("v2CompleteInstallation")
async def complete(call: Call) -> Reply:
    params = call.decode(CompletionParams)
    return await _act(call, lambda draft: states.complete(draft, params.is_success, params.error_info or ""))


@answers("v2UpdateClusterFinalizingProgress")
async def finalizing(call: Call) -> Reply:
    stage = call.decode(ClusterFinalizingProgress).finalizing_stage
    if stage is None:
        raise BadRequest("finalizing_stage is missing", hint="say which stage is reached")
    await change(call, lambda draft: states.finalizing_stage(draft, stage))
    return empty(200)


@answers("v2UploadClusterIngressCert")
async def upload_ingress(call: Call) -> Reply:
    """The authority of the cluster's applications, which comes when they run."""
    certificates = parse_authorities(call.decode(str))
    await change(call, lambda draft: keep_ingress(call.service, draft, certificates))
    return empty(201)


@answers("V2ListOfClusterOperators")
async def list_operators(call: Call) -> Reply:
    wanted = call.query.get("operator_name")
    return reply([each for each in cluster_of(call).monitored_operators if wanted in (None, each.name)])


@answers("v2ReportMonitoredOperatorStatus")
async def report_operator(call: Call) -> Reply:
    report = call.decode(OperatorMonitorReport)

    def decision(draft: Draft) -> None:
        operators = draft.cluster.monitored_operators
        if report.name not in {each.name for each in operators}:
            raise NotFound(f"operator {report.name} is not watched", hint="list the cluster's operators")
        draft.change(
            draft.cluster,
            monitored_operators=tuple(
                msgspec.structs.replace(
                    each,
                    status=report.status,
                    status_info=report.status_info,
                    version=report.version or each.version,
                    status_updated_at=draft.now,
                )
                if each.name == report.name
                and (each.status, each.status_info) != (report.status, report.status_info)
                else each
                for each in operators
            ),
        )

    await change(call, decision)
    return empty(200)
