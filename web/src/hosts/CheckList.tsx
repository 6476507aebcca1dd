// SPDX-License-Identifier: Apache-2.0
/** Every check of a host that has not passed: what it says, why it matters, what to do. */
import { ExpandableSection, List, ListItem } from "@patternfly/react-core";
import type { CheckText, Verdict } from "../api/types";
import { sentence, t, tn } from "../i18n";
import { useCheckTexts } from "../store/once";
import type { Checks } from "./facts";

export function CheckList({ checks, of }: { checks: Checks; of: "host" | "cluster" }) {
  const texts = useCheckTexts()[of];
  return (
    <div className="app-checks">
      {checks.failed.length > 0 && (
        <List isPlain>
          {checks.failed.map((each) => (
            <ListItem key={each.id}>
              <Failed verdict={each} text={texts[each.id]} />
            </ListItem>
          ))}
        </List>
      )}
      {checks.waiting.length > 0 && (
        <ExpandableSection toggleText={tn("checks.waiting", checks.waiting.length)}>
          <Plain verdicts={checks.waiting} />
        </ExpandableSection>
      )}
      {checks.passed.length > 0 && (
        <ExpandableSection toggleText={tn("checks.passed", checks.passed.length)}>
          <Plain verdicts={checks.passed} />
        </ExpandableSection>
      )}
    </div>
  );
}

function Failed({ verdict, text }: { verdict: Verdict; text?: CheckText }) {
  return (
    <>
      <strong>{sentence(verdict.message)}</strong>
      {text?.advisory && <em> {t("checks.advisory")}</em>}
      {text && (
        <>
          <p>
            <span className="app-lead">{t("why.why")}</span> {text.why}
          </p>
          <p>
            <span className="app-lead">{t("why.fix")}</span> {sentence(text.fix)}
          </p>
        </>
      )}
    </>
  );
}

function Plain({ verdicts }: { verdicts: Verdict[] }) {
  return (
    <List>
      {verdicts.map((each) => (
        <ListItem key={each.id}>{sentence(each.message)}</ListItem>
      ))}
    </List>
  );
}
