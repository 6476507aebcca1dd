// SPDX-License-Identifier: Apache-2.0
/** The details of a cluster that exists: saved as they are typed. */
import { Form } from "@patternfly/react-core";
import { listVersions, updateCluster } from "../api/calls";
import type { Cluster } from "../api/types";
import { checkDetails, detailsOf, updateParams } from "../clusters/details";
import { DetailsFields } from "../clusters/DetailsFields";
import { SaveState } from "../forms/SaveState";
import { useDraft } from "../forms/useDraft";
import { useAsked } from "../store/asked";
import { noteCluster } from "../store/clusters";
import { useFlush } from "./flush";

export function DetailsStep({ cluster }: { cluster: Cluster }) {
  const versions = useAsked(listVersions, []).found ?? {};
  const draft = useDraft({
    from: detailsOf(cluster),
    check: checkDetails,
    save: async (changed, whole) => {
      const params = updateParams(changed, whole);
      if (Object.keys(params).length) noteCluster(await updateCluster(cluster.id, params));
    },
  });
  useFlush(draft.flush);
  return (
    <Form className="app-form" onSubmit={(event) => event.preventDefault()}>
      <DetailsFields
        value={draft.value}
        faults={draft.faults}
        set={draft.set}
        versions={versions}
        made={{ hasSecret: Boolean(cluster.pull_secret_set) }}
      />
      <SaveState draft={draft} />
    </Form>
  );
}
