# SPDX-License-Identifier: Apache-2.0
"""Media over HTTP, as clients fetch them and as coreos-installer and xorriso read them."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import random
import socket
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.routing import Mount

from muster.image.cpio import parse_archives
from muster.service.media.asgi import Embedded
from muster.service.media.desk import Offer
from muster.service.media.discovery import discovery_ignition
from muster.serving.listen import load_certificate
from tests.component.live import KARGS, LABEL, Live, coreos_installer, run
from tests.component.release.served import make_papers
from tests.component.service.media import DEADLINE_S, Loop, Serving, ask, start_media
from tests.component.test_ignition import validate
from tests.discovery import INFRA_ENV, OTHER, Site, order

NAMES = ("full.iso", "minimal.iso", "pxe-initrd")
LARGE = 64 << 20
"""More than the buffers of two sockets hold."""
URL = "http://service.example.com:8091/boot-artifacts/any/x86_64/rootfs.img"


@pytest.fixture
def site(build_x86: Live) -> Site:
    return Site(build_x86.path)


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def serving(request: pytest.FixtureRequest, site: Site) -> Iterator[Serving]:
    loop: Loop = request.param
    with start_media(site.desk, loop=loop) as serving:
        yield serving


@pytest.fixture
def plain(site: Site) -> Iterator[Serving]:
    with start_media(site.desk) as serving:
        yield serving


def fetch(serving: Serving, site: Site, name: str, folder: Path) -> Path:
    got = serving.ask(site.path(name))
    assert got.status == 200
    path = folder / name
    path.write_bytes(got.body)
    return path


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# What others find in them


def test_a_full_iso(plain: Serving, site: Site, tmp_path: Path) -> None:
    before = digest(site.base)
    path = fetch(plain, site, "full.iso", tmp_path)
    assert coreos_installer("iso", "ignition", "show", path) == discovery_ignition(order())
    assert coreos_installer("iso", "kargs", "show", path).decode() == f"{KARGS} console=ttyS0\n"
    coreos_installer("iso", "reset", path)
    assert digest(path) == digest(site.base) == before


def test_a_minimal_iso(plain: Serving, site: Site, tmp_path: Path) -> None:
    path = fetch(plain, site, "minimal.iso", tmp_path)
    assert path.stat().st_size < site.base.stat().st_size - 1_900_000
    assert coreos_installer("iso", "ignition", "show", path) == discovery_ignition(order())
    kargs = KARGS.replace(f"coreos.liveiso={LABEL} ", "")
    shown = coreos_installer("iso", "kargs", "show", path).decode()
    assert shown == f"{kargs} coreos.live.rootfs_url={URL} console=ttyS0\n"
    listed = run("xorriso", "-indev", path, "-find", "/images").decode()
    assert "pxeboot/vmlinuz" in listed
    assert "rootfs.img" not in listed
    theirs = tmp_path / "theirs.iso"
    coreos_installer("iso", "extract", "minimal-iso", site.base, theirs)
    coreos_installer("iso", "reset", path)
    assert digest(path) == digest(theirs)


def test_an_ignition_config_that_needs_more_room(plain: Serving, site: Site, tmp_path: Path) -> None:
    large = random.Random(1).randbytes(150_000).hex()
    site.offers[INFRA_ENV] = Offer(order(trust_bundle=large), "key-1")
    for name in ("full.iso", "minimal.iso"):
        path = fetch(plain, site, name, tmp_path)
        expected = discovery_ignition(site.offers[INFRA_ENV].order)
        assert coreos_installer("iso", "ignition", "show", path) == expected


def test_ignition_accepts_the_config() -> None:
    assert validate(discovery_ignition(order())) == ""


def test_files_for_network_boot(plain: Serving, site: Site, build_x86: Live) -> None:
    own = build_x86.tree / "images/pxeboot"
    assert plain.ask("/boot-artifacts/any/x86_64/vmlinuz").body == (own / "vmlinuz").read_bytes()
    assert plain.ask("/boot-artifacts/any/x86_64/rootfs.img").body == (own / "rootfs.img").read_bytes()
    data, base = plain.ask(site.path("pxe-initrd")).body, (own / "initrd.img").read_bytes()
    assert data.startswith(base)
    members = {each.path: each.data for each in parse_archives(data[len(base) :], "initrd")}
    assert members["config.ign"] == discovery_ignition(order())


# Over the wire


@pytest.mark.parametrize("name", NAMES)
def test_ranges_over_one_connection(serving: Serving, site: Site, name: str) -> None:
    path = site.path(name)
    noise = random.Random(name)
    with contextlib.closing(serving.connect()) as connection:
        data = ask(connection, path).body
        for _ in range(50):
            start = noise.randrange(len(data))
            end = min(start + noise.choice((0, 1, 1000, 100_000, len(data))), len(data) - 1)
            got = ask(connection, path, Range=f"bytes={start}-{end}")
            assert got.status == 206
            assert got.headers["content-range"] == f"bytes {start}-{end}/{len(data)}"
            assert got.body == data[start : end + 1]
        head = ask(connection, path, "HEAD")
        assert (head.status, head.headers["content-length"], head.body) == (200, str(len(data)), b"")
        assert ask(connection, path, Range=f"bytes={len(data)}-").status == 416
        assert ask(connection, path, If_None_Match=head.headers["etag"]).status == 304
        assert ask(connection, path, If_Modified_Since=head.headers["last-modified"]).status == 304
        assert ask(connection, "/nothing", "HEAD").body == b""
        assert ask(connection, "/nothing").status == 404
        assert ask(connection, path).body == data


def test_a_download_goes_on_where_it_broke(serving: Serving, site: Site) -> None:
    whole = serving.ask(site.path()).body
    got, etag = b"", ""
    with contextlib.closing(serving.connect()) as connection:
        connection.request("GET", site.path())
        response = connection.getresponse()
        etag = response.headers["ETag"]
        got = response.read(1_000_000)
    for size in (123_457, 2_000_000):
        with contextlib.closing(serving.connect()) as connection:
            headers = {"Range": f"bytes={len(got)}-", "If-Range": etag}
            connection.request("GET", site.path(), headers=headers)
            response = connection.getresponse()
            assert response.status == 206
            got += response.read(size)
    rest = serving.ask(site.path(), Range=f"bytes={len(got)}-", If_Range=etag)
    assert got + rest.body == whole
    site.offers[INFRA_ENV] = Offer(order(name="another"), "key-1")
    anew = serving.ask(site.path(), Range="bytes=1000-", If_Range=etag)
    assert (anew.status, len(anew.body) > 1_000_000) == (200, True)
    assert anew.body != whole


def test_many_at_once(serving: Serving, site: Site) -> None:
    paths = [site.path(name) for name in NAMES] * 20
    with ThreadPoolExecutor(len(paths)) as pool:
        found = list(pool.map(lambda path: hashlib.sha256(serving.ask(path).body).hexdigest(), paths))
    assert len(set(found)) == 3
    assert found == found[:3] * 20


@pytest.mark.parametrize("name", NAMES)
def test_addresses_that_are_refused(plain: Serving, site: Site, name: str) -> None:
    path = site.path(name)
    assert plain.ask(path, "HEAD").status == 200
    for tampered in (path.replace(".", ".e", 1), path[:20] + "x" + path[21:], path.replace(".", "")):
        got = plain.ask(tampered)
        assert got.status in (403, 404), tampered
        assert discovery_ignition(order())[:100] not in got.body
    site.now.pass_by(timedelta(hours=4))
    assert plain.ask(path).status == 403
    fresh = site.path(name)
    site.offers[INFRA_ENV] = Offer(order(), "key-2")
    assert plain.ask(fresh).status == 403
    assert plain.ask(site.path(name), "HEAD").status == 200


def test_a_token_opens_one_infra_env(plain: Serving, site: Site) -> None:
    site.offers[OTHER] = Offer(order(infra_env_id=OTHER), "key-1")
    assert plain.ask(f"/images/{INFRA_ENV}?api_key={site.token()}", "HEAD").status == 200
    assert plain.ask(f"/images/{OTHER}?api_key={site.token()}").status == 403
    assert plain.ask(f"/images/{OTHER}?api_key={site.token(OTHER)}", "HEAD").status == 200
    assert plain.ask(f"/byid/{INFRA_ENV}/any/x86_64/full.iso").status == 403


@pytest.fixture
def large(build_x86: Live, tmp_path: Path) -> Site:
    """A base with bytes behind its end, as if somebody had padded it."""
    path = tmp_path / "large.iso"
    path.write_bytes(build_x86.path.read_bytes() + random.Random(1).randbytes(LARGE))
    return Site(path)


class Heard(logging.Handler):
    """Waits until something is logged."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text
        self.said = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if self._text in record.getMessage():
            self.said.set()


