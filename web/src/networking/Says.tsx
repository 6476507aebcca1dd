// SPDX-License-Identifier: Apache-2.0
/** What the checks of the service say about a field, as soon as they say it. */
import { HelperText, HelperTextItem } from "@patternfly/react-core";
import type { Cluster, Verdict } from "../api/types";
import { checksOf } from "../hosts/facts";
import { sentence } from "../i18n";

interface Props {
  cluster: Cluster;
  ids: string[];
  isShown?: boolean;
}

const LOOKS = { failure: "error", error: "error", pending: "indeterminate", success: "success", disabled: "default" } as const;

export function Says({ cluster, ids, isShown = true }: Props) {
  if (!isShown) return null;
  const { failed, waiting, passed } = checksOf(cluster);
  const found = [...failed, ...waiting, ...passed].filter((each: Verdict) => ids.includes(each.id));
  return (
    <HelperText isLiveRegion className="app-says">
      {found.map((each) => (
        <HelperTextItem key={each.id} variant={LOOKS[each.status]} data-testid={`says-${each.id}`}>
          {sentence(each.message)}
        </HelperTextItem>
      ))}
    </HelperText>
  );
}
