"""Who must act next is one answer: a negotiation names whom the verdict on its pod names."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from dradash.api.asking import Ask
from dradash.api.endpoints import ENDPOINTS
from dradash.cli.tables import cells
from dradash.reader import current
from dradash.reader.talks import ENDING, Talk, talk
from dradash.scheduling.classic.awaiting import Stage
from dradash.scheduling.classic.nextmoves import NAMED, made
from dradash.scheduling.verdict import ActsNext, Outcome
from dradash.store.model import VERDICTS, Change
from dradash.store.replica import Applied
from dradash.web.presenters.negotiations import STATES
from tests import build
from tests.scene import Scene

NODES = [f"node-{i}" for i in range(4)]
DRIVER = "gpu.example.com"
FIRST = build.pod("first", "ml", claims={"gpu": "shared"})
SECOND = build.pod("second", "ml", claims={"gpu": "shared"}, node="node-3", phase="Running")
CONTEXT = build.context(FIRST, potential=NODES, selected="node-3", unsuitable={"gpu": ["node-1"]})
ON_3 = build.allocation("node-3")


def claim(**more: Any) -> build.Obj:
    return build.claim("shared", "ml", **more)


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    current.use(None)


def begun(*objects: build.Obj) -> Scene:
    scene = Scene(*build.nodes(4), build.resource_class(), *objects)
    current.use(scene.web)
    scene.look()
    return scene


def stands(scene: Scene, *, judged: bool = True) -> Talk:
    with scene.web.follower.world() as world:
        verdicts = dict(world.verdicts)
        if not judged:
            world.verdicts.clear()
        try:
            return talk(world, "ml/first", world.cluster.contexts["ml/first"], scene.web.waits(None))
        finally:
            world.verdicts.update(verdicts)


def get(path: str) -> str:
    answer = Client().get(path)
    assert answer.status_code == 200, answer.content[:300]
    return answer.content.decode()


HELD_UP = [
    (
        claim(allocation=ON_3, reserved_for=[SECOND]),
        ("pod", "ml/second"),
        "finish: it holds the ResourceClaim ml/shared",
    ),
    (
        claim(allocation=ON_3, deallocation_requested=True),
        ("driver", DRIVER),
        "deallocate the ResourceClaim ml/shared, as was asked",
    ),
    (
        claim(allocation=ON_3, deletionTimestamp=build.CREATED, finalizers=[f"{DRIVER}/deletion-protection"]),
        ("driver", DRIVER),
        "deallocate the ResourceClaim ml/shared and remove its finalizers, so that its deletion ends",
    ),
    (
        claim(allocation=ON_3, reserved_for=[SECOND], deletionTimestamp=build.CREATED, finalizers=["x/y"]),
        ("pod", "ml/second"),
        "stop using the ResourceClaim ml/shared, which is being deleted",
    ),
    (
        claim(allocation=build.allocation("node-9")),
        ("scheduler", "scheduler"),
        "ask for the deallocation of the ResourceClaim ml/shared, which is in the way",
    ),
]


@pytest.mark.parametrize("judged", [True, False])
@pytest.mark.parametrize(("of", "who", "what"), HELD_UP)
def test_a_claim_that_the_pod_cannot_use_is_not_the_schedulers_to_reserve(
    of: build.Obj, who: tuple[str, str], what: str, judged: bool
) -> None:
    scene = begun(FIRST, SECOND, of, CONTEXT)
    found = stands(scene, judged=judged)
    (move,) = found.moves
    assert (move.party, move.actor, move.what) == (*who, what)
    assert (found.state, move.stage) == (Stage.HELD, Stage.HELD)
    assert found.since == scene.now


@pytest.mark.parametrize("judged", [True, False])
@pytest.mark.parametrize(
    "of",
    [
        claim(allocation=ON_3),
        claim(allocation=build.allocation()),
        claim(allocation=ON_3, reserved_for=[FIRST]),
        claim(allocation=build.allocation("node-3", shareable=True), reserved_for=[SECOND]),
    ],
)
def test_a_claim_that_the_pod_may_use_is_the_schedulers_to_reserve(of: build.Obj, judged: bool) -> None:
    found = stands(begun(FIRST, SECOND, of, CONTEXT), judged=judged)
    (move,) = found.moves
    assert (found.state, move.party, move.stage) == (Stage.FINISH, "scheduler", Stage.FINISH)
    assert move.what.startswith("reserve the claims and bind the pod")


CLAIMS = [
    claim(),
    claim(mode="Immediate"),
    claim(resource_class="absent"),
    claim(allocation=build.allocation()),
    *(of for of, _, _ in HELD_UP),
]
CONTEXTS: list[dict[str, Any]] = [
    {"potential": NODES},
    {"selected": "node-1"},
    {"potential": NODES, "selected": "node-1"},
    {"potential": NODES, "selected": "node-9"},
    {"potential": NODES, "unsuitable": {"gpu": NODES}},
    {"potential": NODES, "selected": "node-1", "unsuitable": {"gpu": NODES}},
    {"potential": NODES[:2], "unsuitable": {"gpu": NODES[:2]}},
    {"potential": NODES, "selected": "node-1", "unsuitable": {"gpu": ["node-1"], "nic": []}},
    {"potential": NODES, "unsuitable": {"gpu": ["node-1"], "nic": ["node-2"]}},
    {"potential": NODES, "selected": "node-2", "unsuitable": {"nic": ["node-2"]}},
]
OTHERS = [None, build.claim("nic", "ml", resource_class="nic"), build.claim("nic", "ml", allocation=ON_3)]


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("spec", [{}, {"nodeSelector": {"no": "such"}}, {"schedulingGates": [{"name": "wait"}]}])
def test_negotiation_and_verdict_name_the_same_actors_however_it_stands(
    other: build.Obj | None, spec: dict[str, Any]
) -> None:
    names = {"gpu": "shared"} | ({"nic": "nic"} if other else {})
    pod = build.pod("first", "ml", claims=names, spec=spec)
    scene = begun(pod, SECOND, build.resource_class("nic", driver="nic.example.com"), *([other] if other else []))
    outcomes = set()
    for of, more in itertools.product(CLAIMS, CONTEXTS):
        scene.put(of, build.context(pod, **more))
        scene.look()
        found = stands(scene)
        with scene.web.follower.world() as world:
            verdict = world.verdicts["ml/first"]
        acts = verdict.acts_next
        outcomes.add(verdict.outcome)
        assert {m.party for m in found.moves} == {acts.who}, (verdict.sentence, more)
        if acts.who in ("driver", "pod"):
            assert {m.actor for m in found.moves} <= set(acts.names or ("",)), (verdict.sentence, more)
            assert acts.names == () or found.moves[0].actor in acts.names
        assert found.state in STATES
    assert outcomes >= {Outcome.BLOCKED, Outcome.UNSCHEDULABLE} if not spec.get("schedulingGates") else {Outcome.GATED}


def test_list_page_api_and_command_line_say_that_the_other_pod_must_finish() -> None:
    scene = begun(FIRST, SECOND, claim(), CONTEXT)
    scene.put(claim(allocation=ON_3, reserved_for=[SECOND]))
    scene.look()

    for path in ("/negotiations", "/ns/ml/negotiations/first"):
        page = get(path).replace("<wbr>", "")
        assert '<a href="/ns/ml/pods/second">pod ml/second</a>' in page, path
        assert "Held up" in page
        assert "Nothing is left to negotiate" not in page
    assert "finish: it holds the ResourceClaim ml/shared" in get("/ns/ml/negotiations/first")
    assert "ml/second" in get("/")
    (row,) = Client().get("/api/v1/negotiations?state=Held").json()["items"]
    (move,) = row["moves"]
    assert (move["who"], move["actor"], move["stage"]) == ("pod", "ml/second", "Held")
    assert "pod ml/second" in cells("negotiations", row, scene.now, wide=False)
    verdict = Client().get("/api/v1/pods/ml/first/verdict").json()
    assert verdict["actsNext"]["who"] == "pod"
    assert verdict["actsNext"]["names"] == ["ml/second"]


def test_what_else_is_awaited_stays_on_the_page_and_in_the_drivers_debts() -> None:
    """A single claim's node is selected without waiting for the answer: the scheduler is next, the answer is owed."""
    scene = begun(FIRST, claim(), build.context(FIRST, potential=NODES))
    found = stands(scene)
    assert [(m.party, m.stage) for m in found.moves] == [("scheduler", Stage.SELECT)]
    assert [(m.actor, m.stage) for m in found.also] == [(DRIVER, Stage.ANSWER)]
    assert "Awaited too" in get("/ns/ml/negotiations/first")
    (row,) = Client().get("/api/v1/negotiations").json()["items"]
    assert [m["actor"] for m in row["also"]] == [DRIVER]
    assert [d["pod"] for d in Client().get(f"/api/v1/drivers/{DRIVER}").json()["debts"]] == ["ml/first"]


