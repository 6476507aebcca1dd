#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A check of a guest's report: judges the cluster as its administrator sees it, and says what is wanting.

What has to be there stands in /etc/muster/cluster.json, and who asks in the kubeconfig and the certificates
beside it. kubectl takes seconds of an emulated processor: it asks once after a boot, then this program does.
"""

from __future__ import annotations

import base64
import json
import mmap
import os
import socket
import ssl
import struct
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PLACE = Path("/etc/muster")
KUBECTL = ("/usr/local/bin/kubectl", f"--kubeconfig={PLACE}/admin.conf", "--request-timeout=60s")
ASKED_BY_KUBECTL = Path("/run/muster-judged")
PATIENCE_S = 30
SET_UP = Path("/var/lib/muster/cluster-setup.done")
AUDIT = Path("/var/log/kubernetes/audit")
ETCD = Path("/var/lib/etcd/member")
HARDENED = Path("/run/muster-hardened")
CANARY = "canary-7f1d4c"
"""The value of a Secret: found in no file of etcd, and in no line of the audit log."""
ENCRYPTED = b"k8s:enc:secretbox:v1:key1:"
PROFILE = "cri-containerd.apparmor.d (enforce)"
UNITS = ("muster-node-network", "muster-kube", "etcd", "kube-apiserver", "kubelet", "muster-cluster-setup")


class Wanting(Exception):
    """What is not as it should be."""


def check_kubectl() -> None:
    """It works with the kubeconfig that was made before the installation."""
    if ASKED_BY_KUBECTL.exists():
        return
    try:
        done = subprocess.run([*KUBECTL, "get", "nodes"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise Wanting(f"kubectl is not there: {error}") from error
    if done.returncode:
        raise Wanting(f"kubectl: {(done.stderr or done.stdout).strip()[-300:]}")
    ASKED_BY_KUBECTL.touch()


def request(path: str, body: dict[str, Any] | None = None, *, anonymous: bool = False) -> tuple[int, str]:
    """Status and text of what the API answers to its administrator, or to a client without credentials."""
    context = ssl.create_default_context(cafile=PLACE / "admin-authority.pem")
    if not anonymous:
        context.load_cert_chain(PLACE / "admin.pem")
    data = None if body is None else json.dumps(body).encode()
    url = (PLACE / "admin-server").read_text() + path
    wanted = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(wanted, timeout=PATIENCE_S, context=context) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        raise Wanting(f"the API does not answer {path}: {error}") from error


def ask(path: str) -> str:
    """What the API answers to its administrator."""
    status, text = request(path)
    if status != 200:
        raise Wanting(f"the API answers {status} to {path}: {text[:300]}")
    return text


def listed(kind: str) -> dict[str, dict[str, Any]]:
    return {item["metadata"]["name"]: item for item in json.loads(ask(f"/api/v1/{kind}"))["items"]}


def readiness(thing: dict[str, Any]) -> dict[str, Any]:
    return next((each for each in thing["status"].get("conditions", []) if each["type"] == "Ready"), {})


def check_setup() -> None:
    """Cheaply first: the API needs the processor itself."""
    if SET_UP.exists():
        return
    shown = []
    for unit in UNITS:
        argv = ["systemctl", "show", "--value", "--property=ActiveState,SubState", f"{unit}.service"]
        state = subprocess.run(argv, capture_output=True, text=True, check=False).stdout.split()
        shown.append(f"{unit} {'/'.join(state)}")
    raise Wanting(f"the cluster is not set up yet: {', '.join(shown)}")


def check_nodes(wanted: dict[str, str]) -> None:
    nodes = listed("nodes")
    if {*nodes} != {*wanted}:
        raise Wanting(f"the nodes are {', '.join(nodes) or '(none)'}, not {', '.join(wanted)}")
    for name, label in wanted.items():
        ready = readiness(nodes[name])
        if ready.get("status") != "True":
            raise Wanting(f"node {name} is not Ready: {ready.get('message', 'it says nothing')}")
        if label not in nodes[name]["metadata"]["labels"]:
            raise Wanting(f"node {name} has not got its role yet")


def check_pods(wanted: list[str]) -> None:
    pods = listed("pods")
    for name in wanted:
        if not any(each.startswith(name) for each in pods):
            raise Wanting(f"there is no pod {name}, only {', '.join(pods) or '(none)'}")
    for name, pod in pods.items():
        if readiness(pod).get("status") != "True":
            said = [
                f"{each['name']}: {what.get('reason', kind)} {what.get('message', '')[:200]}"
                for each in pod["status"].get("containerStatuses", [])
                for kind, what in each["state"].items()
            ]
            raise Wanting(f"pod {name} is {pod['status']['phase']}; {'; '.join(said)}")


def check_log(name: str, word: str) -> None:
    """The API gets the log of a pod from the kubelet of its host."""
    pod = next(each for each in listed("pods") if each.startswith(name))
    log = ask(f"/api/v1/namespaces/kube-system/pods/{pod}/log")
    if word not in log:
        raise Wanting(f"the log of {pod} does not say {word}: {log[-300:]}")


def check_name(server: str, name: str, address: str) -> None:
    """One question for an address, to a name server that is a service of the cluster."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    kind, length = (28, 16) if family is socket.AF_INET6 else (1, 4)
    question = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"
    packet = struct.pack(">6H", 7, 0x0100, 1, 0, 0, 0) + question + struct.pack(">2H", kind, 1)
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as connection:
            connection.settimeout(10)
            connection.sendto(packet, (server, 53))
            answer = connection.recv(512)
    except OSError as error:
        raise Wanting(f"the name server {server} does not answer: {error}") from error
    answers = struct.unpack(">H", answer[6:8])[0]
    found = socket.inet_ntop(family, answer[-length:]) if answers else "unknown"
    if found != address:
        raise Wanting(f"{name} is {found}, not {address}")


