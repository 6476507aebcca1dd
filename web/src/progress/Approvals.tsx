// SPDX-License-Identifier: Apache-2.0
/** Hosts that restarted during their installation and have a new key: a person compares it and approves it. */
import { useState } from "react";
import { Alert, Button } from "@patternfly/react-core";
import { approveEnrolment } from "../api/calls";
import type { Cluster, Host } from "../api/types";
import { ApproveKey, KeyForm } from "../hosts/ApproveKey";
import { sentence, t } from "../i18n";
import { Failure } from "../shell/Failure";
import { useAway } from "../store/live";

const RUNNING = ["preparing-for-installation", "installing", "installing-pending-user-action", "finalizing"];

export function Approvals({ cluster }: { cluster: Cluster }) {
  const hosts = cluster.hosts ?? [];
  const waiting = hosts.filter((host) => host.enrolment_request && !host.enrolment_request.approved);
  return (
    <>
      {waiting.map((host) => (
        <Approval key={`${host.id} ${host.enrolment_request?.key}`} host={host} />
      ))}
      {RUNNING.includes(cluster.status) && <ApproveKey hosts={hosts} />}
    </>
  );
}

function Approval({ host }: { host: Host }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const away = useAway();
  const request = host.enrolment_request;
  if (!request) return null;
  const key = request.key;

  async function approve(): Promise<void> {
    setBusy(true);
    setError(undefined);
    try {
      await approveEnrolment(host, key);
    } catch (caught) {
      setError(caught);
    } finally {
      setBusy(false);
    }
  }

  return (
    <Alert
      isInline
      variant="warning"
      component="h2"
      title={t("approval.title", { name: host.requested_hostname ?? host.id })}
      data-testid="approval"
      actionLinks={
        <Button variant="secondary" isLoading={busy} isDisabled={busy || away !== undefined} title={away} onClick={() => void approve()} data-testid="approve">
          {t("approval.approve", { key })}
        </Button>
      }
    >
      <p>{t("approval.text", { key })}</p>
      <ul>
        {(request.differs ?? []).map((each) => (
          <li key={each}>{sentence(each)}</li>
        ))}
      </ul>
      <Failure error={error} title={t("approval.failed")} />
      <p>{t("approval.other")}</p>
      <KeyForm hosts={[host]} />
    </Alert>
  );
}
