# SPDX-License-Identifier: Apache-2.0
"""Hosts of the control plane keep each other's configurations: one that is lost can be written again.

The service goes when the cluster is complete, and the medium does not have what it made. Who may read it on a
host of the control plane, root alone, has all that is in the cluster anyway.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import Any, Final

from muster.model.host import Role
from muster.model.ignition import SECRET, data_url, render_tree
from muster.release.node.cluster import Cluster

FOLDER: Final = "/etc/muster/kept"
Tree = Mapping[str, Any]


def keep_each_other(cluster: Cluster, configs: Mapping[str, Tree]) -> dict[str, Tree]:
    """All configs by the names of their hosts, each of the control plane with those of the others in it."""
    files = {each.name: _file(each.name, configs[each.name]) for each in cluster.voters}
    masters = {each.name for each in cluster.members if each.role is Role.MASTER}
    return {
        name: _with(config, [files[other] for other in files if other != name]) if name in masters else config
        for name, config in configs.items()
    }


def keep_others(name: str, config: Tree, known: Mapping[str, Tree]) -> Tree:
    """The config of one host, with those of others in it that are known; it keeps them again."""
    return _with(config, [_file(other, tree) for other, tree in sorted(known.items()) if other != name])


def _file(name: str, config: Tree) -> dict[str, Any]:
    """Packed on the way; Ignition unpacks it."""
    source = data_url(gzip.compress(render_tree(config), mtime=0))
    contents = {"source": source, "compression": "gzip"}
    path = f"{FOLDER}/{name}.ign"
    return {"path": path, "mode": SECRET, "overwrite": True, "user": {"name": "root"}, "contents": contents}


def _with(config: Tree, files: list[dict[str, Any]]) -> Tree:
    storage = config.get("storage") or {}
    return {**config, "storage": {**storage, "files": [*(storage.get("files") or ()), *files]}}
