# SPDX-License-Identifier: Apache-2.0
"""Which program keeps a host from becoming a node, and in whose words that is told."""

from __future__ import annotations

from pathlib import Path

from muster.node.failing import Failing, find_restarting
from tests.unit.node.machines import Recorded
from tests.unit.service.running import finish

SHOWN = "Id=containerd.service\nNRestarts={containerd}\n\nId=kubelet.service\nNRestarts={kubelet}\n"


def find(root: Path, *restarts: tuple[int, int], said: str = "") -> list[str]:
    """What each look found; containerd and kubelet were restarted so often by then."""
    left = list(restarts)

    def answer(words: tuple[str, ...]) -> str:
        if words[0] == "journalctl":
            assert words[-1] == "_SYSTEMD_UNIT=containerd.service"
            return said
        containerd, kubelet = left.pop(0)
        return SHOWN.format(containerd=containerd, kubelet=kubelet)

    failing = Failing(Recorded(root, answer))
    return [finish(failing.find()) for _ in restarts]


def test_the_first_of_those_that_fail_is_named_with_what_it_said(tmp_path: Path) -> None:
    found = find(tmp_path, (0, 0), (5, 6), (5, 6), said="containerd: failed to load TOML\n")
    words = "containerd was started 5 times and does not stay: containerd: failed to load TOML"
    assert found == ["", words, ""]


def test_one_that_says_nothing(tmp_path: Path) -> None:
    (found,) = find(tmp_path, (4, 0))
    assert found.endswith("does not stay: see `journalctl -u containerd`")


def test_secrets_are_not_told(tmp_path: Path) -> None:
    (found,) = find(tmp_path, (4, 0), said="no login at https://u:hunter2@registry.example.com")
    assert "hunter2" not in found
    assert "no login" in found


def test_a_few_starts_are_nothing() -> None:
    assert find_restarting({}, {"etcd": 3}) == ""
    assert find_restarting({"etcd": 3}, {"etcd": 4}) == "etcd"
    assert find_restarting({"etcd": 9}, {"etcd": 9}) == ""


def test_without_systemd(tmp_path: Path) -> None:
    assert finish(Failing(Recorded(tmp_path, lambda _: None)).find()) == ""
