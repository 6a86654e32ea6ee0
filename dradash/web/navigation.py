"""The sections of every page's head, in one table: order, words, and the key that goes there after `g`."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import msgspec
from django.http import HttpRequest
from django.urls import Resolver404, resolve

from dradash.web.jsonlink import json_of


class Section(msgspec.Struct, frozen=True):
    """section: as `Page.section` of its pages. key: `g` and this letter go there. minor: at the foot of the page."""

    section: str
    path: str
    label: str
    key: str
    minor: bool = False


SECTIONS: Final = (
    Section("overview", "/", "Overview", "o"),
    Section("pods", "/pods", "Pods", "p"),
    Section("claims", "/claims", "Claims", "c"),
    Section("negotiations", "/negotiations", "Negotiations", "t"),
    Section("nodes", "/nodes", "Nodes", "n"),
    Section("classes", "/classes", "Classes", "s"),
    Section("drivers", "/drivers", "Drivers", "r"),
    Section("doctor", "/doctor", "Doctor", "d"),
    Section("changes", "/changes", "Changes", "e"),
    Section("about", "/about", "About", "a", minor=True),
)


@cache
def sections() -> tuple[Section, ...]:
    """Those that there is a page for."""
    return tuple(s for s in SECTIONS if _is_served(s.path))


def context(request: HttpRequest) -> dict[str, Any]:
    """For every template: the sections, and where the page's content is as JSON."""
    return {"nav": sections(), "json_href": json_of(request.path, request.GET.dict())}


def _is_served(path: str) -> bool:
    try:
        resolve(path)
    except Resolver404:
        return False
    return True
