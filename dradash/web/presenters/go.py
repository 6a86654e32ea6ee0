"""Where an alert's link leads: the page of what its labels name, or one that says what was looked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

import msgspec

from dradash.kinds.registry import KINDS
from dradash.reader import alertlabels, alertlists
from dradash.reader.alertlabels import NAMES, Found, Sought
from dradash.reader.moment import APART, ASKED, NO_VALUE, show
from dradash.web.presenters.words import driver_href, href

AT: Final = "at"
AHEAD: Final = 60.0  # seconds by which clocks may differ
LONGEST: Final = 40  # characters of what is no moment


class NowhereView(msgspec.Struct, frozen=True):
    """Nothing was found. asked: labels with what they said; sought: (kind, key) that were looked for, kind "" for any.

    unclear: there is a name that needs a namespace. search: the address that looks for the names; accepted: labels that
    are understood.
    """

    asked: tuple[tuple[str, str], ...]
    sought: tuple[tuple[str, str], ...]
    unclear: bool
    search: str
    accepted: tuple[str, ...]


def page(found: Found) -> str:
    if not found.key:
        return alertlists.page_of(found.kind, found.filters)
    match found.kind:
        case alertlabels.DEVICES | alertlabels.POOLS:
            return alertlists.place_of(found.kind, found.key)
        case alertlabels.DRIVERS:
            return driver_href(found.key)
        case alertlabels.FINDINGS:
            return f"/doctor?{urlencode({'code': found.key})}"
        case alertlabels.NAMESPACES:
            return f"/pods?{urlencode({'ns': found.key})}"
        case _:
            return href(found.kind, found.key)


def target(found: Found | None, at: float | None, asked: str = "") -> str:
    """found: None, nothing was asked for. at: the alert's time, None: now. asked: what was asked for instead of it.

    Where another object has the name by now, the page is one of when the right one was still there.
    """
    path, moment = (page(found), found.last) if found else ("/", 0.0)
    moments = {}
    if at is not None or moment:
        moments[AT] = show(moment if at is None else at)
    if asked:
        moments[ASKED] = asked
    return f"{path}{'&' if '?' in path else '?'}{urlencode(moments)}" if moments else path


def asked_moment(text: str, at: float | None, shown: float | None, now: float) -> str:
    """What the page must say of the moment in `text`, "" where it is shown. at: what it says, shown: what can be shown.

    None: now; `text` then may be no time at all.
    """
    if at is None:
        return text.strip()[:LONGEST] if text.strip() not in ("", NO_VALUE) else ""
    if at >= now:
        return show(at) if at > now + AHEAD else ""
    return show(at) if shown is None or shown - at >= APART else ""


def nowhere(asked: Mapping[str, str], missing: Sequence[Sought]) -> NowhereView:
    names = [value for label, value in asked.items() if label != "namespace"] or list(asked.values())
    return NowhereView(
        asked=tuple(asked.items()),
        sought=tuple((KINDS[s.kind].kind if s.kind else "", s.key) for s in missing),
        unclear="namespace" not in asked and any(label in ("pod", "claim") for label in asked),
        search=f"/search?{urlencode({'q': ' '.join(names)})}",
        accepted=tuple(NAMES),
    )
