"""/go: from the labels of an alert to the right page."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote_plus

import pytest
from django.test import Client, override_settings
from django.urls import resolve

from dradash.api.endpoints import ENDPOINTS
from dradash.kinds.registry import KINDS
from dradash.metrics.bounds import OTHER
from dradash.reader import current, departed
from dradash.reader.alertlists import NO_REASON, NOT_JUDGED, PAGES
from dradash.reader.moment import parse, show
from dradash.reader.talks import STATES
from dradash.scheduling.classic.claimstate import ClaimState
from dradash.scheduling.doctor.rules import RULES
from dradash.scheduling.reasons import REASONS
from dradash.scheduling.states import ACTORS
from dradash.scheduling.verdict import Outcome
from dradash.store.model import StoreUnavailable
from tests import build
from tests.scene import Scene

POD = build.pod("train", "ml", claims={"gpu": "c"})
TWIN = build.pod("train", "web", claims={"gpu": "c"})
ONLY = build.pod("only", "web", claims={"gpu": "c"})
GONE = build.pod("gone", "ml", claims={"gpu": "c"})
AT = "2026-11-30T04:00:01Z"
BEFORE = "2026-11-30T03:00:00Z"  # the history begins at 04:00:00, and the first objects are of AT


@pytest.fixture(autouse=True)
def scene() -> Iterator[Scene]:
    claims = [build.claim("c", ns) for ns in ("ml", "web")]
    made = Scene(*build.nodes(2), build.resource_class(), build.namespace("ml"), POD, TWIN, ONLY, GONE, *claims)
    made.delete(GONE)
    made.look()
    current.use(made.web)
    with override_settings(ALLOWED_HOSTS=["testserver"]):
        yield made
    current.use(None)


def go(**params: str) -> str:
    response = Client().get("/go", params)
    assert response.status_code == 302, response.content.decode()[-1500:]
    return response.headers["Location"]


def shown(address: str) -> str:
    """What the page says of the moment, if it is one of what was asked for."""
    response = Client().get(address)
    assert response.status_code == 200, address
    page = response.content.decode()
    notes = re.findall(r'<div class="banner tone-warn" role="status"><svg.*?</svg><p>([^<]*)</p>', page, re.DOTALL)
    return html.unescape(" ".join(notes))


def test_the_first_second_of_all_is_a_time_too() -> None:
    address = go(namespace="ml", pod="train", at="0")
    assert address == "/ns/ml/pods/train?at=2026-11-30T04%3A00%3A01Z&asked=1970-01-01T00%3A00%3A00Z"


@pytest.mark.parametrize("at", [BEFORE, "1796007600", "2026-11-30 03:00:00 +0000 UTC"])
def test_a_moment_before_the_history_leads_to_the_nearest_one_and_the_page_says_so(at: str) -> None:
    address = go(namespace="ml", pod="train", at=at)
    assert address == "/ns/ml/pods/train?at=2026-11-30T04%3A00%3A01Z&asked=2026-11-30T03%3A00%3A00Z"
    assert shown(address) == (
        "2026-11-30T03:00:00Z was asked for. History begins at 2026-11-30T04:00:00Z; shown as of 2026-11-30T04:00:01Z."
    )
    assert shown(address.partition("&asked")[0]) == ""
    (found,) = lookup(namespace="ml", pod="train", at=BEFORE)
    assert (found["page"], found["at"]) == (address, AT)
    assert Client().get(found["url"]).json()["pod"]["name"] == "train"


def test_a_moment_before_the_object_was_there_leads_to_when_it_first_was(scene: Scene) -> None:
    scene.put(build.pod("late", "ml", claims={"train": "c"}))
    scene.look()
    address = go(namespace="ml", pod="late", at=AT)
    assert address == "/ns/ml/pods/late?at=2026-11-30T04%3A00%3A03Z&asked=2026-11-30T04%3A00%3A01Z"
    assert shown(address) == (
        "2026-11-30T04:00:01Z was asked for, and this was not known then; shown as of 2026-11-30T04:00:03Z."
    )


@pytest.mark.parametrize("params", [{}, {"acts_next": "admin"}, {"page": "about"}])
def test_pages_without_an_object_are_shown_at_the_beginning_of_the_history(params: dict[str, str]) -> None:
    address = go(**params, at=BEFORE)
    assert "at=2026-11-30T04%3A00%3A00Z&asked=2026-11-30T03%3A00%3A00Z" in address
    assert "History begins at 2026-11-30T04:00:00Z; shown as of 2026-11-30T04:00:00Z." in shown(address)


def test_what_has_no_history_of_its_own_and_was_not_there_yet_is_shown_as_it_is_now() -> None:
    address = go(driver="gpu.example.com", at=BEFORE)
    assert address == "/drivers/gpu.example.com?asked=2026-11-30T03%3A00%3A00Z"
    assert shown(address) == ("2026-11-30T03:00:00Z was asked for, and this was not known then: this page shows now.")
    assert lookup(driver="gpu.example.com", at=BEFORE)[0]["page"] == address
    assert go(driver="gpu.example.com", at=AT) == "/drivers/gpu.example.com?at=2026-11-30T04%3A00%3A01Z"


def test_names_are_looked_for_among_what_there_is_now_if_nothing_is_kept_of_then() -> None:
    assert [f["key"] for f in lookup(q="train", at=BEFORE)] == ["ml/train", "web/train"]


def refusal(status: int, **params: str) -> str:
    response = Client().get("/go", params)
    assert response.status_code == status
    return response.content.decode()


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"namespace": "ml", "pod": "train"}, "/ns/ml/pods/train"),
        ({"namespace": "ml", "claim": "c"}, "/ns/ml/claims/c"),
        ({"namespace": "ml", "resourceclaim": "c"}, "/ns/ml/claims/c"),
        ({"exported_namespace": "ml", "exported_pod": "train"}, "/ns/ml/pods/train"),
        (
            {"namespace": "monitoring", "pod": "exporter", "exported_namespace": "ml", "exported_pod": "train"},
            "/ns/ml/pods/train",
        ),
        ({"node": "node-1"}, "/nodes/node-1"),
        ({"class": "gpu"}, "/classes/gpu"),
        ({"driver": "gpu.example.com"}, "/drivers/gpu.example.com"),
        ({"driver": "other"}, "/drivers"),
        ({"finding": "driver-silent"}, "/doctor?code=driver-silent"),
        ({"namespace": "ml"}, "/pods?ns=ml"),
        ({"pod": "ml/train"}, "/ns/ml/pods/train"),
        ({"uid": "uid-ml-train"}, "/ns/ml/pods/train"),
        ({"uid": "uid-ml-c"}, "/ns/ml/claims/c"),
        ({"uid": "uid-ml-gone"}, "/ns/ml/pods/gone"),
        ({"uid": "never-was", "node": "node-1"}, "/nodes/node-1"),
        ({}, "/"),
        ({"unheard-of": "x"}, "/"),
    ],
)
def test_labels_lead_to_their_page(params: dict[str, str], path: str) -> None:
    assert go(**params) == path


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"page": "pods", "driver": "gpu.example.com"}, "/pods?driver=gpu.example.com"),
        ({"page": "pods", "node": "node-1"}, "/pods?node=node-1"),
        ({"page": "negotiations", "state": STATES[0]}, f"/negotiations?state={quote_plus(STATES[0])}"),
        ({"page": "negotiations", "node": "node-1"}, "/negotiations?node=node-1"),
        ({"page": "negotiations", "state": "Allocated"}, "/negotiations"),
        ({"page": "claims", "state": "Allocated"}, "/claims?state=Allocated"),
        ({"acts_next": "driver", "driver": "gpu.example.com"}, "/pods?who=driver&driver=gpu.example.com"),
    ],
)
def test_a_page_keeps_the_filters_that_it_has(params: dict[str, str], path: str) -> None:
    assert go(**params) == path
    assert Client().get(path).status_code == 200
    assert Client().get(lookup(**params)[0]["url"]).status_code == 200


@pytest.mark.parametrize(
    "params",
    [
        {"page": "pods", "reason": "nope"},
        {"page": "pods", "outcome": "Happy"},
        {"page": "pods", "acts_next": "somebody", "outcome": "Waiting"},
        {"page": "claims", "state": "Lost"},
        {"page": "negotiations", "state": "Lost"},
        {"page": "doctor", "finding": "nope"},
    ],
)
def test_a_list_is_not_shown_without_the_filter_that_was_mistyped(params: dict[str, str]) -> None:
    assert [params[name] in refusal(404, **params) for name in params] == [True] * len(params)
    assert lookup(**params) == []


def test_what_is_no_filter_of_the_page_is_not_looked_at() -> None:
    assert go(page="claims", reason="nope", state="Reserved") == "/claims?state=Reserved"


def test_reasons_that_there_are_none_of_leave_the_pods_unfiltered() -> None:
    assert go(reason="None") == "/pods"
    assert go(outcome="NotJudged", reason="None") == "/pods?outcome=NotJudged"


@pytest.mark.parametrize("page", PAGES)
def test_every_filter_is_one_that_the_page_and_the_resource_have(page: str) -> None:
    _, resource, filters = PAGES[page]
    of_page = resolve(f"/{page}").func.view_initkwargs["page"].params  # type: ignore[attr-defined]  # Django's own mark
    assert {on_page for on_page, _ in filters.values()} <= of_page
    taken = {param.name for e in ENDPOINTS if e.path == f"/{resource}" for param in e.params}
    assert {of_resource for _, of_resource in filters.values()} <= taken


def test_the_pages_filters_leave_the_rows_that_they_name() -> None:
    def listed(address: str) -> bool:
        return 'href="/ns/ml/pods/train"' in Client().get(address).content.decode()

    assert listed("/pods?driver=gpu.example.com")
    assert not listed("/pods?driver=nic.example.com")
    assert not listed("/pods?node=unheard-of")


@pytest.mark.parametrize(
    ("label", "value"),
    [
        *(("outcome", value) for value in (*Outcome, NOT_JUDGED)),
        *(("reason", value) for value in (*REASONS, NO_REASON)),
        *(("acts_next", code) for code, _, _ in ACTORS),
        *(("state", str(value)) for value in ClaimState),
        *(("finding", code) for code in RULES),
        *(("kind", kind) for kind in KINDS),
        ("driver", OTHER),
        ("class", OTHER),
    ],
)
def test_each_value_of_a_label_that_our_metrics_write_leads_to_a_page(label: str, value: str) -> None:
    assert Client().get("/go", {label: value}).status_code == 302


def test_the_pod_comes_before_its_claim_and_the_claim_before_the_node() -> None:
    assert go(namespace="ml", pod="train", claim="c", node="node-0") == "/ns/ml/pods/train"
    assert go(namespace="ml", pod="unheard-of", claim="c", node="node-0") == "/ns/ml/claims/c"


def test_a_pod_that_is_gone_leads_to_its_page_at_the_alerts_time() -> None:
    assert go(namespace="ml", pod="gone", at=AT) == "/ns/ml/pods/gone?at=2026-11-30T04%3A00%3A01Z"


def test_a_name_without_namespace_counts_where_it_is_the_only_one() -> None:
    assert go(pod="only") == "/ns/web/pods/only"
    assert "Without a namespace" in refusal(404, pod="train")


def test_a_moment_may_be_in_unix_seconds_or_milliseconds() -> None:
    seconds = parse(AT)
    assert seconds is not None
    assert go(node="node-1", at=f"{seconds:.0f}") == go(node="node-1", at=f"{seconds * 1000:.0f}")
    assert go(node="node-1", at=AT).endswith("?at=2026-11-30T04%3A00%3A01Z")


def test_a_moment_that_has_not_come_yet_is_now_and_no_value_is_none() -> None:
    address = go(namespace="ml", pod="train", at="2999-01-01T00:00:00Z")
    assert address == "/ns/ml/pods/train?asked=2999-01-01T00%3A00%3A00Z"
    assert shown(address) == "2999-01-01T00:00:00Z has not come yet: this page shows now."
    assert go(node="node-1", pod="<no value>", at="<no value>") == "/nodes/node-1"


def test_clocks_that_differ_a_little_are_not_spoken_of() -> None:
    assert go(node="node-1", at=f"{time.time() + 20:.0f}") == "/nodes/node-1"


def test_the_query_of_a_page_goes_on_with_the_moment() -> None:
    assert go(namespace="ml", at=AT) == "/pods?ns=ml&at=2026-11-30T04%3A00%3A01Z"


@pytest.mark.parametrize("at", ["yesterday", "9" * 300, "٣", "<script>x", "2026-13-30T00:00:00Z"])
def test_a_moment_that_is_none_leads_to_now_and_the_page_says_why(at: str) -> None:
    address = go(namespace="ml", pod="train", at=at)
    assert address.startswith("/ns/ml/pods/train?asked=")
    assert "&" not in address
    note = shown(address)
    assert note.startswith(f"“{at[:40]}” is no time")
    assert note.endswith(": this page shows now.")
    assert "<script>x" not in Client().get(address).content.decode()


def test_what_was_looked_for_is_said_and_escaped() -> None:
    page = refusal(404, namespace="ml", pod="<script>x")
    assert "<script>x" not in page
    assert "&lt;script&gt;x" in page
    assert "/search?q=%3Cscript%3Ex" in page
    assert "Pod <code>ml/&lt;script&gt;x</code>" in page


def test_a_uid_that_never_was_is_said_to_have_been_looked_for() -> None:
    page = refusal(404, uid="never-was")
    assert "anything with the UID <code>never-was</code>" in page
    assert "Without a namespace" not in page


# --- what is gone, by UID --------------------------------------------------------------------------------------------


def test_one_that_goes_after_the_first_question_is_found_too(scene: Scene) -> None:
    assert go(uid="uid-ml-gone")
    scene.delete(ONLY)
    scene.look()
    assert go(uid="uid-web-only") == "/ns/web/pods/only"


def test_one_whose_name_another_has_by_now_is_shown_when_it_was_there(scene: Scene) -> None:
    scene.put(build.pod("gone", "ml", claims={"gpu": "c"}, uid="second"))
    scene.look()
    there = go(uid="uid-ml-gone")
    assert there.startswith("/ns/ml/pods/gone?at=")
    assert "uid-ml-gone" in Client().get(there).content.decode()
    assert go(uid="second") == "/ns/ml/pods/gone"


@pytest.mark.parametrize("lived", [0.004, 0.009, 5.0])
def test_one_that_lived_for_a_moment_only_is_not_taken_for_the_one_before(scene: Scene, lived: float) -> None:
    def put(uid: str, after: float, type_: str = "MODIFIED") -> None:
        pod = build.pod("gone", "ml", claims={"gpu": "c"}, uid=uid)
        scene.now += after - 1.0  # `put` lets a second pass
        scene.put(pod, type_=type_)

    put("first", 60.0)
    put("first", 0.001, "DELETED")
    put("brief", 0.001)
    put("brief", lived, "DELETED")
    put("last", 0.001)
    scene.look()
    page = Client().get(go(uid="brief")).content.decode()
    assert "brief" in page
    assert not re.search("first|last", re.sub("<[^>]*>", "", page.partition("<code>")[2][:200]))


def test_nothing_is_missed_where_the_process_had_to_read_everything_anew(scene: Scene) -> None:
    assert go(uid="uid-ml-gone")
    scene.delete(ONLY)
    with scene.web.follower.world() as world:
        world.load()  # as after the change stream was trimmed: nobody was told of the deletion
    assert go(uid="uid-web-only") == "/ns/web/pods/only"


def test_more_than_is_kept_is_forgotten_the_oldest_first(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(departed, "KEPT", 1)
    assert go(uid="uid-ml-gone")
    scene.delete(ONLY)
    scene.look()
    assert go(uid="uid-web-only")
    refusal(404, uid="uid-ml-gone")


def test_a_history_that_cannot_be_read_is_not_taken_for_an_empty_one(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise StoreUnavailable("Redis is away")

    with monkeypatch.context() as broken:
        broken.setattr(scene.model, "history", away)
        broken.setattr(scene.model, "histories", away)
        assert "Redis is away" in refusal(503, uid="uid-ml-gone")
        assert "Redis is away" in refusal(503, namespace="ml", pod="gone")
        assert go(namespace="ml", pod="train") == "/ns/ml/pods/train"
    assert go(uid="uid-ml-gone") == "/ns/ml/pods/gone"


# --- /api/v1/lookup says the same ------------------------------------------------------------------------------------


def lookup(**params: str) -> list[dict[str, Any]]:
    response = Client().get("/api/v1/lookup", params)
    assert response.status_code == 200, response.content
    found: list[dict[str, Any]] = response.json()["items"]
    return found


@pytest.mark.parametrize(
    "params",
    [
        {"uid": "uid-ml-train"},
        {"uid": "uid-ml-gone"},
        {"namespace": "ml", "pod": "gone", "at": AT},
        {"namespace": "monitoring", "pod": "exporter", "exported_namespace": "ml", "exported_pod": "train"},
        {"namespace": "ml", "pod": "train", "claim": "c", "node": "node-0"},
        {"pod": "only", "at": "1796011201"},
        {"pod": "only", "at": "1796011201000"},
        {"node": "node-1", "pod": "<no value>", "at": "<no value>"},
        {"node": "node-1", "at": BEFORE},
        {"class": "gpu"},
        {"driver": "gpu.example.com"},
        {"driver": "other"},
        {"finding": "driver-silent"},
        {"namespace": "ml", "at": AT},
    ],
    ids=lambda p: "&".join(f"{k}={v}" for k, v in p.items()),
)
def test_the_first_that_is_looked_up_is_where_go_leads(params: dict[str, str]) -> None:
    assert lookup(**params)[0]["page"] == go(**params)


@pytest.mark.parametrize(
    "params", [{"pod": "train"}, {"uid": "never-was"}, {"driver": "unheard.of"}, {"finding": "none"}, {"class": "none"}]
)
def test_what_go_does_not_find_is_not_looked_up_either(params: dict[str, str]) -> None:
    refusal(404, **params)
    assert lookup(**params) == []


def test_what_is_gone_says_since_when_and_has_its_uid(scene: Scene) -> None:
    for params in ({"uid": "uid-ml-gone"}, {"namespace": "ml", "pod": "gone"}):
        assert lookup(**params) == [
            {
                "kind": "pods",
                "key": "ml/gone",
                "uid": "uid-ml-gone",
                "gone": show(scene.now),
                "at": None,
                "url": "/api/v1/pods/ml/gone",
                "page": "/ns/ml/pods/gone",
            }
        ]


def test_a_class_that_claims_name_and_that_does_not_exist_has_a_page_and_no_resource(scene: Scene) -> None:
    scene.put(build.claim("odd", "ml", resource_class="missing"))
    scene.look()
    found = lookup(**{"class": "missing"})[0]
    assert (found["uid"], found["url"], found["page"]) == ("", None, "/classes/missing")
    assert go(**{"class": "missing"}) == "/classes/missing"


def test_every_address_that_is_looked_up_leads_somewhere() -> None:
    found = lookup(namespace="ml", pod="gone", claim="c", node="node-1", driver="gpu.example.com", at=AT)
    found += lookup(driver="other", finding="driver-silent") + lookup(namespace="ml")
    addresses = {one[name].partition("?at=")[0] for one in found for name in ("url", "page")}
    assert len(addresses) == 14
    assert {a: s for a in addresses if (s := Client().get(a).status_code) != 200} == {}


def test_a_moment_that_is_none_is_a_problem_with_an_example() -> None:
    response = Client().get("/api/v1/lookup", {"node": "node-1", "at": "yesterday"})
    assert response.status_code == 400
    assert "2026-11-30T03:12:00Z" in response.json()["detail"]


def test_the_answer_about_a_past_moment_is_not_called_unchanged_when_the_object_has_gone(scene: Scene) -> None:
    address = {"uid": "uid-web-only", "at": AT}
    tag = Client().get("/api/v1/lookup", address).headers["ETag"]
    scene.delete(ONLY)
    scene.look()
    again = Client().get("/api/v1/lookup", address, headers={"If-None-Match": tag})
    assert again.json()["items"][0]["gone"] == show(scene.now)


# --- what is gone, by name -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [
        {"namespace": "ml", "name": "gone"},
        {"name": "gone"},
        {"namespace": "ml", "q": "gon"},
        {"q": "ml/gone"},
        {"pod": "gone"},
        {"pod": "gone", "at": AT},
        {"name": "gone", "at": AT},
        {"q": "gone", "namespace": "ml", "at": BEFORE},
    ],
    ids=lambda p: "&".join(f"{k}={v}" for k, v in p.items()),
)
def test_what_is_gone_is_found_by_its_name(scene: Scene, params: dict[str, str]) -> None:
    (found,) = lookup(**params)
    assert (found["kind"], found["key"], found["uid"]) == ("pods", "ml/gone", "uid-ml-gone")
    assert found["gone"] == show(scene.now)
    assert Client().get(found["url"]).json()["pod"]["name"] == "gone"
    assert Client().get(found["page"]).status_code == 200


@pytest.mark.parametrize(
    "params", [{"namespace": "web", "name": "gone"}, {"name": "gon"}, {"namespace": "ml", "q": "goner"}]
)
def test_what_is_gone_is_found_by_no_other_name(params: dict[str, str]) -> None:
    assert lookup(**params) == []


def test_what_is_there_comes_before_its_kinds_gone_and_is_not_told_twice(scene: Scene) -> None:
    scene.delete(ONLY)
    scene.put(build.pod("gone", "ml", uid="second", claims={"gpu": "c"}))
    scene.look()
    assert [(f["key"], f["uid"], bool(f["gone"])) for f in lookup(q="o", namespace="ml")] == [
        ("ml/gone", "second", False)
    ]
    found = [(f["key"], bool(f["gone"])) for f in lookup(q="o") if f["kind"] == "pods"]
    assert found == [("ml/gone", False), ("web/only", True)]


def test_a_name_of_a_past_moment_says_that_it_is_gone_by_now(scene: Scene) -> None:
    then = show(scene.now)
    scene.now += 10
    scene.delete(ONLY)
    scene.look()
    (found,) = lookup(name="only", at=then)
    assert (found["gone"], found["at"]) == (show(scene.now), then)


def test_a_gone_pods_name_alone_leads_to_it_where_no_other_had_it(scene: Scene) -> None:
    assert go(pod="gone") == go(pod="gone", namespace="ml") == "/ns/ml/pods/gone"
    namesake = build.pod("gone", "web", claims={"gpu": "c"})
    scene.now += 10
    scene.put(namesake)
    scene.look()
    assert go(pod="gone") == "/ns/web/pods/gone"
    then = show(scene.now)
    scene.delete(namesake)
    scene.look()
    assert "Without a namespace" in refusal(404, pod="gone")
    assert go(pod="gone", at=AT) == f"/ns/ml/pods/gone?at={quote_plus(AT)}"
    assert go(pod="gone", at=then) == f"/ns/web/pods/gone?at={quote_plus(then)}"
    assert [f["key"] for f in lookup(pod="gone", at=then)] == ["web/gone"]


def test_a_gone_claims_name_alone_leads_to_it(scene: Scene) -> None:
    scene.put(build.claim("short", "ml"))
    scene.delete(build.claim("short", "ml"))
    scene.look()
    assert go(claim="short") == "/ns/ml/claims/short"


def test_names_are_found_that_went_before_this_process_began(scene: Scene) -> None:
    scene.delete(ONLY)
    scene.web = current.build(scene.model)
    scene.look()
    current.use(scene.web)
    assert [f["key"] for f in lookup(q="o") if f["gone"]] == ["ml/gone", "web/only"]
    scene.put(build.claim("also", "web"))
    scene.delete(build.claim("also", "web"))
    scene.look()
    assert [f["key"] for f in lookup(q="also")] == ["web/also"]


def test_of_many_gone_names_the_last_are_kept(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(departed, "KEPT", 2)
    scene.delete(TWIN)
    scene.look()
    lookup(name="gone")
    scene.delete(ONLY)
    scene.look()
    assert lookup(name="gone") == []
    assert [f["key"] for name in ("train", "only") for f in lookup(name=name, namespace="web")] == [
        "web/train",
        "web/only",
    ]


def test_gone_ones_beyond_what_is_read_are_said_to_be_left_out(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dradash.api.lookup.MOST", 1)
    assert Client().get("/api/v1/lookup?q=gone").json()["total"] == {"count": 1, "exact": True}
    scene.delete(build.claim("c", "ml"), TWIN)
    scene.look()
    answer = Client().get("/api/v1/lookup?q=e").json()
    assert answer["total"]["exact"] is False
