// SPDX-License-Identifier: Apache-2.0
/** Every word that the page says, by key. Another language is another folder of the same files. */
import addons from "./en/addons.json";
import clusters from "./en/clusters.json";
import forms from "./en/forms.json";
import hosts from "./en/hosts.json";
import networking from "./en/networking.json";
import progress from "./en/progress.json";
import shell from "./en/shell.json";
import wizard from "./en/wizard.json";

const catalogue = { ...addons, ...clusters, ...forms, ...hosts, ...networking, ...progress, ...shell, ...wizard };

export type Key = keyof typeof catalogue;
export type Values = Record<string, string | number>;

const words: Record<string, string> = catalogue;
const plurals = new Intl.PluralRules("en");

/** The text of a key, with {words} filled in. */
export function t(key: Key, values: Values = {}): string {
  return fill(words[key] ?? key, values);
}

/** The text of a key for a number of things: `key_one` and `key_other` are in the catalogue. */
export function tn(key: string, count: number, values: Values = {}): string {
  const text = words[`${key}_${plurals.select(count)}`] ?? words[`${key}_other`] ?? key;
  return fill(text, { count, ...values });
}

/** The text of a word of the service, such as a status; the word itself where the catalogue has none. */
export function tw(prefix: string, word: string | null | undefined): string {
  return word ? (words[`${prefix}.${word}`] ?? word) : "";
}

function fill(text: string, values: Values): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** A sentence from what the service says in lower case without a full stop; a name at its start stays as it is. */
export function sentence(text: string): string {
  const isWord = /^[a-z]+(?![\w./:-])/.test(text);
  const first = isWord ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return /[.!?…]$/.test(first) ? first : `${first}.`;
}
