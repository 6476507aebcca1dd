# SPDX-License-Identifier: Apache-2.0
"""How fast a discovery ISO is streamed, against plain sendfile of a file of the same size.

    python benchmarks/discovery_media.py [FOLDER]

The ISO is never written: it is composed of the base image and a few bytes from memory while it is sent.
Baseline: a server of forty lines that does nothing but `sendfile`, with a thread for each client, in the same
run and for the same client, which reads into one buffer. One client fetches 1 GB; then 200 fetch 16 MiB each,
at once, which is where the bytes from memory are. The files are in the page cache,
so that the network counts and not the disk; FOLDER is where they go. Each figure is the best of several runs,
taken in turns; beside it is what a gigabyte took of the server's CPU time, at its least, which other work on
the machine disturbs less.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import socket
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

from muster.image.base_image import BaseImage
from muster.image.iso.writer import render_iso
from muster.service.media.bases import KnownImages
from muster.service.media.compose import Composer
from muster.service.media.desk import Desk, Offer
from muster.service.media.order import Kind, MediumOrder
from muster.service.media.server import serve_media
from muster.service.media.signing import Place as Address
from muster.service.media.signing import Signer
from muster.serving.server import Place
from registry import BUFFER, RUNS, Server, serve_plain, start

LARGE = 1_000_000_000
SMALL = 16 << 20
CLIENTS = 200
INFRA_ENV = "00000000-0000-4000-8000-000000000001"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
AREA = 256 << 10


def build_base(path: Path) -> None:
    """A live image whose root file system is noise; its areas are behind it, so ranges can cross them."""
    kargs = b"ignition.firstboot\n".ljust(1024, b"#")
    files = {
        "images/pxeboot/vmlinuz": bytes(4096),
        "images/pxeboot/initrd.img": bytes(4096),
        "EFI/grub.cfg": kargs,
        "coreos/kargs.json": b'{"default": "ignition.firstboot", "size": 1024,'
        b' "files": [{"path": "EFI/grub.cfg", "offset": 0}]}',
        "coreos/igninfo.json": b'{"file": "images/ignition.img"}',
        "coreos/features.json": b"{}",
        "images/ignition.img": bytes(AREA),
        "images/pxeboot/rootfs.img": random.Random(1).randbytes(BUFFER) * (LARGE // BUFFER),
    }
    path.write_bytes(render_iso(files, label="bench", when=NOW))


class OneOffer:
    """The infra-env whose medium is fetched."""

    def __init__(self) -> None:
        self.order = MediumOrder(
            infra_env_id=INFRA_ENV,
            name="bench",
            service_url="https://service.example.com",
            media_url="http://service.example.com",
            updated_at=NOW,
            agent_token="token",
            ssh_key="ssh-ed25519 AAAA",
        )

    def find(self, infra_env_id: str) -> Offer | None:
        return Offer(self.order, "key") if infra_env_id == INFRA_ENV else None


def make_signer() -> Signer:
    return Signer(ec.derive_private_key(7, ec.SECP256R1()), lambda: datetime.now(UTC))


def address_path() -> str:
    """Where the medium is, with the token that lets a client fetch it."""
    return make_signer().address("", Address(INFRA_ENV, Kind.FULL, "", "x86_64"), "key").url


def serve(base: str, loop: str) -> None:
    """The media server of the service, on a free port; its first line ends with that."""
    path = Path(base)
    image = BaseImage(path, "0" * 64, path.stat().st_size, base)
    composer = Composer(KnownImages({("x86_64", ""): lambda: image}))

    async def run() -> None:
        listening = socket.create_server(("127.0.0.1", 0), backlog=CLIENTS)
        async with serve_media(Desk(OneOffer(), composer, make_signer()), Place(listening, 60.0)):
            print(listening.getsockname()[1], flush=True)
            await asyncio.Event().wait()

    factory = None
    if loop == "uvloop":
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(run())


def pull(port: int, path: str, size: int) -> None:
    """The client: read the first bytes of something, and forget them."""
    with socket.create_connection(("127.0.0.1", port)) as server:
        lines = (f"GET {path} HTTP/1.1", "Host: bench", f"Range: bytes=0-{size - 1}", "Connection: close")
        server.sendall("\r\n".join((*lines, "", "")).encode())
        buffer = bytearray(BUFFER)
        count = server.recv_into(buffer)
        head, _, first = bytes(buffer[:count]).partition(b"\r\n\r\n")
        if head.split()[1] not in (b"200", b"206"):
            raise SystemExit(f"the answer was {head!r}")
        left = size - len(first)
        while left > 0 and (count := server.recv_into(buffer)):
            left -= count
        if left:
            raise SystemExit(f"{left} bytes are missing")


def rate(port: int, path: str, size: int, clients: int) -> float:
    """Bytes per second that so many clients get at once, all together."""
    threads = [threading.Thread(target=pull, args=(port, path, size)) for _ in range(clients)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return clients * size / (time.monotonic() - began)


def compare(title: str, servers: list[tuple[Server, str]], size: int, clients: int) -> None:
    """Measure all servers in turns, and print rates and ratios to the first."""
    rates: dict[str, float] = {}
    costs: dict[str, float] = {}
    for _ in range(RUNS):
        for server, path in servers:
            before = server.cpu_s
            rates[server.name] = max(rates.get(server.name, 0), rate(server.port, path, size, clients))
            cost = (server.cpu_s - before) * 1e9 / (clients * size)
            costs[server.name] = min(costs.get(server.name, cost), cost)
    first = rates[servers[0][0].name]
    for server, _ in servers:
        found, cost = rates[server.name], costs[server.name]
        print(f"{title}  {server.name:<18} {found / 1e6:6.0f} MB/s  {found / first:4.2f}  {cost:.2f} s/GB")


def main() -> None:
    if sys.argv[1:2] == ["--plain"]:
        serve_plain(sys.argv[2])
    if sys.argv[1:2] == ["--media"]:
        serve(sys.argv[2], sys.argv[3])
    scratch = Path(tempfile.mkdtemp(prefix="bench-media-", dir=sys.argv[1] if sys.argv[1:] else None))
    try:
        base = scratch / "live.iso"
        build_base(base)
        for name, size in (("large", LARGE), ("small", SMALL)):
            with base.open("rb") as source, (scratch / name).open("wb") as target:
                shutil.copyfileobj(source, target, BUFFER)
                target.truncate(size)
        path = address_path()
        with (
            start("plain sendfile", __file__, "--plain", str(scratch)) as plain,
            start("media", __file__, "--media", str(base), "asyncio") as media,
            start("media on uvloop", __file__, "--media", str(base), "uvloop") as fast,
        ):
            ours = [(media, path), (fast, path)]
            compare("1 client, 1 GB     ", [(plain, "a:large"), *ours], LARGE, 1)
            compare("200 clients, 16 MiB", [(plain, "a:small"), *ours], SMALL, CLIENTS)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
