"""Lists over HTTP: filters, orders, fields, cursors, totals, what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from dradash.api import params
from dradash.api.endpoints import ENDPOINTS
from dradash.reader import current
from dradash.scheduling.reasons import REASONS
from dradash.scheduling.states import ACTORS
from tests import build, builddevices, pages
from tests.scene import Scene

ROOT = "/api/v1"
WHO = [code for code, _, _ in ACTORS]


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = pages.scene()
    made.look()
    made.now += 900
    made.web.doctor.look(made.now)
    current.use(made.web)
    yield made
    current.use(None)


def get(path: str, status: int = 200, **headers: str) -> Any:
    response = Client().get(ROOT + path, headers=headers)
    assert response.status_code == status, response.content[:500]
    if status >= 400:
        assert response.headers["Content-Type"] == "application/problem+json"
    return response.json()


def names(path: str) -> list[str]:
    return [row["name"] for row in get(path)["items"]]


@pytest.mark.usefixtures("scene")
def test_pods_carry_codes_beside_the_schedulers_own_words() -> None:
    new = next(p for p in get("/pods")["items"] if p["name"] == "new")
    assert new["outcome"] == "Blocked"
    assert new["reasonCodes"] == ["ClaimNotCreated"]
    assert new["reasons"] == [{"code": "ClaimNotCreated", "text": 'pod "ml/new": ResourceClaim not created yet'}]
    assert new["actsNext"]["who"] == "claim controller"
    assert (new["url"], new["page"]) == ("/api/v1/pods/ml/new", "/ns/ml/pods/new")


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("reason=ClaimNotCreated", ["new"]),
        ("reason=excluded+by+resource+class+node+filter", ["train"]),
        ("reason=ClaimInUse", []),
        ("outcome=Waiting", ["train"]),
        ("namespace=other", []),
        ("namespace=ml&q=TRAI", ["train"]),
        ("class=gpu", ["train"]),
        ("driver=gpu.example.com", ["train"]),
        ("node=node-0", ["train"]),
        ("waiting=1s", ["new", "train"]),
        ("who=claim+controller", ["new"]),
        ("who=admin", []),
        ("sort=pod", ["new", "train"]),
        ("sort=-pod", ["train", "new"]),
    ],
)
def test_pods_are_filtered_and_sorted_as_on_the_page(query: str, found: list[str]) -> None:
    assert names(f"/pods?{query}") == found


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/claims?state=Reserved", ["held"]),
        ("/claims?class=gpu&q=train", ["train-gpu"]),
        ("/negotiations?driver=gpu.example.com", ["train"]),
        ("/negotiations?node=node-7&state=Allocate", ["train"]),
        ("/nodes?class=gpu&q=node-0", ["node-0"]),
        ("/nodes?label=zone=a&limit=1", ["node-0"]),
        ("/nodes?state=cordoned", []),
        ("/classes?driver=nic.example.com", ["nic"]),
        ("/drivers?q=nic", ["nic.example.com"]),
    ],
)
def test_other_lists_are_filtered_too(path: str, found: list[str]) -> None:
    assert names(path) == found


@pytest.mark.usefixtures("scene")
def test_findings_changes_and_nodes_of_a_verdict_are_filtered() -> None:
    assert {f["code"] for f in get("/findings?code=claim-not-created")["items"]} == {"claim-not-created"}
    assert get("/findings?code=claim-missing")["items"] == []
    assert {c["kind"] for c in get("/changes?kind=nodes")["items"]} == {"nodes"}
    refused = get("/pods/ml/train/verdict/nodes?reason=ClassFilterExcluded")["items"]
    assert [n["node"] for n in refused] == ["node-1", "node-3", "node-5", "node-7"]
    assert len(get("/pods/ml/train/verdict/nodes?passes=1")["items"]) == 4
    assert len(get("/pods/ml/train/verdict/nodes?passes=0")["items"]) == 4


@pytest.mark.usefixtures("scene")
def test_fields_leaves_the_rest_out_and_names_what_there_is() -> None:
    assert get("/pods?fields=name,outcome&sort=pod")["items"] == [
        {"name": "new", "outcome": "Blocked"},
        {"name": "train", "outcome": "Waiting"},
    ]
    assert set(get("/pods/ml/train?fields=pod,gone")) == {"pod", "gone"}
    refused = get("/pods?fields=name,nothing", 400)
    assert "nothing" in refused["detail"]
    assert "reasonCodes" in refused["allowed"]


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda e: e.name)
def test_an_unknown_parameter_is_refused_with_the_known_ones_named(endpoint: Any) -> None:
    path = endpoint.path.replace("{namespace}", "ml").replace("{name}", "train").replace("{id}", "x")
    refused = get(f"{path}?colour=red", 400)
    assert refused["type"] == "urn:dradash:problem:unknown-parameter"
    assert refused["allowed"] == [p.name for p in endpoint.params]


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=1001",
        "limit=ten",
        "limit=\u0661",
        "sort=colour",
        "outcome=Happy",
        "waiting=soon",
        "waiting=1m2s",
        "at=yesterday",
        "cursor=x",
        "cursor=W10",
        "limit=1&limit=2",
        "since=3",
        "reason=ClaimInUsee",
        "reason=claiminuse",
        "limit=",
        "at=",
        "outcome=",
        "watch=maybe",
        "q=" + "x" * 301,
    ],
)
def test_values_that_cannot_be_used_are_refused(query: str) -> None:
    assert get(f"/pods?{query}", 400)["type"].startswith("urn:dradash:problem:bad-")


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize("path", ["/pods", "/pods/ml/train/verdict/nodes"])
def test_a_reason_code_that_does_not_exist_is_refused_with_those_that_do(path: str) -> None:
    refused = get(f"{path}?reason=NoSuchCode", 400)
    assert refused["type"] == "urn:dradash:problem:bad-parameter"
    assert refused["detail"].startswith("reason: no such code: “NoSuchCode”")
    assert refused["allowed"] == list(REASONS)
    assert get(f"{path}?reason=ClaimInUse")["items"] == []
    assert get(f"{path}?reason=no+such+text")["items"] == []


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("/pods?who=nope", [*WHO, "person"]),
        ("/nodes?label====", []),
        ("/nodes?label==a", []),
        ("/nodes?label=zone%3D%3Da", []),
        ("/nodes?label=zone%20a", []),
    ],
)
def test_a_value_that_can_mean_nothing_is_refused_and_no_empty_list(address: str, allowed: list[str]) -> None:
    refused = get(address, 400)
    assert refused["type"] == "urn:dradash:problem:bad-parameter"
    assert refused["allowed"] == allowed


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize("who", [*WHO, "person"])
def test_each_that_may_have_to_act_may_be_asked_for(who: str) -> None:
    named = [p["name"] for p in get(f"/pods?who={quote(who)}")["items"]]
    assert named == {"driver": ["train"], "claim controller": ["new"]}.get(who, [])


def test_who_asks_for_a_rule_that_there_is_none_of_is_told_those_that_there_are(scene: Scene) -> None:
    scene.put(builddevices.taint_rule("drain", driver="gpu.example.com"))
    scene.look()
    assert get("/taints?rule=drian", 404)["allowed"] == ["drain"]
    assert get("/taints?rule=drain")["taint"]["effect"] == "NoExecute"


@pytest.mark.usefixtures("scene")
def test_nodes_are_asked_for_by_a_labels_key_too_as_on_the_page() -> None:
    assert get("/nodes?label=zone")["total"]["count"] == 8
    assert get("/nodes?label=zone%3Da")["total"]["count"] == 4
    assert get("/nodes?label=zone%3D")["items"] == []
    assert get("/nodes?label=rack")["items"] == []


@pytest.mark.parametrize("code", REASONS)
def test_every_code_and_every_text_of_the_scheduler_may_be_asked_for(code: str) -> None:
    read = params.reason("Only these").read
    assert read(code) == code
    assert read(REASONS[code].example) == REASONS[code].example


@pytest.mark.usefixtures("scene")
def test_what_is_not_there_and_what_is_not_read_only_is_a_problem() -> None:
    assert get("/pods/ml/nobody", 404)["type"] == "urn:dradash:problem:not-found"
    assert get("/nothing", 404)["type"] == "urn:dradash:problem:not-found"
    response = Client(enforce_csrf_checks=True).post(f"{ROOT}/pods")
    assert (response.status_code, response.headers["Allow"]) == (405, "GET, HEAD")
    assert response.json()["type"] == "urn:dradash:problem:wrong-method"
    assert Client().head(f"{ROOT}/pods").status_code == 200


def test_a_mistake_of_ours_is_a_problem_without_its_details(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dradash.api.pods.row_of", lambda _: 1 / 0)
    assert "division" not in json.dumps(get("/pods", 500))


# --- cursors ---------------------------------------------------------------------------------------------------------


def _walk(scene: Scene, query: str, between: Any) -> list[str]:
    seen: list[str] = []
    cursor = ""
    for step in range(100):
        page = get(f"/pods?limit=3&{query}{cursor}")
        seen += [row["name"] for row in page["items"]]
        if page["next"] is None:
            return seen
        cursor = f"&cursor={page['next']}"
        between(step)
    raise AssertionError("no end")


@pytest.fixture
def many() -> Iterator[Scene]:
    made = Scene(*build.nodes(2), *(_pod(i) for i in range(20)))
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def _pod(i: int) -> build.Obj:
    return build.pod(f"pod-{i:03}", "ml", claims={"c": "none"}, created=f"2026-11-30T04:{i % 60:02}:00Z")


@pytest.mark.parametrize("name", ["pod", "since", "outcome", "actor", "waiting"])
@pytest.mark.parametrize("minus", ["", "-"])
def test_pages_together_are_the_list(many: Scene, name: str, minus: str) -> None:
    query = f"sort={minus}{name}"
    whole = names(f"/pods?{query}")
    assert _walk(many, query, lambda _: None) == whole
    assert len(whole) == 20


@pytest.mark.parametrize("query", ["sort=pod", "sort=-pod", "sort=since", "sort=outcome"])
def test_no_row_that_stays_is_repeated_or_skipped_while_others_come_and_go(many: Scene, query: str) -> None:
    stays = {f"pod-{i:03}" for i in range(1, 20, 2)}

    def between(step: int) -> None:
        many.delete(_pod(2 * step))
        many.put(_pod(100 + step), build.pod(f"a-{step}", "ml", claims={"c": "none"}))
        many.look()

    seen = _walk(many, query, between)
    assert len(seen) == len(set(seen))
    assert stays <= set(seen)


def test_a_cursor_belongs_to_its_order(many: Scene) -> None:
    cursor = get("/pods?limit=3&sort=pod")["next"]
    assert get(f"/pods?sort=fit&cursor={cursor}", 400)["type"] == "urn:dradash:problem:bad-cursor"


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(
    ("made_for", "used_with"),
    [
        ("/pods?limit=3", "/pods?limit=3&namespace=ml"),
        ("/pods?limit=3&namespace=ml", "/pods?limit=3"),
        ("/pods?limit=3&waiting=1s", "/pods?limit=3&waiting=2s"),
        ("/changes?limit=3", "/changes?limit=3&kind=pods"),
        ("/changes?limit=3&kind=pods", "/changes?limit=3&kind=nodes"),
        ("/pods/ml/pod-001/verdict/nodes?limit=1", "/pods/ml/pod-002/verdict/nodes?limit=1"),
        ("/nodes?limit=1", "/pods/ml/pod-001/verdict/nodes?limit=1"),
    ],
)
def test_a_cursor_belongs_to_its_filters_and_its_resource(made_for: str, used_with: str) -> None:
    cursor = get(made_for)["next"] or get("/nodes?limit=1")["next"]
    refused = get(f"{used_with}&cursor={cursor}", 400)
    assert refused["type"] == "urn:dradash:problem:bad-cursor"
    assert "begin anew" in refused["detail"]


@pytest.mark.usefixtures("many")
def test_a_page_may_have_another_length_and_other_fields_than_the_one_before() -> None:
    cursor = get("/pods?limit=3&sort=since&namespace=ml")["next"]
    assert len(get(f"/pods?limit=5&namespace=ml&fields=name&cursor={cursor}")["items"]) == 5


def test_totals_say_whether_they_are_exact(many: Scene) -> None:
    assert get("/pods?limit=3")["total"] == {"count": 20, "exact": True}
    assert get("/changes?limit=3")["total"]["exact"] is False
    assert get("/changes?limit=1000")["total"]["exact"] is True


def test_changes_are_paged_by_revision_back_to_the_first(many: Scene) -> None:
    seen: list[int] = []
    cursor = ""
    while True:
        page = get(f"/changes?limit=7{cursor}")
        seen += [c["revision"] for c in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert seen == sorted(set(seen), reverse=True)
    assert seen == [c["revision"] for c in get("/changes?limit=1000")["items"]]


# --- what had an end before ------------------------------------------------------------------------------------------


def _whole(path: str, limit: int) -> list[Any]:
    rows: list[Any] = []
    cursor = ""
    while True:
        page = get(f"{path}limit={limit}{cursor}")
        assert len(page["items"]) <= limit
        rows += page["items"]
        if page["next"] is None:
            return rows
        cursor = f"&cursor={page['next']}"


@pytest.fixture
def long_lived() -> Iterator[Scene]:
    """A pod whose verdict has changed 240 times, ten of them at one time."""
    made = Scene(*build.nodes(2), build.resource_class(), build.pod("p", "ml", claims={"c": "c"}))
    for i in range(239):
        made.put(build.claim("c", "ml"), type_="DELETED" if i % 2 else "ADDED")
        if 100 <= i < 110:
            made.now -= 1.0
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


HISTORY = "/pods/ml/p/history"


@pytest.mark.usefixtures("long_lived")
def test_a_pods_history_is_read_to_its_first_state() -> None:
    rows = _whole(f"{HISTORY}?", 50)
    revisions = [r["revision"] for r in rows]
    assert len(rows) == 240
    assert revisions == sorted(set(revisions), reverse=True)
    assert rows == get(f"{HISTORY}?limit=1000")["items"] == _whole(f"{HISTORY}?", 7)


@pytest.mark.usefixtures("long_lived")
def test_a_history_says_whether_it_has_more() -> None:
    assert get(f"{HISTORY}?limit=1000")["total"] == {"count": 240, "exact": True}
    page = get(HISTORY)
    assert len(page["items"]) == 100
    assert page["total"]["exact"] is False
    assert page["total"]["count"] > 100
    assert list(get(f"{HISTORY}?limit=1&fields=at")["items"][0]) == ["at"]


def test_a_history_of_a_past_moment_is_paged_too(long_lived: Scene) -> None:
    whole = get(f"{HISTORY}?limit=1000")["items"]
    at = whole[60]["at"]
    assert _whole(f"{HISTORY}?at={at}&", 30) == [r for r in whole if r["at"] <= at]
    assert long_lived.now > 0


def test_a_history_looks_behind_states_of_an_earlier_pod(long_lived: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dradash.api.verdicts.SEARCHED", 20)
    assert len(_whole(f"{HISTORY}?", 10)) == 240
    long_lived.delete(build.pod("p", "ml", claims={"c": "c"}))
    long_lived.put(build.pod("p", "ml", uid="second", claims={"c": "c"}))
    long_lived.look()
    rows = _whole(f"{HISTORY}?", 10)
    assert len(rows) == 1


@pytest.mark.usefixtures("many")
def test_a_search_goes_on_from_page_to_page_and_from_kind_to_kind(many: Scene) -> None:
    many.put(*(build.claim(f"pod-{i}", "ml") for i in range(3)))
    many.look()
    first = get("/lookup?q=pod-&limit=10")
    assert (first["total"], bool(first["next"])) == ({"count": 23, "exact": True}, True)
    found = _whole("/lookup?q=pod-&", 10)
    assert [f["kind"] for f in found] == ["pods"] * 20 + ["resourceclaims"] * 3
    assert len({(f["kind"], f["key"]) for f in found}) == 23
    assert len(get("/lookup?q=pod-")["items"]) == 23


@pytest.mark.usefixtures("many")
def test_what_labels_name_comes_first_on_the_first_page_of_a_search() -> None:
    found = _whole("/lookup?q=pod-&node=node-1&pod=ml/pod-007&", 6)
    assert [(f["kind"], f["key"]) for f in found[:3]] == [
        ("pods", "ml/pod-007"),
        ("nodes", "node-1"),
        ("pods", "ml/pod-000"),
    ]
    assert len(found) == 21


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize(
    ("query", "pods"),
    [
        ("", ["ml/new", "ml/train"]),
        ("answer=fits", []),
        ("answer=not%20compared", ["ml/new"]),
        ("answer=ClassFilterExcluded", ["ml/train"]),
        ("answer=ClaimInUse", []),
        ("answer=excluded%20by%20resource%20class%20node%20filter", ["ml/train"]),
        ("q=TRA", ["ml/train"]),
        ("q=tra&answer=not%20compared", []),
    ],
)
def test_the_pods_of_a_node_are_filtered_as_on_its_page(query: str, pods: list[str]) -> None:
    node = get(f"/nodes/node-1?{query}")
    assert ([p["pod"] for p in node["pods"]], node["podsTotal"]) == (pods, len(pods))


@pytest.mark.usefixtures("scene")
def test_an_answer_that_no_pod_can_get_is_refused_with_those_that_it_can() -> None:
    assert [p["fits"] for p in get("/nodes/node-0?answer=fits")["pods"]] == [True]
    refused = get("/nodes/node-1?answer=fit", 400)
    assert {"fits", "not compared", "ClaimInUse"} <= set(refused["allowed"])


def test_a_claim_and_a_negotiation_say_whether_their_story_is_told_of_all_states(long_lived: Scene) -> None:
    claim = build.claim("long", "ml")
    long_lived.put(claim, build.context(build.pod("p", "ml", claims={"c": "c"}), potential=["node-0"]))
    long_lived.look()
    assert get("/claims/ml/long")["historyComplete"] is True
    assert get("/negotiations/ml/p")["roundsComplete"] is False  # of the claim's 239 states
    for i in range(200):
        long_lived.put(build.claim("long", "ml", labels={"i": str(i)}))
    long_lived.look()
    assert get("/claims/ml/long")["historyComplete"] is False
