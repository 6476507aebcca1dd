# SPDX-License-Identifier: Apache-2.0
"""A host of a generic medium: the program itself, its files in a folder, its units a list of what was asked.

python -m tests.component.meeting.host FOLDER NAME
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from muster.agent.meeting.acting import Hand
from muster.agent.meeting.multicast import open_wire
from muster.agent.meeting.place import MeetingPlace
from muster.agent.meeting.running import Host, Means
from muster.board import Board
from muster.links import find_addresses
from muster.run import Argument, Said

ASKED = "asked"


class Units:
    """A machine whose units do nothing but note that they were wanted."""

    def __init__(self, root: Path) -> None:
        self.root = root

    async def ask(self, argv: Sequence[Argument], *, deadline_s: float, feed: str = "") -> Said:
        with (self.root / ASKED).open("a") as file:
            file.write(" ".join(map(str, argv)) + "\n")
        return Said(0, "", "")


async def main(root: Path, name: str) -> None:
    place = MeetingPlace(root)
    board = Board(root / "run/muster/meet.json", lambda: datetime.now(UTC))
    means = Means(
        place=place,
        hand=Hand(Units(root), place),
        board=board,
        wire=open_wire(),
        addresses=find_addresses,
        name=lambda: name,
        random=os.urandom,
        steady=time.monotonic,
    )
    await Host(means).run()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
