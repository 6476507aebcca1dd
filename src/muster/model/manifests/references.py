# SPDX-License-Identifier: Apache-2.0
"""How manifests point at other objects: by name, or by labels."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from muster.model.schema import Items, Model, many, nested, table, value
from muster.model.values import TEXT, choice


class Reference(Model):
    """An object in the same namespace, by its name."""

    alone = ("name", "[a-z0-9.-]+")

    name: str | None = value(TEXT, "Name of the object.", example="site1")


class NamespacedReference(Reference):
    """An object in any namespace, by its name."""

    namespace: str | None = value(TEXT, "Namespace of the object.", default="empty", example="site1")


class Operator(StrEnum):
    """How a label is compared."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


class LabelExpression(Model):
    """A condition on one label."""

    key: str | None = value(TEXT, "Name of the label.", required=True, example="example.com/rack")
    operator: Operator | None = value(
        choice(Operator), "How the label is compared.", required=True, example="In"
    )
    values: Items[str] = many(TEXT, "Values to compare with, for In and NotIn.", example="r1")


class LabelSelector(Model):
    """Picks objects by their labels; all conditions have to hold."""

    match_labels: Mapping[str, str] = table(TEXT, "Labels that an object must have, with these values.")
    match_expressions: Items[LabelExpression] = many(nested(LabelExpression), "Further conditions on labels.")
