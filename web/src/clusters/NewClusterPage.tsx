// SPDX-License-Identifier: Apache-2.0
/** Make a cluster: its details, after which its hosts can come. */
import { type FormEvent, useRef, useState } from "react";
import { ActionGroup, Button, Content, Form, PageSection } from "@patternfly/react-core";
import { createCluster, createInfraEnv, listInfraEnvs, listVersions } from "../api/calls";
import type { Cluster, Versions } from "../api/types";
import { t } from "../i18n";
import { go, pathOf } from "../routing";
import { Failure } from "../shell/Failure";
import { useAsked } from "../store/asked";
import { noteCluster } from "../store/clusters";
import { useService } from "../store/service";
import { checkDetails, createParams, type DetailFaults, type Details, EMPTY } from "./details";
import { DetailsFields } from "./DetailsFields";

export function NewClusterPage() {
  const [typed, setTyped] = useState<Partial<Details>>({});
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const [isAll, setAll] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const made = useRef<Cluster>();
  const { mode, pull_secret_there } = useService();
  const { found: versions } = useAsked(listVersions, []);

  const value = { ...EMPTY, ...usualOf(versions ?? {}, typed.openshift_version), ...typed };
  const faults: DetailFaults = { ...checkDetails(value), openshift_version: versions ? "" : t("details.version.unknown") };
  const shown = Object.fromEntries(
    Object.entries(faults).filter(([field]) => isAll || touched.has(field)),
  ) as DetailFaults;

  function set<K extends keyof Details>(field: K, next: Details[K]): void {
    setTyped((old) => ({ ...old, [field]: next }));
    setTouched((old) => new Set(old).add(field));
  }

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    setAll(true);
    if (Object.values(faults).some(Boolean)) {
      const first = Object.entries(faults).find(([, fault]) => fault)?.[0];
      document.getElementById(first === "pull_secret" ? "details-pull-secret" : `details-${first}`)?.focus();
      return;
    }
    setBusy(true);
    try {
      made.current ??= await createCluster(createParams(value, Boolean(pull_secret_there)));
      if (mode === "many") await ensureInfraEnv(made.current, value);
      noteCluster(made.current);
      go(pathOf(made.current.id, "operators"));
    } catch (caught) {
      setError(caught);
    } finally {
      setBusy(false);
    }
  }

  return (
    <PageSection hasBodyWrapper={false}>
      <Content component="h1">{t("new.title")}</Content>
      <Content component="p">{t("new.intro")}</Content>
      <Form className="app-form" onSubmit={(event) => void submit(event)} noValidate>
        <DetailsFields value={value} faults={shown} set={set} versions={versions} isBrought={pull_secret_there} />
        <Failure error={error} title={t("new.failed")} />
        <ActionGroup>
          <Button type="submit" isLoading={busy} isDisabled={busy} data-testid="next">
            {t("new.go")}
          </Button>
          {mode === "many" && (
            <Button variant="link" onClick={() => go("/")}>
              {t("app.cancel")}
            </Button>
          )}
        </ActionGroup>
      </Form>
    </PageSection>
  );
}

/** What hosts boot belongs to an infra-env, which a service that is there for one cluster has already. */
async function ensureInfraEnv(cluster: Cluster, value: Details): Promise<void> {
  if ((await listInfraEnvs(cluster.id)).length) return;
  const { pull_secret, cpu_architecture } = createParams(value);
  await createInfraEnv({ name: `${value.name}-hosts`, pull_secret, cpu_architecture, cluster_id: cluster.id });
}

/** The version that is taken unless somebody chooses one, and what that runs on. */
function usualOf(versions: Versions, chosen?: string): Partial<Details> {
  const all = Object.entries(versions);
  const version = chosen ?? (all.find(([, each]) => each.default) ?? all[0])?.[0];
  if (!version) return {};
  return { openshift_version: version, cpu_architecture: versions[version]?.cpu_architectures[0] ?? EMPTY.cpu_architecture };
}
