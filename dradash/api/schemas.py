"""Shapes that several resources share. Times are RFC 3339 in UTC, null where there is none; keys are namespace/name."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec

from dradash.reader.moment import show
from dradash.scheduling.reasons import code_of
from dradash.scheduling.verdict import ActsNext, Verdict

R = TypeVar("R")


class Shape(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of all that is answered."""


class Total(Shape, frozen=True):
    """exact: whether it is the number, or only the least that it can be."""

    count: int
    exact: bool


class Rows(Shape, Generic[R], frozen=True):
    """One page of a list. next: the cursor of the following page, null on the last one."""

    items: tuple[R, ...]
    total: Total
    next: str | None
    revision: int
    instance: str


class Reason(Shape, frozen=True):
    """code: stable, see /api/v1/reasons; text: the scheduler's own."""

    code: str
    text: str


class Actor(Shape, frozen=True):
    """Who must move next. who: scheduler, driver, claim controller, garbage collector, pod, admin or nobody."""

    who: str
    names: tuple[str, ...]
    what: str


class Ref(Shape, frozen=True):
    """An object. url: its resource here, page: its page, each null where there is none."""

    kind: str
    key: str
    url: str | None
    page: str | None


Json = dict[str, Any]


@lru_cache(maxsize=20_000)
def time_of(at: float) -> str | None:
    """RFC 3339 of Unix seconds; None for 0.0, which means never or not known, and for what no calendar shows."""
    try:
        return show(at) if at else None
    except OverflowError:
        return None


@lru_cache(maxsize=8192)
def reason(text: str) -> Reason:
    return Reason(code=code_of(text), text=text)


def reasons(verdict: Verdict | None) -> tuple[Reason, ...]:
    return tuple(reason(t) for t in verdict.reason_texts) if verdict else ()


def actor(acts: ActsNext) -> Actor:
    return Actor(who=acts.who, names=acts.names, what=acts.what)


# --- addresses -------------------------------------------------------------------------------------------------------

ROOT = "/api/v1"
_PAGES = {
    "pods": "pods",
    "resourceclaims": "claims",
    "podschedulingcontexts": "negotiations",
    "nodes": "nodes",
    "resourceclasses": "classes",
    "deviceclasses": "deviceclasses",
    "resourceslices": "slices",
    "drivers": "drivers",
}


# Their keys are DRIVER/POOL and DRIVER/POOL/DEVICE, and only a pool's name may have slashes.
_OF_DRIVERS = ("pools", "devices")


def _of_driver(kind: str, key: str) -> str:
    driver, _, rest = key.partition("/")
    pool, slash, device = rest.rpartition("/") if kind == "devices" else (rest, "", "")
    return f"/{kind}/{quote(driver, '')}/{quote(pool)}{slash}{quote(device, '')}"


@lru_cache(maxsize=40_000)
def page(kind: str, key: str) -> str | None:
    """The page of an object (kind: plural, drivers, pools or devices); None for kinds without one."""
    if kind in _OF_DRIVERS:
        return _of_driver(kind, key)
    section = _PAGES.get("pods" if kind == "verdicts" else kind)
    namespace, _, name = key.rpartition("/")
    if section is None or not name:
        return None
    return f"/ns/{quote(namespace, '')}/{section}/{quote(name, '')}" if namespace else f"/{section}/{quote(name, '')}"


@lru_cache(maxsize=40_000)
def url(kind: str, key: str) -> str | None:
    if kind in _OF_DRIVERS:
        return f"{ROOT}{_of_driver(kind, key)}"
    section = _PAGES.get("pods" if kind == "verdicts" else kind)
    namespace, _, name = key.rpartition("/")
    if section is None or not name:
        return None
    return f"{ROOT}/{section}/" + (f"{quote(namespace, '')}/" if namespace else "") + quote(name, "")


def ref(kind: str, key: str) -> Ref:
    return Ref(kind=kind, key=key, url=url(kind, key), page=page(kind, key))
