// SPDX-License-Identifier: Apache-2.0
/** What is on a disk, and what becomes of it. */
import type { Disk, Host } from "../api/types";
import { extrasOf, inventoryOf } from "../hosts/facts";
import { t } from "../i18n";

export type Fate = "erased" | "formatted" | "kept" | "media";

export function fateOf(host: Host, disk: Disk, isChosen: boolean): Fate {
  if (isChosen) return "erased";
  if (disk.is_installation_media) return "media";
  const formatted = (host.disks_to_be_formatted ?? "").split(",");
  const skipped = (host.skip_formatting_disks ?? "").split(",");
  const id = disk.id ?? "";
  return formatted.includes(id) && !skipped.includes(id) ? "formatted" : "kept";
}

/** Disks that were to be left as they are, and are not there any more. */
export function missingOf(host: Host): string[] {
  const there = (inventoryOf(host).disks ?? []).flatMap((disk) => [disk.id, disk.by_id, disk.path]);
  return (host.skip_formatting_disks ?? "").split(",").filter((id) => id && !there.includes(id));
}

/** What is on a disk; agents that are not ours tell only the kinds of its partitions. */
export function contentOf(host: Host, disk: Disk): string[] {
  const more = extrasOf(host, disk);
  const found = [
    more?.health === "failing" && t("storage.failing"),
    more?.holds || (disk.partitionTypes && t("storage.parts", { types: disk.partitionTypes })),
    disk.holders && t("storage.holders", { names: disk.holders }),
    disk.bootable && t("storage.bootable"),
    disk.removable && t("storage.removable"),
    disk.drive_type === "iSCSI" && t("storage.iscsi"),
  ].filter((each): each is string => Boolean(each));
  return found.length ? found : [t("storage.empty")];
}
