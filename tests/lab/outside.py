# SPDX-License-Identifier: Apache-2.0
"""Asks a cluster for its nodes as its administrator does from outside, again until it answers.

Arguments: the kubeconfig, an address of the API. Prints a line for each node: its name, whether it is Ready.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

PORT = 6443
DEADLINE_S = 900.0
PAUSE_S = 2.0


class Named(http.client.HTTPSConnection):
    """Goes to an address, and expects the certificate of a name there."""

    def __init__(self, address: str, name: str, context: ssl.SSLContext) -> None:
        super().__init__(address, PORT, context=context, timeout=10)
        self._name, self._its_context = name, context

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        self.sock = self._its_context.wrap_socket(self.sock, server_hostname=self._name)


def load_context(kubeconfig: dict[str, Any]) -> ssl.SSLContext:
    user, cluster = kubeconfig["users"][0]["user"], kubeconfig["clusters"][0]["cluster"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    with tempfile.NamedTemporaryFile() as file:
        file.write(base64.b64decode(user["client-certificate-data"]))
        file.write(base64.b64decode(user["client-key-data"]))
        file.flush()
        context.load_cert_chain(file.name)
    return context


def ask(address: str, name: str, context: ssl.SSLContext) -> dict[str, bool]:
    connection = Named(address, name, context)
    try:
        connection.request("GET", "/api/v1/nodes")
        answer = connection.getresponse()
        body = answer.read()
    finally:
        connection.close()
    if answer.status != http.HTTPStatus.OK:
        raise OSError(f"{answer.status}: {body[:300]!r}")
    return {node["metadata"]["name"]: is_ready(node) for node in json.loads(body)["items"]}


def is_ready(node: dict[str, Any]) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in node["status"]["conditions"])


def main(path: str, address: str) -> int:
    kubeconfig = yaml.safe_load(Path(path).read_text("utf-8"))
    name = urlsplit(kubeconfig["clusters"][0]["cluster"]["server"]).hostname or ""
    context = load_context(kubeconfig)
    end = time.monotonic() + DEADLINE_S
    while True:
        try:
            nodes = ask(address, name, context)
        except (OSError, http.client.HTTPException) as error:
            if time.monotonic() > end:
                sys.stdout.write(f"no answer at {address}: {error}\n")
                return 1
            time.sleep(PAUSE_S)
            continue
        for node, ready in nodes.items():
            sys.stdout.write(f"{node} {'Ready' if ready else 'NotReady'}\n")
        return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
