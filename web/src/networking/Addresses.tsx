// SPDX-License-Identifier: Apache-2.0
/** The machine network, and the addresses that move between hosts; with what the hosts say about them. */
import type { Cluster } from "../api/types";
import { TextField } from "../forms/fields";
import type { Draft } from "../forms/useDraft";
import { t } from "../i18n";
import { MachineNetwork } from "./MachineNetwork";
import { Says } from "./Says";
import { isSingle, type Values } from "./values";

interface Props {
  cluster: Cluster;
  draft: Draft<Values>;
  known: readonly string[];
}

export function Addresses({ cluster, draft, known }: Props) {
  const isManaged = !isSingle(cluster) && !draft.value.isOwn;
  return (
    <>
      <MachineNetwork field="machine1" draft={draft} known={known} isDerived={isManaged} />
      {draft.value.isDual && <MachineNetwork field="machine2" draft={draft} known={known} isDerived={isManaged} />}
      <Says cluster={cluster} ids={["machine-cidr-defined", "machine-cidr-equals-to-calculated-cidr"]} />
      {isManaged && (
        <>
          <Vip draft={draft} field="api1" />
          {draft.value.isDual && <Vip draft={draft} field="api2" />}
          <Says cluster={cluster} ids={["api-vips-valid"]} isShown={Boolean(draft.value.api1)} />
          <Vip draft={draft} field="ingress1" />
          {draft.value.isDual && <Vip draft={draft} field="ingress2" />}
          <Says cluster={cluster} ids={["ingress-vips-valid"]} isShown={Boolean(draft.value.ingress1)} />
        </>
      )}
    </>
  );
}

function Vip({ draft, field }: { draft: Draft<Values>; field: "api1" | "api2" | "ingress1" | "ingress2" }) {
  const kind = field.startsWith("api") ? "api" : "ingress";
  const isSecond = field.endsWith("2");
  return (
    <TextField
      id={`network-${field}`}
      label={t(isSecond ? `network.${kind}.second` : `network.${kind}`)}
      help={isSecond ? undefined : t(`network.${kind}.help`)}
      value={draft.value[field]}
      fault={draft.faults[field]}
      isRequired={!isSecond}
      onChange={(next) => draft.set(field, next.trim())}
    />
  );
}