def check_reach(name: str) -> None:
    """Every pod of this name answers a pod of this host. It ends in that pod's network, so it comes last."""
    pods = {each: pod for each, pod in listed("pods").items() if each.startswith(name)}
    enter_pod()
    for each, pod in pods.items():
        address = pod["status"]["podIP"]
        url = f"http://[{address}]:8080/health" if ":" in address else f"http://{address}:8080/health"
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                answer.read()
        except OSError as error:
            raise Wanting(f"pod {each} on {pod['spec']['nodeName']} does not answer: {error}") from error


def enter_pod() -> None:
    """Go on in the network of a pod of this host."""
    for process in pod_processes():
        with (process / "ns/net").open() as file:
            os.setns(file.fileno(), os.CLONE_NEWNET)  # type: ignore[attr-defined]  # Python 3.12
        return
    raise Wanting("no pod of this host has a network of its own")


def pod_processes() -> Iterator[Path]:
    """The processes of CoreDNS in pods of this host."""
    own = Path("/proc/self/ns/net").readlink()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "comm").read_text() == "coredns\n" and (process / "ns/net").readlink() != own:
                yield process
        except OSError:
            continue  # It has ended.


def check_hardening() -> None:
    """Once after a boot: what the API refuses, what etcd and the audit log hold, how pods are confined."""
    if HARDENED.exists():
        return
    check_confinement()
    check_admission()
    check_anonymous()
    check_canary()
    HARDENED.touch()


def check_confinement() -> None:
    """Every pod has both filters; the cluster's name server does not run as root, unlike the probe."""
    users = set()
    for process in pod_processes():
        status = (process / "status").read_text()
        profile = (process / "attr/apparmor/current").read_text().strip()
        if "\nSeccomp:\t2\n" not in status:
            raise Wanting("a pod of CoreDNS runs without a seccomp filter")
        if profile != PROFILE:
            raise Wanting(f"a pod of CoreDNS has the AppArmor profile {profile}")
        users.add(status.partition("\nUid:\t")[2].partition("\t")[0])
    if not users:
        raise Wanting("no pod of CoreDNS runs on this host")
    if users == {"0"}:
        raise Wanting("the name server of the cluster runs as root")


