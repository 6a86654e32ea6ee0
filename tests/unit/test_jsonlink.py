"""What a page leaves out of its list, the JSON that it links to leaves out too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.urls import URLPattern, get_resolver

from dradash.api.endpoint import Endpoint
from dradash.api.endpoints import ENDPOINTS
from dradash.web.jsonlink import ROOT, json_of
from dradash.web.pages.base import Page

PLACES: Final = {"namespace": "ml", "id": "x"}
# What of a page's query is no filter, or none that its JSON knows, and why.
EVERYWHERE: Final = {
    "page": "JSON is paged by cursors: the link leads to the first rows",
    "kiosk": "how the page looks",
}
_POD: Final = "/ns/<str:namespace>/pods/<str:name>"
_WITH: Final = {"with": "the object's own differences; /api/v1/compare has those of the cluster, by kind and namespace"}
NOT_CARRIED: Final[Mapping[str, Mapping[str, str]]] = {
    _POD: {"node": "the funnel of devices is a resource of its own, /devices, which takes it", **_WITH},
    f"{_POD}/nodes": {"group": "how cells stand together", "hide": "which reasons are drawn, by a digest", **_WITH},
    "/ns/<str:namespace>/claims/<str:name>": _WITH,
    "/ns/<str:namespace>/negotiations/<str:name>": {"rounds": "how many are shown; the JSON has all", **_WITH},
    "/classes/<str:name>": _WITH,
    "/deviceclasses/<str:name>": _WITH,
    "/slices/<str:name>": _WITH,
    "/nodes/<str:name>": _WITH,
    "/changes": {
        "before": "a page of the stream: JSON is paged by cursors",
        "paused": "whether the page moves on",
    },
    "/search": {"kind": "one kind's hits alone; /lookup answers all, and its `kind` is a label of alerts"},
}


def routes() -> Iterator[tuple[str, type[Page]]]:
    for pattern in get_resolver().url_patterns:
        made = getattr(getattr(pattern, "callback", None), "view_initkwargs", {})
        if isinstance(pattern, URLPattern) and "page" in made:
            yield "/" + str(pattern.pattern), made["page"]


def filled(route: str) -> str:
    return re.sub(r"<\w+:(\w+)>", lambda m: PLACES.get(m[1], m[1]), route)


CASES: Final = [(route, name) for route, page in routes() for name in sorted({*page.params, *page.always})]


@pytest.mark.parametrize(("route", "name"), CASES, ids=[f"{route} {name}" for route, name in CASES])
def test_each_filter_of_a_page_goes_on_to_its_json_or_is_named_with_a_reason(route: str, name: str) -> None:
    query = {name: "x-1"} | ({"with": "now"} if route == "/compare" and name != "with" else {})
    carried = dict(parse_qsl(urlsplit(json_of(filled(route), query)).query))
    excused = name in EVERYWHERE or name in NOT_CARRIED.get(route, {})
    assert ("x-1" in carried.values()) is not excused
    assert carried.keys() <= {p.name for p in resource(filled(route), query).params}


def resource(path: str, query: Mapping[str, str]) -> Endpoint:
    """The endpoint behind the page's link."""
    link = urlsplit(json_of(path, query)).path.removeprefix(ROOT)
    return next(e for e in ENDPOINTS if re.fullmatch(re.sub(r"\{\w+\}", r"[^/]+", e.path), link))


def test_no_reason_is_left_over_for_what_is_no_filter_of_the_page() -> None:
    filters = {route: page.params | page.always for route, page in routes()}
    assert {r: set(names) - filters[r] for r, names in NOT_CARRIED.items() if set(names) - filters[r]} == {}


@pytest.mark.parametrize(
    ("path", "query", "there"),
    [
        ("/pods", {"driver": "gpu.example.com", "node": "node-1"}, "/pods?driver=gpu.example.com&node=node-1"),
        ("/negotiations", {"node": "node-1"}, "/negotiations?node=node-1"),
        ("/about", {"at": "2026-11-30T04:00:01Z"}, "/health?at=2026-11-30T04%3A00%3A01Z"),
        ("/doctor", {"about": "pods/ml/train"}, "/findings?about=pods%2Fml%2Ftrain"),
        ("/ns/ml/pods/train/nodes", {"reason": "no room"}, "/pods/ml/train/verdict/nodes?reason=no+room"),
        ("/ns/ml/pods/train/nodes", {"reason": ""}, "/pods/ml/train/verdict/nodes?passes=1"),
        ("/pods", {"at": "now"}, "/pods"),
        (
            "/compare",
            {"at": "now", "with": "2026-11-30T04:00:01Z", "kind": "pods", "ns": "ml", "type": "ADDED", "page": "2"},
            "/compare?with=2026-11-30T04%3A00%3A01Z&kind=pods&namespace=ml&type=ADDED",
        ),
    ],
)
def test_the_link_asks_for_what_the_page_shows(path: str, query: dict[str, str], there: str) -> None:
    assert json_of(path, query) == ROOT + there


def test_a_page_that_only_asks_for_a_moment_has_no_json() -> None:
    assert json_of("/compare", {"at": "2026-11-30T04:00:01Z"}) == ""
