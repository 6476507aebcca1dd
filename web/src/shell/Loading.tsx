// SPDX-License-Identifier: Apache-2.0
import { Bullseye, EmptyState, Spinner } from "@patternfly/react-core";

export function Loading({ text }: { text: string }) {
  return (
    <Bullseye className="app-loading">
      <EmptyState titleText={text} headingLevel="h1" icon={Spinner} />
    </Bullseye>
  );
}
