// SPDX-License-Identifier: Apache-2.0
/** What happened, newest first, with filters. */
import { useDeferredValue, useMemo, useState } from "react";
import { FormSelect, FormSelectOption, Label, SearchInput, ToggleGroup, ToggleGroupItem } from "@patternfly/react-core";
import { Table, Tbody, Td, Th, Thead, Tr } from "@patternfly/react-table";
import { listEvents } from "../api/calls";
import type { Cluster, LoggedEvent } from "../api/types";
import { nameOf, sortHosts } from "../hosts/facts";
import { sentence, t } from "../i18n";
import { clockTime, dayTime } from "../i18n/time";
import { Failure } from "../shell/Failure";
import { useAsked } from "../store/asked";

type Severity = LoggedEvent["severity"];
const SEVERITIES: Severity[] = ["info", "warning", "error", "critical"];
const LOOKS = { info: undefined, warning: "warning", error: "danger", critical: "danger" } as const;
const SHOWN = "200";

export function Events({ cluster }: { cluster: Cluster }) {
  const [host, setHost] = useState("");
  const [off, setOff] = useState<ReadonlySet<Severity>>(new Set());
  const [text, setText] = useState("");
  const message = useDeferredValue(text);
  const query = useMemo(() => queryOf(cluster.id, host, off, message), [cluster.id, host, off, message]);
  const { found, error } = useAsked(() => listEvents(query), [query, cluster.updated_at, cluster.progress, cluster.hosts]);
  const names = useMemo(() => new Map((cluster.hosts ?? []).map((each) => [each.id, nameOf(each)])), [cluster.hosts]);

  function toggle(each: Severity): void {
    const next = new Set(off);
    if (!next.delete(each)) next.add(each);
    if (next.size < SEVERITIES.length) setOff(next);
  }

  return (
    <section className="app-part" aria-labelledby="events-title" data-testid="events">
      <h2 id="events-title" className="app-step-title">
        {t("events.title")}
      </h2>
      <div className="app-row">
        <SearchInput aria-label={t("events.search")} placeholder={t("events.search")} value={text} onChange={(_event, next) => setText(next)} onClear={() => setText("")} />
        <FormSelect aria-label={t("events.host")} value={host} onChange={(_event, next) => setHost(next)} className="app-role">
          <FormSelectOption value="" label={t("events.all")} />
          {sortHosts(cluster.hosts).map((each) => (
            <FormSelectOption key={each.id} value={each.id} label={nameOf(each)} />
          ))}
        </FormSelect>
        <ToggleGroup aria-label={t("events.severity")} isCompact>
          {SEVERITIES.map((each) => (
            <ToggleGroupItem key={each} text={t(`events.${each}`)} isSelected={!off.has(each)} onChange={() => toggle(each)} />
          ))}
        </ToggleGroup>
      </div>
      <Failure error={error} title={t("events.failed")} />
      {found?.length === 0 && <p className="app-quiet">{t("events.none")}</p>}
      {Boolean(found?.length) && <EventTable events={found!} names={names} />}
    </section>
  );
}

function queryOf(id: string, host: string, off: ReadonlySet<Severity>, message: string): URLSearchParams {
  const query = new URLSearchParams({ cluster_id: id, order: "descending", limit: SHOWN });
  if (host) query.set("host_ids", host);
  if (off.size) query.set("severities", SEVERITIES.filter((each) => !off.has(each)).join(","));
  if (message) query.set("message", message);
  return query;
}

function EventTable({ events, names }: { events: LoggedEvent[]; names: Map<string, string> }) {
  return (
    <Table variant="compact" aria-labelledby="events-title" className="app-events">
      <Thead>
        <Tr>
          <Th width={10}>{t("events.time")}</Th>
          <Th width={10}>{t("events.severity")}</Th>
          <Th width={20}>{t("topology.host")}</Th>
          <Th>{t("events.message")}</Th>
        </Tr>
      </Thead>
      <Tbody>
        {events.map((each, at) => (
          <Tr key={`${each.event_time} ${at}`}>
            <Td dataLabel={t("events.time")} modifier="nowrap" title={dayTime(each.event_time)}>
              {clockTime(each.event_time)}
            </Td>
            <Td dataLabel={t("events.severity")}>
              <Label isCompact status={LOOKS[each.severity]}>
                {t(`events.${each.severity}`)}
              </Label>
            </Td>
            <Td dataLabel={t("topology.host")} modifier="breakWord">{each.host_id ? (names.get(each.host_id) ?? each.host_id) : ""}</Td>
            <Td dataLabel={t("events.message")} modifier="breakWord">{sentence(each.message)}</Td>
          </Tr>
        ))}
      </Tbody>
    </Table>
  );
}
