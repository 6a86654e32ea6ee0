"""Moments in addresses and as people type them."""

from __future__ import annotations

import random

import pytest

from dradash.reader.moment import BadMoment, parse, parse_alerts, show, understand

NOW = 1_796_011_200.0  # 2026-11-30T04:00:00Z


@pytest.mark.parametrize(
    ("typed", "understood"),
    [
        ("5m", "2026-11-30T03:55:00Z"),
        ("-5m", "2026-11-30T03:55:00Z"),
        ("2h 10m ago", "2026-11-30T01:50:00Z"),
        ("1d2h", "2026-11-29T02:00:00Z"),
        ("03:12", "2026-11-30T03:12:00Z"),
        ("3:12:07", "2026-11-30T03:12:07Z"),
        ("05:00", "2026-11-29T05:00:00Z"),  # the last five o'clock was yesterday
        ("25:00", "25:00"),
        ("2026-11-30 03:12", "2026-11-30T03:12Z"),
        ("2026-11-30T03:12:00", "2026-11-30T03:12:00Z"),
        ("2026-11-30T03:12:00+02:00", "2026-11-30T03:12:00+02:00"),
        ("999999d", "999999d"),  # before 1970
        ("yesterday", "yesterday"),
        ("", ""),
    ],
)
def test_what_people_type_becomes_a_time_or_stays_as_it_is(typed: str, understood: str) -> None:
    assert understand(typed, NOW + 0.5) == understood


def test_a_moment_that_is_shown_and_read_again_is_not_before_itself() -> None:
    rng = random.Random(7)
    for _ in range(2000):
        at = NOW + rng.random() * 1e6
        again = parse(show(at))
        assert again is not None
        assert 0.0 <= again - at <= 0.0011
        assert parse(show(again)) == again


@pytest.mark.parametrize("text", ["2026-11-30T03:12:00z", "2026-11-30 03:12:00Z", "2026-11-30T05:12:00 02:00"])
def test_spellings_of_one_moment(text: str) -> None:
    assert parse(text) == parse("2026-11-30T03:12:00Z")


@pytest.mark.parametrize("text", ["03:12", "2026-11-30", "2026-02-30T00:00:00Z", "2026-11-30T03:12:00", "0001-01-01"])
def test_what_is_no_moment_is_refused_with_an_example_or_a_reason(text: str) -> None:
    with pytest.raises(BadMoment, match=text[:10]):
        parse(text)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-11-30T04:00:00Z", NOW),
        (" 1796011200 ", NOW),
        ("1796011200.5", NOW + 0.5),
        ("1796011200500", NOW + 0.5),
        ("", None),
        ("<no value>", None),
    ],
)
def test_alerts_write_times_in_three_ways(text: str, at: float | None) -> None:
    assert parse_alerts(text) == at


@pytest.mark.parametrize("text", ["-5", "1e9", "٣", "9" * 300, "179601120050000", "null"])
def test_what_is_no_time_of_an_alert_is_refused(text: str) -> None:
    with pytest.raises(BadMoment, match="as in 2026"):
        parse_alerts(text)
