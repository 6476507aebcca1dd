# SPDX-License-Identifier: Apache-2.0
"""What the service of a site notes in its log: its clock, others with its address, its release."""

from __future__ import annotations

from muster.clock import Change
from muster.service.realm import Draft
from muster.service.state import AddOn, ReleaseSight


def tell_clock(draft: Draft, change: Change) -> None:
    """The clock of this host was set."""
    what = f"The clock of the rendezvous host {change.words}"
    draft.tell(draft.cluster, "rendezvous_clock_set", what, severity="warning")


def note_rivals(rivals: tuple[str, ...], draft: Draft) -> None:
    """Others answer at the rendezvous IP, or do not any more."""
    draft.change(draft.cluster, rivals=rivals)
    if rivals:
        text = f"The rendezvous IP is also that of {', '.join(rivals)}: nothing is installed while that is so"
        draft.tell(draft.cluster, "rendezvous_ip_doubled", text, severity="error")


def note_release(found: ReleaseSight, add_ons: tuple[AddOn, ...], draft: Draft) -> None:
    """The release of the site is being fetched, cannot be, or is here with what add-ons take."""
    draft.change(draft.cluster, release=found, add_ons=add_ons)
    if found.trouble:
        text = f"The release of the site cannot be fetched: {found.trouble}"
        draft.tell(draft.cluster, "release_not_fetched", text, severity="warning")
