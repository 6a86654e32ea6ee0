"""The waits between attempts."""

from __future__ import annotations

import pytest

from dradash.informer.backoff import Backoff

BACKOFF = Backoff(base=1.0, cap=30.0)


@pytest.mark.parametrize(("attempt", "longest"), [(1, 1.0), (2, 2.0), (3, 4.0), (5, 16.0), (6, 30.0), (10**9, 30.0)])
def test_waits_double_up_to_the_cap(attempt: int, longest: float) -> None:
    assert BACKOFF.delay(attempt, 0.0) == longest / 2
    assert BACKOFF.delay(attempt, 1.0) == longest


def test_jitter_never_makes_a_wait_vanish() -> None:
    assert min(BACKOFF.delay(1, n / 100) for n in range(100)) >= 0.5


def test_an_attempt_below_the_first_waits_like_the_first() -> None:
    assert BACKOFF.delay(0, 0.5) == BACKOFF.delay(1, 0.5)
