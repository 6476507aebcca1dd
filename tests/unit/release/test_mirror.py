# SPDX-License-Identifier: Apache-2.0
"""Where releases are and go, which images belong to them, and what hosts are told of a copy."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import yaml

from muster.errors import UserError
from muster.release.mirror.ends import AtRegistry, InStore, Prefix, parse_end
from muster.release.mirror.needs import Need, load_needs, merge_needs, parse_needs, settle_tags
from muster.release.mirror.notice import notice_of
from muster.release.oci.reference import parse_reference

DIGEST = "sha256:" + "a" * 64
OTHER = "sha256:" + "b" * 64


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("registry.example.com/ocp/release:4.22", AtRegistry("registry.example.com/ocp/release:4.22")),
        ("docker://registry.example.com/a", AtRegistry("registry.example.com/a")),
        ("docker://store/a", AtRegistry("store/a")),
        ("localhost:5000", AtRegistry("localhost:5000")),
        ("localhost/a", AtRegistry("localhost/a")),
        ("store", InStore(Path("store"))),
        ("stores/one", InStore(Path("stores/one"))),
        ("./registry.example.com/a", InStore(Path("registry.example.com/a"))),
        ("../store", InStore(Path("../store"))),
        (".", InStore(Path())),
        ("/srv/store", InStore(Path("/srv/store"))),
        ("oci:store", InStore(Path("store"))),
        ("oci:///srv/store", InStore(Path("/srv/store"))),
        ("file:///srv/store", InStore(Path("/srv/store"))),
        ("oci:store:quay.example.com/a:1", InStore(Path("store"), "quay.example.com/a:1")),
    ],
)
def test_registries_and_stores_are_told_apart(text: str, expected: AtRegistry | InStore) -> None:
    assert parse_end(text) == expected


@pytest.mark.parametrize("text", ["", " ", "docker://", "https://registry.example.com/a", "~nobody-here/x"])
def test_what_is_neither_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        parse_end(text)


def test_images_keep_their_path_below_a_prefix() -> None:
    image = parse_reference(f"quay.io/openshift/release@{DIGEST}")
    prefix = AtRegistry("mirror.example.com:5000/ocp/").prefix()
    assert prefix == Prefix("mirror.example.com:5000", "ocp")
    assert str(prefix.place(image)) == f"mirror.example.com:5000/ocp/openshift/release@{DIGEST}"
    tagged = Prefix("mirror.example.com").place(image, "4.22")
    assert str(tagged) == f"mirror.example.com/openshift/release:4.22@{DIGEST}"
    for bad in ("mirror.example.com/a:tag", f"mirror.example.com/a@{DIGEST}", "mirror.example.com/Upper"):
        with pytest.raises(UserError, match="is no place for images"):
            AtRegistry(bad).prefix()


MANIFESTS = f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  template:
    spec:
      initContainers:
      - image: registry.example.com/init@{DIGEST}
      containers:
      - name: web
        image: registry.example.com/web:1.2
        env:
        - {{name: RELATED_IMAGE_PROXY, value: "registry.example.com/proxy@{DIGEST}"}}
        - {{name: OTHER, value: "registry.example.com/not-this:1"}}
---
---
apiVersion: v1
kind: List
items:
- apiVersion: operators.coreos.com/v1alpha1
  kind: CatalogSource
  metadata: {{name: mine}}
  spec: {{image: "registry.example.com/catalogue@{OTHER}"}}
- apiVersion: x/v1
  kind: Odd
  metadata: {{name: odd}}
  spec:
    image: large
    bootImage: registry.example.com/boot@{OTHER}
    imageCount: 3
"""


