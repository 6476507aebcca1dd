// SPDX-License-Identifier: Apache-2.0
/** Says that the service does not answer, and from when on what is shown may not be true any more. */
import { Alert, AlertActionLink } from "@patternfly/react-core";
import { t } from "../i18n";
import { clockTime } from "../i18n/time";
import { isAwayExplained, link, retryNow } from "../store/live";
import { useStore } from "../store/store";

export function LinkBanner() {
  const { state, heardAt, tries } = useStore(link, (value) => value);
  const isExplained = useStore(isAwayExplained, (value) => value);
  if (state !== "lost" || tries < 2 || isExplained) return null;
  return (
    <Alert component="h2"
      variant="warning"
      isInline
      className="app-banner"
      title={t("link.banner.title")}
      actionLinks={<AlertActionLink onClick={retryNow}>{t("link.retry")}</AlertActionLink>}
    >
      {heardAt ? t("link.banner.text", { time: clockTime(heardAt) }) : t("link.banner.never")}
    </Alert>
  );
}
