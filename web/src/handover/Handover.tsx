// SPDX-License-Identifier: Apache-2.0
/**
 * The host that serves this page restarts near the end. Before: that it will, and what to take along. While it is
 * away: what happens, and that the page waits. Afterwards the page goes on by itself.
 */
import { useEffect } from "react";
import { Alert, List, ListItem } from "@patternfly/react-core";
import type { Cluster, Farewell } from "../api/types";
import { Downloads } from "../credentials/Downloads";
import { t } from "../i18n";
import { clockTime, duration } from "../i18n/time";
import { useNow } from "../store/clock";
import { isAwayExplained, link } from "../store/live";
import { useService } from "../store/service";
import { useStore } from "../store/store";
import { isLeaving, phaseOf } from "./phase";

interface Props {
  cluster: Cluster;
  farewell?: Farewell;
}

export function Handover({ cluster, farewell }: Props) {
  const { state, heardAt } = useStore(link, (value) => value);
  const { mode } = useService();
  const phase = phaseOf(cluster, farewell, state, mode);
  if (phase === "none") return null;
  if (phase === "away") return <Away cluster={cluster} farewell={farewell} heardAt={heardAt} />;
  return (
    <Alert component="h2" isInline variant={isLeaving(cluster, farewell) ? "warning" : "info"} title={t("handover.before.title", { name: farewell?.rendezvous?.name ?? "" })} className="app-blocks" data-testid="handover-before">
      <p>{t("handover.before.text")}</p>
      {!farewell?.credentials_taken && <Downloads cluster={cluster} />}
    </Alert>
  );
}

function Away({ cluster, farewell, heardAt }: Props & { heardAt: number }) {
  const now = useNow();
  useEffect(() => {
    isAwayExplained.set(() => true);
    return () => isAwayExplained.set(() => false);
  }, []);
  return (
    <Alert component="h2" isInline variant="info" title={t("handover.away.title", { name: farewell?.rendezvous?.name ?? "" })} className="app-blocks" data-testid="handover-away">
      <p role="status">
        {t("handover.away.text", { time: clockTime(heardAt), passed: duration((now - heardAt) / 1000) })}
      </p>
      <List>
        {farewell?.console_url && (
          <ListItem>
            {t("outcome.console")} <a href={farewell.console_url}>{farewell.console_url}</a>
          </ListItem>
        )}
        {farewell?.api_url && (
          <ListItem>
            {t("outcome.api")} <code>{farewell.api_url}</code>
          </ListItem>
        )}
        <ListItem>{t("handover.away.console")}</ListItem>
      </List>
      {Boolean(farewell?.hosts_lines?.length) && (
        <>
          <p className="app-lead">{t("credentials.hosts")}</p>
          <pre className="app-code">{farewell!.hosts_lines!.join("\n")}</pre>
        </>
      )}
      <p className="app-quiet">{t("handover.away.reload", { name: cluster.name ?? "" })}</p>
    </Alert>
  );
}
