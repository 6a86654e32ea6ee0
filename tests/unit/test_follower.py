"""The replica of a web process, what it wakes, and that a page is rendered once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from dradash.reader import topics
from dradash.reader.follower import Follower
from dradash.scheduling.classic.awaiting import Stage
from dradash.store.memory import MemoryModel
from dradash.store.model import StoreUnavailable
from dradash.web.fragments import Block, Fragment, Renderer, Shown, difference, digest
from tests import build
from tests.patience import PATIENCE
from tests.scene import Scene

POD = build.pod("p", "ml", claims={"gpu": "c"})


class Heard:
    def __init__(self) -> None:
        self.topics: set[str] = set()

    def __call__(self, announced: frozenset[str], revision: int) -> None:
        self.topics |= announced

    def take(self) -> set[str]:
        taken, self.topics = self.topics, set()
        return taken


@pytest.fixture
def heard() -> Heard:
    return Heard()


def follow(scene: Scene, heard: Heard) -> Follower:
    follower = Follower(scene.model, heard)
    assert follower.step()
    heard.take()
    return follower


def test_each_change_wakes_the_pages_that_may_show_it(heard: Heard) -> None:
    scene = Scene(POD, build.claim("c", "ml"), build.resource_class(), build.node("n"))
    follower = follow(scene, heard)

    def woken_by(obj: build.Obj) -> set[str]:
        scene.model.apply(scene.epoch, [build.write(obj, "MODIFIED")], [], scene.now)
        follower.step()
        return heard.take() - {"overview", "changes", "nodes", "classes"}

    talks, drivers = "negotiations", "drivers"
    of_claim = {"pods", "claims", "claim:ml/c", "pod:ml/p", talks, drivers}
    assert woken_by(build.claim("c", "ml", mode="Immediate")) == of_claim
    assert woken_by(build.context(POD, potential=["n"])) == {"pod:ml/p", talks, drivers}
    assert woken_by(build.event(POD, "x")) == {"pod:ml/p"}
    assert woken_by(build.resource_class(driver="other")) == {"pods", "claims", "claim:ml/c", drivers}
    assert woken_by(build.node("n", labels={"a": "b"})) == set()
    assert woken_by(POD | {"metadata": POD["metadata"] | {"labels": {"a": "b"}}}) == {
        "pods",
        "pod:ml/p",
        "claim:ml/c",
        talks,
    }


def test_what_a_node_or_class_page_counts_wakes_it(heard: Heard) -> None:
    scene = Scene(POD, build.claim("c", "ml"), build.resource_class(), build.node("n"))
    follower = follow(scene, heard)
    immediate = build.claim("c", "ml", mode="Immediate")
    for changed in (build.node("n", labels={"a": "b"}), build.resource_class(driver="other"), immediate):
        scene.put(changed)
        follower.step()
        assert {"nodes", "classes"} <= heard.take()


def test_a_verdict_wakes_its_pod_and_that_pods_claims(heard: Heard) -> None:
    scene = Scene(POD)
    follower = follow(scene, heard)
    scene.put(build.resource_class(), build.claim("c", "ml"))
    follower.step()
    assert {"pod:ml/p", "claim:ml/c", "pods"} <= heard.take()


def test_a_released_claim_wakes_the_pod_that_held_it(heard: Heard) -> None:
    other = build.pod("other", "ml", claims={})
    held = build.claim("c", "ml", allocation=build.allocation(), reserved_for=[other])
    scene = Scene(other, held)
    follower = follow(scene, heard)
    scene.model.apply(scene.epoch, [build.write(build.claim("c", "ml"), "MODIFIED")], [], scene.now)
    follower.step()
    assert "pod:ml/other" in heard.take()


def test_a_group_name_fits_the_channel_layer_whatever_the_topic() -> None:
    name = topics.group("pod:" + "x" * 500 + "/ü:")
    assert name.replace(".", "").isalnum()
    assert len(name) < 100
    assert name != topics.group("pod:other")


def test_losing_and_regaining_the_model_wakes_everything(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(POD)
    follower = follow(scene, heard)

    def refuse(*_: object) -> None:
        raise StoreUnavailable("gone")

    with monkeypatch.context() as broken:
        broken.setattr(scene.model, "changes", refuse)
        assert not follower.step()
        assert topics.EVERYTHING in heard.take()
        assert (follower.freshness().state, follower.freshness().error) == ("unavailable", "gone")
        failing_since = follower.freshness().failing_since
        assert not follower.step()
        assert heard.take() == set()
        assert follower.freshness().failing_since == failing_since
    assert follower.step()
    assert topics.EVERYTHING in heard.take()
    assert (follower.freshness().state, follower.freshness().error) == ("live", "")


def test_what_only_the_history_tells_is_learnt_when_it_can_be_read(
    heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(POD, build.claim("c", "ml"), build.resource_class(), build.node("n"))
    scene.put(build.context(POD, potential=["n"], selected="n"))
    asked = scene.now
    scene.put(build.context(POD, potential=["n"], selected="n", labels={"a": "b"}))
    follower = Follower(scene.model, heard, lambda: scene.now)

    def refuse(*_: object) -> None:
        raise StoreUnavailable("gone")

    with monkeypatch.context() as broken:
        broken.setattr(scene.model, "history", refuse)
        assert not follower.step()
        assert (follower.freshness().state, follower.freshness().error) == ("unavailable", "gone")
    assert follower.step()
    assert follower.freshness().state == "live"
    assert follower.observations.waits.since("ml/p", Stage.ANSWER, "gpu") == asked


def test_an_emptied_store_is_loaded_anew(heard: Heard) -> None:
    scene = Scene(POD)
    follower = follow(scene, heard)
    scene.model.wipe()
    build.fill(scene.model, build.pod("fresh", "ml", claims={"gpu": "c"}))
    assert follower.step()
    assert topics.EVERYTHING in heard.take()
    with follower.world() as world:
        assert list(world.cluster.pods) == ["ml/fresh"]


def test_a_fault_while_following_is_told_and_survived(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(POD)
    follower = follow(scene, heard)
    with monkeypatch.context() as broken:
        broken.setattr(topics, "topics_of", lambda *_: 1 / 0)
        scene.put(build.claim("c", "ml"))
        assert not follower.step()
    assert "ZeroDivisionError" in follower.freshness().error
    assert follower.step()
    with follower.world() as world:
        assert "ml/c" in world.cluster.claims


def test_the_thread_follows_and_stops(heard: Heard) -> None:
    model = MemoryModel()
    epoch = build.fill(model, POD)
    arrived = Event()

    def announce(announced: frozenset[str], revision: int) -> None:
        if "pod:ml/later" in announced:
            arrived.set()

    follower = Follower(model, announce)
    follower.start()
    try:
        while follower.freshness().state != "live":
            assert not arrived.wait(0.01)
        build.fill(model, build.pod("later", "ml", claims={"gpu": "c"}), epoch=epoch)
        assert arrived.wait(PATIENCE)
    finally:
        follower.stop()


# --- fragments -------------------------------------------------------------------------------------------------------


class StillPage:
    key = "page"
    fixed = False
    looks_back = False

    def show(self) -> Shown:
        return Shown("title", ())


class Data:
    def __init__(self) -> None:
        self.revision = 1

    def version(self) -> tuple[str, int, str, str]:
        return ("i", self.revision, "live", "")


def test_one_version_of_a_page_is_rendered_once_whoever_asks() -> None:
    data, clock = Data(), [0.0]
    renderer = Renderer(data, lambda: clock[0])
    with ThreadPoolExecutor(8) as people:
        list(people.map(lambda _: renderer.fragment(StillPage()).result(5), range(50)))
    assert renderer.rendered == 1
    data.revision = 2
    renderer.fragment(StillPage()).result(5)
    assert renderer.rendered == 2
    clock[0] = 60.0  # the ages in it have grown
    renderer.fragment(StillPage()).result(5)
    assert renderer.rendered == 3


def test_a_failed_rendering_is_tried_again() -> None:
    class Failing(StillPage):
        def show(self) -> Shown:
            raise RuntimeError("once")

    renderer = Renderer(Data())
    assert renderer.fragment(Failing()).exception(5) is not None
    assert renderer.fragment(StillPage()).result(5).title == "title"


def fragment(*blocks: Block) -> Fragment:
    return Fragment("t", 200, blocks)


def table(**rows: str) -> Block:
    return Block("list", "<table>" + "".join(rows.values()), "head " + " ".join(rows), rows)


def test_only_what_differs_is_sent() -> None:
    (first,), sent = difference({}, fragment(Block("a", "1", "1", {}), Block("b", "2", "2", {})))
    assert 'id="a"' in first
    assert 'id="b"' in first
    assert difference(sent, fragment(Block("a", "1", "1", {}), Block("b", "2", "2", {})))[0] == []
    (second,), _ = difference(sent, fragment(Block("a", "1", "1", {}), Block("b", "3", "3", {})))
    assert second == '<div id="b" class="block" hx-swap-oob="true">3</div>'


def test_a_row_is_sent_alone_unless_rows_came_or_went() -> None:
    _, sent = difference({}, fragment(table(x="1", y="2")))
    assert difference(sent, fragment(table(x="1", y="3")))[0] == ['<tr id="y" hx-swap-oob="true">3</tr>']
    for other in (table(x="1"), table(y="2", x="1")):
        (message,), _ = difference(sent, fragment(other))
        assert "<table>" in message


def test_rows_and_blocks_do_not_share_a_message() -> None:
    form = Block("filters", "<form>1</form>", "1", {})
    _, sent = difference({}, fragment(form, table(x="1")))
    changed = fragment(Block("filters", "<form>2</form>", "2", {}), table(x="2"))
    assert [m[:4] for m in difference(sent, changed)[0]] == ["<div", "<tr "]


def test_an_age_that_has_only_grown_is_no_difference() -> None:
    age = '<time datetime="2026-11-30T04:00:00Z" title="t" data-age>{}</time>'
    assert digest(age.format("1s")) == digest(age.format("2s"))
    assert digest(age.format("1s")) != digest(age.replace("04:00", "05:00").format("1s"))
