# SPDX-License-Identifier: Apache-2.0
"""add-ons.yaml: which add-ons of its release a cluster gets."""

from __future__ import annotations

from muster.model.schema import Items, Model, many
from muster.model.values import TEXT


class AddOnsConfig(Model):
    """Which add-ons of its release a cluster gets; `muster release info` lists those that it has."""

    add_ons: Items[str] = many(
        TEXT,
        "Their ids. Each is applied after those it needs, and waited for.",
        example="metrics-server",
    )
