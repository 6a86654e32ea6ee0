"""What an answer of the API has around it: ETag, compression, NDJSON, the past, who may ask, links from pages."""

from __future__ import annotations

import dataclasses
import gzip
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings
from django.test import Client, override_settings

from dradash.api.endpoints import ENDPOINTS
from dradash.reader import current
from dradash.reader.moment import show
from dradash.store.memory import MemoryModel
from dradash.store.model import StoreUnavailable
from tests import build, pages
from tests.pages import PageLine
from tests.scene import Scene

ROOT = "/api/v1"


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = pages.scene()
    made.look()
    made.web.doctor.look(made.now + 900)
    current.use(made.web)
    yield made
    current.use(None)


def ask(path: str, **headers: str) -> Any:
    return Client().get(ROOT + path, headers={k.replace("_", "-"): v for k, v in headers.items()})


# --- ETag, bytes -----------------------------------------------------------------------------------------------------


def test_an_unchanged_answer_is_304_and_a_changed_one_is_not(scene: Scene) -> None:
    tag = ask("/pods").headers["ETag"]
    again = ask("/pods", if_none_match=f'"other", {tag}')
    assert (again.status_code, again.content) == (304, b"")
    assert "Content-Type" not in again.headers
    assert again.headers["ETag"] == tag
    assert ask("/pods?q=x", if_none_match=tag).status_code == 200
    scene.put(build.pod("more", "ml", claims={"c": "none"}))
    scene.look()
    assert ask("/pods", if_none_match=tag).status_code == 200


@pytest.mark.usefixtures("scene")
def test_tags_are_compared_weakly_and_wherever_they_stand_in_the_list() -> None:
    tag = ask("/pods").headers["ETag"]
    bare = tag.removeprefix("W/")
    for given in (tag, bare, f'W/"a, b",{bare}', f'"other" ,W/"x", {tag}'):
        assert ask("/pods", if_none_match=given).status_code == 304, given
    for given in (f'"{bare}"', bare.strip('"'), f'"other {bare[1:-1]}"', '"*"', f"w/{bare[:-2]}"):
        assert ask("/pods", if_none_match=given).status_code == 200, given


@pytest.mark.usefixtures("scene")
def test_a_star_stands_for_whatever_there_is_and_not_for_what_there_is_not() -> None:
    assert ask("/pods", if_none_match=" * ").status_code == 304
    assert ask("/pods/ml/train", if_none_match="*").headers["ETag"]
    assert ask("/nodes", if_none_match="*", accept="application/x-ndjson").status_code == 304
    assert ask("/pods/ml/nobody", if_none_match="*").status_code == 404


def test_a_304_reads_nothing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    tag = ask("/pods").headers["ETag"]
    monkeypatch.setattr("dradash.api.pods.row_of", lambda _: 1 / 0)
    assert ask("/pods", if_none_match=tag).status_code == 304


def test_findings_have_a_new_etag_when_the_doctor_finds_others(scene: Scene) -> None:
    tag = ask("/findings").headers["ETag"]
    scene.delete(pages.NEW)
    scene.look()
    assert ask("/findings", if_none_match=tag).status_code == 200


@pytest.mark.usefixtures("scene")
def test_answers_are_compressed_for_who_can_read_that() -> None:
    response = ask("/nodes", accept_encoding="gzip")
    assert response.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(response.content))["total"]["count"] == 8


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize(
    ("header", "coding"),
    [
        ("gzip;q=0", None),
        ("br, gzip;q=0.0", None),
        ("identity", None),
        ("GZIP ; Q=0.5", "gzip"),
        ("*", "gzip"),
        ("*;q=0", None),
        ("gzip;q=0, *", None),
        ("x-gzipped", None),
    ],
)
def test_compression_is_for_who_wants_it(header: str, coding: str | None) -> None:
    response = ask("/nodes", accept_encoding=header)
    assert response.headers.get("Content-Encoding") == coding
    assert "Accept-Encoding" in response.headers["Vary"]


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize(
    ("accept", "lines"),
    [
        ("application/x-ndjson", True),
        ("Application/X-NDJSON; Q=0.1", True),
        ("application/x-ndjson;q=0", False),
        ("application/x-ndjson;q=0.5, application/json", False),
        ("application/json;q=0.5, application/x-ndjson", True),
        ("application/x-ndjson, */*", True),
        ("application/json, application/x-ndjson", False),
        ("application/x-ndjson, application/json", True),
        ("*/*", False),
        ("application/*", False),
        ("application/x-ndjson;q=2", False),
        ("text/application/x-ndjson-not", False),
        ("", False),
    ],
)
def test_the_form_that_is_preferred_is_answered(accept: str, lines: bool) -> None:
    expected = "application/x-ndjson" if lines else "application/json"
    assert ask("/nodes", accept=accept).headers["Content-Type"] == expected


