# SPDX-License-Identifier: Apache-2.0
"""The clock of the rendezvous host is judged by its medium."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from muster.errors import MediaError
from muster.image.pki import build_service_authority
from muster.image.secrets import renew_tokens
from muster.service.rendezvous.clock import OLD_MEDIUM, Judgement, Window, find_window, judge
from muster.service.rendezvous.medium import load_window
from muster.service.rendezvous.serving import course_of, listeners_of
from tests.seeds import fixed_secrets
from tests.unit.service.rendezvous.test_medium import boot

MADE = datetime(2026, 3, 28, 23, 0, tzinfo=UTC)
"""Hours before clocks are put forward in much of the world."""
WINDOW = Window(MADE, MADE + timedelta(days=7))
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize("away", [timedelta(), timedelta(hours=5), timedelta(days=1), timedelta(days=7)])
def test_a_clock_that_may_be_right_stays(away: timedelta) -> None:
    assert judge(MADE + away, WINDOW) == Judgement()


@pytest.mark.parametrize(
    "now",
    [
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(2025, 6, 1, tzinfo=UTC),
        MADE - timedelta(hours=8),  # the hardware's clock is in the zone of the place
        MADE - SECOND,
        datetime(2031, 1, 1, tzinfo=UTC),
        WINDOW.ends + OLD_MEDIUM + SECOND,
    ],
)
def test_a_clock_that_cannot_be_right_is_set_to_the_making_of_the_medium(now: datetime) -> None:
    found = judge(now, WINDOW)
    assert found.set_to == MADE
    assert "2026-03-28 23:00:00 UTC" in found.why
    assert not found.trouble


@pytest.mark.parametrize("away", [SECOND, timedelta(days=30), OLD_MEDIUM])
def test_a_medium_whose_tokens_ended_is_rather_old_than_the_clock_wrong(away: timedelta) -> None:
    found = judge(WINDOW.ends + away, WINDOW)
    assert found.set_to is None
    assert "2026-04-04 23:00:00 UTC" in found.trouble
    assert "create image" in found.fix


@pytest.mark.parametrize("year", [1970, 2031])
def test_a_time_server_has_the_say(year: int) -> None:
    found = judge(datetime(year, 1, 1, tzinfo=UTC), WINDOW, "192.0.2.1")
    assert found.set_to is None
    assert found.trouble
    assert found.fix
    assert judge(MADE, WINDOW, "192.0.2.1") == Judgement()


def test_the_medium_says_when_it_was_made_and_until_when_it_is_good(tmp_path: Path) -> None:
    secrets = fixed_secrets()
    later = secrets.created + timedelta(days=40)
    boot("single-node-none", tmp_path, renew_tokens(secrets, later))
    assert load_window(tmp_path) == Window(later, later + timedelta(days=7))
    (tmp_path / "etc/assisted/tls/service.crt").write_text("no certificate")
    with pytest.raises(MediaError, match=r"service\.crt"):
        load_window(tmp_path)


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "a.!!.c", "a.bnVsbA.c", "a.eyJpYXQiOjFlMzAwfQ.c"])
def test_what_a_token_does_not_say_the_certificate_does(token: str) -> None:
    pem = build_service_authority(fixed_secrets()).pem
    certificate = x509.load_pem_x509_certificate(pem.encode())
    assert find_window(token, certificate) == Window(
        certificate.not_valid_before_utc, certificate.not_valid_after_utc
    )


def test_only_where_the_site_has_no_time_servers_the_rendezvous_host_is_one(tmp_path: Path) -> None:
    from muster.service.rendezvous.medium import load_medium

    secrets = fixed_secrets()
    boot("compact-baremetal", tmp_path, secrets)
    medium = load_medium(tmp_path)
    plan = replace(medium.plan, ntp_sources=())
    networks = tuple(map(str, plan.networks.machine))
    assert listeners_of(plan) == networks != ()
    assert course_of(replace(medium, plan=plan)).infra_env.additional_ntp_sources == str(medium.meeting.ip)
    named = replace(medium, plan=replace(plan, ntp_sources=("192.0.2.1",)))
    assert listeners_of(named.plan) == ()
    assert course_of(named).infra_env.additional_ntp_sources == "192.0.2.1"
    assert listeners_of(replace(plan, masters=1, workers=0, arbiters=0)) == ()
