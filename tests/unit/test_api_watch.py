"""watch=1: streams of changes, resumed by revision; 410 where that cannot be."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from django.http import StreamingHttpResponse
from django.test import AsyncClient

from dradash.api import watching
from dradash.reader import current
from dradash.store.model import StoreUnavailable, Trimmed
from tests import build
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
    assert watching._running == set()  # every stream that was closed has been forgotten


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


@pytest.mark.parametrize("given", ["²", "3x", "-1", "9" * 30])
async def test_a_last_event_id_that_was_never_sent_begins_with_what_comes(scene: Scene, given: str) -> None:
    response: Any = await AsyncClient().get(f"{ROOT}/pods?watch=1", headers={"last-event-id": given})
    assert response.status_code == 200
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


@pytest.mark.usefixtures("scene")
async def test_the_past_is_not_watched_and_not_every_list_is() -> None:
    assert "past" in (await watch("/pods?watch=1&at=2026-11-30T04:00:01Z", 400))["detail"]
    assert (await watch("/findings?watch=1", 400))["type"] == "urn:dradash:problem:unknown-parameter"
