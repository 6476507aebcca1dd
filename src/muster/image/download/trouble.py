# SPDX-License-Identifier: Apache-2.0
"""What goes wrong between us and the server of a file, in words; see `muster.release.oci.trouble`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from muster.release.oci.trouble import (
    PROXY_HINT,
    SLOW_DOWN,
    Unreachable,
    broken_off,
    explain_os_error,
    wait_of,
)


@contextmanager
def describe_trouble(host: str, proxy: Callable[[], str]) -> Iterator[None]:
    """Turn every way in which a request can fail into Unreachable."""
    from http.client import HTTPException, InvalidURL
    from urllib.error import URLError

    try:
        yield
    except InvalidURL as error:
        raise Unreachable(f"the URL for {host} is not valid", hint="check the URL", passing=False) from error
    except HTTPException as error:
        raise broken_off(host) from error
    except URLError as error:
        reason = error.reason if isinstance(error.reason, OSError) else OSError(str(error.reason))
        raise explain_os_error(host, proxy(), reason) from error
    except OSError as error:
        raise explain_os_error(host, proxy(), error) from error


def redirected_wrongly(host: str) -> Unreachable:
    """The server sends us in circles, or to where we do not follow."""
    return Unreachable(
        f"{host} redirects in circles, too often, or from https to something that is not",
        hint="name the URL where the file really is",
        passing=False,
    )


def refuse_status(status: int, shown: str, headers: Mapping[str, str]) -> Unreachable:
    """Why an answer is not what was asked for."""
    message, passing = f"{shown}: the server answered {status}", False
    match status:
        case 401 | 403:
            message += ", which is not allowed to us"
            hint = "put the login into the URL (https://USER:PASSWORD@...); a link may have expired"
        case 404 | 410:
            message += ", the file is not there"
            hint = "check the URL; publishers move old versions"
        case 407:
            hint = PROXY_HINT
        case _ if status in SLOW_DOWN or status >= 500:
            passing = True
            hint = "the server has a problem; try again later, or name another source"
        case _:
            hint = "check the URL, or name another source"
    return Unreachable(message, hint=hint, passing=passing, wait_s=wait_of(headers))
