# SPDX-License-Identifier: Apache-2.0
"""Screens that are made of lines: a page to read, a choice, a question. Only lines that changed are drawn."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Key, Resize
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from muster.client.view import Extent
from muster.console.detail_screens import clamp, render_page
from muster.console.lines import Line, Tone, fit, spell, title, wrap_text
from muster.console.terminal import ConsoleDriver

_STYLES: Final = {
    Tone.PLAIN: Style(),
    Tone.TITLE: Style(reverse=True),
    Tone.GOOD: Style(color="green"),
    Tone.BAD: Style(color="red", bold=True),
    Tone.HINT: Style(color="yellow"),
    Tone.DIM: Style(color="cyan"),
    Tone.CHOSEN: Style(reverse=True),
}


class LinesView(Widget):
    """Shows lines, and draws anew only those that changed."""

    DEFAULT_CSS = "LinesView { width: 1fr; height: 1fr; background: ansi_default; color: ansi_default; }"

    def __init__(self) -> None:
        super().__init__()
        self.lines: tuple[Line, ...] = ()
        self._is_painted = False

    def show(self, lines: Sequence[Line]) -> None:
        """Show other lines."""
        before, self.lines = self.lines, tuple(lines)
        changed = [
            number
            for number in range(max(len(before), len(self.lines)))
            if before[number : number + 1] != self.lines[number : number + 1]
        ]
        if changed and self._is_painted:  # What was never painted is painted as a whole.
            self.refresh(*(Region(0, number, max(1, self.size.width), 1) for number in changed))

    def render_line(self, y: int) -> Strip:
        self._is_painted, width = True, self.size.width
        line = self.lines[y] if y < len(self.lines) else Line("")
        return Strip([Segment(f"{line.text[:width]:<{width}}", _STYLES[line.tone])], width)

    @property
    def text(self) -> str:
        """All of it, without colours."""
        return "\n".join(each.text.rstrip() for each in self.lines)


class Page(Screen[str]):
    """A screen of lines; the result of one that ends is what its caller waits for."""

    CSS = "Page { background: ansi_default; color: ansi_default; }"
    BINDINGS: ClassVar[list[BindingType]] = []
    is_live: ClassVar[bool] = False
    """Whether it shows what is known, and changes with that."""

    def __init__(self) -> None:
        super().__init__()
        self.view = LinesView()

    def compose(self) -> ComposeResult:
        yield self.view

    def on_mount(self) -> None:
        self.draw()

    def on_resize(self, _event: Resize) -> None:
        self.draw()

    @property
    def extent(self) -> Extent:
        """How much room there is."""
        return Extent(self.app.size.width, self.app.size.height)

    def draw(self) -> None:
        """Show what there is to be shown now."""
        self.view.show(self.picture())

    @abstractmethod
    def picture(self) -> list[Line]:
        """What it shows."""

    def finish(self, result: str) -> None:
        """Go away; whoever showed it is told this. One that is gone already stays so."""
        if self.is_current:
            _ = self.dismiss(result)

    def on_key(self, event: Key) -> None:
        event.stop()
        if not self.press(event.key, event.character or ""):
            # Somebody may have come to the line just now, or the kernel wrote over it.
            if isinstance(driver := self.app._driver, ConsoleDriver):
                driver.forget()
            self.view.refresh()

    @abstractmethod
    def press(self, key: str, character: str) -> bool:
        """A key was pressed; whether it means something here."""


class ReadingPage(Page):
    """Something long to read."""

    is_live = True

    def __init__(self, name: str, render: Callable[[int], list[Line]]) -> None:
        super().__init__()
        self._heading, self._everything = name, render
        self._first = 0

    def picture(self) -> list[Line]:
        return render_page(self._heading, self._everything(self.extent.width), self._first, self.extent)

    def press(self, key: str, character: str) -> bool:
        if key in ("escape", "enter") or character == "q":
            self.finish("")
            return True
        page = max(1, self.extent.height - 4)
        moves = {"up": -1, "down": 1, "pageup": -page, "pagedown": page, "space": page}
        count = len(self._everything(self.extent.width))
        ends = {"home": 0, "end": count}
        if key not in moves and key not in ends:
            return False
        self._first = clamp(ends.get(key, self._first + moves.get(key, 0)), count, self.extent)
        self.draw()
        return True


class ChoicePage(Page):
    """One of a few things; its number as text, or nothing when none is taken."""

    def __init__(self, question: str, choices: Sequence[str]) -> None:
        super().__init__()
        self._question, self._choices = question, tuple(choices)
        self._chosen = 0

    def picture(self) -> list[Line]:
        width = self.extent.width
        room = max(1, self.extent.height - 4)
        first = max(0, self._chosen - room + 1)
        lines = [title(self._question, "", width), Line("")]
        for number, each in enumerate(self._choices[first : first + room], first):
            tone = Tone.CHOSEN if number == self._chosen else Tone.PLAIN
            lines.append(Line(fit(f"  {spell(each)}", width), tone))
        return [*lines, Line(""), Line("Up Down: move   Enter: take it   Esc: back", Tone.DIM)]

    def press(self, key: str, character: str) -> bool:
        if key == "escape" or character == "q":
            self.finish("")
        elif key == "enter":
            self.finish(str(self._chosen))
        elif key in ("up", "down"):
            self._chosen = (self._chosen + (1 if key == "down" else -1)) % len(self._choices)
            self.draw()
        else:
            return False
        return True


class QuestionPage(Page):
    """Yes or no."""

    def __init__(self, name: str, texts: Sequence[str]) -> None:
        super().__init__()
        self._heading, self._texts = name, tuple(texts)

    def picture(self) -> list[Line]:
        width = self.extent.width
        lines = [title(self._heading, "", width), Line("")]
        for each in self._texts:
            lines += [Line(part) for part in wrap_text(each, width, "  ")]
        return [*lines, Line(""), Line("y: yes   n or Esc: no", Tone.DIM)]

    def press(self, key: str, character: str) -> bool:
        if character.lower() == "y":
            self.finish("yes")
        elif key == "escape" or character.lower() in ("n", "q"):
            self.finish("")
        else:
            return False
        return True
