// SPDX-License-Identifier: Apache-2.0
/** One add-on: what it is, what it takes, and why it cannot be chosen if it cannot. */
import { Card, CardBody, CardFooter, CardHeader, CardTitle, Checkbox } from "@patternfly/react-core";
import type { AddOn, Needs } from "../api/types";
import { sentence, t } from "../i18n";
import { memory, size } from "../i18n/time";

export function AddOnCard({ addOn, onChange }: { addOn: AddOn; onChange: (isChosen: boolean) => void }) {
  const isOpen = addOn.choosable !== false || addOn.chosen;
  return (
    <Card isCompact data-testid={`addon-${addOn.id}`}>
      <CardHeader>
        <Checkbox
          id={`addon-${addOn.id}`}
          label={<CardTitle component="span">{`${addOn.name} ${addOn.version ?? ""}`}</CardTitle>}
          isChecked={Boolean(addOn.chosen)}
          isDisabled={!isOpen}
          aria-describedby={`addon-${addOn.id}-why`}
          onChange={(_event, isChosen) => onChange(isChosen)}
        />
      </CardHeader>
      <CardBody>
        {addOn.description && <p>{addOn.description}</p>}
        {Boolean(addOn.dependencies?.length) && <p className="app-quiet">{t("addons.needs", { names: addOn.dependencies!.join(", ") })}</p>}
        {Boolean(addOn.conflicts?.length) && <p className="app-quiet">{t("addons.conflicts", { names: addOn.conflicts!.join(", ") })}</p>}
        <p id={`addon-${addOn.id}-why`} className={isOpen ? undefined : "app-bad"}>
          {addOn.reason && sentence(addOn.reason)} {addOn.fix && sentence(addOn.fix)}
        </p>
      </CardBody>
      <CardFooter className="app-quiet">
        {[addOn.size_bytes ? size(addOn.size_bytes) : "", needsText(addOn.host, "addons.host"), needsText(addOn.cluster, "addons.cluster")]
          .filter(Boolean)
          .join(" · ")}
      </CardFooter>
    </Card>
  );
}

function needsText(needs: Needs | undefined, key: "addons.host" | "addons.cluster"): string {
  const parts = [
    needs?.cpu_millicores && t("addons.cores", { count: needs.cpu_millicores / 1000 }),
    needs?.memory_mib && memory(needs.memory_mib * 1024 ** 2),
    needs?.disk_mib && size(needs.disk_mib * 1024 ** 2),
  ].filter(Boolean);
  return parts.length ? t(key, { what: parts.join(", ") }) : "";
}
