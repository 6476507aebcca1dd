# SPDX-License-Identifier: Apache-2.0
"""A template and tables of any size, for the tests of fleets."""

from __future__ import annotations

import shutil
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent / "examples/image-based-config"
HEADER = "name,mac,address,gateway,dns,machineNetwork,region"


def make_template(directory: Path) -> Path:
    """The example, with a host name and a label that differ from site to site."""
    shutil.copytree(EXAMPLE, directory)
    path = directory / "image-based-config.yaml"
    text = path.read_text("utf-8")
    text = text.replace("hostname: site0042.sites", "hostname: ${name}.sites").replace(
        ": north", ": ${region}"
    )
    path.write_text(text, "utf-8")
    return directory


def row(index: int, **changes: str) -> str:
    """A row of the table that is not like any other."""
    net = f"10.{20 + index // 250}.{index % 250}"
    cells = {
        "name": f"site{index:05}",
        "mac": f"52:54:00:{index >> 16 & 255:02x}:{index >> 8 & 255:02x}:{index & 255:02x}",
        "address": f"{net}.10",
        "gateway": f"{net}.1",
        "dns": f"{net}.53",
        "machineNetwork": f"{net}.0/24",
        "region": f"r{index % 7}",
    } | changes
    return ",".join(cells.values())


def make_table(path: Path, count: int) -> Path:
    """A table with so many rows."""
    path.write_text("\n".join([HEADER, *(row(index) for index in range(count))]) + "\n", "utf-8")
    return path
