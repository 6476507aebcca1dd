// SPDX-License-Identifier: Apache-2.0
/** One manifest: its name, its folder and its content. */
import { type FormEvent, lazy, Suspense, useDeferredValue, useMemo, useState } from "react";
import { ActionGroup, Alert, Button, Form, FormGroup, List, ListItem } from "@patternfly/react-core";
import { checkManifest, createManifest, updateManifest } from "../api/calls";
import type { Manifest } from "../api/types";
import { ChoiceField, TextField } from "../forms/fields";
import { sentence, t } from "../i18n";
import { Failure } from "../shell/Failure";
import { bytesOf, encode, LIMIT } from "./encode";

const YamlEditor = lazy(() => import("./YamlEditor"));

export interface Edited {
  /** The manifest as it was, if there was one. */
  before?: Manifest;
  content: string;
}

interface Props {
  clusterId: string;
  edited: Edited;
  taken: string[];
  onDone: () => void;
}

export function ManifestForm({ clusterId, edited, taken, onDone }: Props) {
  const { before } = edited;
  const [name, setName] = useState(before?.file_name ?? "");
  const [folder, setFolder] = useState<string>(before?.folder ?? "manifests");
  const [content, setContent] = useState(edited.content);
  const [faults, setFaults] = useState<string[]>([]);
  const [isTried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const bytes = useMemo(() => bytesOf(content), [useDeferredValue(content)]);
  const nameFault = checkFileName(name, taken.filter((each) => each !== before?.file_name));

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    setTried(true);
    setBusy(true);
    setError(undefined);
    try {
      const found = await checkContent(name, content);
      setFaults(found);
      if (nameFault || found.length) return setBusy(false);
      await save(clusterId, { name, folder, content }, before);
      onDone();
    } catch (caught) {
      setError(caught);
      setBusy(false);
    }
  }

  return (
    <Form onSubmit={(event) => void submit(event)} className="app-manifest">
      <h3>{before ? t("manifests.edit", { name: before.file_name ?? "" }) : t("manifests.new")}</h3>
      <TextField
        id="manifest-name"
        label={t("manifests.name")}
        help={t("manifests.name.help")}
        value={name}
        fault={name || isTried ? nameFault : ""}
        isRequired
        onChange={(next) => setName(next.trim())}
      />
      <ChoiceField
        id="manifest-folder"
        label={t("manifests.folder")}
        help={t("manifests.folder.help")}
        value={folder}
        options={["manifests", "openshift"].map((value) => ({ value, label: value }))}
        onChange={setFolder}
      />
      <FormGroup label={t("manifests.content")}>
        <Suspense fallback={<p>{t("wizard.loading")}</p>}>
          <YamlEditor value={content} onChange={setContent} label={t("manifests.editor")} />
        </Suspense>
      </FormGroup>
      {(faults.length > 0 || bytes > LIMIT) && (
        <Alert component="h3" isInline variant="danger" title={t("manifests.failed")}>
          <List>
            {(bytes > LIMIT ? [t("manifests.large", { name, count: bytes, most: LIMIT })] : faults).map((each) => (
              <ListItem key={each}>{each}</ListItem>
            ))}
          </List>
        </Alert>
      )}
      <Failure error={error} title={t("manifests.failed")} />
      <ActionGroup>
        <Button type="submit" isLoading={busy} isDisabled={busy} data-testid="manifest-save">
          {t("manifests.save")}
        </Button>
        <Button variant="link" onClick={onDone}>
          {t("app.cancel")}
        </Button>
      </ActionGroup>
    </Form>
  );
}

function checkFileName(name: string, taken: string[]): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*\.(yaml|yml|json)$/.test(name)) return t("manifests.name.bad");
  return taken.includes(name) ? t("manifests.name.taken") : "";
}

async function checkContent(name: string, content: string): Promise<string[]> {
  if (!content.trim()) return [t("manifests.empty")];
  if (bytesOf(content) > LIMIT) return [t("manifests.large", { name, count: bytesOf(content), most: LIMIT })];
  const { findProblems } = await import("./problems");
  const own = findProblems(content);
  const found = own.length ? own : ((await checkManifest(name, content)).problems ?? []).filter((each) => each.severity === "error");
  return found.map(({ line, message }) => (line ? t("manifests.line", { line, message: sentence(message) }) : sentence(message)));
}

interface Typed {
  name: string;
  folder: string;
  content: string;
}

function save(clusterId: string, typed: Typed, before?: Manifest): Promise<Manifest> {
  const content = encode(typed.content);
  if (!before) return createManifest(clusterId, { folder: typed.folder, file_name: typed.name, content });
  return updateManifest(clusterId, {
    folder: before.folder ?? "manifests",
    file_name: before.file_name,
    updated_folder: typed.folder,
    updated_file_name: typed.name,
    updated_content: content,
  });
}
