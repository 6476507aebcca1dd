# SPDX-License-Identifier: Apache-2.0
"""The page of the reference about validations, made from what is declared and from the texts."""

from __future__ import annotations

from typing import Final

from muster.service.validations.fitness import CLUSTER_INPUT, HOST_INPUT, MIN_HARDWARE, VIPS
from muster.service.validations.registry import Of, Validation, texts
from muster.service.validations.run import validations

_NOT_SENTENCES: Final = ("title", "why", "fix", "proof")
_STATUSES: Final = {
    "success": "passes",
    "failure": "fails",
    "pending": "is open",
    "error": "cannot be judged",
}
_HEAD: Final = """\
# Validations

Every question that the service asks about a host or a cluster before an installation may start. An answer is
`success`, `failure`, `pending` (what would answer it is not known yet) or `error` (what was told makes no
sense); `disabled` ones are switched off in the settings of the service. What does not concern a host or
cluster is not shown. Words in braces are filled in.

*Advice* stops nothing. *Input* is what only a user can give: while it is missing, the state is
`pending-for-input`. What is *always* needed cannot be ignored; the rest can, for one cluster, with
`PUT /v2/clusters/{cluster_id}/ignored-validations`. *Pool* marks those that are also asked of hosts that wait
for a cluster.
"""


def render_validations() -> str:
    """The page, in Markdown."""
    lines = [_HEAD]
    titles: tuple[tuple[Of, str], ...] = (("host", "Hosts"), ("cluster", "Clusters"))
    for of, title in titles:
        lines += [f"## {title}", "", "| id | category | what holds | |", "|---|---|---|---|"]
        for validation in validations(of):
            name = texts()[of][validation.id]["title"]
            link = f"[{validation.id}](#{of}-{validation.id})"
            lines.append(f"| {link} | {validation.category} | {name} | {', '.join(_marks(of, validation))} |")
        for validation in validations(of):
            lines += ["", *_section(of, validation)]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _marks(of: Of, validation: Validation) -> list[str]:
    inputs = HOST_INPUT if of == "host" else CLUSTER_INPUT | VIPS
    found = {
        "advice": validation.advisory,
        "input": validation.id in inputs,
        "hardware": of == "host" and validation.id in MIN_HARDWARE,
        "always": not validation.ignorable,
        "pool": validation.pool,
    }
    return [mark for mark, holds in found.items() if holds]


def _section(of: Of, validation: Validation) -> list[str]:
    words = texts()[of][validation.id]
    lines = [f'### <a id="{of}-{validation.id}"></a>{validation.id}', "", f"{words['title']}.", ""]
    for name, sentence in words.items():
        if name not in _NOT_SENTENCES:
            status = f"*{_STATUSES[name]}*: " if name in _STATUSES else ""
            lines.append(f"- {status}{_text(sentence)}")
    proof = [f"Proof: `{words['proof']}`"] if "proof" in words else []
    return [*lines, "", _text(words["why"]), "", f"Fix: {_text(words['fix'])}.", *proof]


def _text(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;").replace("*", "\\*")
