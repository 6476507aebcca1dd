// SPDX-License-Identifier: Apache-2.0
/** What stands in the way: what it is, why it matters, what to do, and where. */
import { Alert, List, ListItem } from "@patternfly/react-core";
import type { Block, StepId, WizardStep } from "../api/types";
import { sentence, t, tn } from "../i18n";
import { pathOf } from "../routing";
import { Go } from "../shell/Go";
import { sortBlocks } from "./blocks";

export const BLOCKS_ID = "blocks";

interface Props {
  clusterId: string;
  step: WizardStep;
  steps: WizardStep[];
}

export function Blocks({ clusterId, step, steps }: Props) {
  const { faults, waits } = sortBlocks(step.blocked_by ?? []);
  const after = step.after ?? [];
  const count = faults.length || waits.length;
  if (!count && !(step.id === "review" && after.length)) return <Warnings step={step} />;
  return (
    <>
      <Alert component="h3"
        id={BLOCKS_ID}
        tabIndex={-1}
        isInline
        className="app-blocks"
        variant={faults.length || !count ? "warning" : "info"}
        title={faults.length || !count ? tn("blocks.title", faults.length + (step.id === "review" ? after.length : 0)) : t("blocks.waits")}
      >
        <BlockList blocks={[...faults, ...(faults.length ? [] : waits)]} />
        {faults.length > 0 && waits.length > 0 && <p className="app-quiet">{tn("blocks.more", waits.length)}</p>}
        {step.id === "review" && <Earlier clusterId={clusterId} ids={after} steps={steps} />}
      </Alert>
      <Warnings step={step} />
    </>
  );
}

function Earlier({ clusterId, ids, steps }: { clusterId: string; ids: StepId[]; steps: WizardStep[] }) {
  return (
    <List isPlain>
      {ids.map((id) => (
        <ListItem key={id}>
          <Go to={pathOf(clusterId, id)}>{t(`step.${id}`)}</Go>
          <BlockList blocks={sortBlocks(steps.find((each) => each.id === id)?.blocked_by ?? []).faults} />
        </ListItem>
      ))}
    </List>
  );
}

function Warnings({ step }: { step: WizardStep }) {
  if (!step.warnings?.length) return null;
  return (
    <Alert component="h3" isInline isExpandable variant="info" className="app-blocks" title={tn("blocks.warnings", step.warnings.length)}>
      <BlockList blocks={step.warnings} />
    </Alert>
  );
}

export function BlockList({ blocks }: { blocks: Block[] }) {
  return (
    <List className="app-block-list">
      {blocks.map((each) => (
        <ListItem key={`${each.of} ${each.id}`}>
          <OneBlock block={each} />
        </ListItem>
      ))}
    </List>
  );
}

function OneBlock({ block }: { block: Block }) {
  const hosts = block.hosts ?? [];
  const messages = new Set(hosts.map((each) => each.message ?? block.message));
  return (
    <>
      <strong>{sentence(messages.size > 1 ? block.title : ([...messages][0] ?? block.message))}</strong>
      {hosts.length > 0 && messages.size === 1 && <span> {t("blocks.hosts", { names: hosts.map((each) => each.name).join(", ") })}</span>}
      {messages.size > 1 && (
        <List>
          {hosts.map((each) => (
            <ListItem key={each.id}>
              {each.name}: {sentence(each.message ?? block.message)}
            </ListItem>
          ))}
        </List>
      )}
      {block.why && (
        <p>
          <span className="app-lead">{t("why.why")}</span> {block.why}
        </p>
      )}
      {block.fix && (
        <p>
          <span className="app-lead">{t("why.fix")}</span> {sentence(block.fix)}
        </p>
      )}
    </>
  );
}
