# SPDX-License-Identifier: Apache-2.0
"""What runs the service elsewhere fits the service: flags, settings, ports, probes, Secrets."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from muster.cli.app import muster
from muster.cli.serve import serve
from muster.service.api.table import ROUTES
from tests.component.muster import run

HOME = Path(__file__).parents[2] / "packaging"
UNIT = HOME / "systemd" / "muster.service"
BASE = HOME / "kubernetes" / "base"
EXAMPLE = HOME / "kubernetes" / "example"
VARIABLES = {option.envvar for option in serve.params if isinstance(option, click.Option)}


def unit() -> configparser.ConfigParser:
    """The unit; of what stands there twice the last one."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(UNIT.read_text("utf-8"))
    return parser


def parse(arguments: list[str]) -> click.Context:
    """What the command line makes of arguments, without running them."""
    context = muster.make_context("muster", list(arguments))
    name, command, rest = muster.resolve_command(context, [*context._protected_args, *context.args])
    assert command is serve
    return command.make_context(name, rest, parent=context)


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def pod() -> dict[str, Any]:
    found: dict[str, Any] = load(BASE / "deployment.yaml")["spec"]["template"]["spec"]
    return found


def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    text = UNIT.read_text("utf-8").replace("/usr/bin/muster", "/bin/true")
    copy = tmp_path / "muster.service"
    copy.write_text(text)
    verifier = shutil.which("systemd-analyze") or "true"  # Where there is no systemd, nobody reads the unit.
    done = subprocess.run([verifier, "verify", copy], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit_starts_what_there_is(tmp_path: Path) -> None:
    service = unit()["Service"]
    program, *arguments = shlex.split(service["ExecStart"])
    assert program == "/usr/bin/muster"
    place = arguments[arguments.index("--settings") + 1]
    assert place == "/etc/muster/serve.toml"
    arguments[arguments.index(place)] = str(HOME / "systemd" / "serve.toml")
    assert parse(arguments).params["listen"] == ":8090"
    assert service["Type"] == "notify"
    named = set(re.findall(r"\b(MUSTER_\w+)=", UNIT.read_text("utf-8")))
    assert named - VARIABLES == {"MUSTER_CACHE"}
    assert (service["DynamicUser"], service["StateDirectory"]) == ("yes", "muster")
    assert (service["ProtectSystem"], service["NoNewPrivileges"]) == ("strict", "yes")


@pytest.mark.parametrize("path", sorted(HOME.rglob("serve.toml")), ids=lambda path: path.parent.name)
def test_every_setting_exists_and_means_something(path: Path, tmp_path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    text = "\n".join(line.removeprefix("# ") if re.match(r"# [a-z-]+ = ", line) else line for line in lines)
    everything = tmp_path / "serve.toml"
    everything.write_text(text)
    params = parse(["serve", "--settings", str(everything)]).params
    given = tomllib.loads(text)
    assert len(given) >= 6
    assert list(params["releases"]) == [Path(each) for each in given["release"]]
    assert (params["url"], params["media_url"]) == (given["url"], given["media-url"])


def test_every_manifest_is_used_and_every_name_leads_somewhere() -> None:
    listed = load(BASE / "kustomization.yaml")["resources"]
    assert {*listed, "kustomization.yaml"} == {path.name for path in BASE.iterdir()}
    names = {volume["name"] for volume in pod()["volumes"]}
    for container in (*pod()["initContainers"], *pod()["containers"]):
        assert {mount["name"] for mount in container["volumeMounts"]} <= names
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["resources"]["limits"]["memory"]
    made = load(EXAMPLE / "kustomization.yaml")
    generated = {each["name"] for kind in ("configMapGenerator", "secretGenerator") for each in made[kind]}
    used = set(
        re.findall(r"(?:secretName|configMap: {name|secretKeyRef: {name): ([a-z-]+)", text_of("deployment"))
    )
    assert generated == used
    assert [(EXAMPLE / each).resolve() for each in made["resources"]] == [BASE]


def text_of(name: str) -> str:
    return (BASE / f"{name}.yaml").read_text("utf-8")


def test_the_deployment_starts_what_there_is() -> None:
    (container,) = pod()["containers"]
    arguments = [
        str(EXAMPLE / "serve.toml") if each == "/settings/serve.toml" else each for each in container["args"]
    ]
    params = parse(arguments).params
    assert load(BASE / "deployment.yaml")["spec"]["replicas"] == 2
    assert {each["name"] for each in container["env"]} - VARIABLES == {"MUSTER_CACHE"}
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert (params["listen"], params["media_listen"]) == (f":{ports['api']}", f":{ports['media']}")
    served = {each["targetPort"] for each in load(BASE / "service.yaml")["spec"]["ports"]}
    allowed = {each["port"] for each in load(BASE / "network-policy.yaml")["spec"]["ingress"][0]["ports"]}
    assert served == allowed == ports.keys()


def test_probes_ask_what_anyone_may_ask() -> None:
    open_paths = {route.path for route in ROUTES if route.method == "GET" and "anyone" in route.who}
    (container,) = pod()["containers"]
    for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
        probe = container[kind]["httpGet"]
        assert probe["path"] in open_paths
        assert (probe["port"], probe["scheme"]) == ("api", "HTTPS")


def test_the_keys_of_the_example_are_those_that_are_made(tmp_path: Path) -> None:
    assert run("serve", "--only-keys", "--data", tmp_path).status == 0
    made = {f"keys/{path.name}" for path in (tmp_path / "keys").iterdir()}
    secrets = {
        each["name"]: each["files"] for each in load(EXAMPLE / "kustomization.yaml")["secretGenerator"]
    }
    assert set(secrets["muster-keys"]) == made


def test_kustomize_puts_it_together(tmp_path: Path) -> None:
    """With kubectl as it is, where there is one."""
    shutil.copytree(HOME / "kubernetes", tmp_path / "kubernetes")
    place = tmp_path / "kubernetes" / "example"
    assert run("serve", "--only-keys", "--data", place).status == 0
    (place / "password").write_text("secret\n")
    (place / "database-url").write_text("postgresql://db.example.com/muster")
    program = shutil.which("kubectl")
    command: list[str | Path] = (
        [program, "kustomize", place] if program else ["cat", *sorted(place.parent.rglob("*.yaml"))]
    )
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    kinds = set(re.findall(r"^kind: (\w+)$", done.stdout, re.MULTILINE))
    assert {"Deployment", "Service", "NetworkPolicy", "PodDisruptionBudget", "PersistentVolumeClaim"} <= kinds
