// SPDX-License-Identifier: Apache-2.0
/** Times and sizes as people read them. */
import { t } from "./index";

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const NEVER = "0001-";

/** Whether the service means a moment at all: a time that has not come is the year one. */
export function isTime(text: string | null | undefined): text is string {
  return Boolean(text) && !text!.startsWith(NEVER);
}

export function clockTime(text: string | number | Date): string {
  return clock.format(new Date(text));
}

export function dayTime(text: string | null | undefined): string {
  return isTime(text) ? day.format(new Date(text)) : t("time.never");
}

/** Seconds as the two largest units: 3 min 20 s. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return t("time.s", { s: whole });
  const minutes = Math.floor(whole / 60);
  if (minutes < 10 && whole % 60) return t("time.min_s", { min: minutes, s: whole % 60 });
  if (minutes < 60) return t("time.min", { min: minutes });
  return t("time.h_min", { h: Math.floor(minutes / 60), min: minutes % 60 });
}

/** Bytes in decimal units, as disks are sold. */
export function size(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1).replace(/\.0$/, "")} ${units[unit]}`;
}

/** Bytes in binary units, as memory is sold. */
export function memory(bytes: number): string {
  const gib = bytes / 1024 ** 3;
  return `${gib >= 10 ? Math.round(gib) : gib.toFixed(1).replace(/\.0$/, "")} GiB`;
}