def check_admission() -> None:
    """A privileged pod is refused in a namespace without labels; one that asks for nothing is not."""
    for privileged, expected in ((True, 403), (False, 201)):
        container = {"name": "a", "image": "a", "securityContext": {"privileged": privileged}}
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "probe-level"},
            "spec": {"containers": [container]},
        }
        status, text = request("/api/v1/namespaces/default/pods?dryRun=All", body)
        if status != expected or ("PodSecurity" in text) != privileged:
            raise Wanting(f"a pod with privileged={privileged} in default: {status} {text[:300]}")


def check_anonymous() -> None:
    for path, expected in (("/readyz", 200), ("/version", 401), ("/api", 401)):
        status, _ = request(path, anonymous=True)
        if status != expected:
            raise Wanting(f"without credentials {path} answers {status}, not {expected}")


def check_canary() -> None:
    """A Secret is encrypted in the files of etcd, and its value is in no line of the audit log."""
    if not AUDIT.exists():
        return  # This host has no API.
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "canary"},
        "stringData": {"value": CANARY},
    }
    status, text = request("/api/v1/namespaces/default/secrets", secret)
    if status not in (201, 409):
        raise Wanting(f"a Secret cannot be made: {status} {text[:300]}")
    stored = json.loads(ask("/api/v1/namespaces/default/secrets/canary"))["data"]["value"]
    if base64.b64decode(stored).decode() != CANARY:
        raise Wanting("a Secret is not what it was")
    files = [ETCD / "snap/db", *(ETCD / "wal").glob("*.wal")]
    if plain := [str(file) for file in files if holds(file, CANARY.encode())]:
        raise Wanting(f"a Secret is in plain text in {', '.join(plain)}")
    if not any(holds(file, b"/registry/secrets/default/canary") for file in files):
        raise Wanting("etcd does not have the Secret yet")
    if not any(holds(file, ENCRYPTED) for file in files):
        raise Wanting("no Secret in etcd has the mark of an encrypted one")
    check_audit(stored)


def check_audit(stored: str) -> None:
    """Somewhere in the log is who made the Secret, and nowhere its value."""
    if AUDIT.stat().st_mode & 0o077:
        raise Wanting(f"{AUDIT} is open to others than root")
    text = (AUDIT / "audit.log").read_text()
    lines = [json.loads(line) for line in text.splitlines()[:-1]]
    created = [each for each in lines if each["verb"] == "create" and is_about_canary(each)]
    if not created:
        raise Wanting("the audit log does not have who made the Secret")
    if any(each["level"] != "Metadata" or not each["user"]["username"] for each in created):
        raise Wanting(f"the audit log has the Secret as {created}")
    if CANARY in text or stored in text:
        raise Wanting("the audit log has the value of a Secret")


def is_about_canary(line: dict[str, Any]) -> bool:
    about = line.get("objectRef", {})
    return (about.get("resource"), about.get("name")) == ("secrets", "canary")


def holds(path: Path, wanted: bytes) -> bool:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        return mapped.find(wanted) >= 0


def main() -> int:
    wanted = json.loads((PLACE / "cluster.json").read_text("utf-8"))
    try:
        if wanted["first"] == socket.gethostname():
            check_setup()
        check_kubectl()
        check_nodes(wanted["nodes"])
        check_pods(wanted["pods"])
        check_log("coredns-", "CoreDNS")
        check_hardening()
        check_name(wanted["nameServer"], "kubernetes.default.svc.cluster.local", wanted["api"])
        check_reach("probe-")
    except Wanting as error:
        sys.stdout.write(f"{error}\n")
        return 1
    sys.stdout.write(f"ready: {', '.join(wanted['nodes'])}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
