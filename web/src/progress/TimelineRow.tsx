// SPDX-License-Identifier: Apache-2.0
/** One host on its way; drawn again only when it changed, but its clock ticks by itself. */
import { memo } from "react";
import { Label } from "@patternfly/react-core";
import { Td, Tr } from "@patternfly/react-table";
import type { Host, HostTimeline, StageSpan } from "../api/types";
import { nameOf, roleOf } from "../hosts/facts";
import { HostStatus } from "../hosts/HostStatus";
import { t, tw } from "../i18n";
import { duration, isTime } from "../i18n/time";
import { secondsSince, useNow } from "../store/clock";
import { percentOf } from "./percent";

interface Props {
  host: Host;
  line: HostTimeline;
}

export const TimelineRow = memo(function TimelineRow({ host, line }: Props) {
  const stage = host.progress?.current_stage;
  const at = line.stages.findIndex((each) => each.stage === stage);
  const percent = percentOf(host);
  return (
    <Tr data-testid="timeline" data-host={nameOf(host)}>
      <Td dataLabel={t("host.name")} modifier="breakWord">
        {nameOf(host)} {host.bootstrap && <em className="app-quiet">{t("host.rendezvous")}</em>}
      </Td>
      <Td dataLabel={t("host.role")}>{tw("host.role", roleOf(host))}</Td>
      <Td dataLabel={t("host.status")}>
        <HostStatus host={host} />
      </Td>
      <Td dataLabel={t("progress.stage")}>
        <div>
          {stage ? tw("stage", stage) : "–"}
          {at >= 0 && <span className="app-quiet"> {t("progress.of", { at: at + 1, all: line.stages.length })}</span>}
          {host.progress?.progress_info && <span className="app-quiet"> {host.progress.progress_info}</span>}
        </div>
        <Segments stages={line.stages} at={at} percent={percent} />
      </Td>
      <Td dataLabel={t("progress.time")}>{at >= 0 && <Clock span={line.stages[at]!} host={host} />}</Td>
    </Tr>
  );
});

/** A picture of the row; what it shows is said in words beside it, so it is hidden from screen readers. */
function Segments({ stages, at, percent }: { stages: readonly StageSpan[]; at: number; percent?: number }) {
  return (
    <div className="app-segments" aria-hidden="true">
      {stages.map((each, index) => (
        <span
          key={each.stage}
          className="app-segment"
          data-state={index < at || each.stage === "Done" && index === at ? "done" : index === at ? (each.is_slow ? "slow" : "now") : "later"}
          title={segmentTitle(each)}
        >
          {index === at && percent !== undefined && <span className="app-segment-fill" style={{ width: `${percent}%` }} />}
        </span>
      ))}
    </div>
  );
}

function segmentTitle(span: StageSpan): string {
  const took = isTime(span.started_at) && isTime(span.ended_at) ? secondsSince(span.started_at, Date.parse(span.ended_at)) : 0;
  return [tw("stage", span.stage), took ? duration(took) : "", span.usual_s ? t("progress.usual", { time: duration(span.usual_s) }) : ""]
    .filter(Boolean)
    .join(", ");
}

function Clock({ span, host }: { span: StageSpan; host: Host }) {
  const now = useNow();
  const start = span.started_at ?? host.stage_started_at;
  if (!isTime(start) || span.stage === "Done") return null;
  const passed = secondsSince(start, now);
  const isSlow = span.is_slow || (span.usual_s ? passed > 2 * span.usual_s : false);
  return (
    <>
      {duration(passed)}
      {span.usual_s ? <div className="app-quiet">{t("progress.usual", { time: duration(span.usual_s) })}</div> : null}
      {isSlow && (
        <Label status="warning" isCompact>
          {t("progress.slow")}
        </Label>
      )}
      {host.progress?.stage_timed_out && (
        <Label status="danger" isCompact>
          {t("progress.late")}
        </Label>
      )}
    </>
  );
}
