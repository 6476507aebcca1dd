// SPDX-License-Identifier: Apache-2.0
/**
 * An editor for YAML, loaded only where it is needed. It lives in a shadow root: there its style sheets are
 * adopted ones, which a strict content policy allows, while it refuses <style> elements.
 */
import { useEffect, useRef } from "react";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, linter, lintGutter } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { t } from "../i18n";
import { findProblems } from "./problems";

interface Props {
  value: string;
  onChange: (value: string) => void;
  label: string;
  /** Whether every document has to be a Kubernetes object. */
  kinds?: boolean;
}

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--pf-t--global--text--color--link--default)" },
  { tag: tags.comment, color: "var(--pf-t--global--text--color--subtle)", fontStyle: "italic" },
  { tag: [tags.string, tags.content], color: "var(--pf-t--global--text--color--regular)" },
  { tag: [tags.keyword, tags.bool, tags.null], color: "var(--pf-t--global--color--nonstatus--purple--default)" },
]);

const look = EditorView.theme({
  "&": {
    height: "22rem",
    fontSize: "0.875rem",
    color: "var(--pf-t--global--text--color--regular)",
    backgroundColor: "var(--pf-t--global--background--color--primary--default)",
    border: "1px solid var(--pf-t--global--border--color--default)",
  },
  "&.cm-focused": { outline: "2px solid var(--pf-t--global--border--color--brand--default)" },
  ".cm-scroller": { fontFamily: "var(--pf-t--global--font--family--mono)", overflow: "auto" },
  ".cm-gutters": {
    color: "var(--pf-t--global--text--color--subtle)",
    backgroundColor: "var(--pf-t--global--background--color--secondary--default)",
    border: "none",
  },
  ".cm-cursor": { borderLeftColor: "var(--pf-t--global--text--color--regular)" },
  ".cm-activeLine": { backgroundColor: "transparent" },
});

/** Chromium gives what is typed the style of what it replaces, as an attribute, which the policy refuses. */
const replacing = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const isPlain = event.inputType === "insertText" && event.data && !event.isComposing;
    if (!isPlain || view.state.selection.main.empty) return false;
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(event.data!), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

function lint(view: EditorView, kinds: boolean): Diagnostic[] {
  const text = view.state.doc.toString();
  return findProblems(text, kinds).map(({ from, to, message }) => ({
    from: Math.min(from, text.length),
    to: Math.min(Math.max(to, from), text.length),
    severity: "error",
    message,
  }));
}

export default function YamlEditor({ value, onChange, label, kinds = true }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>();
  const tell = useRef(onChange);
  tell.current = onChange;

  useEffect(() => {
    const outer = place.current!;
    const root = outer.shadowRoot ?? outer.attachShadow({ mode: "open" });
    const state = EditorState.create({
      doc: value,
      extensions: [
        [lineNumbers(), history(), drawSelection(), bracketMatching(), indentOnInput(), highlightActiveLine()],
        [yaml(), syntaxHighlighting(colours), linter((shown) => lint(shown, kinds), { delay: 300 }), lintGutter(), look, replacing],
        keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
        EditorView.contentAttributes.of({ "aria-label": label, "aria-multiline": "true", spellcheck: "false" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) tell.current(update.state.doc.toString());
        }),
      ],
    });
    view.current = new EditorView({ state, parent: root, root });
    return () => view.current?.destroy();
  }, []);

  useEffect(() => {
    const shown = view.current;
    if (shown && shown.state.doc.toString() !== value) {
      shown.dispatch({ changes: { from: 0, to: shown.state.doc.length, insert: value } });
    }
  }, [value]);

  return (
    <>
      <div ref={place} className="app-editor" data-testid="editor" />
      <p className="app-quiet">{t("manifests.editor.help")}</p>
    </>
  );
}
