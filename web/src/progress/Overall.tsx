// SPDX-License-Identifier: Apache-2.0
/** The whole in one bar: how far, since when, how long yet. */
import { Progress, ProgressMeasureLocation } from "@patternfly/react-core";
import type { Cluster, Timeline } from "../api/types";
import { t, tw } from "../i18n";
import { clockTime, duration, isTime } from "../i18n/time";
import { secondsSince, useNow } from "../store/clock";

interface Props {
  cluster: Cluster;
  timeline?: Timeline;
}

const VARIANTS = { installed: "success", error: "danger", cancelled: "warning" } as const;

export function Overall({ cluster, timeline }: Props) {
  const percent = cluster.status === "installed" ? 100 : (cluster.progress?.total_percentage ?? 0);
  return (
    <section aria-label={t("progress.all")} className="app-part">
      <Progress
        value={percent}
        title={cluster.status_info || t("progress.all")}
        measureLocation={ProgressMeasureLocation.outside}
        variant={VARIANTS[cluster.status as keyof typeof VARIANTS]}
        aria-label={t("progress.all")}
        data-testid="overall"
      />
      <Times cluster={cluster} left={timeline?.usual_left_s} />
    </section>
  );
}

function Times({ cluster, left }: { cluster: Cluster; left?: number | null }) {
  const now = useNow();
  if (!isTime(cluster.install_started_at)) return null;
  const end = isTime(cluster.install_completed_at) ? Date.parse(cluster.install_completed_at) : undefined;
  const passed = duration(secondsSince(cluster.install_started_at, end ?? now));
  const stage = cluster.progress?.finalizing_stage;
  const texts = [
    end
      ? t("progress.took", { time: passed, end: clockTime(end) })
      : t("progress.since", { start: clockTime(cluster.install_started_at), time: passed }),
    !end && left ? t("progress.left", { time: duration(left) }) : "",
    !end && stage ? t("progress.finalizing", { stage: tw("stage", stage) }) : "",
  ];
  return <p className="app-quiet">{texts.filter(Boolean).join(" · ")}</p>;
}