def test_as_it_stands_tells_where_the_allocation_is_and_where_it_is_not() -> None:
    def answers() -> list[str]:
        page = get("/ns/ml/negotiations/first")
        rows = page.split('id="answers-title"')[1].split("<tbody>")[1].split("</tbody>")[0].split("<tr")[2:]
        return [row.split('data-label="Says"')[1].split("</svg>")[1].split("<")[0].strip() for row in rows]

    scene = begun(FIRST, SECOND, claim(allocation=ON_3), CONTEXT)
    # node-3 is selected and comes first, then the proposed ones
    assert answers() == ["allocated", "not available here", "not available here, was unsuitable", "not available here"]
    scene.put(claim(allocation=ON_3, reserved_for=[SECOND]))
    scene.look()
    assert answers()[0] == "allocated, in use by another pod"
    scene.put(claim(allocation=ON_3, deallocation_requested=True))
    scene.look()
    assert answers()[0] == "allocated, to be deallocated"
    scene.put(claim(allocation=ON_3, deletionTimestamp=build.CREATED, finalizers=["x/y"]))
    scene.look()
    assert answers()[0] == "allocated, being deleted"
    scene.put(claim(allocation=build.allocation()))
    scene.look()
    assert answers() == ["allocated"] * 4


def test_nobody_negotiates_for_a_pod_that_ends_and_no_driver_owes_it_anything() -> None:
    ending = build.pod("first", "ml", claims={"gpu": "shared"}, deletionTimestamp=build.CREATED)
    scene = begun(ending, claim(), build.context(ending, potential=NODES, selected="node-3"))
    found = stands(scene)
    assert (found.state, found.moves, found.also) == (ENDING, (), ())
    assert "Pod ends" in get("/negotiations")
    assert Client().get(f"/api/v1/drivers/{DRIVER}").json()["debts"] == []