def test_manifests_are_searched_for_images() -> None:
    found = {str(need.image): need.needed_by for need in parse_needs(MANIFESTS, "site.yaml")}
    assert found == {
        f"registry.example.com/init@{DIGEST}": ("Deployment web in site.yaml",),
        "registry.example.com/web:1.2": ("Deployment web in site.yaml",),
        f"registry.example.com/proxy@{DIGEST}": ("Deployment web in site.yaml",),
        f"registry.example.com/catalogue@{OTHER}": ("CatalogSource mine in site.yaml",),
        f"registry.example.com/boot@{OTHER}": ("Odd odd in site.yaml",),
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: [", r"site\.yaml cannot be read: line 2: it is not YAML"),
        (
            "kind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - image: nginx\n",
            "Pod p in site.yaml runs",
        ),
        ("a: " + "[" * 200 + "]" * 200, "nested more than 200 levels"),
        ("a: !!python/object:os.system x", "is not YAML"),
    ],
)
def test_manifests_that_cannot_be_used(text: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        parse_needs(text, "site.yaml")


def test_aliases_of_aliases_do_not_take_for_ever() -> None:
    lines = ["a0: &a0 {image: registry.example.com/web:1}"]
    lines += [f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * 10) + "]" for n in range(1, 40)]
    assert len(parse_needs("\n".join(lines[:4]), "site.yaml")) == 1
    with pytest.raises(UserError, match=r"line 6: its aliases stand for more than 100,000 values"):
        parse_needs("\n".join(lines), "site.yaml")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"a: \xff")
    with pytest.raises(UserError, match="is not text in UTF-8"):
        load_needs(tmp_path / "latin.yaml")
    (tmp_path / "empty.yaml").write_text("")
    assert load_needs(tmp_path / "empty.yaml") == ()


def test_an_image_is_needed_once_by_all() -> None:
    image = parse_reference(f"quay.io/a@{DIGEST}")
    tagged = parse_reference(f"quay.io/a:1@{DIGEST}")
    elsewhere = parse_reference(f"registry.example.com/a@{DIGEST}")
    merged = merge_needs(
        [Need(image, ("one",)), Need(elsewhere, ("two",)), Need(tagged, ("three", "one"), "1-a")]
    )
    assert merged == (Need(image, ("one", "three"), "1-a"), Need(elsewhere, ("two",)))


def test_no_image_takes_a_tag_from_another() -> None:
    one, other = (parse_reference(f"quay.io/kube@{digest}") for digest in (DIGEST, OTHER))
    settled = settle_tags(
        [Need(one, ("amd64",), "v1"), Need(other, ("arm64",), "v1"), Need(one, ("x",), "v1")]
    )
    assert [need.tag for need in settled] == ["v1", f"v1-{'b' * 12}", "v1"]


def test_hosts_are_told_where_the_copy_is() -> None:
    images = [
        parse_reference(f"quay.io/openshift/release@{DIGEST}"),
        parse_reference(f"quay.io/openshift/release@{OTHER}"),
        parse_reference("registry.example.com/web:1.2"),
    ]
    notice = notice_of(images, Prefix("mirror.example.com:5000", "ocp"))
    assert yaml.safe_load(notice.install_config()) == {
        "imageDigestSources": [
            {
                "source": "quay.io/openshift/release",
                "mirrors": ["mirror.example.com:5000/ocp/openshift/release"],
            },
            {"source": "registry.example.com/web", "mirrors": ["mirror.example.com:5000/ocp/web"]},
        ]
    }
    entries = tomllib.loads(notice.registries_conf())["registry"]
    assert entries[0]["location"] == "quay.io/openshift/release"
    assert entries[0]["mirror"][0]["location"] == "mirror.example.com:5000/ocp/openshift/release"
    assert all(entry["mirror-by-digest-only"] for entry in entries)
    assert notice.by_tag == ("registry.example.com/web:1.2",)


def test_an_image_that_stays_where_it_is_needs_no_mirror() -> None:
    image = parse_reference(f"mirror.example.com/web@{DIGEST}")
    assert notice_of([image], Prefix("mirror.example.com")).mirrors == ()
