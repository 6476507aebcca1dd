// SPDX-License-Identifier: Apache-2.0
/** What a host has written down: its last lines, with a filter, and everything as a file. */
import { useDeferredValue, useState } from "react";
import { Button, CodeBlock, CodeBlockCode, ExpandableSection, FormSelect, FormSelectOption, SearchInput } from "@patternfly/react-core";
import DownloadIcon from "@patternfly/react-icons/dist/esm/icons/download-icon";
import { getLogs } from "../api/calls";
import type { Cluster } from "../api/types";
import { nameOf, sortHosts } from "../hosts/facts";
import { t } from "../i18n";
import { Failure } from "../shell/Failure";
import { saveFile } from "../shell/saveFile";
import { useTail } from "./useTail";

export function HostLogs({ cluster }: { cluster: Cluster }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <ExpandableSection toggleText={t("logs.title")} isExpanded={isOpen} onToggle={(_event, next) => setOpen(next)} className="app-part">
      {isOpen && <Logs cluster={cluster} />}
    </ExpandableSection>
  );
}

function Logs({ cluster }: { cluster: Cluster }) {
  const hosts = sortHosts(cluster.hosts);
  const [host, setHost] = useState(hosts[0]?.id ?? "");
  const [text, setText] = useState("");
  const [error, setError] = useState<unknown>();
  const filter = useDeferredValue(text);
  const log = useTail(cluster.id, host, filter);

  function download(): void {
    setError(undefined);
    getLogs(cluster.id, host || undefined).then((file) => saveFile(file, `${cluster.name}-logs.tar.gz`), setError);
  }

  return (
    <>
      <div className="app-row">
        <FormSelect aria-label={t("events.host")} value={host} onChange={(_event, next) => setHost(next)} className="app-role">
          {hosts.map((each) => (
            <FormSelectOption key={each.id} value={each.id} label={nameOf(each)} />
          ))}
        </FormSelect>
        <SearchInput aria-label={t("logs.filter")} placeholder={t("logs.filter")} value={text} onChange={(_event, next) => setText(next)} onClear={() => setText("")} />
        <Button variant="secondary" icon={<DownloadIcon />} onClick={download}>
          {t("logs.download")}
        </Button>
      </div>
      <Failure error={error ?? log.error} title={t("logs.failed")} />
      {log.lines.length ? (
        <CodeBlock className="app-log" data-testid="log" data-live={log.isLive}>
          <CodeBlockCode>{log.lines.join("\n")}</CodeBlockCode>
        </CodeBlock>
      ) : (
        <p className="app-quiet">{t(filter && log.isThere ? "logs.nomatch" : "logs.none")}</p>
      )}
    </>
  );
}
