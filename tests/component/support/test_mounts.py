# SPDX-License-Identifier: Apache-2.0
"""Live hosts have their whole system mounted where they keep what they were told in confidence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
mount -t tmpfs none "$1/run/muster/os"
echo the key of somebody else >"$1/run/muster/os/private.key"
exec "$2" -c 'import pathlib, sys; from muster.support.secrets import load_secrets as load
print(load(pathlib.Path(sys.argv[1])))' "$1"
"""


def test_keys_of_a_mounted_system_are_no_secrets_of_this_host(tmp_path: Path) -> None:
    """There are hundreds, and they would take the place of those that matter."""
    (tmp_path / "run/muster/os").mkdir(parents=True)
    (tmp_path / "run/muster/host-token").write_text("the-token-of-this-host")
    argv = ["unshare", "--mount", "sh", "-e", "-c", SCRIPT, "sh", str(tmp_path), sys.executable]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("('the-token-of-this-host',)\n", "")
