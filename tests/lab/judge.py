#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A check of a guest's report: judges the cluster as its administrator sees it, and says what is wanting.

What has to be there stands in /etc/muster/cluster.json, and who asks in the kubeconfig and the certificates
beside it. kubectl takes seconds of an emulated processor: it asks once after a boot, then this program does.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import struct
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

PLACE = Path("/etc/muster")
KUBECTL = ("/usr/local/bin/kubectl", f"--kubeconfig={PLACE}/admin.conf", "--request-timeout=60s")
ASKED_BY_KUBECTL = Path("/run/muster-judged")
PATIENCE_S = 30
SET_UP = Path("/var/lib/muster/cluster-setup.done")
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


def ask(path: str) -> str:
    """What the API answers to its administrator."""
    context = ssl.create_default_context(cafile=PLACE / "admin-authority.pem")
    context.load_cert_chain(PLACE / "admin.pem")
    server = (PLACE / "admin-server").read_text()
    try:
        with urllib.request.urlopen(f"{server}{path}", timeout=PATIENCE_S, context=context) as answer:
            text: str = answer.read().decode()
            return text
    except OSError as error:
        raise Wanting(f"the API does not answer {path}: {error}") from error


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
    own = Path("/proc/self/ns/net").readlink()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            network = process / "ns/net"
            if (process / "comm").read_text() == "coredns\n" and network.readlink() != own:
                with network.open() as file:
                    os.setns(file.fileno(), os.CLONE_NEWNET)  # type: ignore[attr-defined]  # Python 3.12
                return
        except OSError:
            continue  # It has ended.
    raise Wanting("no pod of this host has a network of its own")


def main() -> int:
    wanted = json.loads((PLACE / "cluster.json").read_text("utf-8"))
    try:
        if wanted["first"] == socket.gethostname():
            check_setup()
        check_kubectl()
        check_nodes(wanted["nodes"])
        check_pods(wanted["pods"])
        check_log("coredns-", "CoreDNS")
        check_name(wanted["nameServer"], "kubernetes.default.svc.cluster.local", wanted["api"])
        check_reach("probe-")
    except Wanting as error:
        sys.stdout.write(f"{error}\n")
        return 1
    sys.stdout.write(f"ready: {', '.join(wanted['nodes'])}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
