# SPDX-License-Identifier: Apache-2.0
"""A form: fields that are checked when somebody is done; nothing leaves it that cannot be."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.events import Key
from textual.screen import Screen
from textual.widgets import Input, Label

from muster.console.fields import WrongField
from muster.console.lines import fit, spell

T = TypeVar("T")


class Form(Screen[T | None]):
    """Fields with labels; its result is what they mean, or None."""

    DEFAULT_CSS = "Form { background: ansi_default; color: ansi_default; }"
    # Without the name of the class: Textual looks for these below whatever form it is.
    CSS = """
    Label { height: 1; width: 1fr; }
    Horizontal { height: 1; margin: 0 2; }
    Horizontal Label { width: 38; }
    Input { height: 1; width: 1fr; border: none; padding: 0; background: ansi_default;
        color: ansi_default; text-style: underline; }
    Input:focus { border: none; color: ansi_default; text-style: reverse; }
    #title { text-style: reverse; margin: 0 0 1 0; }
    #trouble { color: ansi_red; margin: 1 2; height: 2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, heading: str, labels: Mapping[str, str], values: Mapping[str, str]) -> None:
        super().__init__()
        self._heading, self._labels, self._values = heading, labels, values
        self._first = next(iter(labels))
        self._trouble = ""

    @abstractmethod
    def check(self, texts: Mapping[str, str]) -> T:
        """What was typed in; a WrongField says what cannot be."""

    def warn(self, text: str, field: str) -> None:
        """Say something, and begin at a field; before it is shown."""
        self._trouble, self._first = text, field

    def compose(self) -> ComposeResult:
        yield Label(f" {spell(self._heading)}", id="title", markup=False)
        for name, label in self._labels.items():
            box = Input(self._values.get(name, ""), id=name, select_on_focus=False)
            box.cursor_blink = False
            yield Horizontal(Label(label, markup=False), box)
        yield Label(spell(self._trouble), id="trouble", markup=False)
        yield Label("  Tab Up Down: move   Enter or F10: apply   Esc: back", markup=False)

    def on_mount(self) -> None:
        self.query_one(f"#{self._first}", Input).focus()

    def on_key(self, event: Key) -> None:
        actions = {"down": self.focus_next, "up": self.focus_previous}
        if event.key == "escape":
            event.stop()
            _ = self.dismiss(None)
        elif event.key == "f10":
            event.stop()
            self._take()
        elif event.key in actions:
            event.stop()
            actions[event.key]()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._take()

    def _take(self) -> None:
        texts = {name: self.query_one(f"#{name}", Input).value for name in self._labels}
        try:
            result = self.check(texts)
        except WrongField as error:
            room = 2 * (self.app.size.width - 4)
            self.query_one("#trouble", Label).update(fit(spell(str(error)), room))
            self.query_one(f"#{error.field}", Input).focus()
            return
        _ = self.dismiss(result)
