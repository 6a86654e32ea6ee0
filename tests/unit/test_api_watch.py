"""watch=1: streams of changes, resumed by revision; 410 where that cannot be."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.http import StreamingHttpResponse
from django.test import AsyncClient

from dradash.api import pods, watching
from dradash.api.asking import Ask
from dradash.api.endpoints import ENDPOINTS
from dradash.api.following import Following
from dradash.reader import current
from dradash.reader.world import World
from dradash.store.model import Change, StoreUnavailable, Trimmed
from dradash.store.replica import Applied
from tests import build, devicescene
from tests.scene import Scene

ROOT = "/api/v1"


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.setattr("dradash.api.watching.LOOK_EVERY", 0.001)
    made = Scene(*build.nodes(2), build.namespace("ml"), _pod("first"))
    made.look()
    current.use(made.web)
    yield made
    current.use(None)
    assert not watching._running  # every stream that was closed has been forgotten


def _pod(name: str, ns: str = "ml") -> build.Obj:
    return build.pod(name, ns, claims={"c": "none"})


class Stream:
    def __init__(self, response: StreamingHttpResponse) -> None:
        self.response = response
        self._chunks: AsyncIterator[bytes] = response.__aiter__()

    async def next(self) -> Any:
        return json.loads(await anext(self._chunks))

    async def close(self) -> None:
        await self.response.streaming_content.aclose()  # type: ignore[union-attr]  # an async generator


async def watch(path: str, status: int = 200, accept: str = "application/x-ndjson", **headers: str) -> Any:
    given = {"accept": accept} | {k.replace("_", "-"): v for k, v in headers.items()}
    response: Any = await AsyncClient().get(f"{ROOT}{path}", headers=given)
    assert response.status_code == status
    return response.json() if status != 200 else Stream(response)


def change(scene: Scene, *objects: build.Obj) -> int:
    scene.put(*objects)
    scene.look()
    return scene.model.revision()


async def test_what_comes_changes_and_goes_is_told_once_each(scene: Scene) -> None:
    stream = await watch("/pods?watch=1")
    assert (await stream.next())["type"] == "BOOKMARK"
    change(scene, _pod("second"))
    came = await stream.next()
    assert (came["type"], came["key"], came["object"]["outcome"]) == ("ADDED", "ml/second", "Blocked")
    change(scene, build.claim("none", "ml"))
    changed = [await stream.next(), await stream.next()]
    assert {(e["type"], e["key"]) for e in changed} == {("MODIFIED", "ml/first"), ("MODIFIED", "ml/second")}
    scene.delete(_pod("first"))
    scene.look()
    gone = await stream.next()
    assert (gone["type"], gone["key"], gone["object"]) == ("DELETED", "ml/first", None)
    await stream.close()


async def test_a_watch_resumes_where_it_was_left(scene: Scene) -> None:
    left = scene.model.revision()
    change(scene, _pod("while-away"))
    stream = await watch(f"/pods?watch=1&since={left}")
    assert (await stream.next())["revision"] == left
    event = await stream.next()
    assert event["key"] == "ml/while-away"
    assert event["revision"] > left
    await stream.close()


async def test_filters_and_fields_hold_for_a_watch_too(scene: Scene) -> None:
    stream = await watch("/pods?watch=1&namespace=other&fields=name")
    await stream.next()
    change(scene, _pod("not-this"), _pod("this", "other"))
    event = await stream.next()
    assert (event["key"], event["object"]) == ("other/this", {"name": "this"})
    await stream.close()


async def test_what_leaves_the_filters_is_told_as_deleted(scene: Scene) -> None:
    stream = await watch("/pods?watch=1&outcome=Blocked")
    await stream.next()
    change(scene, build.pod("first", "ml", claims={"c": "none"}, node="node-0"))
    event = await stream.next()
    assert (event["type"], event["key"]) == ("DELETED", "ml/first")
    await stream.close()


async def test_server_sent_events_carry_the_revision_as_id(scene: Scene) -> None:
    response: Any = await AsyncClient().get(f"{ROOT}/pods?watch=1")
    assert response.headers["Content-Type"].startswith("text/event-stream")
    assert response.headers["Content-Encoding"] == "identity"
    chunks = response.__aiter__()
    first = await anext(chunks)
    assert first.startswith(b"id: %d\nevent: bookmark\ndata: {" % scene.model.revision())
    assert first.endswith(b"}\n\n")
    await response.streaming_content.aclose()
    again: Any = await AsyncClient().get(f"{ROOT}/pods?watch=1", headers={"last-event-id": "3"})
    assert (await anext(again.__aiter__())).startswith(b"id: 3\n")
    await again.streaming_content.aclose()
    # A browser comes back with the address that it began with.
    back: Any = await AsyncClient().get(f"{ROOT}/pods?watch=1&since=1", headers={"last-event-id": "3"})
    assert (await anext(back.__aiter__())).startswith(b"id: 3\n")
    await back.streaming_content.aclose()


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize("given", ["²", "3x", "-1", "9" * 30, "abc"])
async def test_a_last_event_id_that_is_no_revision_is_refused_as_such_a_since_is(given: str) -> None:
    for address, header in (("/pods?watch=1", given), (f"/pods?watch=1&since={given}", "")):
        response: Any = await AsyncClient().get(f"{ROOT}{address}", headers={"last-event-id": header})
        assert response.status_code == 400, address
        assert response.json()["type"] == "urn:dradash:problem:bad-parameter"
        assert "a whole number from 0" in response.json()["detail"]


async def test_a_browser_that_has_read_no_event_yet_begins_with_what_comes(scene: Scene) -> None:
    response: Any = await AsyncClient().get(f"{ROOT}/pods?watch=1", headers={"last-event-id": ""})
    assert (await anext(response.__aiter__())).startswith(b"id: %d\n" % scene.model.revision())
    await response.streaming_content.aclose()


async def test_changes_are_watched_one_by_one_in_their_order(scene: Scene) -> None:
    left = scene.model.revision()
    last = change(scene, _pod("second"), _pod("third"))
    stream = await watch(f"/changes?watch=1&since={left}")
    await stream.next()
    seen = [(await stream.next())["revision"] for _ in range(last - left)]
    assert seen == list(range(left + 1, last + 1))
    await stream.close()


async def test_every_list_that_can_be_watched_sends_its_rows(scene: Scene) -> None:
    left = scene.model.revision()
    context = build.context(_pod("first"), potential=["node-0"])
    change(scene, build.claim("none", "ml"), build.resource_class(), build.node("node-0", unschedulable=True), context)
    for path, key, type_ in (
        ("claims", "ml/none", "ADDED"),
        ("classes", "gpu", "ADDED"),
        ("nodes", "node-0", "MODIFIED"),
        ("negotiations", "ml/first", "ADDED"),
    ):
        stream = await watch(f"/{path}?watch=1&since={left}")
        await stream.next()
        event = await stream.next()
        assert (event["key"], event["type"]) == (key, type_)
        assert event["object"]["url"]
        await stream.close()


async def test_a_stream_ends_after_its_time_with_the_place_to_go_on(scene: Scene) -> None:
    stream = await watch("/pods?watch=1&seconds=1")
    events = [json.loads(chunk) async for chunk in stream.response]
    assert [e["type"] for e in events] == ["BOOKMARK", "BOOKMARK"]
    assert events[-1]["revision"] == scene.model.revision()


# --- refusals --------------------------------------------------------------------------------------------------------


async def test_a_revision_that_is_not_kept_any_more_is_410(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def trimmed(*_: object) -> None:
        raise Trimmed

    monkeypatch.setattr(scene.model, "changes", trimmed)
    refused = await watch("/pods?watch=1&since=1", 410)
    assert refused["type"] == "urn:dradash:problem:revision-gone"
    assert "list again" in refused["detail"]


async def test_a_revision_that_another_process_has_seen_already_is_waited_for(scene: Scene) -> None:
    scene.put(_pod("second"))  # the model is ahead of this process
    stream = await watch(f"/pods?watch=1&since={scene.model.revision()}")
    assert (await stream.next())["type"] == "BOOKMARK"
    change(scene, _pod("third"))
    assert (await stream.next())["key"] == "ml/third"
    await stream.close()


async def test_a_revision_that_is_still_to_come_is_not_called_gone(scene: Scene) -> None:
    refused = await watch("/pods?watch=1&since=99999", 400)
    assert refused["type"] == "urn:dradash:problem:revision-not-reached"
    assert f"the model is at {scene.model.revision()}" in refused["detail"]


@pytest.mark.usefixtures("scene")
async def test_the_revision_of_another_model_is_410_however_high_it_is() -> None:
    for since in (1, 99999):
        refused = await watch(f"/pods?watch=1&since={since}&instance=another", 410)
        assert refused["type"] == "urn:dradash:problem:revision-gone"


@pytest.mark.usefixtures("scene")
async def test_what_makes_no_sense_for_a_watch_is_refused_by_name() -> None:
    refused = await watch("/pods?watch=1&limit=5&sort=pod&namespace=ml", 400)
    assert refused["type"] == "urn:dradash:problem:bad-parameter"
    assert refused["detail"].endswith(": leave out limit, sort")
    assert "namespace" in refused["allowed"]
    assert not {"limit", "cursor", "sort", "at"} & set(refused["allowed"])
    assert "leave out cursor" in (await watch("/pods?watch=1&cursor=abc", 400))["detail"]


async def test_a_model_that_begins_anew_ends_the_stream_with_the_problem(scene: Scene) -> None:
    stream = await watch("/pods?watch=1")
    await stream.next()
    scene.model.wipe()
    epoch = build.fill(scene.model, _pod("new-life"), at=scene.now)
    assert epoch
    scene.look()
    event = await stream.next()
    assert (event["type"], event["problem"]["status"]) == ("ERROR", 410)
    with pytest.raises(StopAsyncIteration):
        await stream.next()


async def test_a_store_that_is_away_ends_the_stream_with_the_problem(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = await watch("/changes?watch=1")
    await stream.next()
    change(scene, _pod("second"))

    def away(*_: object) -> None:
        raise StoreUnavailable("Redis is away")

    monkeypatch.setattr(scene.model, "changes", away)
    assert (await stream.next())["problem"]["status"] == 503
    await stream.close()


@pytest.mark.usefixtures("scene")
async def test_only_so_many_watches_are_open_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dradash.api.watching.MOST", 1)
    stream = await watch("/pods?watch=1")
    await stream.next()
    assert (await watch("/pods?watch=1", 503))["type"] == "urn:dradash:problem:too-many-watches"
    await stream.close()


async def _statuses(count: int) -> tuple[list[int], list[Any]]:
    """Of so many watches that are asked for at once, before any of them is read, and those that were not refused."""
    found: list[Any] = await asyncio.gather(*(AsyncClient().get(f"{ROOT}/pods?watch=1") for _ in range(count)))
    return sorted(r.status_code for r in found), [r for r in found if r.status_code == 200]


@pytest.mark.usefixtures("scene")
async def test_a_burst_of_watches_opens_no_more_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dradash.api.watching.MOST", 3)
    for _ in range(2):  # again once the first ones were closed
        statuses, opened = await _statuses(5)
        assert statuses == [200, 200, 200, 503, 503]
        for response in opened:
            response.close()


@pytest.mark.usefixtures("scene")
async def test_a_place_is_not_kept_for_ever_for_a_stream_that_never_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dradash.api.watching.MOST", 2)
    monkeypatch.setattr("dradash.api.watching.START_WITHIN", 0.0)
    started = await watch("/pods?watch=1")
    await started.next()
    statuses, opened = await _statuses(3)  # not read and not closed, as when a request is cancelled
    assert statuses == [200, 200, 200]
    late = opened[0]
    await anext(late.__aiter__())  # counts again from here on
    assert (await watch("/pods?watch=1", 503))["type"] == "urn:dradash:problem:too-many-watches"
    await started.close()
    await late.streaming_content.aclose()


@pytest.mark.usefixtures("scene")
async def test_a_watch_that_is_refused_or_asked_for_by_head_takes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dradash.api.watching.MOST", 1)
    for _ in range(2):
        await watch("/pods?watch=1&since=99999", 400)
        assert (await AsyncClient().head(f"{ROOT}/pods?watch=1")).status_code == 200
        assert not watching._running


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize("yes", ["1", "true"])
async def test_an_unknown_parameter_is_told_what_a_watch_may_have_only_where_there_is_one(yes: str) -> None:
    of_watch = (await watch(f"/pods?colour=red&watch={yes}", 400))["allowed"]
    assert {"namespace", "since", "watch"} <= set(of_watch)
    assert not {"limit", "cursor", "sort", "at"} & set(of_watch)
    assert {"limit", "cursor", "sort", "at"} <= set((await watch("/pods?colour=red&watch=0", 400))["allowed"])
    compare = await watch(f"/compare?with=2026-11-30T04:00:01Z&watch={yes}", 400)
    assert "“watch” is no parameter" in compare["detail"]
    assert {"with", "limit", "cursor", "at"} <= set(compare["allowed"])


@pytest.mark.usefixtures("scene")
async def test_the_past_is_not_watched_and_not_every_list_is() -> None:
    assert "past" in (await watch("/pods?watch=1&at=2026-11-30T04:00:01Z", 400))["detail"]
    assert (await watch("/findings?watch=1", 400))["type"] == "urn:dradash:problem:unknown-parameter"


# --- what rows take from other kinds ---------------------------------------------------------------------------------


async def _first_news(path: str, scene: Scene, *objects: build.Obj) -> dict[str, Any]:
    """Key -> (type, row), of what these objects change in the list."""
    stream = await watch(f"/{path}{'&' if '?' in path else '?'}watch=1")
    await stream.next()
    last = change(scene, *objects)
    found: dict[str, Any] = {}
    while True:
        event = await stream.next()
        found[event["key"]] = (event["type"], event["object"])
        if event["revision"] >= last:
            break
    await stream.close()
    return found


async def test_a_nodes_row_follows_the_verdicts_that_count_it(scene: Scene) -> None:
    change(scene, build.resource_class(suitable=build.on_nodes("node-0")), build.claim("mine", "ml"))
    news = await _first_news("nodes?fields=podsFit,podsRefused", scene, build.pod("new", "ml", claims={"c": "mine"}))
    assert news == {
        "node-0": ("MODIFIED", {"podsFit": 1, "podsRefused": 0}),
        "node-1": ("MODIFIED", {"podsFit": 0, "podsRefused": 1}),
    }


async def test_a_nodes_row_follows_a_pod_that_waits_no_more_before_it_is_judged_again(scene: Scene) -> None:
    pod = build.pod("new", "ml", claims={"c": "mine"})
    change(scene, build.resource_class(suitable=build.on_nodes("node-0")), build.claim("mine", "ml"), pod)
    stream = await watch("/nodes?watch=1&fields=name,podsFit,podsRefused")
    await stream.next()
    bound = build.pod("new", "ml", claims={"c": "mine"}, node="node-0")
    scene.model.apply(scene.epoch, [build.write(bound)], [], scene.now)
    scene.look()
    events = [await stream.next() for _ in range(2)]
    assert [e["object"] for e in events] == [{"name": f"node-{i}", "podsFit": 0, "podsRefused": 0} for i in range(2)]
    await stream.close()


async def test_a_nodes_row_follows_claims_classes_and_refusals(scene: Scene) -> None:
    here = build.claim("here", "ml", allocation=build.allocation("node-1"))
    assert await _first_news("nodes?fields=claims", scene, here) == {"node-1": ("MODIFIED", {"claims": 1})}
    only = build.resource_class("only", suitable=build.on_nodes("node-0"))
    assert await _first_news("nodes?fields=classes", scene, only) == {"node-0": ("MODIFIED", {"classes": ["only"]})}
    pod = build.pod("asks", "ml", claims={"c": "asked"})
    change(scene, build.claim("asked", "ml", resource_class="only"), pod, build.context(pod, potential=["node-0"]))
    refused = build.context(pod, potential=["node-0"], unsuitable={"c": ["node-0"]})
    assert await _first_news("nodes?fields=refusals", scene, refused) == {"node-0": ("MODIFIED", {"refusals": 1})}


async def test_a_claims_row_follows_its_class_its_pods_and_the_nodes(scene: Scene) -> None:
    change(scene, build.claim("one", "ml", resource_class="late"), build.claim("other", "ml", resource_class="not"))
    fields = "claims?fields=classExists,driver"
    news = await _first_news(fields, scene, build.resource_class("late", driver="d.example.com"))
    assert news == {"ml/one": ("MODIFIED", {"classExists": True, "driver": "d.example.com"})}
    news = await _first_news("claims?fields=pods", scene, build.pod("user", "ml", claims={"c": "one"}))
    assert news == {"ml/one": ("MODIFIED", {"pods": 1})}
    user = build.pod("holder", "ml")
    change(scene, build.claim("one", "ml", allocation=build.allocation(), reserved_for=[user]))
    news = await _first_news("claims?fields=reservedFor,place", scene, user, build.node("node-2"))
    assert news["ml/one"][1]["reservedFor"][0]["alive"]
    assert news["ml/one"][1]["place"]["count"] == 3
    assert set(news) == {"ml/one"}


async def test_a_classes_row_follows_claims_pods_and_nodes(scene: Scene) -> None:
    change(scene, build.resource_class(), build.resource_class("idle"))
    objects = (build.claim("mine", "ml"), build.pod("new", "ml", claims={"c": "mine"}))
    news = await _first_news("classes?fields=claims,podsWaiting", scene, *objects)
    assert news == {"gpu": ("MODIFIED", {"claims": {"Pending": 1}, "podsWaiting": 1})}
    more = await _first_news("classes?fields=nodes", scene, build.node("node-2"))
    assert more == {name: ("MODIFIED", {"nodes": 3}) for name in ("gpu", "idle")}


async def test_a_device_classes_row_follows_slices_and_a_slices_row_its_pool() -> None:
    made = devicescene.scene(1)
    made.look()
    current.use(made.web)
    newer = devicescene.pool(devicescene.device("gpu-9"), suffix="1", generation=2)
    news = await _first_news("deviceclasses?fields=devices", made, newer)
    assert news == {"gpu": ("MODIFIED", {"devices": 1})}
    newest = devicescene.pool(devicescene.device("gpu-9"), suffix="2", generation=3)
    news = await _first_news("slices?fields=name,newest", made, newest)
    assert news["node-0-1"] == ("MODIFIED", {"name": "node-0-1", "newest": False})
    assert news["node-0-2"] == ("ADDED", {"name": "node-0-2", "newest": True})
    current.use(None)


async def test_a_heartbeat_touches_the_row_of_its_own_node_only(scene: Scene) -> None:
    change(scene, build.resource_class(), build.claim("all", "ml", allocation=build.allocation()))
    beat = build.node("node-0") | {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    old, new = (build.struct(o) for o in (build.node("node-0"), beat))
    applied = Applied(Change(1, "nodes", "node-0", "MODIFIED", b"", scene.now), old, new)
    ask = Ask(scene.web, {}, {}, scene.now)
    told = {}
    with scene.web.follower.world() as world:
        for endpoint in ENDPOINTS:
            if endpoint.watchable and endpoint.name != "changes":
                assert endpoint.listing is not None
                assert endpoint.listing.touched is not None
                told[endpoint.name] = set(endpoint.listing.touched(ask, world, applied))
    assert {name for name, keys in told.items() if keys} == {"nodes"}
    assert told["nodes"] == {"node-0"}


# --- waiting ---------------------------------------------------------------------------------------------------------


async def test_what_has_waited_long_enough_comes_at_its_time_and_no_row_is_looked_at_before(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [scene.now + 1.0]
    monkeypatch.setattr("dradash.api.following.time", SimpleNamespace(time=lambda: clock[0]))
    endpoint = next(e for e in ENDPOINTS if e.name == "pods")
    assert endpoint.listing is not None
    seen: list[object] = []

    def items(ask: Ask, world: World, keys: Iterable[str] | None) -> Iterator[Any]:
        seen.append(keys)
        return pods.items(ask, world, keys)

    listing = dataclasses.replace(endpoint.listing, items=items)
    following = Following(listing, Ask(scene.web, {"waiting": 600.0}, {}, clock[0]))
    following.begin(None)
    assert seen == [None]
    with scene.web.follower.world() as world:
        due = world.verdicts["ml/first"].since + 600.0
    assert not following.is_due(due - 0.001)
    clock[0] = due
    assert following.is_due(due)
    (told,) = following.news()
    assert (told.type, told.key) == ("ADDED", "ml/first")
    assert seen == [None, ["ml/first"]]
    assert not following.is_due(due + 1e6)


async def test_the_stream_sends_what_has_waited_long_enough_though_nothing_changes(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [scene.now + 1.0]
    for module in ("following", "watching"):
        fake = SimpleNamespace(time=lambda: clock[0], monotonic=time.monotonic)
        monkeypatch.setattr(f"dradash.api.{module}.time", fake)
    stream = await watch("/pods?watch=1&waiting=10m")
    assert (await stream.next())["type"] == "BOOKMARK"
    clock[0] += 700.0
    event = await stream.next()
    assert (event["type"], event["key"], event["revision"]) == ("ADDED", "ml/first", scene.model.revision())
    scene.now = clock[0]
    change(scene, build.claim("none", "ml"), build.resource_class())  # who must act is another one since now
    event = await stream.next()
    assert (event["type"], event["key"]) == ("DELETED", "ml/first")
    await stream.close()


# --- resuming --------------------------------------------------------------------------------------------------------


async def _resumed(path: str, since: int, scene: Scene) -> list[tuple[str, str]]:
    stream = await watch(f"{path}&watch=1&since={since}")
    await stream.next()
    found, reached = [], since
    while reached < scene.model.revision():
        event = await stream.next()
        found.append((event["type"], event["key"]))
        reached = event["revision"]
    await stream.close()
    return sorted(found)


async def test_who_comes_back_is_told_rightly_what_came_what_changed_and_what_went(scene: Scene) -> None:
    change(scene, build.resource_class(), *(build.claim(n, "ml") for n in ("stays", "changes", "goes", "leaves")))
    left = scene.model.revision()
    change(scene, build.claim("comes", "ml"), build.claim("brief", "ml"), build.claim("other", "ml", mode="Immediate"))
    change(scene, build.claim("changes", "ml", labels={"a": "b"}), build.claim("leaves", "ml", mode="Immediate"))
    scene.delete(build.claim("goes", "ml"), build.claim("brief", "ml"), build.claim("other", "ml", mode="Immediate"))
    change(scene, build.claim("last", "ml"))
    assert await _resumed("/claims?state=Pending", left, scene) == [
        ("ADDED", "ml/comes"),
        ("ADDED", "ml/last"),
        # It matched in between: a stream that broke may have told it.
        ("DELETED", "ml/brief"),
        ("DELETED", "ml/goes"),
        ("DELETED", "ml/leaves"),
        ("MODIFIED", "ml/changes"),
    ]


async def test_a_stream_that_breaks_within_one_change_is_resumed_before_it(scene: Scene) -> None:
    stream = await watch("/classes?watch=1&fields=name,nodes")
    await stream.next()
    change(scene, build.resource_class("a"), build.resource_class("b"), build.resource_class("c"))
    first = await stream.next()
    await stream.close()
    again = await watch(f"/classes?watch=1&fields=name&since={first['revision']}")
    await again.next()
    assert [(await again.next())["key"] for _ in range(3)] == ["a", "b", "c"]
    await again.close()


async def test_a_revision_of_which_the_history_knows_nothing_any_more_is_410(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = scene.model.revision()
    change(scene, _pod("second"))
    monkeypatch.setattr(scene.model, "history_start", lambda: scene.now + 1.0)
    refused = await watch(f"/pods?watch=1&since={left}", 410)
    assert refused["type"] == "urn:dradash:problem:revision-gone"
