# SPDX-License-Identifier: Apache-2.0
"""The clock of this machine: what it says, how it is set, and what is told of that."""

from __future__ import annotations

import fcntl
import os
import struct
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

from muster.errors import ExternalError
from muster.frozen import dataclass

_RTC_SET_TIME: Final = 0x4024700A
_RTC: Final = "dev/rtc0"


class Clock(Protocol):
    """A clock that can be set; in tests nobody's."""

    def now(self) -> datetime:
        """What it says."""

    def set(self, moment: datetime) -> str:
        """Set it, for the next start of the machine, too; why only the former worked, or nothing."""


@dataclass(frozen=True)
class Change:
    """A clock was set."""

    was: datetime
    now: datetime
    why: str
    trouble: str = ""
    """Why the hardware's clock could not be set as well."""

    @property
    def words(self) -> str:
        """In one sentence, whose subject is the clock."""
        rest = f"; the hardware clock stays wrong: {self.trouble}" if self.trouble else ""
        return f"was {render_moment(self.was)}, and was set to {render_moment(self.now)}: {self.why}{rest}"


@dataclass(frozen=True)
class SystemClock:
    """The clock of the running system, and that of the hardware behind it."""

    root: Path = Path("/")

    def now(self) -> datetime:
        return datetime.now(UTC)

    def set(self, moment: datetime) -> str:
        try:
            time.clock_settime(time.CLOCK_REALTIME, moment.timestamp())
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise ExternalError(
                f"the clock cannot be set to {render_moment(moment)}: {why}",
                hint="set it in the firmware",
            ) from error
        return _set_hardware(self.root / _RTC, moment)


def set_clock(clock: Clock, moment: datetime, why: str) -> Change:
    """Set a clock, and say so."""
    was = clock.now()
    return Change(was, moment, why, clock.set(moment))


def render_moment(moment: datetime) -> str:
    """A moment for people: 2026-03-01 12:00:00 UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def pack_rtc(moment: datetime) -> bytes:
    """A moment as the kernel takes it for the hardware's clock (struct rtc_time), which runs in UTC."""
    year, month, day, hour, minute, second, *_ = moment.astimezone(UTC).timetuple()
    return struct.pack("9i", second, minute, hour, day, month - 1, year - 1900, 0, 0, 0)


def _set_hardware(device: Path, moment: datetime) -> str:
    """Why that did not work, or nothing. Some machines have no such clock."""
    try:
        file = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.ioctl(file, _RTC_SET_TIME, pack_rtc(moment))
        finally:
            os.close(file)
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return ""
