# SPDX-License-Identifier: Apache-2.0
"""Who may log in on a host that booted the medium."""

from __future__ import annotations

from muster.image.credentials import Credentials
from muster.model.ignition import Config, User
from muster.model.plan import Plan


def access(plan: Plan, credentials: Credentials) -> Config:
    """`core`, with the site's SSH keys, and with the kubeadmin password on a console."""
    return Config(users=(core_user(plan.ssh_key, credentials.password_hash),))


def core_user(ssh_key: str, password_hash: str = "") -> User:
    """`core`, with as many SSH keys as there are lines."""
    keys = tuple(line.strip() for line in ssh_key.splitlines() if line.strip())
    return User("core", keys, password_hash)
