# SPDX-License-Identifier: Apache-2.0
"""Where a server listens: an address and a port, and a certificate for TLS."""

from __future__ import annotations

import contextlib
import errno
import socket
import ssl
from pathlib import Path
from typing import Final

from muster.errors import ExternalError, UserError, cannot
from muster.frozen import dataclass

_BACKLOG: Final = 512
_MOST: Final = 65535


@dataclass(frozen=True)
class Endpoint:
    """Where to listen."""

    host: str
    """An address or a name; empty for all addresses."""
    port: int
    """0 for one that is free."""


def parse_endpoint(text: str) -> Endpoint:
    """Read ``ADDRESS:PORT``; an IPv6 address stands in brackets, and without one it is all of them."""
    host, colon, port = text.strip().rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    if is_bracketed:
        host = host[1:-1]
    is_plain = is_bracketed or ":" not in host
    if not colon or not is_plain or not (port.isascii() and port.isdigit()) or int(port[:6]) > _MOST:
        raise UserError(
            f"{text[:100]!r} is no address to listen at",
            hint="write ADDRESS:PORT, such as 127.0.0.1:5000 or [::1]:5000; :5000 is all addresses",
        )
    return Endpoint(host, int(port))


def open_socket(endpoint: Endpoint, flag: str = "--listen") -> socket.socket:
    """A socket that listens there; the flag is what the user can change."""
    where = f"{endpoint.host or 'all addresses'} port {endpoint.port}"
    try:
        if not endpoint.host and socket.has_dualstack_ipv6():
            return socket.create_server(
                ("", endpoint.port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True
            )
        found = socket.getaddrinfo(
            endpoint.host or None, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, _, _, _, address = found[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except socket.gaierror as error:
        raise UserError(
            f"{endpoint.host!r} is no address of this machine",
            hint="name one of those that `ip address` shows",
        ) from error
    except (OSError, UnicodeError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower().partition(" (while")[0]
        raise ExternalError(f"cannot listen at {where}: {reason}", hint=_way_out(error, flag)) from error


def _way_out(error: Exception, flag: str) -> str:
    number = getattr(error, "errno", None)
    if number == errno.EADDRINUSE:
        return f"end the program that listens there (`ss -ltnp` names it), or name another port with {flag}"
    if number == errno.EADDRNOTAVAIL:
        return f"name an address of this machine with {flag}; `ip address` shows them"
    if number in (errno.EACCES, errno.EPERM):
        return f"name a port above 1023 with {flag}, or start it with the right to use lower ones"
    return f"name another address or port with {flag}"


def render_url(found: socket.socket, *, is_secure: bool) -> str:
    """What clients are told; of all addresses the one that others most likely reach."""
    host, port = found.getsockname()[:2]
    if host in ("::", "0.0.0.0"):  # noqa: S104 - it is compared, not bound
        host = find_own_address()
    return f"{'https' if is_secure else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def find_own_address() -> str:
    """The address of this machine that its default route starts from, or else that of itself."""
    for family, other in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((other, 9))  # Nothing is sent: the kernel only looks at its routes.
            return str(probe.getsockname()[0])
    return "127.0.0.1"


def is_local(found: socket.socket) -> bool:
    """Whether only this machine itself can reach it."""
    from ipaddress import ip_address

    return ip_address(found.getsockname()[0].partition("%")[0]).is_loopback


def load_certificate(certificate: Path, key: Path) -> ssl.SSLContext:
    """TLS with a certificate, which may be followed by those that lead to its root, and its key."""
    for path in (certificate, key):
        try:
            path.read_bytes()
        except OSError as error:
            raise cannot("read", path, error) from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or str(error)
        raise UserError(
            f"{certificate} and {key} are no certificate and its key: {reason.lower().replace('_', ' ')}",
            hint="both are PEM files; the key has no password and belongs to the first certificate",
        ) from error
    return context


def _no_password() -> str:
    raise ValueError("the key has a password")


def raise_file_limit() -> None:
    """Let this process have as many files open as it may: each client takes some."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