@pytest.mark.usefixtures("scene")
def test_a_list_is_streamed_as_lines_to_its_end_or_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dradash.api.serving.STREAMED", 3)
    response = ask("/nodes", accept="application/x-ndjson")
    assert response.headers["Content-Type"] == "application/x-ndjson"
    rows = [json.loads(line) for line in b"".join(response).splitlines()]
    assert [r["name"] for r in rows] == pages.NODES
    five = b"".join(ask("/nodes?limit=5&fields=name", accept="application/x-ndjson")).splitlines()
    assert [json.loads(line) for line in five] == [{"name": n} for n in pages.NODES[:5]]
    assert ask("/nodes?limit=0", accept="application/x-ndjson").status_code == 400


@pytest.mark.usefixtures("scene")
def test_headers_of_lines_say_what_a_document_has_beside_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dradash.api.serving.STREAMED", 3)
    whole = ask("/nodes").json()
    lines = ask("/nodes", accept="application/x-ndjson")
    assert lines.headers["Dradash-Revision"] == str(whole["revision"])
    assert lines.headers["Dradash-Instance"] == whole["instance"]
    assert (lines.headers["Dradash-Total"], lines.headers["Dradash-Total-Exact"]) == ("8", "true")
    assert "Link" not in lines.headers  # to its end: nothing follows
    one = ask("/changes?limit=1", accept="application/x-ndjson")
    total = ask("/changes?limit=1").json()["total"]
    assert not total["exact"]
    assert (one.headers["Dradash-Total"], one.headers["Dradash-Total-Exact"]) == (str(total["count"]), "false")


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize(
    "query", ["limit=3&q=node-&fields=name", "limit=3&sort=-node&fields=name", "limit=8&fields=name"]
)
def test_the_links_of_lines_lead_through_the_whole_list(query: str) -> None:
    address, names = f"{ROOT}/nodes?{query}", []
    for _ in pages.NODES:
        response = Client().get(address, headers={"accept": "application/x-ndjson"})
        names += [json.loads(line)["name"] for line in b"".join(response).splitlines()]
        following = re.fullmatch(r'<(.*)>; rel="next"', response.headers.get("Link", ""))
        if following is None:
            break
        address = following[1]
    assert names == sorted(pages.NODES, reverse="-node" in query)


@pytest.mark.usefixtures("scene")
def test_reasons_are_listed_with_meaning_and_remedy() -> None:
    rows = ask("/reasons").json()["items"]
    assert {"ClaimInUse", "Other", "SelectedUnsuitable", "NothingLeft", "driver-silent"} <= {r["code"] for r in rows}
    assert all(r["meaning"] and r["remedy"] for r in rows)
    rules = ask("/reasons?kind=rule").json()
    assert rules["total"] == {"count": 7, "exact": True}
    assert {r["kind"] for r in rules["items"]} == {"rule"}
    assert "finding" in ask("/reasons?kind=nonsense").json()["allowed"]


# --- resources -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("scene")
def test_a_verdict_tells_steps_groups_and_effects() -> None:
    verdict = ask("/pods/ml/train/verdict").json()
    assert [s["point"] for s in verdict["steps"]][:3] == ["PreEnqueue", "PreFilter", "Filter"]
    groups = verdict["steps"][2]["groups"]
    assert sum(g["count"] for g in groups) == verdict["nodesTotal"] == 8
    assert {g["reason"]["code"] for g in groups if g["reason"]} == {"ClassFilterExcluded"}
    assert verdict["agreement"] == {}


@pytest.mark.usefixtures("scene")
def test_a_negotiation_is_told_in_rounds() -> None:
    talk = ask("/negotiations/ml/train").json()
    assert [t["kind"] for t in talk["rounds"][0]["turns"]][-3:] == ["Proposed", "Selected", "Answered"]
    assert talk["unsuitable"] == {"gpu": ["node-1"]}
    assert talk["negotiation"]["moves"][0]["actor"] == "gpu.example.com"


@pytest.mark.usefixtures("scene")
def test_a_node_says_of_each_waiting_pod_whether_it_fits() -> None:
    here = {p["pod"]: p for p in ask("/nodes/node-1").json()["pods"]}
    assert here["ml/train"]["fits"] is False
    assert here["ml/train"]["reason"]["code"] == "ClassFilterExcluded"
    assert here["ml/new"]["fits"] is None