def test_a_client_that_takes_nothing_is_given_up(large: Site, caplog: pytest.LogCaptureFixture) -> None:
    heard = Heard("it took nothing for 0.5 s")
    logger = logging.getLogger("muster.service.media.server")
    caplog.set_level(logging.DEBUG, logger.name)
    logger.addHandler(heard)
    try:
        with start_media(large.desk, patience_s=0.5) as serving, serving.begin(large.path()) as client:
            assert heard.said.wait(DEADLINE_S)
            received = 0
            with contextlib.suppress(ConnectionResetError):
                while data := client.recv(1 << 20):
                    received += len(data)
            assert 0 < received < LARGE  # What the buffers held still came.
    finally:
        logger.removeHandler(heard)


def test_a_client_that_goes_away_stops_nobody(large: Site) -> None:
    with start_media(large.desk) as serving:
        for _ in range(5):
            serving.begin(large.path()).close()
        assert len(serving.ask(large.path()).body) > LARGE


def test_a_base_that_becomes_shorter_is_noticed(large: Site) -> None:
    with start_media(large.desk) as serving, serving.begin(large.path()) as client:
        with large.base.open("r+b") as file:
            file.truncate(1_000_000)
        received = 0
        with contextlib.suppress(ConnectionResetError):
            while data := client.recv(1 << 20):
                received += len(data)
        assert received < LARGE
        assert serving.ask(large.path()).status == 500


