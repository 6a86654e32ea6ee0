"""The sections of every page's head, in one table: order, words, and the key that goes there after `g`."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import msgspec
from django.http import HttpRequest
from django.urls import Resolver404, resolve

from dradash.reader import current
from dradash.web.jsonlink import json_of


class Section(msgspec.Struct, frozen=True):
    """section: as `Page.section` of its pages. key: `g` and this letter go there. minor: at the foot of the page.

    kinds: those it is about, where a cluster may serve none of them; () for what every cluster has.
    """

    section: str
    path: str
    label: str
    key: str
    minor: bool = False
    kinds: tuple[str, ...] = ()


NOT_SERVED: Final = "notServed"

SECTIONS: Final = (
    Section("overview", "/", "Overview", "o"),
    Section("pods", "/pods", "Pods", "p"),
    Section("claims", "/claims", "Claims", "c"),
    Section("negotiations", "/negotiations", "Negotiations", "t", kinds=("podschedulingcontexts",)),
    Section("nodes", "/nodes", "Nodes", "n"),
    Section("classes", "/classes", "Classes", "s", kinds=("resourceclasses",)),
    Section("deviceclasses", "/deviceclasses", "Device classes", "i", kinds=("deviceclasses",)),
    Section("pools", "/pools", "Pools", "l", kinds=("resourceslices",)),
    Section("devices", "/devices", "Devices", "v", kinds=("resourceslices",)),
    Section("drivers", "/drivers", "Drivers", "r"),
    Section("doctor", "/doctor", "Doctor", "d"),
    Section("changes", "/changes", "Changes", "e"),
    Section("about", "/about", "About", "a", minor=True),
)


@cache
def sections() -> tuple[Section, ...]:
    """Those that there is a page for."""
    return tuple(s for s in SECTIONS if _is_served(s.path))


def shown() -> tuple[Section, ...]:
    """Without what the cluster neither serves nor has: pages of another generation of DRA are in nobody's way."""
    here = current.known()
    if here is None:
        return sections()
    with here.follower.world() as world:
        absent = {
            kind
            for section in SECTIONS
            for kind in section.kinds
            if not world.cluster.raw[kind] and getattr(world.sync.get(kind), "state", "") == NOT_SERVED
        }
    return tuple(s for s in sections() if not s.kinds or not absent.issuperset(s.kinds))


def context(request: HttpRequest) -> dict[str, Any]:
    """For every template: the sections, and where the page's content is as JSON."""
    return {"nav": shown(), "json_href": json_of(request.path, request.GET.dict())}


def _is_served(path: str) -> bool:
    try:
        resolve(path)
    except Resolver404:
        return False
    return True
