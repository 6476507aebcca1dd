# SPDX-License-Identifier: Apache-2.0
"""Where secrets are kept: in the state file of a site, or in a file that a user names."""

from __future__ import annotations

import json
from pathlib import Path

from muster.config.state import STATE_FILE, State
from muster.errors import UserError, cannot
from muster.image.secrets import SiteSecrets, parse_secrets


def find_secrets(state: State, directory: Path) -> SiteSecrets | None:
    """The secrets that a site already has."""
    return parse_secrets(state.secrets, str(directory / STATE_FILE)) if state.secrets is not None else None


def load_secrets(path: Path) -> SiteSecrets:
    """The secrets of another directory, or of a file: a state file, or the secrets alone."""
    file = path / STATE_FILE if path.is_dir() else path
    try:
        body = json.loads(file.read_bytes())
    except FileNotFoundError as error:
        raise UserError(
            f"there are no secrets in {path}", hint=f"name a directory with a {STATE_FILE}, or a copy of one"
        ) from error
    except OSError as error:
        raise cannot("read", file, error) from error
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"{file} is not JSON", hint=f"name a {STATE_FILE} of Muster, or a copy of one"
        ) from error
    inner = body.get("secrets", body) if isinstance(body, dict) else body
    return parse_secrets(inner, str(file))