def test_what_is_gone_answers_with_its_last_state(scene: Scene) -> None:
    scene.delete(pages.HELD, pages.TRAIN)
    scene.look()
    claim = ask("/claims/ml/held").json()
    assert claim["gone"] == show(scene.now)
    assert claim["claim"]["name"] == "held"
    assert ask("/pods/ml/train").json()["gone"] == show(scene.now)
    assert ask("/pods/ml/train/verdict").json()["outcome"] == "Waiting"
    assert ask("/pods/ml/train/history").json()["items"]


@pytest.mark.usefixtures("scene")
def test_an_alerts_labels_lead_to_the_page() -> None:
    found = ask("/lookup?namespace=ml&pod=train&resourceclaim=held&node=node-1").json()["items"]
    assert [f["page"] for f in found] == ["/ns/ml/pods/train", "/ns/ml/claims/held", "/nodes/node-1"]
    assert ask("/lookup?uid=uid-ml-train").json()["items"][0]["key"] == "ml/train"
    assert {f["kind"] for f in ask("/lookup?name=train&namespace=ml").json()["items"]} == {
        "pods",
        "podschedulingcontexts",
    }
    assert ask("/lookup?pod=ml/train").json()["items"][0]["key"] == "ml/train"
    assert ask("/lookup?namespace=ml&pod=nobody").json()["items"] == []


@pytest.mark.usefixtures("scene")
def test_a_driver_is_found_only_where_somebody_names_it() -> None:
    assert [f["key"] for f in ask("/lookup?driver=gpu.example.com").json()["items"]] == ["gpu.example.com"]
    assert ask("/lookup?driver=unheard-of.example.com").json()["items"] == []


@pytest.mark.usefixtures("scene")
def test_health_says_unknown_and_not_zero() -> None:
    health = ask("/health").json()
    assert health["state"] == "live"
    assert {k["kind"]: k["objects"] for k in health["kinds"]}["nodes"] == 8


def test_a_kind_that_is_not_known_has_no_count() -> None:
    made = Scene(synced=["pods"])
    made.look()
    current.use(made.web)
    assert {k["kind"]: k["objects"] for k in ask("/health").json()["kinds"]}["resourceclaims"] is None
    assert "resourceclaims" not in ask("/stats").json()["objects"]
    current.use(None)


def test_before_anything_was_read_the_answer_is_503_with_a_retry() -> None:
    current.use(current.build(Scene().model))
    response = ask("/pods")
    assert (response.status_code, response.headers["Retry-After"]) == (503, "2")
    assert ask("/health").json()["state"] == "loading"
    current.use(None)


@pytest.mark.parametrize("path", ["/pods", "/claims", "/findings", "/nodes", "/stats", "/changes", "/pods?watch=1"])
@pytest.mark.parametrize("elected", [False, True], ids=["no model", "nothing written yet"])
def test_where_no_cluster_was_ever_watched_nothing_is_said_to_be_empty(path: str, elected: bool) -> None:
    model = MemoryModel()
    if elected:
        model.acquire("leader", 3600.0)
    here = current.build(model)
    here.follower.step()
    current.use(here)
    response = ask(path)
    assert (response.status_code, response.headers["Retry-After"]) == (503, "2")
    assert response.json()["type"] == "urn:dradash:problem:unavailable"
    assert "no cluster has been watched yet" in response.json()["detail"]
    assert ask("/health").status_code == 200
    assert ask("/reasons").status_code == 200
    current.use(None)


