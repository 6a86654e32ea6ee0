"""Negotiations over HTTP: the list, one conversation, and what is left of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.test import Client

from dradash.reader import current
from dradash.reader.moment import show
from dradash.store.model import Write
from tests import build
from tests.scene import Scene
from tests.unit import html

EVIL = "<b>evil</b>"
POD = build.pod("train", "ml", claims={"gpu": "gpu", "nic": "nic"})
OTHER = build.pod("late", "ml", claims={"gpu": "late-gpu"})
NODES = ["node-0", "node-1", "node-2"]


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(
        *build.nodes(4),
        build.resource_class(),
        build.resource_class("nic", driver="nic.example.com"),
        POD,
        build.claim("gpu", "ml"),
        build.claim("nic", "ml", resource_class="nic"),
    )
    made.look()
    made.put(build.context(POD, potential=NODES))
    made.put(build.context(POD, potential=NODES, unsuitable={"gpu": ["node-1"]}))
    made.put(build.context(POD, potential=[*NODES[1:], "node-3"], unsuitable={"gpu": ["node-1"]}, selected="node-1"))
    made.put(OTHER, build.claim("late-gpu", "ml"), build.context(OTHER, potential=NODES))
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def get(path: str, status: int = 200) -> str:
    response = Client().get(path)
    assert response.status_code == status, response.content[:500]
    return response.content.decode()


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize(
    "path",
    [
        "/negotiations",
        "/negotiations?ns=ml&driver=nic.example.com&sort=-pod",
        "/negotiations?q=nothing",
        "/ns/ml/negotiations/train",
        "/ns/ml/negotiations/train?rounds=all",
    ],
)
def test_the_pages_are_well_formed(path: str) -> None:
    assert html.read(get(path)).faults == []


@pytest.mark.usefixtures("scene")
def test_the_longest_silence_comes_first_and_filters_leave_what_they_say() -> None:
    page = get("/negotiations")
    assert page.index("/ns/ml/negotiations/train") < page.index("/ns/ml/negotiations/late")
    only = get("/negotiations?driver=nic.example.com")
    assert "/ns/ml/negotiations/train" in only
    assert "/ns/ml/negotiations/late" not in only
    assert "/ns/ml/negotiations/train" not in get("/negotiations?state=Answer")
    # Before the second driver has answered, the scheduler does not select another node.
    assert "/ns/ml/negotiations/train" in get("/negotiations?state=Allocate")
    assert "No negotiation matches" in get("/negotiations?ns=other")


@pytest.mark.usefixtures("scene")
def test_a_conversation_tells_changes_durations_rules_and_whose_move_it_is() -> None:
    page = get("/ns/ml/negotiations/train")
    for words in (
        "proposes 3 nodes",
        "1 new",
        "1 gone",
        "finds 1 of 3 nodes unsuitable",
        "after 1.0 s",
        "selects node-1",
        "Round 2",
        "The selected node node-1 is unsuitable for claim gpu.",
        "select another node: node-1 is unsuitable",
        "nic.example.com",
        "no answer",
    ):
        assert words in page, words
    assert 'href="/ns/ml/pods/train"' in page
    assert "kubectl -n ml get podschedulingcontext.resource.k8s.io train -o yaml" in page


def test_a_negotiation_that_is_over_is_told_from_the_history(scene: Scene) -> None:
    scene.delete(build.context(POD))
    scene.look()
    page = get("/ns/ml/negotiations/train")
    assert "is gone" in page
    assert "ends the negotiation" in page
    assert html.read(page).faults == []
    assert "Nobody negotiates" not in get("/negotiations")


BOUND = build.pod("train", "ml", claims={"gpu": "gpu", "nic": "nic"}, node="node-1")


def test_a_negotiation_that_is_over_tells_the_pods_final_verdict_also_when_the_pod_is_gone(scene: Scene) -> None:
    unjudged(scene, build.write(BOUND, "MODIFIED"))
    unjudged(scene, build.write(build.context(POD), "DELETED"))  # as the scheduler does, at once
    scene.judge()
    scene.look()
    _says_bound(get("/ns/ml/negotiations/train"))

    scene.delete(BOUND)
    scene.look()
    _says_bound(get("/ns/ml/negotiations/train"))


def unjudged(scene: Scene, write: Write) -> None:
    scene.now += 1.0
    scene.model.apply(scene.epoch, [write], [], scene.now)


def _says_bound(page: str) -> None:
    headline = " ".join(" ".join(html.read(page).text).partition("The conversation")[0].split())
    assert "Pod ml/train Bound" in headline
    assert "0/4 nodes" not in headline
    assert "Nobody waits nobody since" in headline


def test_a_verdict_of_before_the_pod_had_its_node_is_labelled(scene: Scene) -> None:
    unjudged(scene, build.write(BOUND, "MODIFIED"))
    scene.look()
    assert "the verdict of before it had its node" in get("/ns/ml/negotiations/train")


def test_a_negotiation_that_never_was_is_missing(scene: Scene) -> None:
    assert "No PodSchedulingContext" in get("/ns/ml/negotiations/never", 404)
    assert scene.web.follower.observations.drivers.owed_since("ml/never", "gpu") == 0.0


def test_a_past_moment_shows_the_conversation_up_to_then(scene: Scene) -> None:
    at = show(scene.now - 1.5)  # after the proposal and the answer, before the selection
    page = get(f"/ns/ml/negotiations/train?at={at}")
    assert "finds 1 of 3 nodes unsuitable" in page
    assert "selects node-1" not in page
    listed = get(f"/negotiations?at={at}")
    assert "/ns/ml/negotiations/late" not in listed
    assert "/ns/ml/negotiations/train" in listed


def test_hostile_names_stay_text(scene: Scene) -> None:
    pod = build.pod("evil", "ml", claims={EVIL: "gpu"})
    scene.put(pod, build.context(pod, potential=[EVIL], selected=EVIL, unsuitable={EVIL: [EVIL]}))
    scene.look()
    for path in ("/negotiations", "/ns/ml/negotiations/evil"):
        page = get(path)
        assert EVIL not in page
        assert html.read(page).faults == []


def test_a_context_of_a_pod_that_is_gone_says_so(scene: Scene) -> None:
    scene.delete(POD)
    scene.look()
    assert "Without a pod" in get("/negotiations")
    assert "Without a pod" in get("/ns/ml/negotiations/train")


def proposed_anew(scene: Scene, times: int) -> None:
    for n in range(times):
        unjudged(scene, build.write(build.context(POD, potential=NODES, selected=NODES[n % 2]), "MODIFIED"))
    scene.look()


LEFT_OUT = "What was said before"
ROUNDS_OF = ("/ns/ml/negotiations/train?rounds=all", "/ns/ml/negotiations/train", "/ns/ml/pods/train")


def test_rounds_are_numbered_while_the_beginning_is_read(scene: Scene) -> None:
    proposed_anew(scene, 3)
    for path in ROUNDS_OF:
        page = get(path)
        assert "Round 2 <" in page
        assert LEFT_OUT not in page
    told = Client().get("/api/v1/negotiations/ml/train").json()
    assert [r["number"] for r in told["rounds"]] == list(range(1, len(told["rounds"]) + 1))
    assert told["roundsComplete"] is True


def test_of_a_negotiation_that_is_longer_than_what_is_read_no_round_is_numbered_and_no_count_is_final(
    scene: Scene,
) -> None:
    proposed_anew(scene, 260)
    told = Client().get("/api/v1/negotiations/ml/train").json()
    assert told["roundsComplete"] is False
    assert {r["number"] for r in told["rounds"]} == {0}
    first_read = show(scene.now - 199.0)
    assert told["rounds"][0]["started"] == first_read
    for path in ROUNDS_OF:
        page = get(path)
        assert not re.search(r"Round \d", page), path
        assert f"{LEFT_OUT} {first_read} is left out: the newest 200 states are read." in page, path
        assert html.read(page).faults == [], path
    whole = get(ROUNDS_OF[0]).split('id="lanes-title"')[1].split("</section>")[0]
    assert whole.count("Already under way") == 1
    assert f'Already under way <span class="muted">when dradash began to see it, <time datetime="{first_read}"' in whole
    assert "Already under way" not in get(ROUNDS_OF[1])
    then = f"?at={show(scene.now)}"
    assert "another node selected at least 199 times" in get(ROUNDS_OF[1] + then)
    assert "another node selected at least 59 times" in get(f"/negotiations{then}")


def test_of_a_negotiation_that_began_before_it_was_seen_it_is_said_since_when_it_is_known() -> None:
    """Of two states no reader may think that they are the newest of more than 200."""
    made = Scene(*build.nodes(4), build.resource_class(), POD, build.claim("gpu", "ml"))
    made.put(build.context(POD, potential=NODES, created="2026-11-30T03:00:00Z"))  # an hour before
    seen = show(made.now)
    made.put(build.context(POD, potential=NODES, selected=NODES[0], created="2026-11-30T03:00:00Z"))
    made.look()
    current.use(made.web)
    for path in ROUNDS_OF:
        page = get(path)
        assert f"{LEFT_OUT} {seen} is not known: of then is the first state that dradash has." in page, path
        assert "200" not in page.split(LEFT_OUT)[1].split("</p>")[0]
    current.use(None)
