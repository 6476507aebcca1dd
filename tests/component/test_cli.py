# SPDX-License-Identifier: Apache-2.0
"""The command as its users meet it."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from muster import __version__
from muster.cli.app import VERBS
from muster.files import lock_folder
from tests.component.muster import run

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


CACHE = ["cache list", "cache path", "cache prune", "cache verify"]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A valid site of one's own."""
    return Path(shutil.copytree(EXAMPLES / "compact-baremetal", tmp_path / "site"))


def break_it(site: Path, old: str = "apiVIPs:", new: str = "apiVIP5:") -> None:
    path = site / "install-config.yaml"
    path.write_text(path.read_text().replace(old, new))


def test_version() -> None:
    assert run("--version").out == f"muster {__version__}\n"
    assert json.loads(run("version", "--output", "json").out)["version"] == __version__


@pytest.mark.parametrize("verb", [*VERBS, "agent create", "agent create cluster-manifests", *CACHE])
def test_every_help_has_an_example(verb: str) -> None:
    result = run(*verb.split(), "--help")
    assert result.status == 0
    assert "Examples:" in result.out


def test_a_misspelt_verb() -> None:
    result = run("chek")
    assert result.status == 2
    assert "did you mean 'check'?" in result.err


def test_check_of_a_valid_site(site: Path) -> None:
    result = run("check", "--dir", site)
    assert (result.status, result.out) == (0, f"{site}: no problems found\n")


def test_flags_may_stand_before_the_verb(site: Path) -> None:
    assert run("--dir", site, "--log-level", "debug", "check").status == 0


def test_check_of_a_broken_site(site: Path) -> None:
    break_it(site)
    result = run("check", "--dir", site)
    assert result.status == 3
    assert "install-config.yaml:" in result.out
    assert "error MC102" in result.out
    assert "^^^^^^^" in result.out
    report = json.loads(run("check", "--dir", site, "--output", "json").out)
    assert report["valid"] is False
    assert report["problems"][0]["id"] == "MC102"
    assert report["problems"][0]["line"] > 1


def test_fix_asks_first(site: Path) -> None:
    break_it(site)
    before = (site / "install-config.yaml").read_text()
    result = run("check", "--dir", site, "--fix", stdin="n\n")
    assert result.status == 1
    assert "+    apiVIPs:" in result.out
    assert (site / "install-config.yaml").read_text() == before
    assert not list(site.glob("*.bak"))


def test_fix_repairs_and_keeps_a_backup(site: Path) -> None:
    original = (site / "install-config.yaml").read_text()
    break_it(site)
    broken = (site / "install-config.yaml").read_text()
    (site / "install-config.yaml").chmod(0o640)
    assert run("check", "--dir", site, "--fix", "--yes").status == 0
    assert (site / "install-config.yaml").read_text() == original
    assert (site / "install-config.yaml").stat().st_mode & 0o777 == 0o640
    assert (site / "install-config.yaml.bak").read_text() == broken
    again = run("check", "--dir", site, "--fix", "--yes")
    assert "nothing to repair" in again.out


def test_plan(site: Path) -> None:
    text = run("plan", "--dir", site)
    assert text.status == 0
    assert "rendezvous" in text.out
    body = json.loads(run("plan", "--dir", site, "-o", "json").out)
    assert len(body["hosts"]) == 3
    break_it(site)
    broken = run("plan", "--dir", site)
    assert broken.status == 3
    assert broken.out == ""


def test_manifests_and_state(site: Path) -> None:
    inputs = {path: path.read_bytes() for path in site.glob("*.yaml")}
    first = run("agent", "create", "cluster-manifests", "--dir", site)
    assert first.status == 0
    assert {path.name for path in (site / "cluster-manifests").iterdir()} >= {
        "infraenv.yaml",
        "pull-secret.yaml",
    }
    assert {path: path.read_bytes() for path in site.glob("*.yaml")} == inputs
    state = site / ".muster_state.json"
    assert state.stat().st_mode & 0o777 == 0o600
    assert "nothing has changed" in run("agent", "create", "cluster-manifests", "--dir", site).out
    assert run("check", "--dir", site).status == 0


