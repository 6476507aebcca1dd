# SPDX-License-Identifier: Apache-2.0
"""Which hosts are asked, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.errors import UserError
from muster.support.reaching import Known, choose, folder_name, join_known, ssh_argv

A, B = Known("a.example.com", ("192.0.2.1",)), Known("b", ("192.0.2.2", "2001:db8::2"))


def test_hosts_are_known_again_by_name_or_address() -> None:
    seen = (Known("b", ("192.0.2.9", "192.0.2.2")), Known("other", ("192.0.2.1",)), Known("new", ()))
    assert join_known((A, B), seen) == (
        A,
        Known("b", ("192.0.2.2", "2001:db8::2", "192.0.2.9")),
        Known("new", ()),
    )


def test_all_unless_some_are_named() -> None:
    assert choose((A, B), ()) == (A, B)
    assert choose((A, B), ("a",)) == (A,)
    assert choose((A, B), ("192.0.2.2", "b", "a.example.com")) == (B, A)
    assert choose((A, B), ("2001:db8::7",)) == (Known("2001:db8::7", ("2001:db8::7",)),)
    assert choose((), ("host.example.com",)) == (Known("host.example.com", ("host.example.com",)),)


@pytest.mark.parametrize("text", ["-oProxyCommand=id", "", "a b", "$(id)", "../x"])
def test_what_is_no_host(text: str) -> None:
    with pytest.raises(UserError, match="neither a host of the site nor an address") as caught:
        choose((A,), (text,))
    assert caught.value.hint == "the hosts are: a.example.com"


def test_how_a_host_is_asked() -> None:
    words = ssh_argv("192.0.2.1", "core", Path("/k"), Path("/known"))
    assert words[-11:] == [
        *("-l", "core", "--", "192.0.2.1"),
        *("sudo", "-n", "muster", "host", "bundle", "--to", "-"),
    ]
    assert "UserKnownHostsFile=/known" in words
    assert "-i" not in ssh_argv("192.0.2.1", "core", None, Path("/known"))


@pytest.mark.parametrize(
    ("name", "folder"),
    [("a.b-c", "a.b-c"), ("../x", "-x"), ("..", "host"), ("52:54:00", "52:54:00"), ("", "host")],
)
def test_names_of_folders(name: str, folder: str) -> None:
    assert folder_name(name) == folder
