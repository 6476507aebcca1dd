// SPDX-License-Identifier: Apache-2.0
/** The network of the cluster: saved as it is typed, and checked by the hosts themselves. */
import { ExpandableSection, Form, FormGroup, Radio, Switch } from "@patternfly/react-core";
import { getDefaults, updateCluster } from "../api/calls";
import type { Cluster } from "../api/types";
import { TextField } from "../forms/fields";
import { SaveState } from "../forms/SaveState";
import { useDraft } from "../forms/useDraft";
import { t } from "../i18n";
import { useAsked } from "../store/asked";
import { noteCluster } from "../store/clusters";
import { Topology } from "../topology/Topology";
import { useFlush } from "../wizard/flush";
import { Addresses } from "./Addresses";
import { Ranges } from "./Ranges";
import { StaticNetwork } from "./StaticNetwork";
import { checkValues, isSingle, paramsOf, secondStack, valuesOf } from "./values";

export function NetworkingStep({ cluster }: { cluster: Cluster }) {
  const known = (cluster.host_networks ?? []).map((each) => each.cidr ?? "").filter(Boolean);
  const defaults = useAsked(getDefaults, []).found ?? {};
  const draft = useDraft({
    from: valuesOf(cluster),
    check: (value) => checkValues(value, known),
    save: async (changed, whole) => {
      const params = paramsOf(changed, whole, known);
      if (Object.keys(params).length) noteCluster(await updateCluster(cluster.id, params));
    },
  });
  useFlush(draft.flush);
  const { value, set } = draft;

  function setDual(isDual: boolean): void {
    const wanted = isDual ? secondStack(value, defaults) : { isDual };
    for (const [field, next] of Object.entries(wanted)) set(field as "isDual", next as boolean);
  }

  return (
    <>
      <Form className="app-form" onSubmit={(event) => event.preventDefault()}>
        {isSingle(cluster) ? (
          <p>{t("network.single")}</p>
        ) : (
          <FormGroup role="radiogroup" label={t("network.who")} fieldId="network-who" isStack>
            <Radio
              id="network-cluster"
              name="who"
              label={t("network.cluster")}
              description={t("network.cluster.help")}
              isChecked={!value.isOwn}
              onChange={() => set("isOwn", false)}
            />
            <Radio
              id="network-user"
              name="who"
              label={t("network.user")}
              description={t("network.user.help")}
              isChecked={value.isOwn}
              onChange={() => set("isOwn", true)}
            />
          </FormGroup>
        )}
        <Switch
          id="network-dual"
          label={t("network.dual")}
          isChecked={value.isDual}
          onChange={(_event, isDual) => setDual(isDual)}
        />
        <Addresses cluster={cluster} draft={draft} known={known} />
        <TextField
          id="network-ssh"
          label={t("network.ssh")}
          help={t("network.ssh.help")}
          value={value.ssh}
          fault={draft.faults.ssh}
          rows={2}
          className="app-code"
          onChange={(next) => set("ssh", next)}
        />
        <ExpandableSection toggleText={t("network.ranges")} isIndented>
          <Ranges draft={draft} />
        </ExpandableSection>
        <SaveState draft={draft} />
      </Form>
      <ExpandableSection toggleText={t("static.title")} isIndented>
        <StaticNetwork cluster={cluster} />
      </ExpandableSection>
      <Topology cluster={cluster} />
    </>
  );
}
