// SPDX-License-Identifier: Apache-2.0
/** The files of a cluster, each with a button. */
import { useState } from "react";
import { Button, DataList, DataListAction, DataListCell, DataListItem, DataListItemCells, DataListItemRow } from "@patternfly/react-core";
import CheckCircleIcon from "@patternfly/react-icons/dist/esm/icons/check-circle-icon";
import DownloadIcon from "@patternfly/react-icons/dist/esm/icons/download-icon";
import { getCredentialFile, getEverything } from "../api/calls";
import type { Cluster } from "../api/types";
import { t } from "../i18n";
import { Failure } from "../shell/Failure";
import { saveFile } from "../shell/saveFile";
import { loadCluster } from "../store/clusters";

type File = "all" | "kubeconfig" | "password";
const FILES: File[] = ["all", "kubeconfig", "password"];

export function Downloads({ cluster }: { cluster: Cluster }) {
  const [error, setError] = useState<unknown>();
  const [taken, setTaken] = useState<ReadonlySet<File>>(new Set());

  async function take(file: File): Promise<void> {
    setError(undefined);
    try {
      saveFile(await load(cluster.id, file), nameOf(cluster, file));
      setTaken((old) => new Set(old).add(file));
      await loadCluster(cluster.id);
    } catch (caught) {
      setError(caught);
    }
  }

  return (
    <>
      <Failure error={error} title={t("credentials.failed")} />
      <DataList aria-label={t("step.credentials")} isCompact>
        {FILES.map((file) => (
          <DataListItem key={file} aria-labelledby={`file-${file}`}>
            <DataListItemRow>
              <DataListItemCells
                dataListCells={[
                  <DataListCell key="what">
                    <strong id={`file-${file}`}>{t(`credentials.${file}`)}</strong>
                    <div className="app-quiet">{t(`credentials.${file}.text`)}</div>
                  </DataListCell>,
                ]}
              />
              <DataListAction id={`take-${file}`} aria-label={t("app.download")} aria-labelledby={`file-${file}`}>
                <Button
                  variant={file === "all" ? "primary" : "secondary"}
                  icon={taken.has(file) ? <CheckCircleIcon /> : <DownloadIcon />}
                  onClick={() => void take(file)}
                  data-testid={`download-${file}`}
                >
                  {t("app.download")}
                </Button>
              </DataListAction>
            </DataListItemRow>
          </DataListItem>
        ))}
      </DataList>
    </>
  );
}

function load(id: string, file: File): Promise<Blob> {
  if (file === "all") return getEverything(id);
  return getCredentialFile(id, file === "password" ? "kubeadmin-password" : "kubeconfig");
}

function nameOf(cluster: Cluster, file: File): string {
  const name = cluster.name ?? "cluster";
  if (file === "all") return `${name}-credentials.zip`;
  return file === "password" ? `${name}-kubeadmin-password` : `${name}-kubeconfig`;
}
