// SPDX-License-Identifier: Apache-2.0
/** Whether what is shown is of now. */
import { Label } from "@patternfly/react-core";
import { t } from "../i18n";
import { link } from "../store/live";
import { useStore } from "../store/store";

const COLORS = { starting: "grey", live: "green", asking: "blue", lost: "red" } as const;

export function LinkState() {
  const state = useStore(link, (value) => value.state);
  return (
    <span role="status" aria-label={t("link.label")} title={t(`link.${state}.long`)} data-testid="link-state">
      <Label color={COLORS[state]} isCompact>
        {t(`link.${state}`)}
      </Label>
    </span>
  );
}