def test_a_store_that_is_away_is_a_problem_where_it_is_needed(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise StoreUnavailable("Redis is away")

    monkeypatch.setattr(scene.model, "changes_before", away)
    assert ask("/changes").json()["detail"] == "Redis is away"
    assert ask("/pods").status_code == 200


# --- the past --------------------------------------------------------------------------------------------------------


def test_at_answers_as_it_was_then(scene: Scene) -> None:
    before = scene.now
    scene.now += 60
    scene.delete(pages.NEW)
    scene.look()
    assert [p["name"] for p in ask("/pods").json()["items"]] == ["train"]
    past = ask(f"/pods?sort=pod&at={show(before)}")
    assert [p["name"] for p in past.json()["items"]] == ["new", "train"]
    assert ask(f"/pods/ml/new?at={show(before)}").json()["gone"] is None


def test_health_of_the_past_says_how_each_kind_was_then(scene: Scene) -> None:
    before, revision = scene.now, scene.model.revision()
    scene.now += 60
    scene.delete(pages.NEW)
    scene.sync("nodes", "stale", "timeout")
    scene.look()
    now, then = ask("/health").json(), ask(f"/health?at={show(before)}").json()
    assert {k["kind"]: (k["state"], k["error"]) for k in now["kinds"]}["nodes"] == ("stale", "timeout")
    assert {k["kind"]: (k["state"], k["error"]) for k in then["kinds"]}["nodes"] == ("synced", "")
    assert [{k["kind"]: k["objects"] for k in of["kinds"]}["pods"] for of in (now, then)] == [1, 2]
    assert (then["revision"], then["changedAt"]) == (revision, show(before))
    assert now["revision"] > revision
    assert (then["state"], then["instance"]) == (now["state"], now["instance"])  # of now


def test_the_page_about_dradash_links_to_the_health_of_the_same_moment(scene: Scene) -> None:
    at = show(scene.now)
    scene.now += 60
    html = Client().get("/about", {"at": at}).content.decode()
    assert f'href="{ROOT}/health?at={quote(at, "")}"' in html


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize("at", ["2001-01-01T00:00:00Z", "2199-01-01T00:00:00Z"])
def test_a_moment_that_cannot_be_shown_is_a_problem(at: str) -> None:
    for path in ("/pods", "/pods/ml/train", "/findings", "/stats", "/health"):
        response = ask(f"{path}?at={at}")
        assert response.status_code == 404
        assert response.json()["type"] == "urn:dradash:problem:no-such-moment"


# --- who may ask -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("scene")
def test_a_token_is_asked_for_and_taken_as_bearer() -> None:
    word = "as long as it is"
    with override_settings(DRADASH=dataclasses.replace(settings.DRADASH, auth="token", auth_token=word)):
        refused = ask("/pods")
        assert refused.status_code == 401
        assert refused.headers["Content-Type"] == "application/problem+json"
        assert refused.headers["WWW-Authenticate"].startswith("Bearer")
        assert refused.json()["type"] == "urn:dradash:problem:not-signed-in"
        assert ask("/openapi.json").status_code == 401
        assert ask("/pods", authorization=f"Bearer {word}").status_code == 200


# --- pages -----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize("line", pages.served(), ids=lambda line: line.path)
def test_every_page_links_to_its_json(line: PageLine) -> None:
    html = Client().get(line.path).content.decode()
    found = re.search(r'<a href="(/api/v1/[^"]*)" rel="alternate" type="application/json">', html)
    assert found, "no link"
    response = Client().get(found[1].replace("&amp;", "&"))
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"


@pytest.mark.usefixtures("scene")
def test_every_address_in_an_answer_leads_somewhere() -> None:
    seen = set()
    for name in ("pods", "claims", "negotiations", "nodes", "classes", "drivers", "findings", "changes"):
        for row in ask(f"/{name}").json()["items"]:
            seen |= {row["url"], row["page"]} - {None}
    assert len(seen) > 30
    assert {a: s for a in seen if (s := Client().get(a).status_code) != 200} == {}


def test_hostile_names_are_quoted_in_addresses_and_answers_are_never_html() -> None:
    made = Scene(build.pod("a?b#c%2F<x>", "n s", claims={"c": "none"}))
    made.look()
    current.use(made.web)
    response = ask("/pods")
    row = response.json()["items"][0]
    assert row["url"] == "/api/v1/pods/n%20s/a%3Fb%23c%252F%3Cx%3E"
    assert Client().get(row["url"]).json()["pod"]["name"] == "a?b#c%2F<x>"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    current.use(None)


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize(
    ("page", "there"),
    [
        ("/pods?ns=ml&reason=x+y&sort=-fit&page=2&paused=1", "/pods?namespace=ml&amp;reason=x+y&amp;sort=-fit"),
        ("/claims?state=Reserved", "/claims?state=Reserved"),
        ("/doctor?severity=error&ns=ml", "/findings?severity=error&amp;namespace=ml"),
        ("/nodes/node-1?answer=not+compared&q=new", "/nodes/node-1?answer=not+compared&amp;q=new"),
    ],
)
def test_the_link_carries_the_pages_filters(page: str, there: str) -> None:
    assert f'href="{ROOT}{there}"' in Client().get(page).content.decode()


@pytest.mark.usefixtures("scene")
def test_the_page_about_the_api_shows_every_resource_and_needs_no_other_site() -> None:
    html = Client().get(f"{ROOT}/").content.decode()
    for endpoint in ENDPOINTS:
        assert f"GET /api/v1{endpoint.path}" in html
    assert not re.search(r'(?:src|href)="(?:https?:)?//', html)
    assert "<style" not in html
    assert " style=" not in html
