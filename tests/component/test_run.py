# SPDX-License-Identifier: Apache-2.0
"""Programs are run to their end, and never left behind."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from muster.errors import ExternalError
from muster.run import LATE, MISSING, Circumstances, Said, ask, find_program, run, start


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_output_is_the_result_and_is_heard_as_it_comes() -> None:
    heard: list[str] = []
    assert run(python("print('a'); print('b')"), heard=heard.append) == "a\nb"
    assert heard == ["a", "b"]


def test_what_is_fed_is_read() -> None:
    assert run(python("print(input())"), feed="hello\n") == "hello"
    assert run(python("print('not interested')"), feed="x" * 1_000_000) == "not interested"


def test_a_failure_carries_the_last_words() -> None:
    with pytest.raises(ExternalError) as caught:
        run(python("print('the disk is on fire'); raise SystemExit(3)"))
    assert "failed with status 3" in caught.value.message
    assert "the disk is on fire" in caught.value.message


def test_a_missing_program_is_named() -> None:
    with pytest.raises(ExternalError, match="the program no-such-program is not there"):
        run(["no-such-program"])


def test_a_program_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = (
        "import subprocess; child = subprocess.Popen(['sleep', '60']);"
        f"open({str(pid)!r}, 'w').write(str(child.pid)); child.wait()"
    )
    with pytest.raises(ExternalError, match=r"did not end within 1 s"):
        run(python(code), circumstances=Circumstances(deadline_s=1))
    assert not is_alive(int(pid.read_text()))


def is_alive(pid: int) -> bool:
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return False
            os.kill(pid, 0)
        except (ProcessLookupError, FileNotFoundError):
            return False
        time.sleep(0.05)
    return True


def test_a_started_program_goes_on_and_logs(tmp_path: Path) -> None:
    log = tmp_path / "log"
    pid = start(python("print('up', flush=True)"), log=log)
    os.waitpid(pid, 0)
    assert log.read_text() == "up\n"


def test_programs_of_the_administrator_are_found() -> None:
    assert find_program("no-such-program") is None
    assert find_program("sh") is not None


def test_who_is_asked_has_an_answer_whatever_happens() -> None:
    async def scene() -> None:
        assert await ask(["sh", "-c", "cat; echo no >&2; exit 3"], deadline_s=60, feed="yes") == Said(
            3, "yes", "no\n"
        )
        killed = await ask(["sh", "-c", "kill -9 $$"], deadline_s=60)
        assert killed.status == 128 + 9
        missing = await ask(["no-such-program"], deadline_s=60)
        assert (missing.status, missing.is_ok) == (MISSING, False)
        assert "no-such-program is not there" in missing.trouble
        late = await ask(["sh", "-c", "sleep 600 & sleep 600"], deadline_s=0.2)
        assert late.status == LATE
        assert "did not end within 0.2 s" in late.trouble
        assert (await ask(["true"], deadline_s=60)).trouble == "it ended with status 0"

    asyncio.run(scene())


def test_who_is_not_waited_for_any_more_is_ended(tmp_path: Path) -> None:
    async def scene() -> None:
        script = f"echo $$ >{tmp_path}/pid; exec sleep 600"
        task = asyncio.ensure_future(ask(["sh", "-c", script], deadline_s=600))
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "pid").read_text()), 0)

    asyncio.run(scene())
