# SPDX-License-Identifier: Apache-2.0
"""Files that are sent as parts of a form."""

from __future__ import annotations

from email.parser import BytesHeaderParser
from email.policy import HTTP

from muster.service.refusals import BadRequest


def read_upload(content_type: str, body: bytes, field: str) -> bytes:
    """The file of a form's field; a body that is no form is the file itself."""
    parsed = BytesHeaderParser(policy=HTTP).parsebytes(
        b"content-type: " + content_type.encode("latin-1") + b"\r\n\r\n"
    )
    if parsed.get_content_type() != "multipart/form-data":
        return body
    boundary = parsed.get_boundary()
    if not boundary:
        raise BadRequest("the form has no boundary", hint="send it with a client that makes forms")
    mark = b"--" + boundary.encode("latin-1", "replace")
    for part in (b"\r\n" + body).split(b"\r\n" + mark)[1:]:
        head, found, content = part.partition(b"\r\n\r\n")
        if (
            found
            and BytesHeaderParser(policy=HTTP)
            .parsebytes(head.lstrip() + b"\r\n\r\n")
            .get_param("name", header="content-disposition")
            == field
        ):
            return content
    raise BadRequest(f"the form has no field {field}", hint=f"send the file as {field}")
