// SPDX-License-Identifier: Apache-2.0
import { Label, type LabelProps } from "@patternfly/react-core";
import type { Host } from "../api/types";
import { tw } from "../i18n";

const LOOKS: Partial<Record<Host["status"], LabelProps["status"]>> = {
  known: "success",
  installed: "success",
  "preparing-successful": "success",
  insufficient: "danger",
  error: "danger",
  "preparing-failed": "danger",
  disconnected: "warning",
  cancelled: "warning",
  "pending-for-input": "info",
  "installing-pending-user-action": "warning",
};

export function HostStatus({ host }: { host: Host }) {
  return (
    <Label status={LOOKS[host.status]} isCompact title={host.status_info}>
      {tw("host.status", host.status)}
    </Label>
  );
}
