# SPDX-License-Identifier: Apache-2.0
"""Which state of a cluster follows which: the rows are tried in order, and the first that fits is taken."""

from __future__ import annotations

from typing import Final

from muster.service.states.cluster_conditions import CONDITIONS
from muster.service.states.sight import ClusterSight
from muster.service.states.table import Row, Table

STATES: Final = (
    *("insufficient", "ready", "error", "preparing-for-installation", "pending-for-input", "installing"),
    *(
        "finalizing",
        "installed",
        "adding-hosts",
        "cancelled",
        "installing-pending-user-action",
        "unmonitored",
    ),
)
FINAL: Final = frozenset({"adding-hosts", "unmonitored"})
"""Nothing leads out of these; hosts come and go."""
RESTING: Final = frozenset({"installed"})
"""It is done; a user may yet add hosts."""

BEFORE: Final = "pending-for-input ready insufficient"
RUNNING: Final = "installing installing-pending-user-action finalizing"

_USERS: Final = (
    Row(
        "prepare",
        "ready",
        "preparing-for-installation",
        reason="Hosts are checked once more, and what they are to be given is made",
        also="begin",
    ),
    Row(
        "cancel",
        f"{RUNNING} error",
        "cancelled",
        reason="The installation was cancelled",
        also="tell-cancelled",
    ),
    Row(
        "cancel",
        "preparing-for-installation",
        "ready",
        reason="The installation was cancelled before it began",
        also="tell-cancelled",
    ),
    Row(
        "reset",
        f"preparing-for-installation {RUNNING} error cancelled",
        "insufficient",
        reason="The cluster was reset; its hosts have to boot the installation medium again",
        also="start-over",
    ),
    Row(
        "transform",
        "installed",
        "adding-hosts",
        reason="The cluster is installed, and hosts can be added to it",
        also="become-day-2",
    ),
    Row("fail", RUNNING, "error", reason="{told}", also="tell-failed"),
)

_REFRESH_BEFORE: Final = (
    Row(
        "refresh",
        BEFORE,
        "pending-for-input",
        when="!inputs-given",
        reason="A user has to say something first: {missing}",
    ),
    Row(
        "refresh",
        BEFORE,
        "insufficient",
        when="!fit",
        reason="The cluster cannot be installed yet: {missing}",
    ),
    Row(
        "refresh",
        BEFORE,
        "ready",
        when="files-failed",
        reason="The cluster can be installed. The last attempt failed: {preparation}",
    ),
    Row("refresh", BEFORE, "ready", reason="The cluster can be installed"),
    Row(
        "refresh",
        "preparing-for-installation",
        "installing",
        when="hosts-prepared files-made",
        reason="The hosts are being installed",
    ),
    Row(
        "refresh",
        "preparing-for-installation",
        "insufficient",
        when="host-fell-out",
        reason="The installation did not begin: {fallen} of {hosts} hosts cannot be installed any more",
        also="tell-not-prepared",
    ),
    Row(
        "refresh",
        "preparing-for-installation",
        "ready",
        when="host-not-prepared",
        reason="The installation did not begin: {unprepared}",
        also="note-unprepared tell-not-prepared",
    ),
    Row(
        "refresh",
        "preparing-for-installation",
        "ready",
        when="files-failed",
        reason="The installation did not begin: {preparation}",
        also="tell-not-prepared",
    ),
    Row(
        "refresh",
        "preparing-for-installation",
        "ready",
        when="time-is-up",
        reason="The installation did not begin: it was not prepared within {span}",
        also="note-late tell-not-prepared",
    ),
)

_REFRESH_RUNNING: Final = (
    Row(
        "refresh",
        "installing installing-pending-user-action",
        "error",
        when="!enough-hosts",
        reason="Too many hosts failed: {failed} of {hosts}",
        also="tell-failed",
    ),
    Row(
        "refresh",
        RUNNING,
        "error",
        when="installation-too-long",
        reason="The cluster was not installed within {day}",
        also="tell-failed",
    ),
    Row(
        "refresh",
        "installing finalizing",
        "installing-pending-user-action",
        when="host-needs-user",
        reason="{pending} of {hosts} hosts wait for somebody",
    ),
    Row(
        "refresh",
        "installing-pending-user-action",
        "installing-pending-user-action",
        when="host-needs-user",
        reason="{pending} of {hosts} hosts wait for somebody",
    ),
    Row(
        "refresh",
        "installing installing-pending-user-action",
        "finalizing",
        when="enough-installed",
        reason="The hosts are installed; the cluster comes up",
    ),
    Row(
        "refresh",
        "installing-pending-user-action",
        "installing",
        reason="The hosts are being installed",
    ),
    Row(
        "refresh",
        "finalizing",
        "installed",
        when="all-hosts-ended kubeconfig-there operators-ended operator-failed",
        reason="The cluster is installed, but not all of it works: {broken}",
        also="finish",
    ),
    Row(
        "refresh",
        "finalizing",
        "installed",
        when="all-hosts-ended kubeconfig-there operators-ended host-failed",
        reason="The cluster is installed without {failed} of {hosts} hosts",
        also="finish",
    ),
    Row(
        "refresh",
        "finalizing",
        "installed",
        when="all-hosts-ended kubeconfig-there operators-ended",
        reason="The cluster is installed",
        also="finish",
    ),
    Row(
        "refresh",
        "finalizing",
        "error",
        when="finalizing-too-long !soft",
        reason="The cluster did not come up within {hours}",
        also="tell-failed",
    ),
    Row(
        "refresh",
        "finalizing",
        "error",
        when="stage-too-long !soft !stage-on-top",
        reason="The stage {stage} took longer than {stage_span}",
        also="tell-failed",
    ),
    Row("refresh", "finalizing", when="stage-too-long !stage-lateness-told", also="tell-lateness"),
    Row("refresh", "error cancelled installed", when="logs-running time-is-up", also="end-logs"),
)

CLUSTERS: Final[Table[ClusterSight]] = Table((*_USERS, *_REFRESH_BEFORE, *_REFRESH_RUNNING), CONDITIONS)
