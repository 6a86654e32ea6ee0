"""Moments that cannot be shown, and what can be shown instead."""

from __future__ import annotations

import msgspec

from dradash.web.moment import show
from dradash.web.presenters.query import Query


class NoMoment(msgspec.Struct, frozen=True):
    """why: one sentence; live: link to the page as it is now; nearest: link to the nearest moment, with its time."""

    why: str
    live: str
    nearest: str = ""
    nearest_at: str = ""


def before_history(start: float, query: Query) -> NoMoment:
    nearest = show(start)
    why = "This time lies before what is kept."
    return NoMoment(why, query.link(at=None), query.link(at=nearest), nearest)
