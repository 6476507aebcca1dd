# SPDX-License-Identifier: Apache-2.0
"""nmstateconfig.yaml: the static networks of hosts, one document each."""

from __future__ import annotations

from muster.model.host import Interface
from muster.model.metadata import Metadata
from muster.model.schema import Items, Model, many, nested, value
from muster.model.tree import Node
from muster.model.values import FREE, NMSTATE, TEXT


class NMStateConfigSpec(Model):
    """Which host is meant, and its network."""

    interfaces: Items[Interface] = many(
        nested(Interface), "The host's network cards, at least one.", required=True
    )
    config: Node | None = value(NMSTATE, "Static network of the host, as an NMState document.", required=True)


class NMStateConfig(Model):
    """The static network of one host."""

    api_version: str | None = value(
        TEXT,
        "Version of this object's format: agent-install.openshift.io/v1beta1.",
        example="agent-install.openshift.io/v1beta1",
    )
    kind: str | None = value(TEXT, "Always NMStateConfig.", example="NMStateConfig")
    metadata: Metadata | None = value(
        nested(Metadata), "Name, and the labels that the InfraEnv selects by.", required=True
    )
    spec: NMStateConfigSpec | None = value(
        nested(NMStateConfigSpec), "Which host is meant, and its network.", required=True
    )
    status: Node | None = value(FREE, "What became of the object.")
