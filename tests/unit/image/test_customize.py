# SPDX-License-Identifier: Apache-2.0
"""Customizing changes the areas and nothing else, and can always be undone."""

from __future__ import annotations

import lzma
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster.errors import MediaError
from muster.image.coreos.areas import load_layout
from muster.image.coreos.customize import Contents, Customization, customize, read_contents, reset
from muster.image.cpio import Member
from tests import media
from tests.media import applied, build, image, replaced, volume

SLOW = settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
LARGE = random.Random(1).randbytes(9000)
TOO_LARGE = random.Random(1).randbytes(300_000)
TINY = build()
WORDS = st.text("abc=,.", min_size=1, max_size=9)
KEYFILES = st.dictionaries(st.text("abc-.", min_size=3, max_size=9), st.binary(max_size=99), max_size=3)


@st.composite
def customizations(draw: st.DrawFn) -> Customization:
    ignition = draw(st.none() | st.binary(max_size=2000) | st.just(LARGE))
    return Customization(
        ignition=ignition,
        network=draw(KEYFILES),
        initrd=tuple(Member(f"etc/x/{n}", d, 0o100755) for n, d in draw(KEYFILES).items()),
        kargs_append=tuple(draw(st.lists(WORDS, max_size=3))),
        kargs_delete=draw(st.sampled_from([(), ("ignition.firstboot",), ("not.there",)])),
    )


def contents(data: bytes) -> Contents:
    return read_contents(volume(data))


@SLOW
@given(customizations())
def test_what_is_put_in_is_found_and_can_be_taken_out(wanted: Customization) -> None:
    base = TINY
    result = applied(base, customize(volume(base), wanted))
    found = contents(result)
    default = found.default_kargs or ""
    assert found.ignition == wanted.ignition
    assert found.network == wanted.network
    assert found.initrd == tuple(sorted(wanted.initrd, key=lambda member: member.path))
    kept = [word for word in default.split() if word not in wanted.kargs_delete]
    assert found.kargs == " ".join([*kept, *wanted.kargs_append])
    assert found.is_customized == (
        wanted.ignition is not None or bool(wanted.network or wanted.initrd) or found.kargs != default
    )
    assert found.is_moved == (wanted.ignition is LARGE)
    assert applied(result, reset(volume(result))) == base


@SLOW
@given(st.sampled_from(media.ALL), st.binary(max_size=3000), st.lists(WORDS, max_size=3))
def test_only_areas_change(name: str, ignition: bytes, kargs: list[str]) -> None:
    base = image(name)
    layout = load_layout(volume(base))
    if layout.kargs is None:
        kargs = []
    overlay = customize(volume(base), Customization(ignition=ignition, kargs_append=tuple(kargs)))
    areas = [layout.ignition, *(place.area for place in (layout.kargs.areas if layout.kargs else ()))]
    assert overlay.size == len(base)
    for patch in overlay.patches:
        assert any(area.offset <= patch.offset and patch.end <= area.end for area in areas)
        assert patch.name in [area.name for area in areas]
    assert applied(applied(base, overlay), reset(volume(applied(base, overlay)))) == base


@SLOW
@given(customizations(), customizations())
def test_the_result_does_not_hang_on_what_was_there(first: Customization, second: Customization) -> None:
    base = TINY
    once = applied(base, customize(volume(base), second))
    before = applied(base, customize(volume(base), first))
    assert applied(before, customize(volume(before), second)) == once


def test_nothing_wanted_changes_nothing() -> None:
    for name in media.ALL:
        assert customize(volume(image(name)), Customization()).patches == ()
        assert reset(volume(image(name))).patches == ()
        assert not contents(image(name)).is_customized


def test_the_archive_is_one_xz_stream_and_zeros() -> None:
    base = image(media.MODERN)
    overlay = customize(volume(base), Customization(ignition=b"{}"))
    (patch,) = overlay.patches
    assert (patch.offset, len(patch.data)) == (139264, 262144)
    decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ)
    assert b"config.ign" in decompressor.decompress(patch.data)
    assert not decompressor.unused_data.strip(b"\0")


def test_what_does_not_fit_is_refused_where_the_area_cannot_move() -> None:
    with pytest.raises(
        MediaError, match=r"have 300\d+ bytes when packed; test.iso has room for 262144"
    ) as caught:
        customize(volume(image(media.S390X)), Customization(ignition=TOO_LARGE))
    assert "smaller" in caught.value.hint


def test_kernel_arguments_that_do_not_fit() -> None:
    with pytest.raises(MediaError, match=r"the kernel arguments have \d+ bytes; the image has room for 1138"):
        customize(volume(image(media.MODERN)), Customization(kargs_append=("x" * 1100,)))


def test_what_an_image_cannot_do_is_said() -> None:
    with pytest.raises(MediaError, match="cannot be given network settings"):
        customize(volume(image(media.OLDEST)), Customization(network={"a.nmconnection": b""}))
    with pytest.raises(MediaError, match="has no room for kernel arguments"):
        customize(volume(image(media.OLDEST)), Customization(kargs_append=("a",)))
    with pytest.raises(MediaError, match="'a/b' is not the name of a network file"):
        customize(volume(image(media.MODERN)), Customization(network={"a/b": b""}))
    with pytest.raises(MediaError, match=r"config.ign is twice"):
        customize(
            volume(image(media.MODERN)), Customization(ignition=b"", initrd=(Member("config.ign", b""),))
        )


def test_kernel_arguments_on_s390x_keep_their_padding() -> None:
    base = image(media.S390X)
    overlay = customize(volume(base), Customization(kargs_append=("a=b",)))
    (patch,) = overlay.patches
    assert bytes(patch.data).rstrip(b"\0").endswith(b" a=b")
    assert len(patch.data) == 896


def test_garbage_in_the_area_is_reported_and_can_be_reset() -> None:
    base = image(media.MODERN)
    broken = replaced(base, 139264, b"garbage")
    with pytest.raises(MediaError, match=r"the Ignition area of test.iso holds something that is not"):
        contents(broken)
    assert applied(broken, reset(volume(broken))) == base
