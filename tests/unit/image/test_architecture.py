# SPDX-License-Identifier: Apache-2.0
"""What a kernel image is for."""

from __future__ import annotations

import pytest

from muster.errors import MediaError
from muster.image.coreos.architecture import KERNEL, check_architecture, find_architecture, parse_kernel
from tests import media


def kernel(offset: int, data: bytes, *, start: bytes = b"") -> bytes:
    return start + bytes(offset - len(start)) + data


PE = b"PE\0\0"


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (kernel(0x202, b"HdrS", start=b"MZ"), "x86_64"),
        (kernel(0x38, b"ARM\x64", start=b"MZ"), "aarch64"),
        (kernel(0x3C, b"\x40\0\0\0" + PE + b"\x64\xaa", start=b"MZ"), "aarch64"),
        (kernel(0x3C, b"\x40\0\0\0" + PE + b"\x64\x86", start=b"MZ"), "x86_64"),
        (kernel(18, b"\x15\0", start=b"\x7fELF"), "ppc64le"),
        (kernel(0x10008, b"S390EP"), "s390x"),
        (kernel(0x3C, b"\xff\xff\xff\xff", start=b"MZ"), None),
        (b"MZ", None),
        (b"", None),
        (b"a stand-in", None),
    ],
)
def test_kernels(head: bytes, name: str | None) -> None:
    assert parse_kernel(head) == name


def test_an_image_for_other_machines_is_refused() -> None:
    arm = media.volume(media.build(files={KERNEL: kernel(0x38, b"ARM\x64")}))
    check_architecture(arm, "aarch64")
    with pytest.raises(MediaError, match="is for aarch64, and the hosts of the site are x86_64"):
        check_architecture(arm, "x86_64")
    unknown = media.volume(media.build())
    assert find_architecture(unknown) is None
    check_architecture(unknown, "x86_64")
