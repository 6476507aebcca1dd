// SPDX-License-Identifier: Apache-2.0
/** Manifests that are applied with the installation. */
import { type ChangeEvent, useRef, useState } from "react";
import { Button, Content } from "@patternfly/react-core";
import PencilAltIcon from "@patternfly/react-icons/dist/esm/icons/pencil-alt-icon";
import TrashIcon from "@patternfly/react-icons/dist/esm/icons/trash-icon";
import { Table, Tbody, Td, Th, Thead, Tr } from "@patternfly/react-table";
import { createManifest, deleteManifest, getManifest, listManifests } from "../api/calls";
import type { Cluster, Manifest } from "../api/types";
import { t } from "../i18n";
import { Failure } from "../shell/Failure";
import { useAsked } from "../store/asked";
import { encode, LIMIT } from "./encode";
import { ManifestForm, type Edited } from "./ManifestForm";

type Failed = { title: string; error: unknown };

export function ManifestsStep({ cluster }: { cluster: Cluster }) {
  const { found, error, again: load } = useAsked(() => listManifests(cluster.id), [cluster.id]);
  const list = found?.filter((each) => each.manifest_source !== "system");
  const [edited, setEdited] = useState<Edited>();
  const [failed, setFailed] = useState<Failed>();
  const input = useRef<HTMLInputElement>(null);
  const fail = (title: string) => (error: unknown) => setFailed({ title, error });

  async function upload(event: ChangeEvent<HTMLInputElement>): Promise<void> {
    const files = [...(event.target.files ?? [])];
    event.target.value = "";
    setFailed(undefined);
    try {
      for (const file of files) {
        if (file.size > LIMIT) throw new Error(t("manifests.large", { name: file.name, count: file.size, most: LIMIT }));
        await createManifest(cluster.id, { folder: "manifests", file_name: file.name, content: encode(await file.text()) });
      }
    } catch (error) {
      setFailed({ title: t("manifests.failed"), error });
    }
    load();
  }

  function edit(one: Manifest): void {
    getManifest(cluster.id, one).then((content) => setEdited({ before: one, content }), fail(t("manifests.load.failed")));
  }

  function remove(one: Manifest): void {
    deleteManifest(cluster.id, one).then(load, fail(t("manifests.remove.failed")));
  }

  return (
    <>
      <Content component="p">{t("manifests.intro")}</Content>
      <Failure error={error} title={t("manifests.load.failed")} />
      {failed && <Failure {...failed} onClose={() => setFailed(undefined)} />}
      {!list?.length && !edited && <p className="app-quiet">{t(list ? "manifests.none" : "wizard.loading")}</p>}
      {Boolean(list?.length) && <ManifestTable list={list!} onEdit={edit} onRemove={remove} />}
      {edited ? (
        <ManifestForm
          key={edited.before?.file_name ?? ""}
          clusterId={cluster.id}
          edited={edited}
          taken={(list ?? []).map((each) => each.file_name ?? "")}
          onDone={() => {
            setEdited(undefined);
            load();
          }}
        />
      ) : (
        <div className="app-row">
          <Button variant="secondary" onClick={() => setEdited({ content: "" })} data-testid="manifest-add">
            {t("manifests.add")}
          </Button>
          <Button variant="secondary" onClick={() => input.current?.click()}>
            {t("manifests.upload")}
          </Button>
          <input
            ref={input}
            type="file"
            multiple
            accept=".yaml,.yml,.json"
            hidden
            aria-label={t("manifests.upload")}
            onChange={(event) => void upload(event)}
          />
        </div>
      )}
    </>
  );
}

interface TableProps {
  list: Manifest[];
  onEdit: (one: Manifest) => void;
  onRemove: (one: Manifest) => void;
}

function ManifestTable({ list, onEdit, onRemove }: TableProps) {
  return (
    <Table variant="compact" aria-label={t("manifests.list")}>
      <Thead>
        <Tr>
          <Th>{t("manifests.name")}</Th>
          <Th>{t("manifests.folder")}</Th>
          <Th screenReaderText={t("host.actions")} />
        </Tr>
      </Thead>
      <Tbody>
        {list.map((each) => {
          const name = each.file_name ?? "";
          return (
            <Tr key={`${each.folder}/${name}`}>
              <Td dataLabel={t("manifests.name")}>{name}</Td>
              <Td dataLabel={t("manifests.folder")}>{each.folder}</Td>
              <Td isActionCell modifier="nowrap">
                <Button variant="plain" icon={<PencilAltIcon />} aria-label={t("manifests.edit", { name })} onClick={() => onEdit(each)} />
                <Button variant="plain" icon={<TrashIcon />} aria-label={t("manifests.remove", { name })} onClick={() => onRemove(each)} />
              </Td>
            </Tr>
          );
        })}
      </Tbody>
    </Table>
  );
}
