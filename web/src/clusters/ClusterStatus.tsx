// SPDX-License-Identifier: Apache-2.0
import { Label, type LabelProps } from "@patternfly/react-core";
import type { Cluster } from "../api/types";
import { tw } from "../i18n";

const LOOKS: Partial<Record<Cluster["status"], LabelProps["status"]>> = {
  ready: "success",
  installed: "success",
  error: "danger",
  cancelled: "warning",
  "installing-pending-user-action": "warning",
};

export function ClusterStatus({ cluster }: { cluster: Cluster }) {
  const percent = cluster.progress?.total_percentage;
  const isRunning = ["preparing-for-installation", "installing", "finalizing"].includes(cluster.status);
  return (
    <Label status={LOOKS[cluster.status]} color={isRunning ? "blue" : "grey"} isCompact title={cluster.status_info}>
      {tw("cluster.status", cluster.status)}
      {isRunning && percent ? ` ${percent} %` : ""}
    </Label>
  );
}
