# SPDX-License-Identifier: Apache-2.0
"""The commit of a clone, as git keeps it."""

from __future__ import annotations

from pathlib import Path

from muster.cli.build import find_commit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def make(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_a_branch(tmp_path: Path) -> None:
    files = {".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": f"{COMMIT}\n"}
    assert find_commit(make(tmp_path, files)) == COMMIT[:12]


def test_no_branch(tmp_path: Path) -> None:
    assert find_commit(make(tmp_path, {".git/HEAD": f"{COMMIT}\n"})) == COMMIT[:12]


def test_a_packed_branch(tmp_path: Path) -> None:
    packed = f"# pack-refs with: peeled\n{COMMIT} refs/heads/main\n"
    files = {".git/HEAD": "ref: refs/heads/main\n", ".git/packed-refs": packed}
    assert find_commit(make(tmp_path, files)) == COMMIT[:12]


def test_a_worktree(tmp_path: Path) -> None:
    tree = make(tmp_path / "tree", {".git": f"gitdir: {tmp_path}/main/.git/worktrees/tree\n"})
    files = {
        ".git/worktrees/tree/HEAD": "ref: refs/heads/side\n",
        ".git/worktrees/tree/commondir": "../..\n",
        ".git/refs/heads/side": f"{COMMIT}\n",
    }
    make(tmp_path / "main", files)
    assert find_commit(tree) == COMMIT[:12]


def test_no_clone(tmp_path: Path) -> None:
    assert find_commit(tmp_path) == ""
    assert find_commit(None) == ""
    assert find_commit(make(tmp_path, {".git/HEAD": "ref: refs/heads/gone\n"})) == ""
