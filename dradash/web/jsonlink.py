"""The JSON of a page: which resource of /api/v1 has the same content, with the same filters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlencode

import msgspec

from dradash.web.presenters.query import value_of

ROOT: Final = "/api/v1"
NOW: Final = "now"  # pages understand it for a moment


class _Rule(msgspec.Struct, frozen=True):
    """page: pattern of the page's path. resource: behind ROOT. params: names on the page -> names there.

    needs: without it the page only asks, and has no JSON. blank: what a name without a value is there.
    """

    page: str
    resource: str
    params: Mapping[str, str] = {}
    needs: str = ""
    blank: Mapping[str, tuple[str, str]] = {}


def _same(*names: str) -> dict[str, str]:
    return {("ns" if n == "namespace" else n): n for n in names}


_NAMED: Final = r"/ns/(?P<namespace>[^/]+)/"
_RULES: Final = (
    _Rule("/", "/stats"),
    _Rule("/pods", "/pods", _same("namespace", "outcome", "reason", "class", "who", "driver", "node", "q", "sort")),
    _Rule(_NAMED + "pods/(?P<name>[^/]+)", "/pods/{namespace}/{name}"),
    _Rule(
        _NAMED + "pods/(?P<name>[^/]+)/nodes",
        "/pods/{namespace}/{name}/verdict/nodes",
        _same("reason"),
        blank={"reason": ("passes", "1")},
    ),
    _Rule("/claims", "/claims", _same("namespace", "state", "class", "driver", "q", "sort")),
    _Rule(_NAMED + "claims/(?P<name>[^/]+)", "/claims/{namespace}/{name}"),
    _Rule("/negotiations", "/negotiations", _same("namespace", "state", "driver", "node", "q", "sort")),
    _Rule(_NAMED + "negotiations/(?P<name>[^/]+)", "/negotiations/{namespace}/{name}"),
    _Rule("/nodes", "/nodes", _same("label", "class", "state", "q", "sort")),
    _Rule("/nodes/(?P<name>[^/]+)", "/nodes/{name}", _same("answer", "q")),
    _Rule("/classes", "/classes", _same("driver", "q", "sort")),
    _Rule("/classes/(?P<name>[^/]+)", "/classes/{name}"),
    _Rule("/deviceclasses", "/deviceclasses", _same("q", "sort")),
    _Rule("/deviceclasses/(?P<name>[^/]+)", "/deviceclasses/{name}"),
    _Rule("/pools", "/pools", _same("driver", "state", "q", "sort")),
    _Rule("/pools/(?P<driver>[^/]+)/(?P<pool>.+)", "/pools/{driver}/{pool}"),
    _Rule("/slices", "/slices", _same("driver", "node", "q", "sort")),
    _Rule("/slices/(?P<name>[^/]+)", "/slices/{name}"),
    _Rule("/devices", "/devices", _same("driver", "pool", "node", "state", "q")),
    _Rule("/devices/(?P<driver>[^/]+)/(?P<pool>.+)/(?P<device>[^/]+)", "/devices/{driver}/{pool}/{device}"),
    _Rule("/selectors", "/selectors", _same("expression", "class", "driver")),
    _Rule("/taints", "/taints", _same("rule", "driver", "pool", "device", "key", "value", "effect")),
    _Rule("/drivers", "/drivers", _same("q", "sort")),
    _Rule("/drivers/(?P<name>[^/]+)", "/drivers/{name}"),
    _Rule("/doctor", "/findings", _same("about", "severity", "code", "namespace", "class", "driver", "q", "sort")),
    _Rule("/doctor/(?P<id>[^/]+)", "/findings/{id}"),
    _Rule("/changes", "/changes", _same("kind", "type", "namespace", "q")),
    _Rule("/compare", "/compare", _same("with", "kind", "namespace", "type"), "with"),
    _Rule("/search", "/lookup", _same("q")),
    _Rule("/about", "/health"),
)
_COMPILED: Final = tuple((re.compile(rule.page), rule) for rule in _RULES)


def json_of(path: str, query: Mapping[str, str]) -> str:
    """The address of the page's JSON; "" for a page without any."""
    for pattern, rule in _COMPILED:
        if match := pattern.fullmatch(path):
            if rule.needs and not query.get(rule.needs):
                return ""
            where = {
                name: quote(value, safe="/" if name == "pool" else "") for name, value in match.groupdict().items()
            }
            params = {there: value_of(here, query[here]) for here, there in rule.params.items() if query.get(here)}
            params |= dict(there for here, there in rule.blank.items() if query.get(here) == "")
            if (at := value_of("at", query.get("at", ""))) and at.strip().lower() != NOW:
                params["at"] = at
            return ROOT + rule.resource.format(**where) + (f"?{urlencode(params)}" if params else "")
    return ""
