"""What is gone is shown as it was just before: with its pod, its claims and its drivers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from dradash.reader import current
from dradash.reader.moment import show
from tests import build
from tests.scene import Scene

NODES = [f"node-{i}" for i in range(3)]
DRIVER = "gpu.example.com"
POD = build.pod("sweep", "ml", claims={"gpu": "sweep-gpu"})
CLAIM = build.claim("sweep-gpu", "ml")
CONTEXT = build.context(POD, potential=NODES, selected="node-1", unsuitable={"gpu": ["node-1"]})
HERE = "/ns/ml/negotiations/sweep"


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(*build.nodes(3), build.resource_class(), POD, CLAIM)
    made.put(build.context(POD, potential=NODES))
    made.put(CONTEXT)
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def gone(scene: Scene, *objects: build.Obj) -> float:
    """The objects go, each at a time of its own; the last moment at which all were there."""
    last = scene.now + 0.5
    for obj in objects:
        scene.delete(obj)
    scene.look()
    return last


def get(path: str) -> str:
    answer = Client().get(path)
    assert answer.status_code == 200, answer.content[:300]
    return answer.content.decode()


def api(path: str) -> Any:
    return Client().get(f"/api/v1{path}").json()


def block(page: str, title: str) -> str:
    return page.split(f'id="{title}"')[1].partition("</section>")[0]


@pytest.mark.parametrize(
    "order",
    [
        (CONTEXT, POD, CLAIM),
        (POD, CONTEXT, CLAIM),
        (POD, CLAIM, CONTEXT),
        (POD, CLAIM, CONTEXT, build.resource_class()),
    ],
)
def test_a_negotiation_that_is_gone_keeps_its_state_its_lanes_and_its_claims(
    scene: Scene, order: tuple[build.Obj, ...]
) -> None:
    before = show(gone(scene, *order))
    page = get(HERE)
    assert "This PodSchedulingContext is gone" in page
    assert "Selection refused" in page
    assert "Was to act next" in page
    assert "select another node: node-1 is unsuitable" in page
    assert "silent for" not in page
    assert "Without a pod" not in page
    assert "Not judged yet" not in page
    assert "claims are not known" not in page
    then = get(f"{HERE}?at={before}")
    assert block(page, "answers-title") == re.sub(r"\?at=[^\"]*", "", block(then, "answers-title"))
    assert f'href="/drivers/{DRIVER}">{DRIVER}</a></th>' in block(page, "lanes-title")

    told, was = api("/negotiations/ml/sweep"), api(f"/negotiations/ml/sweep?at={before}")
    assert told["gone"] is not None
    for name in ("state", "moves", "drivers", "silentSince", "claims", "answered", "podExists"):
        assert told["negotiation"][name] == was["negotiation"][name], name
    assert told["negotiation"]["drivers"] == [DRIVER]
    assert told["negotiation"]["moves"][0]["actor"] == "scheduler"


def test_a_past_moment_after_the_end_tells_the_same(scene: Scene) -> None:
    gone(scene, POD, CONTEXT, CLAIM)
    at = show(scene.now)
    scene.put(build.claim("other", "ml"))
    scene.look()
    assert "Selection refused" in get(f"{HERE}?at={at}")
    assert api(f"/negotiations/ml/sweep?at={at}")["negotiation"]["state"] == "Reselect"


def test_what_became_of_the_claim_afterwards_is_not_part_of_a_conversation_that_is_over(scene: Scene) -> None:
    gone(scene, CONTEXT)
    scene.put(build.claim("sweep-gpu", "ml", allocation=build.allocation("node-2")))
    scene.look()
    assert "allocates" not in block(get(HERE), "lanes-title")
    turns = [t["kind"] for r in api("/negotiations/ml/sweep")["rounds"] for t in r["turns"]]
    assert "Allocated" not in turns
    assert turns[-1] == "Deleted"


def test_an_earlier_pods_end_is_not_the_end_of_a_later_negotiation_of_the_name(scene: Scene) -> None:
    gone(scene, CONTEXT, POD)
    again = build.pod("sweep", "ml", uid="again", claims={"gpu": "sweep-gpu"})
    context = build.context(again, potential=NODES, uid="context-again")
    scene.put(again, context)
    scene.look()
    gone(scene, context, again)
    told = api("/negotiations/ml/sweep")["negotiation"]
    assert (told["state"], told["moves"][0]["what"][:13]) == ("Select", "select a node")


@pytest.mark.parametrize("pod_goes", [True, False])
def test_a_pod_that_ran_and_ended_well_keeps_the_claim_that_was_deleted_with_it(scene: Scene, pod_goes: bool) -> None:
    allocated = build.claim("sweep-gpu", "ml", allocation=build.allocation("node-2"), reserved_for=[POD])
    bound = build.pod("sweep", "ml", claims={"gpu": "sweep-gpu"}, node="node-2", phase="Running")
    done = build.pod("sweep", "ml", claims={"gpu": "sweep-gpu"}, node="node-2", phase="Succeeded")
    scene.put(allocated, bound)
    scene.delete(CONTEXT)
    scene.put(done)
    gone(scene, allocated, *([done] if pod_goes else []))
    claims = block(get("/ns/ml/pods/sweep"), "claims-title")
    assert "Missing" not in claims
    assert "unknown" not in claims.split("Reserved for")[0]
    assert "Deleted" in claims
    assert f'<a href="/drivers/{DRIVER}">{DRIVER}</a>' in claims
    assert "<code>node-2</code>" in claims


def test_a_pending_pods_claim_that_is_gone_stays_missing(scene: Scene) -> None:
    gone(scene, CLAIM)
    assert "Missing" in block(get("/ns/ml/pods/sweep"), "claims-title")


def test_a_pod_that_is_gone_has_the_claims_that_it_had_then(scene: Scene) -> None:
    gone(scene, POD, CONTEXT, CLAIM)
    claims = block(get("/ns/ml/pods/sweep"), "claims-title")
    assert "Pending" in claims
    assert "Missing" not in claims


def test_a_claim_that_is_gone_names_the_pods_that_used_it_then(scene: Scene) -> None:
    gone(scene, CLAIM, POD, CONTEXT)
    assert 'href="/ns/ml/pods/sweep"' in get("/ns/ml/claims/sweep-gpu")
    assert [p["key"] for p in api("/claims/ml/sweep-gpu")["pods"]] == ["ml/sweep"]


def test_where_the_history_does_not_reach_back_the_last_state_still_stands(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone(scene, POD, CONTEXT, CLAIM)
    monkeypatch.setattr(scene.model, "history_start", lambda: scene.now + 1000.0)
    page = get(HERE)
    assert "This PodSchedulingContext is gone" in page
    assert "Without a pod" in page
