// SPDX-License-Identifier: Apache-2.0
/** Static addresses for hosts that boot from now on, judged by the service as they are typed. */
import { useState } from "react";
import { ActionGroup, Alert, Button, Form } from "@patternfly/react-core";
import { listInfraEnvs, updateInfraEnv } from "../api/calls";
import type { Cluster } from "../api/types";
import { t } from "../i18n";
import { Failure } from "../shell/Failure";
import { useAsked } from "../store/asked";
import { missingIn } from "./simple";
import { configOf, EMPTY_HOST, parseHosts, type StaticHost } from "./statics";
import { StaticHostFields } from "./StaticHostFields";
import { useNetworkCheck } from "./useNetworkCheck";

export function StaticNetwork({ cluster }: { cluster: Cluster }) {
  const { found, error: missing } = useAsked(() => listInfraEnvs(), [cluster.id]);
  const env = found?.find((each) => each.cluster_id === cluster.id) ?? found?.[0];
  const [typed, setHosts] = useState<StaticHost[]>();
  const [error, setError] = useState<unknown>();
  const [isSaved, setSaved] = useState(false);
  const hosts = typed ?? parseHosts(env?.static_network_config);
  const check = useNetworkCheck(hosts);
  if (!env) return <Failure error={missing} title={t("static.failed")} />;

  function put(at: number, host?: StaticHost): void {
    setSaved(false);
    setHosts(hosts.flatMap((each, index) => (index === at ? (host ? [host] : []) : [each])));
  }

  async function save(): Promise<void> {
    setError(undefined);
    const open = hosts.findIndex((host) => host.simple && missingIn(host.simple));
    if (open >= 0) return setError(new Error(`${t("static.host", { at: open + 1 })}: ${missingIn(hosts[open]!.simple!)}`));
    try {
      await updateInfraEnv(env!.id, { static_network_config: hosts.map(configOf) });
      setSaved(true);
    } catch (caught) {
      setError(caught);
    }
  }

  return (
    <Form className="app-form" onSubmit={(event) => event.preventDefault()}>
      <p>{t("static.intro")}</p>
      {hosts.length === 0 && <p className="app-quiet">{t("static.none")}</p>}
      {hosts.map((host, at) => (
        <StaticHostFields key={host.key} at={at + 1} host={host} findings={check.hosts[at] ?? []} onChange={(next) => put(at, next)} onRemove={() => put(at)} />
      ))}
      {check.all.map((each) => (
        <Alert key={each.message} isInline isPlain component="p" variant={each.severity === "error" ? "danger" : "warning"} title={`${each.message}. ${each.fix ?? ""}`} />
      ))}
      {hosts.length > 0 && (
        <p role="status" className="app-quiet" data-testid="static-state">
          {isSaved ? t("static.saved") : check.state === "fine" ? t("static.fine") : check.state === "unchecked" ? t("static.unchecked") : check.state === "checking" ? t("static.checking") : ""}
        </p>
      )}
      <Failure error={error} title={t("static.failed")} />
      <ActionGroup>
        <Button variant="secondary" onClick={() => setHosts([...hosts, { ...EMPTY_HOST, key: crypto.getRandomValues(new Uint32Array(1))[0]! }])} data-testid="static-add">
          {t("static.add")}
        </Button>
        <Button onClick={() => void save()} data-testid="static-save">
          {t("static.save")}
        </Button>
      </ActionGroup>
    </Form>
  );
}