# Encrypted


@pytest.fixture
def papers(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    made = make_papers(tmp_path / "papers")
    trust = ssl.create_default_context(cafile=str(made.certificate))
    return load_certificate(made.certificate, made.key), trust


def test_the_same_bytes_with_tls(
    site: Site, plain: Serving, papers: tuple[ssl.SSLContext, ssl.SSLContext]
) -> None:
    tls, trust = papers
    with start_media(site.desk, tls=tls, trust=trust) as secure:
        for name in NAMES:
            path = site.path(name)
            assert secure.ask(path).body == plain.ask(path).body
            part = secure.ask(path, Range="bytes=100-70000")
            assert (part.status, part.body) == (206, plain.ask(path).body[100:70001])
        assert secure.ask("/nothing").status == 404


@contextlib.contextmanager
def start_uvicorn(app: Starlette, folder: Path) -> Iterator[Serving]:
    made = make_papers(folder / "uvicorn")
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, ssl_certfile=made.certificate, ssl_keyfile=str(made.key), log_level="warning", lifespan="off"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield Serving(listening.getsockname()[1], ssl.create_default_context(cafile=str(made.certificate)))
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def test_beside_the_interface(site: Site, plain: Serving, tmp_path: Path) -> None:
    embedded = Embedded(site.desk, 60.0)
    with start_uvicorn(Starlette(routes=[Mount("/media", app=embedded)]), tmp_path) as secure:
        for name in NAMES:
            path, whole = site.path(name), plain.ask(site.path(name)).body
            assert secure.ask(f"/media{path}").body == whole
            part = secure.ask(f"/media{path}", Range="bytes=100-70000")
            assert (part.status, part.body) == (206, whole[100:70001])
            head = secure.ask(f"/media{path}", "HEAD")
            assert (head.body, head.headers["content-length"]) == (b"", str(len(whole)))
            assert secure.ask(f"/media{path}", If_None_Match=head.headers["etag"]).status == 304
        with contextlib.closing(secure.connect()) as connection:
            connection.request("GET", f"/media{site.path()}")
            assert connection.getresponse().read(1000)
        assert secure.ask("/media/nothing").status == 404
    embedded.close()