def test_settings_that_manifests_cannot_carry(site: Path) -> None:
    install = site / "install-config.yaml"
    lines = len(install.read_text().splitlines())
    with install.open("a") as file:
        file.write("featureSet: TechPreviewNoUpgrade\n")
        file.write("pki: {signerCertificates: {key: {algorithm: RSA, rsa: {keySize: 4096}}}}\n")
    create = ("agent", "create", "cluster-manifests", "--dir", site)
    assert f"pki (install-config.yaml:{lines + 2})" in run(*create).err
    assert f'"pki (install-config.yaml:{lines + 2})"' in run(*create, "--output", "json").out


def test_manifests_follow_their_inputs(site: Path) -> None:
    create = ("agent", "create", "cluster-manifests", "--dir", site)
    assert run(*create).status == 0
    break_it(site, "baseDomain: example.com", "baseDomain: other.example.com")
    assert run("check", "--dir", site).status == 0
    assert "other.example.com" in run("plan", "--dir", site).out
    assert run(*create).status == 0
    assert "other.example.com" in (site / "cluster-manifests" / "cluster-deployment.yaml").read_text()


def test_a_manifest_that_is_not_needed_any_more_goes(site: Path) -> None:
    create = ("agent", "create", "cluster-manifests", "--dir", site)
    assert run(*create).status == 0
    agent = site / "agent-config.yaml"
    text = agent.read_text()
    agent.write_text(text[: text.index("hosts:")])
    assert "nmstateconfig.yaml removed" in run(*create).out
    assert not (site / "cluster-manifests" / "nmstateconfig.yaml").exists()


def test_manifests_that_were_changed_are_not_replaced(site: Path) -> None:
    run("agent", "create", "cluster-manifests", "--dir", site)
    changed = site / "cluster-manifests" / "cluster-image-set.yaml"
    changed.write_text(changed.read_text() + "# mine\n")
    refused = run("agent", "create", "cluster-manifests", "--dir", site)
    assert refused.status == 1
    assert "cluster-image-set.yaml" in refused.err
    assert changed.read_text().endswith("# mine\n")
    assert run("agent", "create", "cluster-manifests", "--dir", site, "--force").status == 0
    assert changed.with_name(f"{changed.name}.bak").read_text().endswith("# mine\n")


def test_the_template_never_replaces_a_file(tmp_path: Path) -> None:
    first = run("agent", "create", "agent-config-template", "--dir", tmp_path)
    assert first.status == 0
    path = tmp_path / "agent-config.yaml"
    path.write_text("mine: true\n")
    second = run("agent", "create", "agent-config-template", "--dir", tmp_path)
    assert second.status == 1
    assert "not touched" in second.err
    assert path.read_text() == "mine: true\n"


def test_explain_and_schema() -> None:
    assert "TYPE:" in run("explain", "agent-config.hosts.rootDeviceHints").out
    assert "MESSAGE:" in run("explain", "mc101").out
    wrong = run("explain", "install-config.platfrom")
    assert wrong.status == 1
    assert "did you mean platform?" in wrong.err
    assert "agent-config.rendezvousIP" in run("explain", "rendezvousIP").out
    several = run("explain", "apiVIPs")
    assert several.status == 1
    assert "install-config.platform.vsphere.apiVIPs" in several.err
    assert json.loads(run("schema", "install-config").out)["title"] == "install-config.yaml"
    assert run("schema", "nothing").status == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    assert "muster" in run("completion", shell).out
    current = "ch" if shell == "fish" else "1"
    words = {"COMP_WORDS": "muster ch", "COMP_CWORD": current, "_MUSTER_COMPLETE": f"{shell}_complete"}
    assert "check" in run(env=words).out


def test_the_log_holds_no_secret(site: Path) -> None:
    break_it(site, "pullSecret: '", "pullSecret: 'x")
    result = run("check", "--dir", site, "--log-level", "debug")
    log = site / ".openshift_install.log"
    assert log.stat().st_mode & 0o777 == 0o600
    assert "MC611" in log.read_text()
    assert "exit status 3" in log.read_text()
    for text in (result.out, result.err, log.read_text()):
        assert "ZmFrZTpmYWtl" not in text


