# SPDX-License-Identifier: Apache-2.0
"""The compiled module, see src/lib.rs."""

from typing import final

@final
class NmstateError(ValueError):
    kind: str
    """`Parse`, nmstate's ErrorKind (mostly `InvalidArgument`), or `Panic`."""
    message: str
    path: tuple[str | int, ...]
    """Keys and indices from the root of the document; empty when unknown."""

def gen_conf(document: str, /) -> tuple[tuple[str, str], ...]: ...
