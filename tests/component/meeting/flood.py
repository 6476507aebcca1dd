# SPDX-License-Identifier: Apache-2.0
"""Nonsense for whoever hears announcements: python -m tests.component.meeting.flood"""

from __future__ import annotations

import os
import random

from muster.agent.meeting.multicast import find_cards, open_wire

if __name__ == "__main__":
    wire = open_wire()
    for _ in range(3000):
        wire.say(os.urandom(random.randrange(0, 700)), find_cards())
