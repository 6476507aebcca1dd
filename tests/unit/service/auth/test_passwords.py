# SPDX-License-Identifier: Apache-2.0
"""Which new passwords are refused."""

from __future__ import annotations

import pytest

from muster.errors import UserError
from muster.service.auth.passwords import check_password


@pytest.mark.parametrize(
    "password",
    [
        *("hello", "tr0ub4dor", "elevenchars", "a" * 40, "abababababab", "123456789012", "0987654321098"),
        *("password1234", "Password1234!", "passwordpassword", "P4ssw0rdP4ssw0rd", "administrator"),
        *("abcdefghijklm", "qwertyuiopasdf", "admin-admin-2026", "kubernetes2026!", "x" * 1025),
    ],
)
def test_short_and_common_passwords_are_refused(password: str) -> None:
    with pytest.raises(UserError, match=r"the password in /etc/pw (has|is)") as caught:
        check_password(password, "/etc/pw")
    assert password not in caught.value.message


@pytest.mark.parametrize(
    "password",
    ["correct horse battery", "tr0ub4dor and a horse", "kW3x-9vQz-Lm2p", "пароль длинный", "839201746512"],
)
def test_others_are_taken(password: str) -> None:
    check_password(password, "/etc/pw")
