# SPDX-License-Identifier: Apache-2.0
"""Bad answers cost themselves, and not more than they have to."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.model.wire.inventory import Inventory
from muster.model.wire.reports import ConnectivityReport
from muster.service.refusals import BadRequest, Refusal
from muster.service.replies.reading import read_output

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["disks", "interfaces", "name", "cpu", "count", "remote_hosts", "host_id", "truncation"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def test_unknown_words_and_null_lists_cost_only_themselves() -> None:
    text = """{"hostname": "a", "interfaces": null, "tpm_version": "9", "cpu": {"count": "8", "flags": 7},
        "disks": [{"name": "sda", "drive_type": "Tape", "size_bytes": 5}, 7, {"name": ["x"]}],
        "truncation": {"type": "odd"}, "brand_new": {}}"""
    found = read_output("inventory", text, Inventory)
    assert found.hostname == "a"
    assert found.interfaces is None
    assert found.tpm_version is None
    assert found.cpu is not None
    assert (found.cpu.count, found.cpu.flags) == (8, None)
    assert found.disks is not None
    assert [(disk.name, disk.drive_type, disk.size_bytes) for disk in found.disks] == [
        ("sda", None, 5),
        (None, None, None),
    ]
    assert found.truncation is None


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", "7", '"text"', "\ud800"])
def test_what_is_no_inventory_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="output of step inventory"):
        read_output("inventory", text, Inventory)


@given(JSON, st.sampled_from([Inventory, ConnectivityReport]))
def test_anything_is_read_or_refused(value: object, of: type[Inventory] | type[ConnectivityReport]) -> None:
    try:
        text = msgspec.json.encode(value).decode()
    except ValueError:
        text = "{}"
    try:
        found = read_output("inventory", text, of)
    except Refusal:
        return
    assert isinstance(found, of)


@pytest.mark.parametrize("before", ["", '{"hostname":', '{"hostname":5,"x":', '{"disks":[{"x":'])
def test_what_is_nested_too_deeply_is_refused(before: str) -> None:
    with pytest.raises(BadRequest, match="nested too deeply"):
        read_output("inventory", before + "[" * 100_000, Inventory)


@pytest.mark.parametrize("number", [10**400, -(10**400), 1 << 63, -(1 << 63) - 1, 1 << 64])
def test_numbers_that_cannot_be_calculated_with_are_refused(number: int) -> None:
    with pytest.raises(BadRequest, match="out of range"):
        read_output(
            "inventory", msgspec.json.encode({"memory": {"physical_bytes": number}}).decode(), Inventory
        )


def test_long_digits_in_texts_and_large_numbers_are_fine() -> None:
    text = f'{{"hostname": "{"9" * 400}", "memory": {{"physical_bytes": {(1 << 63) - 1}}}}}'
    found = read_output("inventory", text, Inventory)
    assert found.memory is not None
    assert found.memory.physical_bytes == (1 << 63) - 1


def test_thousands_of_wrong_values_are_not_looked_at_one_by_one() -> None:
    text = '{"disks":[' + ",".join(['{"size_bytes":"x"}'] * 16_000) + "]}"
    with pytest.raises(BadRequest, match="makes no sense"):
        read_output("inventory", text, Inventory)
