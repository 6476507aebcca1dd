// SPDX-License-Identifier: Apache-2.0
/** What the cluster waits for: since when, until when, who can do something about it, and what if nobody does. */
import { useState } from "react";
import { ClipboardCopy, ExpandableSection } from "@patternfly/react-core";
import type { Reason, Why } from "../api/types";
import { sentence, t, tw } from "../i18n";
import { clockTime, duration } from "../i18n/time";
import { secondsSince, useNow } from "../store/clock";

export function WhyPanel({ why }: { why?: Why }) {
  const reasons = why?.reasons ?? [];
  if (!reasons.length) return null;
  return (
    <section className="app-part" aria-labelledby="why-title" data-testid="why">
      <h2 id="why-title" className="app-step-title">
        {t("why.title")}
      </h2>
      {reasons.map((each) => (
        <OneReason key={`${each.of} ${each.id}`} reason={each} />
      ))}
    </section>
  );
}

function OneReason({ reason }: { reason: Reason }) {
  const now = useNow(5000);
  const [isOpen, setOpen] = useState(reason.who === "user" || Boolean(reason.overdue));
  const hosts = reason.hosts ?? [];
  const title = `${sentence(reason.message)} ${hosts.length ? `(${hosts.map((each) => each.name).join(", ")})` : ""}`;
  return (
    <ExpandableSection toggleText={title} isIndented isExpanded={isOpen} onToggle={(_event, next) => setOpen(next)}>
      <p>
        {t("why.since", { time: duration(secondsSince(reason.since, now)) })}
        {reason.until && ` ${t(reason.overdue ? "why.overdue" : "why.until", { time: clockTime(reason.until) })}`}{" "}
        {t("why.who", { who: tw("why.who", reason.who) })}
      </p>
      {reason.why && (
        <p>
          <span className="app-lead">{t("why.why")}</span> {reason.why}
        </p>
      )}
      <p>
        <span className="app-lead">{t("why.fix")}</span> {sentence(reason.fix)}
      </p>
      <p>
        <span className="app-lead">{t("why.ignored")}</span> {sentence(reason.ignored)}
      </p>
      {reason.proof && (
        <>
          <p className="app-lead">{t("why.proof")}</p>
          <ClipboardCopy isReadOnly hoverTip={t("app.copy")} clickTip={t("app.copied")} textAriaLabel={t("why.proof")}>
            {reason.proof}
          </ClipboardCopy>
        </>
      )}
    </ExpandableSection>
  );
}
