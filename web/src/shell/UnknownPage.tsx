// SPDX-License-Identifier: Apache-2.0
import { EmptyState, EmptyStateBody } from "@patternfly/react-core";
import { t } from "../i18n";
import { Go } from "./Go";

export function UnknownPage() {
  return (
    <EmptyState titleText={t("unknown.title")} headingLevel="h1">
      <EmptyStateBody>
        <Go to="/">{t("unknown.home")}</Go>
      </EmptyStateBody>
    </EmptyState>
  );
}