def test_a_verdict_on_an_earlier_pod_of_the_name_is_not_asked() -> None:
    scene = begun(FIRST, SECOND, claim(allocation=ON_3, reserved_for=[SECOND]), CONTEXT)
    with scene.web.follower.world() as world:
        world.cluster.put(
            "pods", "ml/first", build.raw(build.pod("first", "ml", uid="another", claims={"gpu": "shared"}))
        )
        world.cluster.put("resourceclaims", "ml/shared", build.raw(claim(allocation=ON_3)))
    assert stands(scene).state == Stage.FINISH


def test_of_many_who_must_act_only_the_first_are_named_and_the_others_counted() -> None:
    names = tuple(f"ml/pod-{i}" for i in range(NAMED + 2))
    moves = made(ActsNext(who="pod", names=names, what="stop"), 1.0, Stage.HELD)
    assert [m.actor for m in moves] == list(names[:NAMED])
    assert moves[-1].what == "stop (and 2 more must)"


def test_who_watches_negotiations_hears_of_a_verdict_that_moves_the_turn() -> None:
    listing = next(e.listing for e in ENDPOINTS if e.name == "negotiations")
    assert listing is not None
    assert listing.touched is not None
    change = Change(1, VERDICTS, "ml/first", "MODIFIED", b"", 1.0)
    scene = begun(FIRST, claim(), CONTEXT)
    ask = Ask(scene.web, {}, {}, build.NOW)
    with scene.web.follower.world() as world:
        assert tuple(listing.touched(ask, world, Applied(change, None, None))) == ("ml/first",)
