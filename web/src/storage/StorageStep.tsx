// SPDX-License-Identifier: Apache-2.0
/** Which disk each host is installed to, and what happens to all of them. */
import { useState } from "react";
import { Content } from "@patternfly/react-core";
import { updateHost } from "../api/calls";
import type { Cluster, Disk, Host, HostUpdate } from "../api/types";
import { disksOf, sortHosts } from "../hosts/facts";
import { t } from "../i18n";
import { Failure } from "../shell/Failure";
import { noteHost } from "../store/clusters";
import { HostDisks } from "./HostDisks";

export function StorageStep({ cluster }: { cluster: Cluster }) {
  const [error, setError] = useState<unknown>();
  const hosts = sortHosts(cluster.hosts).filter((host) => disksOf(host).length > 0);

  function change(host: Host, params: HostUpdate): void {
    setError(undefined);
    updateHost(host, params).then((fresh) => noteHost(cluster.id, fresh), setError);
  }

  return (
    <>
      <Content component="p">{t("storage.intro")}</Content>
      <Failure error={error} title={t("storage.failed")} onClose={() => setError(undefined)} />
      {hosts.length === 0 && <p>{t("storage.none")}</p>}
      {hosts.map((host) => (
        <HostDisks
          key={host.id}
          host={host}
          onInstall={(disk: Disk) => change(host, { disks_selected_config: [{ id: disk.id ?? "", role: "install" }] })}
          onSkip={(disk: Disk, skip: boolean) =>
            change(host, { disks_skip_formatting: [{ disk_id: disk.id ?? "", skip_formatting: skip }] })
          }
        />
      ))}
    </>
  );
}
