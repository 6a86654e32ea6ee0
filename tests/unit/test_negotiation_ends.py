"""How a negotiation stands when its objects are ahead of the verdict, and how it stood when it ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from dradash.reader import current
from dradash.reader.moment import show
from dradash.store.model import SyncState, Write
from tests import build
from tests.scene import Scene

NODES = ["node-0", "node-1", "node-2"]
POD = build.pod("train", "ml", claims={"gpu": "gpu", "nic": "nic"})
BOUND = build.pod("train", "ml", claims={"gpu": "gpu", "nic": "nic"}, node="node-1")
SELECTED = build.context(POD, potential=NODES, selected="node-1", unsuitable={"gpu": [], "nic": []})
HERE = "/ns/ml/negotiations/train"
SCHEDULER = ("scheduler", "reserve the claims and bind the pod")


def gpu(**more: Any) -> build.Obj:
    return build.claim("gpu", "ml", **more)


def nic(**more: Any) -> build.Obj:
    return build.claim("nic", "ml", resource_class="nic", driver="nic.example.com", **more)


def allocated(**more: Any) -> tuple[build.Obj, build.Obj]:
    return gpu(allocation=build.allocation("node-1"), **more), nic(allocation=build.allocation("node-1"), **more)


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(*build.nodes(3), build.resource_class(), build.resource_class("nic", driver="nic.example.com"))
    made.put(POD, gpu(), nic(), SELECTED)
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def unjudged(scene: Scene, *objects: build.Obj, type_: str = "MODIFIED", after: float = 0.01) -> float:
    """Changes that come too fast for the judge; a moment at which all of them are there."""
    for obj in objects:
        scene.now += after
        scene.model.apply(scene.epoch, [build.write(obj, type_)], [], scene.now)
    return scene.now


def stands(query: str = "") -> tuple[str, list[tuple[str, str]]]:
    """State and moves, as the API has them; the page must say the same."""
    told = Client().get(f"/api/v1/negotiations/ml/train{query}").json()["negotiation"]
    page = Client().get(f"{HERE}{query}").content.decode()
    headline = page.split('aria-label="State"')[1].split("</section>")[0]
    assert ("Nobody waits" in headline) == (not told["moves"])
    for move in told["moves"]:
        assert move["what"] in headline
    return told["state"], [(m["actor"], m["what"]) for m in told["moves"]]


def test_between_the_last_allocation_and_the_next_judgement_the_claims_tell_whose_move_it_is(scene: Scene) -> None:
    assert stands() == (
        "Allocate",
        [("gpu.example.com", "allocate for node-1"), ("nic.example.com", "allocate for node-1")],
    )
    first = unjudged(scene, allocated()[0])
    second = unjudged(scene, allocated()[1])
    scene.look()
    assert stands() == ("Finish", [SCHEDULER])
    scene.now += 1.0
    scene.judge()
    scene.look()
    assert stands(f"?at={show(first)}") == ("Allocate", [("nic.example.com", "allocate for node-1")])
    assert stands(f"?at={show(second)}") == ("Finish", [SCHEDULER])
    (row,) = Client().get(f"/api/v1/negotiations?at={show(second)}").json()["items"]
    assert row["state"] == "Finish"


def test_a_driver_that_has_answered_since_the_judgement_is_not_awaited(scene: Scene) -> None:
    scene.put(build.context(POD, potential=NODES, unsuitable={"nic": []}))
    scene.look()
    assert stands() == ("Answer", [("gpu.example.com", "say which nodes are unsuitable")])
    unjudged(scene, build.context(POD, potential=NODES, unsuitable={"nic": [], "gpu": []}))
    scene.look()
    assert stands() == ("Select", [("scheduler", "select a node")])


@pytest.mark.parametrize(
    ("then", "state", "actor"),
    [
        (gpu(), "Allocate", "gpu.example.com"),
        (gpu(allocation=build.allocation("node-1"), reserved_for=[build.pod("other", "ml")]), "Held", "ml/other"),
        (gpu(allocation=build.allocation("node-1"), deallocation_requested=True), "Held", "gpu.example.com"),
    ],
)
def test_what_happened_to_a_claim_after_the_pod_could_be_bound_counts(
    scene: Scene, then: build.Obj, state: str, actor: str
) -> None:
    scene.put(*allocated())
    scene.look()
    assert stands()[0] == "Finish"
    unjudged(scene, then)
    scene.look()
    told = stands()
    assert (told[0], [a for a, _ in told[1]]) == (state, [actor])


def test_a_claim_that_was_freed_after_the_judgement_holds_nobody_up_any_more(scene: Scene) -> None:
    held, other = allocated(reserved_for=[build.pod("other", "ml")])
    scene.put(held, other)
    scene.look()
    assert stands()[0] == "Held"
    unjudged(scene, *allocated())
    scene.look()
    assert stands() == ("Finish", [SCHEDULER])


@pytest.mark.parametrize("late", [(), ("claims",), ("pod",), ("claims", "pod")])
@pytest.mark.parametrize("pod_goes", [True, False])
def test_a_negotiation_that_led_to_a_node_ends_bound_whichever_watch_was_behind(
    scene: Scene, late: tuple[str, ...], pod_goes: bool
) -> None:
    writes = {"claims": allocated(reserved_for=[POD]), "pod": (BOUND,)}
    for name, objects in writes.items():
        if name not in late:
            unjudged(scene, *objects)
    unjudged(scene, SELECTED, type_="DELETED")
    for name in late:
        unjudged(scene, *writes[name])
    scene.judge()
    if pod_goes:
        scene.now += 60.0
        scene.delete(BOUND)
        scene.delete(*allocated())
    scene.look()
    assert stands() == ("Bound", [])
    page = Client().get(HERE).content.decode()
    assert "The pod has a node" in page
    if late == ("claims",):
        return  # what is heard of them after the ends of both is not told
    lanes = page.split('id="lanes-title"')[1].split("</section>")[0]
    assert lanes.count("allocates") == 2
    assert lanes.count("reserves for train") == 2
    answers = page.split('id="answers-title"')[1].split("</section>")[0]
    assert answers.count("Reserved") == 2


def test_a_negotiation_whose_claims_were_reserved_ended_well_and_awaits_nobody(scene: Scene) -> None:
    scene.put(*allocated(reserved_for=[POD]))
    scene.delete(SELECTED)
    scene.look()
    assert stands() == ("Finish", [])


def test_a_context_that_was_deleted_before_the_claims_were_reserved_had_the_scheduler_to_wait_for(scene: Scene) -> None:
    scene.put(*allocated())
    unjudged(scene, SELECTED, type_="DELETED")
    scene.now += 60.0
    scene.put(BOUND)
    scene.look()
    state, moves = stands()
    assert state == "Finish"
    assert [a for a, _ in moves] == ["scheduler"]
    assert "Was to act next" in Client().get(HERE).content.decode()


def test_a_context_that_goes_at_once_while_its_pod_lacks_a_claim_was_held_up(scene: Scene) -> None:
    pod = build.pod("early", "ml", claims={"gpu": "absent"})
    context = build.context(pod, potential=NODES)
    unjudged(scene, pod, context)
    unjudged(scene, context, type_="DELETED")
    scene.look()
    told = Client().get("/api/v1/negotiations/ml/early").json()["negotiation"]
    assert (told["state"], [(m["who"], m["what"]) for m in told["moves"]]) == (
        "Held",
        [("admin", "create the ResourceClaim ml/absent that the pod names")],
    )
    page = Client().get("/ns/ml/negotiations/early").content.decode()
    assert "Answer owed" not in page
    assert "Nobody waits" not in page


def test_what_cannot_be_read_is_not_called_absent(scene: Scene) -> None:
    scene.model.set_sync(scene.epoch, SyncState("resourceclaims", "forbidden"), scene.now)
    pod = build.pod("early", "ml", claims={"gpu": "absent"})
    unjudged(scene, pod, build.context(pod, potential=NODES))
    scene.look()
    told = Client().get("/api/v1/negotiations/ml/early").json()["negotiation"]
    assert (told["state"], told["moves"]) == ("Held", [])


def test_a_claim_that_the_pod_runs_without_is_not_waited_for(scene: Scene) -> None:
    pod = build.pod("some", "ml", claims={"gpu": "gpu"}, templates={"none": "template"})
    pod["status"]["resourceClaimStatuses"] = [{"name": "none"}]
    scene.put(pod, *allocated(), build.context(pod, potential=NODES, selected="node-1"))
    scene.look()
    told = Client().get("/api/v1/negotiations/ml/some").json()["negotiation"]
    assert (told["state"], [m["actor"] for m in told["moves"]]) == ("Finish", ["scheduler"])


def test_nobody_is_silent_for_longer_than_the_context_exists() -> None:
    scene = Scene(*build.nodes(3), build.pod("late", "ml", claims={"gpu": "absent"}))
    current.use(scene.web)
    scene.now += 32.0
    born = scene.now
    other = build.pod("other", "ml")
    context = build.context(build.pod("late", "ml"), created=show(born))
    context["metadata"]["ownerReferences"] = [build.owner(other)]
    scene.put(context)
    scene.look()
    try:
        (row,) = Client().get("/api/v1/negotiations").json()["items"]
        assert (row["state"], row["moves"][0]["who"]) == ("Held", "admin")
        assert row["silentSince"] == row["moves"][0]["since"] == show(born)
        page = Client().get("/negotiations").content.decode()
        assert f'data-label="Silent for" class="num"><time datetime="{show(born)}"' in page
        assert Client().get(f"/api/v1/negotiations?waiting=20s&at={show(born + 19)}").json()["items"] == []
    finally:
        current.use(None)


def test_a_wait_that_began_before_dradash_saw_the_context_counts_from_its_creation() -> None:
    scene = Scene(*build.nodes(3), build.pod("late", "ml", claims={"gpu": "absent"}))
    current.use(scene.web)
    scene.now += 32.0
    scene.model.apply(
        scene.epoch, [Write("podschedulingcontexts", "ml/late", "DELETED", b"{}")], [], scene.now
    )  # nothing of it is kept
    scene.put(build.context(build.pod("late", "ml", claims={"gpu": "absent"}), created=show(scene.now - 5)))
    scene.look()
    try:
        (row,) = Client().get("/api/v1/negotiations").json()["items"]
        assert row["silentSince"] == show(scene.now - 6)
    finally:
        current.use(None)
