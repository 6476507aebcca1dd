# SPDX-License-Identifier: Apache-2.0
"""The rows of the hosts' table that follow by themselves, from what is known or because time passed."""

from __future__ import annotations

from typing import Final

from muster.service.states.host_rows import BEFORE, POOL, PREPARING, RUNNING
from muster.service.states.table import Row

WHILE_PREPARING: Final = (
    Row(
        "refresh",
        f"{BEFORE} {PREPARING}",
        "disconnected",
        when="!connected",
        reason="The host has not asked for instructions for {silence} minutes",
    ),
    Row(
        "refresh",
        f"{BEFORE} {PREPARING}",
        "disconnected",
        when="!media-readable",
        reason="The host cannot read the medium that it booted from",
    ),
    Row(
        "refresh",
        "preparing-for-installation preparing-failed known",
        "insufficient",
        when="disk-too-slow",
        reason="The installation disk {disk} is not fit: {missing}",
    ),
    Row(
        "refresh",
        "known",
        "preparing-for-installation",
        when="cluster-preparing role-chosen",
        reason="The speed of the installation disk and the images are being checked",
    ),
    Row(
        "refresh",
        "preparing-successful",
        "installing",
        when="cluster-installing",
        reason="The installation of the host starts",
        also="forget-progress",
    ),
    Row(
        "refresh",
        PREPARING,
        "known",
        when="!cluster-preparing",
        reason="The host is ready to be installed",
    ),
    Row(
        "refresh",
        "preparing-for-installation",
        "preparing-successful",
        when="prepared",
        reason="The host is prepared; the installation starts when all are",
    ),
    Row(
        "refresh",
        "preparing-for-installation",
        "preparing-failed",
        when="images-failed",
        reason="The host cannot be prepared: {missing}",
    ),
    Row(
        "refresh",
        "preparing-for-installation",
        "preparing-failed",
        when="overdue",
        reason="The host was not prepared in time, there is no answer about: {missing}",
    ),
)

WHILE_RUNNING: Final = (
    Row(
        "refresh",
        f"{RUNNING} installed",
        "error",
        when="cluster-failed !day-2",
        reason="The installation of the cluster failed",
    ),
    Row(
        "refresh",
        "installing",
        "error",
        when="overdue",
        reason="The host did not begin its installation within {span}",
    ),
    Row(
        "refresh",
        "installing installing-in-progress",
        "error",
        when="!connected !soft-timeouts !may-return",
        reason="The host has not asked for instructions for {silence} minutes, at the stage {stage}",
    ),
    Row(
        "refresh",
        "installing installing-in-progress",
        when="!connected !silence-told",
        also="tell-silence",
    ),
    Row(
        "refresh",
        "installing-in-progress",
        "installing-pending-user-action",
        when="overdue rebooting",
        reason="The host reboots since {span}: it may have booted from something else than its disk {disk}",
        also="tell-lateness",
    ),
    Row(
        "refresh",
        "installing-in-progress",
        "error",
        when="overdue !soft-timeouts",
        reason="The stage {stage} took longer than {span}",
        also="tell-lateness",
    ),
    Row("refresh", "installing-in-progress", when="overdue !lateness-told", also="tell-lateness"),
    Row(
        "refresh",
        "installing-pending-user-action",
        "error",
        when="overdue dispensable !day-2",
        reason="Nobody mended the host within {span}; the cluster is installed without it",
    ),
    Row("refresh", "error cancelled", when="logs-awaited overdue", also="end-logs"),
    Row(
        "refresh",
        "reclaiming reclaiming-rebooting",
        "unbinding-pending-user-action",
        when="overdue",
        reason="The host did not boot back into its pool within {span}",
    ),
)

WHILE_BEFORE: Final = (
    Row(
        "refresh",
        "disconnected discovering",
        "discovering",
        when="!has-inventory",
        reason="The host has booted; its inventory is awaited",
    ),
    Row(
        "refresh",
        BEFORE,
        "insufficient",
        when="!min-hardware",
        reason="The host does not meet the minimum hardware requirements: {missing}",
    ),
    Row(
        "refresh",
        BEFORE,
        "pending-for-input",
        when="!required-input",
        reason="A user has to say something first: {missing}",
    ),
    Row(
        "refresh",
        BEFORE,
        "insufficient",
        when="!sufficient",
        reason="The host cannot be installed yet: {missing}",
    ),
    Row("refresh", BEFORE, "known", reason="The host is ready to be installed"),
    Row(
        "refresh",
        POOL,
        "disconnected-unbound",
        when="!connected",
        reason="The host has not asked for instructions for {silence} minutes",
    ),
    Row(
        "refresh",
        POOL,
        "disconnected-unbound",
        when="!media-readable",
        reason="The host cannot read the medium that it booted from",
    ),
    Row(
        "refresh",
        "disconnected-unbound discovering-unbound",
        "discovering-unbound",
        when="!has-inventory",
        reason="The host has booted; its inventory is awaited",
    ),
    Row(
        "refresh",
        POOL,
        "insufficient-unbound",
        when="!min-hardware",
        reason="The host does not meet the minimum hardware requirements: {missing}",
    ),
    Row(
        "refresh",
        POOL,
        "insufficient-unbound",
        when="!sufficient",
        reason="The host cannot be given to a cluster yet: {missing}",
    ),
    Row("refresh", POOL, "known-unbound", reason="The host is ready to be given to a cluster"),
)
