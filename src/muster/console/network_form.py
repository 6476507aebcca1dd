# SPDX-License-Identifier: Apache-2.0
"""The form in which somebody says how the network of an interface is to be."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict

from muster.console.form import Form
from muster.console.wish import LABELS, Typed, Wish, parse_wish


class NetworkForm(Form[Wish]):
    """How an interface gets its addresses; on a VLAN or a bond, if somebody wants that."""

    def __init__(self, device: str, typed: Typed, cards: Collection[str] = ()) -> None:
        super().__init__(f"Network of {device}", LABELS, asdict(typed))
        self._device, self._cards = device, cards

    def check(self, texts: Mapping[str, str]) -> Wish:
        return parse_wish(self._device, Typed(**texts), self._cards)
