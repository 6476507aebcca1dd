# SPDX-License-Identifier: Apache-2.0
"""Small releases for the tests: a payload folder, and releases as data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from muster.release.build.kept import Built, Packed
from muster.release.build.layers import Entry, write_layer
from muster.release.build.modules import Module
from muster.release.build.plan import Plan, make_plan
from muster.release.build.reading import load_recipe
from muster.release.build.recipe import Recipe
from muster.release.build.whole import Whole, put_together
from muster.release.model import Release
from muster.release.oci.digest import digest_of
from muster.release.store.store import Store

RELEASE = """
[release]
kind = "kubernetes"
version = "v1.2.3"
registry = "registry.example.com"
repository = "kubernetes"
created = "2026-01-02T03:04:05Z"

[go]
minimum = "1.26.4"
toolchain = "1.26.8"
[go.sums]
amd64 = "h1:x"

[[program]]
id = "tool"
folder = "tool"
seconds = 60
links = ["hammer", "saw"]
[program.variables]
"example.com/tool.version" = "v1.2.3"

[[component]]
id = "toolbox"
name = "Toolbox"
version = "v1.2.3"
program = "tool"
module = "example.com/toolbox"
licence = "Apache-2.0"
source = "https://git.example.com/toolbox"

[[image]]
id = "tool"
component = "toolbox"
description = "Many tools in one"
layers = ["tool"]
entrypoint = ["/usr/bin/tool"]
user = "65532:65532"
"""
ADD_ON = """
id = "gauge"
name = "Gauge"
version = "v0.1.0"
bundle = "monitoring"
description = "Tells how full it is."
dependencies = []
conflicts = []
[requirements.host]
disk_mib = 7
[requirements.cluster]
cpu_millicores = 10
memory_mib = 20

[[program]]
id = "gauge"
folder = "."
seconds = 6
[[component]]
id = "gauge"
name = "Gauge"
version = "v0.1.0"
program = "gauge"
licence = "MIT"
[[image]]
id = "gauge"
component = "gauge"
description = "Gauge"
layers = ["gauge", "tool"]
entrypoint = ["/usr/bin/gauge"]

[[ready]]
kind = "deployment-available"
namespace = "gauges"
name = "gauge"
[[ready]]
kind = "storage-class-exists"
name = "full"
"""
MANIFEST = "kind: Pod\nimage: ${image:gauge}\n"


def write_payload(home: Path, release: str = RELEASE, add_on: str = ADD_ON) -> Path:
    """A payload folder with one program and one add-on."""
    for folder in ("tool", "add-ons/gauge/manifests"):
        (home / folder).mkdir(parents=True)
    (home / "release.toml").write_text(release)
    (home / "tool/main.go").write_text("package main\n")
    (home / "tool/go.mod").write_text("module tool\n\nrequire (\n\texample.com/toolbox v1.2.3\n)\n")
    (home / "tool/go.sum").write_text("example.com/toolbox v1.2.3 h1:abc=\n")
    (home / "add-ons/gauge/add-on.toml").write_text(add_on)
    (home / "add-ons/gauge/main.go").write_text("package main\n")
    (home / "add-ons/gauge/manifests/10-pod.yaml").write_text(MANIFEST)
    return home


def plan_of(recipe: Recipe, architecture: str = "amd64") -> Plan:
    return make_plan(recipe, architecture, "go1.26.8", "1.5.7")


def make_whole(
    place: Path, *add_ons: str, home: Path | None = None, content: bytes = b"program", **changes: Any
) -> tuple[Whole, dict[str, Packed]]:
    """A release whose programs are a few bytes, and its layers; of the recipe at home, or of a small one."""
    home = home or write_payload(place / "payload")
    plan = plan_of(replace(load_recipe(home, add_ons), **changes))
    programs, layers = {}, {}
    for wanted in plan.programs:
        id = wanted.program.id
        path = place / id
        path.write_bytes(content + id.encode())
        modules = (Module("example.com/toolbox", "v1.2.3", "h1:abc=", ("MIT",)),)
        programs[id] = Built(path, digest_of(path.read_bytes()), path.stat().st_size, modules)
        layer = place / f"{id}.tar.zst"
        with layer.open("wb") as file:
            layers[id] = Packed(layer, write_layer([Entry(f"usr/bin/{id}", path, mode=0o755)], file))
    return put_together(plan, programs, layers), layers


def make_release(place: Path, *add_ons: str) -> Release:
    return make_whole(place, *add_ons)[0].release


def put_whole(store: Store, whole: Whole, layers: dict[str, Packed]) -> None:
    """All of a release into a store."""
    for packed in layers.values():
        store.blobs.put(packed.path.read_bytes())
    for made in (*whole.images.values(), whole.own):
        store.blobs.put(made.config)
        store.blobs.put(made.manifest.data)
    store.blobs.put(whole.own_layer)
    store.name(whole.names)
