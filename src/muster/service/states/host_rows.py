# SPDX-License-Identifier: Apache-2.0
"""The rows of the hosts' table that somebody asks for: the host itself, or people."""

from __future__ import annotations

from typing import Final

from muster.service.states.table import Row

BEFORE: Final = "discovering known disconnected insufficient pending-for-input"
PREPARING: Final = "preparing-for-installation preparing-failed preparing-successful"
RUNNING: Final = "installing installing-in-progress installing-pending-user-action"
POOL: Final = "discovering-unbound known-unbound disconnected-unbound insufficient-unbound"

REGISTER: Final = (
    Row(
        "register",
        f"{BEFORE} resetting-pending-user-action binding",
        "discovering",
        reason="The host has booted; its inventory is awaited",
        also="forget-told",
    ),
    Row(
        "register",
        PREPARING,
        "known",
        reason="The host booted again while it was prepared; it is prepared anew",
        also="forget-images prepare-again",
    ),
    Row("register", "resetting", when="rebooting"),
    Row(
        "register",
        "resetting",
        "discovering",
        reason="The host has booted; its inventory is awaited",
        also="forget-told",
    ),
    Row(
        "register",
        "installing-pending-user-action",
        reason="the host booted from the installation medium again, not from its disk {disk}",
        refuse="forbidden",
    ),
    Row(
        "register",
        "installing-in-progress added-to-existing-cluster",
        "installing-pending-user-action",
        when="wrong-boot-order",
        reason="The host should boot from its disk {disk}, but booted from the installation medium again",
    ),
    Row(
        "register",
        "installing installing-in-progress",
        "installing",
        when="repeatable restarts-left",
        reason="The host booted again before its disk was complete, at {stage}; it is installed anew",
        also="install-anew",
    ),
    Row(
        "register",
        "installing installing-in-progress",
        "error",
        when="repeatable",
        reason="The host booted again before its disk was complete, at {stage}, for the {times} time",
    ),
    Row(
        "register",
        "installing installing-in-progress",
        "error",
        reason="The host booted again in the middle of its installation, at the stage {stage}",
    ),
    Row("register", "error cancelled reclaiming"),
    Row(
        "register",
        "installed added-to-existing-cluster",
        reason="the host is installed already",
        refuse="conflict",
    ),
    Row(
        "register",
        f"{POOL} unbinding unbinding-pending-user-action reclaiming-rebooting",
        "discovering-unbound",
        reason="The host has booted; its inventory is awaited",
        also="forget-told",
    ),
)

REPORTS: Final = (
    Row("progress", RUNNING, "error", when="stage-failed", reason="Failed - {told}"),
    Row(
        "progress",
        RUNNING,
        "added-to-existing-cluster",
        when="day-2 stage-done",
        reason="The host is installed and boots into the cluster that it was added to",
    ),
    Row("progress", RUNNING, "installed", when="stage-done", reason="Done"),
    Row("progress", RUNNING, "installing-in-progress", reason="{reported}"),
    Row("installation-failed", "installing installing-in-progress", "error", reason="{told}"),
    Row(
        "media-disconnected",
        f"{BEFORE} {PREPARING}",
        "disconnected",
        reason="The host cannot read the medium that it booted from",
        also="lose-media",
    ),
    Row(
        "media-disconnected",
        "installing installing-in-progress",
        "error",
        reason="The host cannot read the medium that it booted from: {told}",
        also="lose-media",
    ),
    Row(
        "media-disconnected",
        "error cancelled resetting-pending-user-action",
        also="lose-media",
    ),
    Row(
        "media-disconnected",
        POOL,
        "disconnected-unbound",
        reason="The host cannot read the medium that it booted from",
        also="lose-media",
    ),
    Row(
        "artifacts-ready",
        "reclaiming",
        "reclaiming-rebooting",
        reason="The host has what it needs to boot back into its pool, and reboots",
    ),
    Row(
        "artifacts-failed",
        "reclaiming reclaiming-rebooting",
        "unbinding-pending-user-action",
        reason="The host could not boot back into its pool: {told}",
    ),
)

USERS: Final = (
    Row(
        "cancel",
        f"{RUNNING} installed error",
        "cancelled",
        reason="The installation was cancelled",
    ),
    Row("cancel", f"{PREPARING} known", "known", reason="The installation was cancelled before it began"),
    Row(
        "reset",
        f"{BEFORE} {PREPARING} {RUNNING} installed error cancelled resetting added-to-existing-cluster",
        "resetting-pending-user-action",
        reason="The host was reset, and has to boot the installation medium again",
        also="forget-progress",
    ),
    Row("reset", "resetting-pending-user-action", also="forget-progress"),
    Row(
        "install",
        "known",
        "installing",
        when="day-2 role-chosen",
        reason="The installation of the host starts",
        also="forget-progress",
    ),
    Row(
        "bind",
        "known-unbound",
        "binding",
        reason="The host was given to a cluster, and has to register there",
    ),
    Row(
        "unbind",
        f"{BEFORE} binding",
        "unbinding",
        reason="The host was given back, and has to register in its pool",
    ),
    Row(
        "unbind",
        f"{RUNNING} installed error cancelled resetting-pending-user-action added-to-existing-cluster",
        "unbinding-pending-user-action",
        reason="The host was given back, and has to boot the discovery medium again",
    ),
    Row(
        "reclaim",
        "installed added-to-existing-cluster",
        "reclaiming",
        reason="The host fetches what it needs to boot back into its pool",
    ),
    Row(
        "transform",
        "installed",
        "added-to-existing-cluster",
        reason="The host is a part of the cluster",
    ),
)
