# SPDX-License-Identifier: Apache-2.0
"""Images that a client names by address or path, and that machines get as a file."""

from __future__ import annotations

import contextlib
import http.client
import shutil
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from muster.errors import ExternalError, UserError, cannot
from muster.files import part_of
from muster.folders import make_folder
from muster.frozen import dataclass

_PATIENCE_S: Final = 30.0
_CHUNK: Final = 1 << 20


@dataclass(frozen=True)
class Image:
    """What a client asks to insert."""

    address: str
    """http, https or file, or a path."""
    user: str = ""
    password: str = ""

    def __repr__(self) -> str:
        return f"Image({self.shown!r})"

    @property
    def shown(self) -> str:
        """Its address without a login."""
        parts = urlsplit(self.address)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))

    @property
    def name(self) -> str:
        """What its file is called."""
        return unquote(urlsplit(self.address).path.rstrip("/").rpartition("/")[2]) or "image"


def get_image(image: Image, folder: Path) -> Path:
    """The image as a file: where it is, or fetched into a folder.

    As those of real machines do, the controller trusts any certificate.
    """
    parts = urlsplit(image.address)
    if parts.scheme in ("http", "https"):
        return _fetch(image, folder)
    if parts.scheme in ("", "file"):
        path = Path(unquote(parts.path))
        if not path.is_absolute() or not path.is_file():
            raise UserError(f"there is no image {path}", hint="name an absolute path, or an http address")
        return path
    raise UserError(f"images cannot be had by {parts.scheme}", hint="name an http, https or file address")


def _fetch(image: Image, folder: Path) -> Path:
    make_folder(folder)
    path = folder / (quote(image.name, safe=" ()+,=@") or "image")
    temporary = part_of(path)
    try:
        with _open(image) as reply, temporary.open("xb") as file:
            shutil.copyfileobj(reply, file, _CHUNK)
            size = reply.headers.get("Content-Length", "")
            if size.isdigit() and int(size) != file.tell():
                raise ExternalError(f"{image.shown} ended early", hint="insert it again")
        temporary.replace(path)
    except urllib.error.HTTPError as error:
        error.close()
        raise ExternalError(
            f"{image.shown} answered {error.code} {error.reason}", hint="check the address"
        ) from error
    except urllib.error.URLError as error:
        raise ExternalError(f"cannot reach {image.shown}: {error.reason}", hint="check it") from error
    except http.client.HTTPException as error:
        raise ExternalError(f"{image.shown} broke off", hint="insert it again") from error
    except OSError as error:
        raise cannot("write", path, error) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    return path


def _open(image: Image) -> http.client.HTTPResponse:
    parts = urlsplit(image.address)
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
    user, password = image.user or parts.username or "", image.password or parts.password or ""
    if user:
        passwords.add_password(None, image.shown, unquote(user), unquote(password))
    opener = urllib.request.build_opener(
        urllib.request.HTTPSHandler(context=context),
        urllib.request.HTTPBasicAuthHandler(passwords),
        urllib.request.ProxyHandler({}),
    )
    reply: http.client.HTTPResponse = opener.open(image.shown, timeout=_PATIENCE_S)
    return reply
