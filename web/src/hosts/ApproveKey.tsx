// SPDX-License-Identifier: Apache-2.0
/** Approve the key that the console of a host shows, whether the host waits for an approval or not. */
import { type FormEvent, useId, useState } from "react";
import { Button, Content, ExpandableSection, Form, HelperText, HelperTextItem } from "@patternfly/react-core";
import { approveEnrolment } from "../api/calls";
import type { Host } from "../api/types";
import { checkKey } from "../forms/checks";
import { ChoiceField, TextField } from "../forms/fields";
import { t } from "../i18n";
import { Failure } from "../shell/Failure";
import { useAway } from "../store/live";
import { nameOf } from "./facts";

const INSTALLED = ["installed", "added-to-existing-cluster"];

/** A section for all hosts that can still register. */
export function ApproveKey({ hosts }: { hosts: Host[] }) {
  const [isOpen, setOpen] = useState(false);
  const open = hosts.filter((host) => !INSTALLED.includes(host.status));
  if (!open.length) return null;
  return (
    <ExpandableSection
      isIndented
      toggleText={t("approval.any")}
      isExpanded={isOpen}
      onToggle={(_event, expanded) => setOpen(expanded)}
      data-testid="approve-any"
    >
      <Content component="p">{t("approval.any.text")}</Content>
      {isOpen && <KeyForm hosts={open} />}
    </ExpandableSection>
  );
}

/** The field for the key; with several hosts, also the choice of the host. */
export function KeyForm({ hosts }: { hosts: Host[] }) {
  const id = useId();
  const [chosen, setChosen] = useState(hosts[0]?.id ?? "");
  const [text, setText] = useState("");
  const [asked, setAsked] = useState(false);
  const [busy, setBusy] = useState(false);
  const [done, setDone] = useState("");
  const [error, setError] = useState<unknown>();
  const away = useAway();
  const host = hosts.find((each) => each.id === chosen) ?? hosts[0];
  const key = text.trim().toUpperCase();
  const fault = checkKey(key);
  if (!host) return null;

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    setAsked(true);
    if (fault || !host || away !== undefined) return;
    setBusy(true);
    setError(undefined);
    setDone("");
    try {
      await approveEnrolment(host, key);
      setDone(t("approval.key.done", { key, name: nameOf(host) }));
      setText("");
      setAsked(false);
    } catch (caught) {
      setError(caught);
    } finally {
      setBusy(false);
    }
  }

  return (
    <Form onSubmit={(event) => void submit(event)} data-testid="key-form">
      {hosts.length > 1 && (
        <ChoiceField
          id={`${id}-host`}
          label={t("approval.host")}
          value={host.id}
          options={hosts.map((each) => ({ value: each.id, label: nameOf(each) }))}
          onChange={setChosen}
        />
      )}
      <TextField
        id={`${id}-key`}
        label={t("approval.key")}
        help={t("approval.key.help")}
        value={text}
        fault={text || asked ? fault : ""}
        onChange={setText}
      />
      <div>
        <Button type="submit" variant="secondary" isLoading={busy} isDisabled={busy || away !== undefined} title={away}>
          {t("approval.key.approve")}
        </Button>
      </div>
      {done && (
        <HelperText isLiveRegion>
          <HelperTextItem variant="success">{done}</HelperTextItem>
        </HelperText>
      )}
      <Failure error={error} title={t("approval.failed")} />
    </Form>
  );
}
