# SPDX-License-Identifier: Apache-2.0
"""A form: fields that are checked when somebody is done; nothing leaves it that cannot be."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Final, Generic, TypeVar

from muster.console.editing import Edited, begin, edit, render_edited
from muster.console.fields import WrongField
from muster.console.lines import Line, Tone, fit, spell, title, wrap_text
from muster.console.pages import Page

T = TypeVar("T")
_LABEL: Final = 40
_KEYS: Final = "Tab Up Down: move   Enter or F10: apply   Esc: back"


class Form(Page, Generic[T]):
    """Fields with labels. What they mean is in `made` when somebody is done; the page ends with a word."""

    def __init__(self, heading: str, labels: Mapping[str, str], values: Mapping[str, str]) -> None:
        super().__init__()
        self._heading, self._labels = heading, labels
        self._fields: dict[str, Edited] = {name: begin(values.get(name, "")) for name in labels}
        self._here = next(iter(labels))
        self.trouble = ""
        self.made: T | None = None

    @abstractmethod
    def check(self, texts: Mapping[str, str]) -> T:
        """What was typed in; a WrongField says what cannot be."""

    @property
    def values(self) -> dict[str, str]:
        """What was typed in."""
        return {name: each.text for name, each in self._fields.items()}

    def warn(self, text: str, field: str) -> None:
        """Say something, and go to a field."""
        self.trouble, self._here = text, field

    def picture(self) -> list[Line]:
        width = self.extent.width
        lines = [title(self._heading, "", width), Line("")]
        for name, label in self._labels.items():
            is_here, room = name == self._here, max(1, width - _LABEL - 4)
            text = render_edited(self._fields[name], room) if is_here else fit(self._fields[name].text, room)
            shown = f"  {fit(label, _LABEL - 2):<{_LABEL - 2}}{spell(text)}"
            lines.append(Line(fit(shown, width), Tone.CHOSEN if is_here else Tone.PLAIN))
        trouble = [Line(part, Tone.BAD) for part in wrap_text(self.trouble, width, "  ", most=3)]
        return [*lines, Line(""), *trouble, *([Line("")] if trouble else []), Line(f"  {_KEYS}", Tone.DIM)]

    def press(self, key: str, character: str) -> bool:
        moves = {"tab": 1, "down": 1, "shift+tab": -1, "up": -1}
        if key == "escape":
            self.finish("")
        elif key in ("enter", "f10"):
            self._take()
        elif key in moves:
            names = [*self._labels]
            self._here = names[(names.index(self._here) + moves[key]) % len(names)]
        elif (edited := edit(self._fields[self._here], key, character)) is not None:
            self._fields[self._here] = edited
        else:
            return False
        self.draw()
        return True

    def _take(self) -> None:
        try:
            self.made = self.check(self.values)
        except WrongField as error:
            self.warn(str(error), error.field)
            return
        self.finish("made")
