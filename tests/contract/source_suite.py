"""What every Source does, whatever it reads from. A subclass gives the fixtures `server` and `source`."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from dradash.informer.source import (
    Forbidden,
    Gone,
    NotServed,
    Source,
    TooManyRequests,
    Unavailable,
    WatchEvent,
    WatchStream,
    error_of_status,
    in_batches,
)
from dradash.kinds.registry import KINDS
from dradash.sim.apiserver import APIServer
from dradash.sim.faults import Fault
from tests.patience import PATIENCE

CLAIMS = KINDS["resourceclaims"]
PODS = KINDS["pods"]
EVENTS = KINDS["events"]
V = "v1alpha2"
BOOKMARK_INTERVAL = 0.05  # seconds, of the servers in these tests


def claim(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"resourceClassName": "gpu"}}


def names(items: tuple[bytes, ...]) -> list[str]:
    return [json.loads(item)["metadata"]["name"] for item in items]


def seen(event: WatchEvent) -> tuple[str, str]:
    return event.type, json.loads(event.object)["metadata"].get("name", "")


class SourceSuite:
    @pytest.fixture
    def server(self) -> APIServer:
        return APIServer(seed=1, first_revision=1000)

    @pytest.fixture
    def source(self, server: APIServer) -> Iterator[Source]:
        raise NotImplementedError

    @pytest.fixture
    def outage(self, server: APIServer) -> threading.Event:
        """Set when the server can be reached again after the fault `unreachable`."""
        return server.faults.restored

    @pytest.fixture
    def watch(self, source: Source) -> Iterator[Any]:
        """Opens watches; they are closed behind the test."""
        streams: list[WatchStream] = []

        def open_watch(resource_version: str, kind: Any = CLAIMS, timeout: int = 30) -> WatchStream:
            stream = source.watch(kind, V if kind is CLAIMS else "v1", resource_version, timeout)
            streams.append(stream)
            return stream

        yield open_watch
        for stream in streams:
            stream.close()

    def test_discovery_names_what_is_served(self, source: Source) -> None:
        served = source.discover()
        assert {"pods", "nodes", "namespaces", "events"} <= served["v1"]
        assert served["resource.k8s.io/v1alpha2"] == {
            "resourceclaims",
            "resourceclasses",
            "resourceclaimtemplates",
            "podschedulingcontexts",
        }
        assert "secrets" not in served["v1"]

    def test_a_list_gives_each_objects_json_and_where_to_watch_from(self, server: APIServer, source: Source) -> None:
        made = server.create("resourceclaims", claim("a"))
        page = source.list(CLAIMS, V, 0, "")
        (item,) = page.items
        assert json.loads(item)["metadata"] == made["metadata"]
        assert json.loads(item)["spec"] == made["spec"]
        assert page.resource_version == made["metadata"]["resourceVersion"] == str(server.revision)
        assert page.continue_token == ""

    def test_chunks_of_a_list_show_one_moment(self, server: APIServer, source: Source) -> None:
        for name in "abcdef":
            server.create("resourceclaims", claim(name))
        first = source.list(CLAIMS, V, 2, "")
        server.delete("resourceclaims", "e", "default")
        server.create("resourceclaims", claim("cc"))
        second = source.list(CLAIMS, V, 3, first.continue_token)
        third = source.list(CLAIMS, V, 3, second.continue_token)
        assert [names(p.items) for p in (first, second, third)] == [["a", "b"], ["c", "d", "e"], ["f"]]
        assert {first.resource_version} == {second.resource_version, third.resource_version}
        assert third.continue_token == ""

    def test_a_continue_token_from_before_a_compaction_is_gone(self, server: APIServer, source: Source) -> None:
        for name in "abc":
            server.create("resourceclaims", claim(name))
        page = source.list(CLAIMS, V, 1, "")
        server.create("resourceclaims", claim("d"))
        server.compact()
        with pytest.raises(Gone, match="too old"):
            source.list(CLAIMS, V, 1, page.continue_token)

    def test_a_watch_goes_on_where_the_list_ended(self, server: APIServer, source: Source, watch: Any) -> None:
        server.create("resourceclaims", claim("old"))
        stream = watch(source.list(CLAIMS, V, 0, "").resource_version)
        made = server.create("resourceclaims", claim("new"))
        made["metadata"]["labels"] = {"a": "b"}
        server.update("resourceclaims", made)
        server.delete("resourceclaims", "new", "default")
        server.delete("resourceclaims", "old", "default")
        events = list(islice((e for e in stream if e.type != "BOOKMARK"), 4))
        assert [seen(e) for e in events] == [
            ("ADDED", "new"),
            ("MODIFIED", "new"),
            ("DELETED", "new"),
            ("DELETED", "old"),
        ]
        versions = [int(json.loads(e.object)["metadata"]["resourceVersion"]) for e in events]
        assert versions == list(range(server.revision - 3, server.revision + 1))

    def test_many_events_come_together_and_in_order(self, server: APIServer, source: Source, watch: Any) -> None:
        stream = watch(source.list(CLAIMS, V, 0, "").resource_version)
        for i in range(1200):
            server.create("resourceclaims", claim(f"c{i}"))
        found: list[str] = []
        batches = 0
        for batch in in_batches(stream):
            batches += 1
            found += [seen(e)[1] for e in batch if e.type == "ADDED"]
            if len(found) >= 1200:
                break
        assert found == [f"c{i}" for i in range(1200)]
        assert batches < 1200

    def test_a_quiet_watch_gets_bookmarks_of_the_whole_clusters_version(self, server: APIServer, watch: Any) -> None:
        stream = watch(str(server.revision))
        server.create("namespaces", {"metadata": {"name": "elsewhere"}})
        wanted = str(server.revision)
        for event in stream:
            assert event.type == "BOOKMARK"
            if json.loads(event.object)["metadata"]["resourceVersion"] == wanted:
                break
        assert json.loads(event.object)["kind"] == "ResourceClaim"

    def test_the_server_ends_a_watch_after_its_timeout(self, server: APIServer, watch: Any) -> None:
        assert {e.type for e in watch(str(server.revision), timeout=1)} <= {"BOOKMARK"}

    def test_a_watch_from_before_a_compaction_is_gone(self, server: APIServer, watch: Any) -> None:
        before = str(server.revision)
        server.create("resourceclaims", claim("a"))
        server.compact()
        (event,) = watch(before)
        assert event.type == "ERROR"
        assert isinstance(error_of_status(event.object), Gone)

    def test_a_watch_from_another_servers_past_is_gone(self, watch: Any) -> None:
        (event,) = watch("17")
        assert isinstance(error_of_status(event.object), Gone)

    def test_close_from_another_thread_ends_a_watch(self, server: APIServer, watch: Any) -> None:
        stream = watch(str(server.revision))
        iterator = iter(stream)
        assert next(iterator).type == "BOOKMARK"
        closer = threading.Thread(target=stream.close)
        closer.start()
        assert {e.type for e in iterator} <= {"BOOKMARK"}
        closer.join()

    def test_dropped_watches_end_without_an_error(self, server: APIServer, watch: Any) -> None:
        stream = iter(watch(str(server.revision)))
        next(stream)
        server.inject(Fault(fault="drop_watches", kind="resourceclaims"))
        assert {e.type for e in stream} <= {"BOOKMARK"}

    def test_a_lost_event_is_not_shown_but_a_list_shows_its_object(
        self, server: APIServer, source: Source, watch: Any
    ) -> None:
        stream = watch(str(server.revision))
        server.inject(Fault(fault="lose_events", kind="resourceclaims"))
        server.create("resourceclaims", claim("lost"))
        server.create("resourceclaims", claim("shown"))
        assert next(seen(e) for e in stream if e.type != "BOOKMARK") == ("ADDED", "shown")
        assert names(source.list(CLAIMS, V, 0, "").items) == ["lost", "shown"]

    def test_loud_events_are_left_out_by_the_server(self, server: APIServer, source: Source, watch: Any) -> None:
        about = {"kind": "Pod", "name": "p", "namespace": "default"}
        server.create("events", {"metadata": {"name": "p.1"}, "involvedObject": about, "reason": "Pulled"})
        server.create("events", {"metadata": {"name": "p.2"}, "involvedObject": about, "reason": "FailedScheduling"})
        page = source.list(EVENTS, "v1", 0, "")
        assert names(page.items) == ["p.2"]
        stream = watch(page.resource_version, EVENTS)
        server.create("events", {"metadata": {"name": "p.3"}, "involvedObject": about, "reason": "Started"})
        server.create("events", {"metadata": {"name": "p.4"}, "involvedObject": about, "reason": "Scheduled"})
        assert next(seen(e) for e in stream if e.type != "BOOKMARK") == ("ADDED", "p.4")

    def test_one_object_is_read_as_it_is_now(self, server: APIServer, source: Source) -> None:
        made = server.create("resourceclaims", claim("a"))
        raw = source.get(CLAIMS, V, "default", "a")
        assert raw is not None
        assert json.loads(raw) == made
        assert source.get(CLAIMS, V, "default", "b") is None

    @pytest.mark.parametrize(
        ("code", "error"),
        [(401, Forbidden), (403, Forbidden), (404, NotServed), (410, Gone), (500, Unavailable), (503, Unavailable)],
    )
    def test_refusals_have_their_own_errors(
        self, server: APIServer, source: Source, code: Any, error: type[Exception]
    ) -> None:
        server.inject(Fault(fault="answer", kind="pods", code=code))
        with pytest.raises(error):
            source.list(PODS, "v1", 0, "")
        assert source.list(PODS, "v1", 0, "").items == ()

    def test_a_watch_can_be_refused(self, server: APIServer, source: Source) -> None:
        server.inject(Fault(fault="answer", kind="pods", code=403, verbs=("watch",)))
        assert source.list(PODS, "v1", 0, "").items == ()
        with pytest.raises(Forbidden, match='pods is forbidden: User "dradash" cannot watch resource "pods"'):
            source.watch(PODS, "v1", "1000", 5)

    def test_too_many_requests_says_when_to_come_back(self, server: APIServer, source: Source) -> None:
        server.inject(Fault(fault="answer", kind="pods", code=429, retry_after=7))
        with pytest.raises(TooManyRequests) as caught:
            source.list(PODS, "v1", 0, "")
        assert caught.value.retry_after == 7

    def test_a_version_that_is_not_served_is_told_as_such(self, source: Source) -> None:
        with pytest.raises(NotServed):
            source.list(CLAIMS, "v1", 0, "")
        with pytest.raises(NotServed):
            source.watch(CLAIMS, "v1", "1000", 5)

    def test_a_server_that_is_away_is_unavailable_until_it_is_back(
        self, server: APIServer, source: Source, outage: threading.Event, watch: Any
    ) -> None:
        stream = iter(watch(str(server.revision)))
        next(stream)
        server.inject(Fault(fault="unreachable", seconds=1))
        ended = rest(stream)
        assert ended is None or isinstance(ended, Unavailable)
        with pytest.raises(Unavailable):
            source.list(CLAIMS, V, 0, "")
        assert outage.wait(PATIENCE)
        assert names(source.list(CLAIMS, V, 0, "").items) == []


def rest(stream: Iterator[WatchEvent]) -> Exception | None:
    """Read to the end; the error that ended it, if any."""
    try:
        assert {e.type for e in stream} <= {"BOOKMARK"}
    except Unavailable as error:
        return error
    return None
