# SPDX-License-Identifier: Apache-2.0
"""`muster agent wait-for` as a process: what it prints, and its exit status."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from muster.image.kept import load_secrets
from tests import media
from tests.component import muster
from tests.component.client import apart

EXAMPLE = Path(__file__).parents[3] / "examples" / "compact-baremetal"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site whose medium was made."""
    base, made = tmp_path / "live.iso", tmp_path / "site"
    base.write_bytes(media.image(media.MODERN))
    shutil.copytree(EXAMPLE, made)
    done = muster.run("agent", "create", "image", "--dir", made, "--base-image", base, "--release-by-tag")
    assert done.status == 0, done.err
    return made


def finish(process: Any) -> muster.Result:
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in out + err
    return muster.Result(process.returncode, out, err)


@pytest.mark.parametrize(
    ("missing", "words"),
    [(".muster_state.json", "no medium was made in"), ("auth/kubeconfig", "there is no")],
)
def test_a_directory_without_what_it_takes(site: Path, missing: str, words: str) -> None:
    (site / missing).unlink()
    done = muster.run("agent", "wait-for", "install-complete", "--dir", site)
    assert done.status == 1
    assert words in done.err
    assert missing in done.err
    assert f"muster agent create image --dir {site}" in done.err


def test_a_kubeconfig_that_cannot_be_used(site: Path) -> None:
    (site / "auth/kubeconfig").write_text("{}")
    done = muster.run("agent", "wait-for", "bootstrap-complete", "--dir", site)
    assert (done.status, "auth/kubeconfig cannot be used" in done.err) == (1, True)


def test_a_time_that_is_none(site: Path) -> None:
    done = muster.run("agent", "wait-for", "bootstrap-complete", "--dir", site, "--timeout", "soon")
    assert (done.status, "'soon' is not a time span" in done.err) == (1, True)


@pytest.mark.usefixtures("root")
def test_the_api_is_ready(site: Path) -> None:
    """Though its name is not known on this machine."""
    verb = ("agent", "wait-for", "bootstrap-complete", "--dir", str(site))
    done = finish(apart.start(site, *verb, api=True))
    assert done.status == 0, done.err
    assert done.out.splitlines() == [
        "the Kubernetes API of compact.example.com is ready",
        "next:",
        f"  export KUBECONFIG={site}/auth/kubeconfig",
        "  kubectl get nodes",
    ]
    assert "add to /etc/hosts or to your DNS: 192.168.10.5 api.compact.example.com" in done.err
    assert "INFO    the Kubernetes API is ready" in done.err
    password = load_secrets(site).kubeadmin_password
    assert password not in done.out + done.err

    done = finish(apart.start(site, *verb, "--show-password", api=True))
    assert f"kubeadmin's password: {password}" in done.out
    assert password not in (site / ".openshift_install.log").read_text()


@pytest.mark.usefixtures("root")
def test_a_service_that_is_gone_has_no_timeline(site: Path) -> None:
    done = finish(apart.start(site, "agent", "timeline", "--dir", str(site)))
    assert done.status == 1
    assert "the service at https://192.168.10.11:8090 does not tell what happened" in done.err
    assert "ten minutes after" in done.err


@pytest.mark.usefixtures("root")
def test_programs_read_a_line_for_each_change(site: Path) -> None:
    verb = (
        "agent",
        "wait-for",
        "install-complete",
        "--dir",
        str(site),
        "--output",
        "json",
        "--timeout",
        "3s",
    )
    done = finish(apart.start(site, *verb, api=True))
    assert done.status == 6
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert {"service", "kubernetes", "node"} <= {line["kind"] for line in lines}
    assert all(line["time"] and line["message"] for line in lines)
    last = lines[-1]
    assert (last["kind"], last["outcome"], last["status"]) == ("end", "timeout", 6)
    assert "master-2, master-3" in last["message"]
    assert last["hint"]
    assert "password" not in last


@pytest.mark.usefixtures("root")
def test_ctrl_c_ends_it_and_says_how_to_go_on(site: Path) -> None:
    process = apart.start(site, "agent", "wait-for", "install-complete", "--dir", str(site))
    assert process.stderr is not None
    assert "waiting since" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert done.status == 8
    assert "the installation goes on without us" in done.err
    assert f"muster agent wait-for install-complete --dir {site}" in done.err
