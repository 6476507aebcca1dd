# SPDX-License-Identifier: Apache-2.0
"""How fast `muster registry serve` gives blobs away, against plain sendfile of the same file.

    python benchmarks/registry.py [FOLDER]

Baseline: a server of forty lines that does nothing but `sendfile`, with a thread for each client, in the same
run and for the same client, which reads into one buffer. One client pulls 1 GB; then 64 pull 16 MiB each, at
once. The files are in the page cache, so that the network counts and not the disk; FOLDER is where they go.
Each figure is the best of several runs, taken in turns; beside it is what a gigabyte took of the server's
CPU time, at its least, which other work on the machine disturbs less.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from muster.release.oci.digest import Digest
from muster.release.oci.manifest import OCI_CONFIG, OCI_LAYER, Descriptor, render_manifest
from muster.release.store.store import Store, create_store

RUNS = 6
LARGE = 1_000_000_000
SMALL = 16 << 20
CLIENTS = 64
BUFFER = 1 << 20
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Server:
    """A process that serves."""

    name: str
    pid: int
    port: int

    @property
    def cpu_s(self) -> float:
        """What it used so far."""
        words = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / TICKS


def serve_plain(folder: str) -> None:
    """The baseline: files of a folder by name, by sendfile."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=CLIENTS)
    print(listening.getsockname()[1], flush=True)
    while True:
        client, _ = listening.accept()
        threading.Thread(target=_send_file, args=(client, Path(folder)), daemon=True).start()


def _send_file(client: socket.socket, folder: Path) -> None:
    request = b""
    while not request.endswith(b"\r\n\r\n"):
        request += client.recv(4096)
    name = request.split(maxsplit=2)[1].decode().rpartition(":")[2]
    with client, (folder / name).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        client.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode())
        offset = 0
        while offset < size:
            offset += os.sendfile(client.fileno(), file.fileno(), offset, size - offset)


def pull(port: int, digest: Digest, size: int) -> None:
    """The client: read a blob, and forget it."""
    with socket.create_connection(("127.0.0.1", port)) as server:
        lines = (f"GET /v2/bench/blobs/blobs/{digest} HTTP/1.1", "Host: bench", "Connection: close")
        server.sendall("\r\n".join((*lines, "", "")).encode())
        buffer = bytearray(BUFFER)
        count = server.recv_into(buffer)
        head, _, first = bytes(buffer[:count]).partition(b"\r\n\r\n")
        if b" 200 " not in head.splitlines()[0]:
            raise SystemExit(f"the answer was {head!r}")
        left = size - len(first)
        while left > 0 and (count := server.recv_into(buffer)):
            left -= count
        if left:
            raise SystemExit(f"{left} bytes are missing")


def rate(port: int, digest: Digest, size: int, clients: int) -> float:
    """Bytes per second that so many clients get at once, all together."""
    threads = [threading.Thread(target=pull, args=(port, digest, size)) for _ in range(clients)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return clients * size / (time.monotonic() - began)


def put_blob(store: Store, size: int) -> Descriptor:
    """A blob of noise."""
    noise = random.Random(size)
    path = store.root / "noise"
    with path.open("wb") as file:
        for done in range(0, size, BUFFER):
            file.write(noise.randbytes(min(BUFFER, size - done)))
    out = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True).stdout
    digest = Digest(f"sha256:{out.split()[0]}")
    store.blobs.path(digest).parent.mkdir(parents=True, exist_ok=True)
    path.rename(store.blobs.path(digest))
    return Descriptor(OCI_LAYER, digest, size)


def build_store(root: Path) -> tuple[Store, Descriptor, Descriptor]:
    """A store with one image that has both blobs."""
    store = create_store(root)
    large, small = put_blob(store, LARGE), put_blob(store, SMALL)
    config = Descriptor(OCI_CONFIG, store.blobs.put(b"{}"), 2)
    manifest = render_manifest(config, [large, small])
    store.blobs.put(manifest.data)
    store.name({"registry.example.com/bench/blobs:v1": manifest.descriptor})
    return store, large, small


@contextlib.contextmanager
def start(name: str, *argv: str) -> Iterator[Server]:
    """A server in a process of its own; the port is the last number of its first line."""
    with subprocess.Popen([sys.executable, *argv], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            port = int(process.stdout.readline().rstrip().rpartition(":")[2])
            yield Server(name, process.pid, port)
        finally:
            process.terminate()


def compare(title: str, servers: tuple[Server, ...], blob: Descriptor, clients: int) -> None:
    """Measure all servers in turns, and print rates and ratios to the first."""
    rates: dict[str, float] = {}
    costs: dict[str, float] = {}
    for _ in range(RUNS):
        for server in servers:
            before = server.cpu_s
            found = rate(server.port, blob.digest, blob.size_bytes, clients)
            rates[server.name] = max(rates.get(server.name, 0), found)
            cost = (server.cpu_s - before) * 1e9 / (clients * blob.size_bytes)
            costs[server.name] = min(costs.get(server.name, cost), cost)
    for server in servers:
        found, ratio = rates[server.name], rates[server.name] / rates[servers[0].name]
        print(
            f"{title}  {server.name:<16} {found / 1e6:6.0f} MB/s  {ratio:4.2f}  {costs[server.name]:.2f} s/GB"
        )


def main() -> None:
    if sys.argv[1:2] == ["--plain"]:
        serve_plain(sys.argv[2])
    scratch = Path(tempfile.mkdtemp(prefix="bench-registry-", dir=sys.argv[1] if sys.argv[1:] else None))
    try:
        store, large, small = build_store(scratch / "store")
        blobs = str(store.blobs.path(large.digest).parent)
        serve = ("-m", "muster.cli", "registry", "serve", str(store.root), "--listen", "127.0.0.1:0")
        with (
            start("plain sendfile", __file__, "--plain", blobs) as plain,
            start("muster registry", *serve) as registry,
        ):
            compare("1 client, 1 GB    ", (plain, registry), large, 1)
            compare("64 clients, 16 MiB", (plain, registry), small, CLIENTS)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
