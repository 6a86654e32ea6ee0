"""/api/v1/compare: the differences that the page /compare shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from dradash.reader import current
from dradash.reader.moment import show
from tests import build, pages
from tests.scene import Scene

ROOT = "/api/v1"


@pytest.fixture
def scene() -> Iterator[Scene]:
    """Between 60 s and 120 s a pod goes, one comes, a claim changes and a node says that it lives."""
    made = pages.scene()
    made.now += 60
    made.delete(pages.NEW)
    made.put(build.pod("late", "web", claims={"c": "none"}))
    made.put(build.claim("train-gpu", "ml", ownerReferences=[build.owner(pages.TRAIN)], mode="Immediate"))
    made.put(_alive("node-0"))
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def _alive(name: str) -> build.Obj:
    node = build.node(name, labels={"zone": "a"})
    return node | {"metadata": node["metadata"] | {"resourceVersion": "77"}}


def ask(params: dict[str, str], status: int = 200) -> Any:
    response = Client().get(f"{ROOT}/compare?{urlencode(params)}")
    assert response.status_code == status, response.content[:500]
    return response.json()


def names(answer: Any) -> list[tuple[str, str, str]]:
    return [(row["kind"], row["key"], row["type"]) for row in answer["items"]]


def before(scene: Scene) -> str:
    return show(scene.now - 30)


WHAT = [
    ("verdicts", "ml/new", "DELETED"),
    ("verdicts", "web/late", "ADDED"),
    ("pods", "ml/new", "DELETED"),
    ("pods", "web/late", "ADDED"),
    ("resourceclaims", "ml/train-gpu", "MODIFIED"),
]


def test_what_came_changed_and_went_is_told_by_kind(scene: Scene) -> None:
    told = ask({"with": before(scene)})
    assert [row for row in names(told) if row != ("verdicts", "ml/train", "MODIFIED")] == WHAT
    assert told["total"] == {"count": len(told["items"]), "exact": True}
    claim = told["items"][-1]
    assert claim["fields"] == [{"path": "spec.allocationMode", "before": "WaitForFirstConsumer", "after": "Immediate"}]
    assert (claim["unlisted"], claim["url"], claim["page"]) == (
        0,
        "/api/v1/claims/ml/train-gpu",
        "/ns/ml/claims/train-gpu",
    )
    late = next(row for row in told["items"] if (row["kind"], row["key"]) == ("verdicts", "web/late"))
    assert (late["before"], late["after"], [f["path"] for f in late["fields"]]) == (None, "Blocked", ["sentence"])


def test_two_moments_are_compared_whichever_is_named_first(scene: Scene) -> None:
    early, late = before(scene), show(scene.now - 2.5)
    found = ask({"at": early, "with": late})
    assert names(found) == names(ask({"at": late, "with": early}))
    assert ("pods", "ml/new", "DELETED") in names(found)
    assert ("resourceclaims", "ml/train-gpu", "MODIFIED") not in names(found)
    assert names(ask({"at": early, "with": early})) == names(ask({"with": "now"})) == []
    assert names(ask({"at": early, "with": "now"})) == names(ask({"with": early}))


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"kind": "pods"}, [WHAT[2], WHAT[3]]),
        ({"type": "ADDED"}, [WHAT[1], WHAT[3]]),
        ({"namespace": "web", "kind": "verdicts"}, [WHAT[1]]),
        ({"kind": "nodes"}, []),
    ],
)
def test_filters_are_those_of_the_page(scene: Scene, filters: dict[str, str], found: list[Any]) -> None:
    assert names(ask({"with": before(scene)} | filters)) == found


def test_pages_together_are_the_list_and_the_total_is_at_most_too_low(scene: Scene) -> None:
    whole, rows, params = names(ask({"with": before(scene)})), [], {"with": before(scene), "limit": "1"}
    for _ in range(len(whole) + 2):
        page = ask(params)
        assert page["total"]["count"] <= len(whole)
        assert page["total"]["count"] == len(whole) or not page["total"]["exact"]
        rows += names(page)
        if page["next"] is None:
            break
        params["cursor"] = page["next"]
    assert rows == whole
    assert ask({"with": show(scene.now - 2.5), "cursor": params["cursor"]}, 400)["type"].endswith(":bad-cursor")


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize(
    ("params", "status", "slug"),
    [
        ({}, 400, "bad-parameter"),
        ({"with": ""}, 400, "bad-parameter"),
        ({"with": "yesterday"}, 400, "bad-parameter"),
        ({"with": "2001-01-01T00:00:00Z"}, 404, "no-such-moment"),
        ({"with": "2199-01-01T00:00:00Z"}, 404, "no-such-moment"),
        ({"with": "now", "at": "2001-01-01T00:00:00Z"}, 404, "no-such-moment"),
        ({"with": "2026-11-30T04:00:01Z", "kind": "colours"}, 400, "bad-parameter"),
        ({"with": "2026-11-30T04:00:01Z", "q": "x"}, 400, "unknown-parameter"),
    ],
)
def test_what_cannot_be_compared_is_a_problem(params: dict[str, str], status: int, slug: str) -> None:
    assert ask(params, status)["type"] == f"urn:dradash:problem:{slug}"


def test_a_comparison_with_now_is_not_called_unchanged_when_something_has_changed(scene: Scene) -> None:
    address = f"{ROOT}/compare?{urlencode({'at': before(scene), 'with': 'now'})}"
    tag = Client().get(address).headers["ETag"]
    assert Client().get(address, headers={"If-None-Match": tag}).status_code == 304
    scene.delete(pages.TRAIN)
    scene.look()
    assert Client().get(address, headers={"If-None-Match": tag}).status_code == 200


def test_the_page_links_to_the_very_comparison(scene: Scene) -> None:
    params = {"at": before(scene), "with": show(scene.now), "kind": "pods", "type": "DELETED", "ns": "ml"}
    html = Client().get("/compare", params).content.decode()
    link = html.partition('" rel="alternate" type="application/json"')[0].rpartition('href="')[2].replace("&amp;", "&")
    assert names(Client().get(link).json()) == [("pods", "ml/new", "DELETED")]