def test_a_missing_directory(tmp_path: Path) -> None:
    result = run("check", "--dir", tmp_path / "nowhere")
    assert result.status == 3
    assert "does not exist" in result.out
    assert run("check", "--dir", tmp_path).status == 3
    assert "holds no site" in run("plan", "--dir", tmp_path / "nowhere").err


def test_a_file_in_place_of_the_directory(site: Path) -> None:
    result = run("check", "--dir", site / "install-config.yaml")
    assert result.status == 1
    assert f"--dir {site}" in result.err.splitlines()[1]


def test_help_is_not_cut_short() -> None:
    for group in ((), ("agent",), ("agent", "create")):
        assert "..." not in run(*group, "--help").out.replace("[ARGS]...", "")


def test_a_read_only_directory(site: Path) -> None:
    """Root writes anywhere, so the test takes a directory that nobody can write."""
    sealed = Path("/proc/self/fdinfo")
    result = run("agent", "create", "agent-config-template", "--dir", sealed)
    assert result.status == 1
    assert "cannot write" in result.err


def test_a_full_disk(site: Path) -> None:
    """A limit on file sizes stands in for a disk without room: the write fails half-way."""

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))

    done = subprocess.run(
        [sys.executable, "-m", "muster.cli", "agent", "create", "cluster-manifests", "--dir", str(site)],
        capture_output=True,
        text=True,
        preexec_fn=small_files,
        check=False,
    )
    assert done.returncode == 1
    assert "cannot write" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(site.rglob("*.part"))
    assert not [path for path in site.rglob("cluster-manifests/*") if path.stat().st_size == 200]


def test_interruption_while_muster_is_loaded() -> None:
    """The interrupt comes out of the import of click, which takes its time."""
    code = (
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'click': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "import runpy; runpy.run_module('muster.cli', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_interruption(site: Path) -> None:
    break_it(site)
    process = subprocess.Popen(
        [sys.executable, "-m", "muster.cli", "check", "--dir", str(site), "--fix"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    assert process.stderr.read(5) == b"Write", "it asks before it writes"
    # Until it is gone: an exception that is raised while Python tidies up is lost.
    while process.poll() is None:
        process.send_signal(signal.SIGTERM)
        time.sleep(1)
    _, err = process.communicate()
    assert process.returncode == 8
    assert b"Traceback" not in err
    assert not list(site.glob("*.bak"))


def test_a_terminal_without_unicode(site: Path) -> None:
    result = run("plan", "--dir", site, env={"PYTHONIOENCODING": "latin-1"})
    assert result.status == 0
    assert "\\u" in result.out


def test_closed_streams(site: Path) -> None:
    command = f"{sys.executable} -m muster.cli plan --dir {site} >&- 2>&- <&-"
    assert subprocess.run(["sh", "-c", command], check=False).returncode == 0


def test_nobody_to_ask(site: Path) -> None:
    break_it(site)
    result = run("check", "--dir", site, "--fix", stdin="")
    assert result.status == 1
    assert "--yes" in result.err


def test_a_closed_pipe(site: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "muster.cli", "schema", "install-config"],
        stdout=writer, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(writer)
    assert done.stderr == ""


def test_a_bug_looks_different(site: Path, tmp_path: Path) -> None:
    """A broken installation of Muster itself: its catalogue cannot be imported."""
    shadow = tmp_path / "shadow"
    shadow.mkdir()
    (shadow / "sitecustomize.py").write_text(
        "import sys\nclass Broken:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'muster.config.check':\n"
        "            raise RuntimeError('password: hunter2')\n"
        "sys.meta_path.insert(0, Broken())\n"
    )
    result = run("check", "--dir", site, env={"PYTHONPATH": str(shadow), "TMPDIR": str(tmp_path)})
    assert result.status == 70
    assert "bug in Muster" in result.err
    crash = next(tmp_path.glob("muster-crash-*.txt"))
    assert crash.stat().st_mode & 0o777 == 0o600
    assert "RuntimeError" in crash.read_text()
    assert "hunter2" not in crash.read_text()


def test_manifests_and_media_are_not_made_at_once(site: Path) -> None:
    with lock_folder(site):
        done = run("agent", "create", "cluster-manifests", "--dir", str(site))
    assert done.status == 1
    assert "another muster is making something" in done.err
