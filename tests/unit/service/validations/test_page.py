# SPDX-License-Identifier: Apache-2.0
"""The page of the reference has every validation, with all that it may say."""

from __future__ import annotations

import re

from muster.service.validations.page import render_validations
from muster.service.validations.registry import CLUSTER, HOST, texts


def test_every_validation_is_on_the_page() -> None:
    page = render_validations()
    anchors = re.findall(r'<a id="([^"]+)">', page)
    assert sorted(anchors) == sorted([*(f"host-{id}" for id in HOST), *(f"cluster-{id}" for id in CLUSTER)])
    links = set(re.findall(r"\]\(#([^)]+)\)", page))
    assert links == set(anchors)


def test_every_sentence_is_on_the_page() -> None:
    page = render_validations()
    for found in texts().values():
        for words in found.values():
            for sentence in words.values():
                assert sentence.replace("*", "\\*") in page


def test_marks_are_shown() -> None:
    rows = {
        line.split("]")[0][3:]: line for line in render_validations().splitlines() if line.startswith("| [")
    }
    assert rows["ntp-synced"].endswith("| advice, pool |")
    assert rows["hostname-unique"].endswith("| always |")
    assert rows["dns-domain-defined"].endswith("| input |")
    assert rows["compatible-with-cluster-platform"].endswith("| hardware |")
