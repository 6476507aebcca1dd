// SPDX-License-Identifier: Apache-2.0
/** What one needs to reach the cluster, before the service that has it goes away. */
import { Content } from "@patternfly/react-core";
import type { Cluster } from "../api/types";
import { t } from "../i18n";
import { Downloads } from "./Downloads";
import { HostsLines } from "./HostsLines";

export function CredentialsStep({ cluster }: { cluster: Cluster }) {
  return (
    <>
      <Content component="p">{t("credentials.intro")}</Content>
      <Downloads cluster={cluster} />
      <HostsLines cluster={cluster} />
    </>
  );
}
