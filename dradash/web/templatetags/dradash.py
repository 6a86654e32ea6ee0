"""What templates need to show times, node cells and counts."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from django import template
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from dradash.reader.moment import show
from dradash.web.presenters.words import Actor, Chip, driver_href, href, node_href

register = template.Library()

_PLAIN_NAME: Final = re.compile(r"[a-z0-9.-]+")
SHORT: Final = 24  # characters of a name that have room in a column of a table
WHOLE: Final = 12  # characters of a name that have room in the narrowest column of a wall screen
UNITS: Final = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def age_text(seconds: float) -> str:
    """Two units at most, as kubectl prints ages: `42s`, `3m 12s`, `5h 3m`, `9d 4h`."""
    rest = max(0, int(seconds))
    for i, (size, unit) in enumerate(UNITS):
        if rest >= size:
            text = f"{rest // size}{unit}"
            smaller = rest % size // UNITS[i + 1][0] if i + 1 < len(UNITS) else 0
            return f"{text} {smaller}{UNITS[i + 1][1]}" if smaller else text
    return "0s"


def _moment(value: float | str | None) -> datetime | None:
    """Unix seconds or RFC 3339; None for anything that is no time: it comes from the cluster."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            # In UTC at once: near the ends of the calendar that may fail, and only here is it expected to.
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        return datetime.fromtimestamp(value, UTC) if value else None
    except (ValueError, OverflowError, OSError):
        return None


@register.simple_tag(takes_context=True)
def age(context: Mapping[str, Any], value: float | str | None) -> SafeString | str:
    """How long ago, counted on by the page's script; the exact UTC time is its title.

    On a page of the past: how long before the moment that the page shows, which stays so.
    """
    moment = _moment(value)
    if moment is None:
        return value if isinstance(value, str) and value else "unknown"
    exact = moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    title = moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    shown = context.get("moment")
    text = age_text((time.time() if shown is None else shown) - moment.timestamp())
    counts_on = " data-age" if shown is None else ""
    return format_html('<time datetime="{}" title="{}"{}>{}</time>', exact, title, counts_on, text)


@register.simple_tag(takes_context=True)
def ago(context: Mapping[str, Any], value: float | str | None) -> SafeString | str:
    """As `age`, in words that also fit a time that is still to come (`in 12s`) and what is no time at all."""
    moment = _moment(value)
    if moment is None:
        return f"at {value}" if isinstance(value, str) and value else "at an unknown time"
    shown = context.get("moment")
    passed = (time.time() if shown is None else shown) - moment.timestamp()
    text = f"in {age_text(-passed)}" if passed <= -1 else f"{age_text(passed)} ago"
    exact = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    title = moment.strftime("%Y-%m-%d %H:%M:%S UTC")
    counts_on = mark_safe(' data-age="ago"') if shown is None else ""  # a constant
    return format_html('<time datetime="{}" title="{}"{}>{}</time>', exact, title, counts_on, text)


@register.simple_tag
def rfc3339(value: float, before: bool = False) -> str:
    """A moment as it stands in addresses; before: the last one before it."""
    return show(value - 0.001 if before else value)


@register.simple_tag
def utc(value: float, exact: bool = False) -> SafeString:
    """Date and time, in UTC, to the second that it lies in, as `clock`; exact: with milliseconds."""
    if exact:
        text = show(value).replace("T", " ").replace("Z", " UTC")
    else:
        moment = datetime.fromtimestamp(value, UTC)
        text = moment.strftime("%Y-%m-%d %H:%M:%S UTC")
    return format_html('<time datetime="{}">{}</time>', show(value), text)


@register.simple_tag
def clock(value: float | str | None) -> SafeString | str:
    """The time of day, in UTC."""
    moment = _moment(value)
    if moment is None:
        return "?"
    utc = moment.astimezone(UTC)
    text, title = utc.strftime("%H:%M:%S"), utc.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + " UTC"
    return format_html('<time datetime="{}" title="{}">{}</time>', utc.isoformat(), title, text)


@register.simple_tag
def node_cells(names: Sequence[str], kinds: Sequence[int] | int) -> SafeString:
    """A link for each node; kinds: of all, or of each. The class draws colour and letter (dradash.css).

    Joined by hand: there may be thousands, and a template loop takes ten times as long.
    """
    each = [kinds] * len(names) if isinstance(kinds, int) else kinds
    return mark_safe("".join(map(_cell, names, each)))  # noqa: S308 - escaped there


def _cell(name: str, kind: int) -> str:
    if _PLAIN_NAME.fullmatch(name):
        return f'<a class="k{kind}" href="/nodes/{name}">{name}</a>'
    return f'<a class="k{kind}" href="{escape(node_href(name))}">{escape(name)}</a>'


@register.simple_tag
@lru_cache(maxsize=256)
def icon(name: str) -> SafeString:
    return format_html('<svg class="icon" aria-hidden="true"><use href="#i-{}"></use></svg>', name)


# Chips and actors are in every row of every list: as templates they would take most of a page's time.


@register.simple_tag
@lru_cache(maxsize=1024)
def chip(value: Chip, big: bool = False) -> SafeString:
    title = format_html(' title="{}"', value.title) if value.title else ""
    size = " chip-big" if big else ""
    return format_html(
        '<span class="chip tone-{}{}"{}>{}{}</span>', value.tone, size, title, icon(value.icon), value.text
    )


@register.simple_tag
@lru_cache(maxsize=1024)
def actor(value: Actor | None) -> SafeString:
    if not value:
        return mark_safe('<span class="muted">unknown</span>')
    names = format_html_join("", " <code>{}</code>", ((broken(name),) for name in value.names[:3]))
    more = " …" if len(value.names) > 3 else ""
    return format_html(
        '<span class="actor" title="{}">{}<b>{}</b>{}{}</span>', value.what, icon(value.icon), value.who, names, more
    )


@register.inclusion_tag("_copy.html")
def copy(text: str, label: str = "Copy") -> dict[str, str]:
    return {"text": text, "label": label}


@register.filter
def page_of(key: str, kind: str) -> str:
    """Address of an object's page: `name|page_of:"nodes"`; "drivers" too."""
    return driver_href(key) if kind == "drivers" else href(kind, key)


@register.filter
def fits(name: str) -> SafeString | str:
    """Class attribute of a cell whose name is short enough to stay on one line where the table has columns."""
    return mark_safe(' class="fits"') if len(name) <= SHORT else ""  # a constant


@register.filter
@lru_cache(maxsize=4096)
def broken(name: str) -> SafeString | str:
    """A name that may go on a new line after each dot, slash or hyphen; escaped. In a cell that `fits` it does not."""
    if len(name) <= WHOLE:
        return name
    return mark_safe(re.sub(r"([./-])(?=.)", r"\1<wbr>", escape(name)))  # noqa: S308 - escaped


@register.filter
@lru_cache(maxsize=64)
def words_of(resource: str) -> SafeString:
    """A resource's plural name that may go on a new line between its words: podschedulingcontexts."""
    return mark_safe(re.sub(r"(pod|scheduling|resource|claim)(?=\w\w)", r"\1<wbr>", escape(resource)))  # noqa: S308 - escaped


@register.filter
def plural(count: int, word: str) -> str:
    """`3 nodes`, `1 node`; `word` may carry its plural after a comma."""
    one, _, many = word.partition(",")
    return f"{count:,} {one if count == 1 else many or one + 's'}"


@register.filter
def duration(seconds: float | None) -> str:
    """`120 ms`, `2.4 s`, `3m 12s`; a dash where it is not known."""
    if seconds is None:
        return "\u2013"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else age_text(seconds)
