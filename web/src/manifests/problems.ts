// SPDX-License-Identifier: Apache-2.0
/** What is wrong with a text that is to be YAML with Kubernetes objects. */
import { isMap, parseAllDocuments } from "yaml";
import { t } from "../i18n";

export interface Problem {
  from: number;
  to: number;
  line: number;
  message: string;
}

const ENOUGH = 20;

export function findProblems(text: string, kinds = true): Problem[] {
  const documents = parseAllDocuments(text);
  if ("empty" in documents) return [];
  const found: Problem[] = [];
  documents.forEach((document, at) => {
    for (const error of document.errors) {
      const [from, to] = error.pos;
      found.push({ from, to, line: lineOf(text, from), message: firstLine(error.message) });
    }
    const content = document.contents;
    if (!kinds || document.errors.length || content === null) return;
    if (!isMap(content) || !content.has("kind") || !content.has("apiVersion")) {
      const from = document.range[0];
      found.push({ from, to: from + 1, line: lineOf(text, from), message: t("manifests.nokind", { at: at + 1 }) });
    }
  });
  return found.slice(0, ENOUGH);
}

function firstLine(text: string): string {
  return text.split("\n")[0]!.replace(/ at line \d+, column \d+:?$/, "");
}

function lineOf(text: string, at: number): number {
  return text.slice(0, at).split("\n").length;
}
