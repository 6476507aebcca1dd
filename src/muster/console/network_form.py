# SPDX-License-Identifier: Apache-2.0
"""The form in which somebody says how the network of an interface is to be."""

from __future__ import annotations

from dataclasses import fields
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.events import Key
from textual.screen import Screen
from textual.widgets import Input, Label

from muster.console.lines import fit, spell
from muster.console.wish import LABELS, Typed, Wish, WrongWish, parse_wish


class NetworkForm(Screen[Wish | None]):
    """Fields that are checked when somebody is done; nothing leaves it that cannot be."""

    CSS = """
    NetworkForm { background: ansi_default; color: ansi_default; }
    NetworkForm Label { height: 1; width: 1fr; }
    NetworkForm Horizontal { height: 1; margin: 0 2; }
    NetworkForm Horizontal Label { width: 38; }
    NetworkForm Input { height: 1; width: 1fr; border: none; padding: 0; background: ansi_default;
        color: ansi_default; text-style: underline; }
    NetworkForm Input:focus { border: none; color: ansi_default; text-style: reverse; }
    NetworkForm #title { text-style: reverse; margin: 0 0 1 0; }
    NetworkForm #trouble { color: ansi_red; margin: 1 2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, device: str, typed: Typed) -> None:
        super().__init__()
        self._device, self._typed = device, typed

    def compose(self) -> ComposeResult:
        yield Label(f" Network of {spell(self._device)}", id="title", markup=False)
        for name, label in LABELS.items():
            box = Input(getattr(self._typed, name), id=name, select_on_focus=False)
            box.cursor_blink = False
            yield Horizontal(Label(label, markup=False), box)
        yield Label("", id="trouble", markup=False)
        yield Label("  Tab Up Down: move   Enter or F10: apply   Esc: back", markup=False)

    def on_mount(self) -> None:
        self.query_one("#ipv4", Input).focus()

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
        texts = {each.name: self.query_one(f"#{each.name}", Input).value for each in fields(Typed)}
        try:
            wish = parse_wish(self._device, Typed(**texts))
        except WrongWish as error:
            self.query_one("#trouble", Label).update(fit(spell(str(error)), self.app.size.width - 4))
            self.query_one(f"#{error.field}", Input).focus()
            return
        _ = self.dismiss(wish)
