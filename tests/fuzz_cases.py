# SPDX-License-Identifier: Apache-2.0
"""What `make fuzz` tries: one function for each kind of input, which raises when something is wrong."""

from __future__ import annotations

import asyncio
import io
import random
import ssl
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache, partial
from pathlib import Path

from click.testing import CliRunner
from cryptography import x509

from muster.agent.meeting.code import prove
from muster.agent.meeting.hosting import Offer, answer
from muster.agent.meeting.wire import MOST_BYTES, Answer, Hello, Look, Question, read_line, render_line
from muster.cli.events_list import list_
from muster.cli.events_replay import replay
from muster.config.document.folder import Memory
from muster.errors import MusterError
from muster.lab.sim.stand_ins import INGRESS
from muster.model.bounded_yaml import UNREADABLE, load_documents
from muster.model.release import KUBERNETES
from muster.node.manifests import parse_manifests
from muster.service.checking.manifests import ManifestToCheck, check_manifest
from muster.service.decisions import manifests
from muster.service.logs import read_log
from muster.service.preparing import parse_authorities
from muster.service.realm import Draft, Realm
from muster.service.refusals import BadRequest
from muster.service.store.open import FILE, open_store
from tests.mutations import YAML_PIECES, damage, folder_of, load_examples, mutate
from tests.properties import check_properties
from tests.realms import decide, make_cluster, make_host

_KEY = b"k" * 32
_LINES = (
    render_line(Question("hello")),
    render_line(Question("join", prove(_KEY, "join"))),
    render_line(Question("look", "wrong")),
    render_line(Answer(hello=Hello("-----BEGIN CERTIFICATE-----", "proof", "name"))),
)


@cache
def _sites() -> dict[str, dict[str, str]]:
    return load_examples()


def try_site(rng: random.Random) -> None:
    """A valid site with a few mistakes."""
    sites = _sites()
    check_properties(folder_of(mutate(sites[rng.choice(sorted(sites))], rng)))


def try_yaml(rng: random.Random) -> None:
    """A document of pieces of YAML, or one that would be very large if its aliases were written out."""
    text = _bomb(rng) if rng.random() < 0.1 else "".join(rng.choices(YAML_PIECES, k=rng.randrange(1, 30)))
    check_properties(Memory({"install-config.yaml": text.encode()}))
    with suppress(*UNREADABLE):
        load_documents(text)
    list(parse_manifests(text.encode()))
    check_manifest(ManifestToCheck(file_name="a.yaml", content=text), KUBERNETES)
    with suppress(BadRequest):
        manifests.check_manifest("a.yaml", text.encode(), KUBERNETES)


def _bomb(rng: random.Random) -> str:
    width, levels = rng.randrange(2, 10), rng.randrange(1, 60)
    form = rng.choice(("{{<<: [{}]}}", "[{}]", "{{k: [{}]}}", "{{<<: *a{n}}}", "[[{}]]"))
    lines = ["a0: &a0 {k: 1}"]
    for n in range(1, levels):
        lines.append(f"a{n}: &a{n} " + form.format(", ".join([f"*a{n - 1}"] * width), n=n - 1))
    return rng.choice(("\n", "\u2028", "\r\n")).join(lines)


def try_logs(rng: random.Random) -> None:
    """An archive of logs, most of the time a damaged one."""
    packed = io.BytesIO()
    mode, form = rng.choice(("w:gz", "w", "w:xz")), rng.choice((tarfile.GNU_FORMAT, tarfile.PAX_FORMAT))
    with tarfile.open(fileobj=packed, mode=mode, format=form) as tar:  # type: ignore[call-overload]
        for _ in range(rng.randrange(4)):
            entry = tarfile.TarInfo(rng.choice(("logs/journal.txt", "x.log", "a" * 150 + ".txt", "é.png")))
            body = bytes(rng.choices(b"ab\n\r\xff\0", k=rng.randrange(3000)))
            entry.size = len(body)
            entry.type = rng.choice((tarfile.REGTYPE,) * 5 + (tarfile.DIRTYPE, tarfile.GNUTYPE_SPARSE))
            tar.addfile(entry, io.BytesIO(body))
    data = packed.getvalue()
    if rng.random() < 0.7:
        data = damage(data, rng)
    size, count = rng.choice((1, 100, 1 << 20)), rng.randrange(5)
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    found = read_log(pieces, count, rng.choice(("", "a", "É")))
    assert len(found.lines) <= count + 1
    assert all(len(line) <= 4000 for line in found.lines)


def try_authority(rng: random.Random) -> None:
    """What a host sends as the authority of its cluster's applications."""
    der = ssl.PEM_cert_to_DER_cert(INGRESS)
    texts = [ssl.DER_cert_to_PEM_cert(damage(der, rng)) for _ in range(rng.randrange(1, 4))]
    text = "".join(texts)
    if rng.random() < 0.3:
        text = damage(text.encode(), rng).decode("utf-8", "surrogateescape")
    with suppress(BadRequest):
        found = parse_authorities(text)
        assert found.count("BEGIN CERTIFICATE") == len(x509.load_pem_x509_certificates(found.encode()))


@cache
def _runner() -> asyncio.Runner:
    return asyncio.Runner()


def try_line(rng: random.Random) -> None:
    """A line at the port where hosts join, and one that a host gets as an answer."""
    line = bytearray(rng.choice(_LINES))
    for _ in range(rng.randrange(6)):
        at = rng.randrange(len(line) + 1)
        line[at : at + rng.randrange(3)] = rng.choice(
            (b"", b"\n", b"\0", b"\xff", b'"', b"{", b"[" * 2000, b"x" * 40_000)
        )

    async def ask() -> None:
        for kind in (Question, Answer):
            reader = asyncio.StreamReader(limit=MOST_BYTES)
            reader.feed_data(bytes(line))
            reader.feed_eof()
            try:
                found = await read_line(reader, kind)
            except ValueError:
                continue
            if isinstance(found, Question):
                said = answer(Offer("pem", _KEY, "a", lambda: None, Look), found)
                assert said.papers is None
                assert said.look is None or found.proof == prove(_KEY, found.ask)

    _runner().run(ask())


@cache
def _database() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        realm = Realm("c1")
        with closing(open_store(Path(folder))) as store:
            for host in range(12):
                store.commit([decide(realm, partial(_write, number=host))])
        return (Path(folder) / FILE).read_bytes()


def _write(draft: Draft, number: int) -> None:
    if not number:
        draft.add(make_cluster(draft.realm.id))
    draft.add(make_host(f"h{number}"))
    draft.tell(draft.hosts[f"h{number}"], "host_registration_succeeded", f"Host h{number}: registered")


def try_database(rng: random.Random) -> None:
    """A damaged database, read by `muster events`."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / FILE).write_bytes(damage(_database(), rng))
        for command in (list_, replay):
            done = CliRunner().invoke(command, ["--data", folder, "-o", "json"], standalone_mode=False)
            if done.exception is not None and not isinstance(done.exception, MusterError):
                raise done.exception


KINDS: tuple[tuple[str, Callable[[random.Random], None], float], ...] = (
    ("sites", try_site, 0.3),
    ("YAML documents", try_yaml, 0.3),
    ("log archives", try_logs, 0.14),
    ("authorities", try_authority, 0.05),
    ("join lines", try_line, 0.2),
    ("databases", try_database, 0.01),
)
"""What is tried, and how often."""
