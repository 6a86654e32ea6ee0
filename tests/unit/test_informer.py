"""The informer's threads over a source that the test holds in its hand."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from dradash.informer.run import Informer
from dradash.informer.sink import KindState, ObjectEvent
from dradash.informer.source import Gone, ListPage, Source, SourceError, Unavailable, WatchEvent, WatchStream
from dradash.kinds.registry import KINDS, Kind
from tests.patience import PATIENCE

PODS, NODES, EVENTS = KINDS["pods"], KINDS["nodes"], KINDS["events"]


def obj(name: str, version: int = 1, namespace: str = "", **more: Any) -> bytes:
    meta = {"name": name, "resourceVersion": str(version)} | ({"namespace": namespace} if namespace else {})
    return json.dumps({"kind": "X", "apiVersion": "v1", "metadata": meta, **more}).encode()


def claiming_pod(name: str, version: int = 1) -> bytes:
    return obj(name, version, "ns", spec={"resourceClaims": [{"name": "gpu"}]})


class Stream:
    """A watch that gives what the test puts into it, and waits otherwise."""

    def __init__(self) -> None:
        self.queue: queue.SimpleQueue[WatchEvent | SourceError | None] = queue.SimpleQueue()
        self.closed = threading.Event()

    def __iter__(self) -> Iterator[WatchEvent]:
        while (event := self.queue.get()) is not None:
            if isinstance(event, SourceError):
                raise event
            yield event

    def close(self) -> None:
        self.closed.set()
        self.queue.put(None)


class Cluster:
    """A source: `objects` by kind is what a list gives; `streams` holds each watch that was opened."""

    def __init__(self, objects: Mapping[str, list[bytes]]) -> None:
        self.objects = dict(objects)
        self.streams: dict[str, queue.SimpleQueue[Stream]] = {kind: queue.SimpleQueue() for kind in objects}
        self.lists: list[str] = []
        self.gate = threading.Event()  # a list waits for it
        self.gate.set()
        self.failures: dict[str, list[SourceError]] = {}
        self.singles: dict[str, bytes] = {}
        self.discoveries = 0

    def discover(self) -> dict[str, frozenset[str]]:
        self.discoveries += 1
        served: dict[str, set[str]] = {}
        for plural in self.objects:
            group = KINDS[plural].group
            served.setdefault(f"{group}/v1" if group else "v1", set()).add(plural)
        return {version: frozenset(plurals) for version, plurals in served.items()}

    def list(self, kind: Kind, version: str, limit: int, continue_token: str) -> ListPage:
        self.lists.append(kind.plural)
        assert self.gate.wait(PATIENCE)
        if self.failures.get(kind.plural):
            raise self.failures[kind.plural].pop()
        return ListPage(tuple(self.objects[kind.plural]), "10")

    def watch(self, kind: Kind, version: str, resource_version: str, timeout: int) -> WatchStream:
        stream = Stream()
        self.streams[kind.plural].put(stream)
        return stream

    def get(self, kind: Kind, version: str, namespace: str, name: str) -> bytes | None:
        return self.singles.get(f"{namespace}/{name}")

    def stream(self, kind: str) -> Stream:
        return self.streams[kind].get(timeout=PATIENCE)


class Collector:
    """A sink that lets the test wait for what it wants to see."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, Any]] = []
        self.changed = threading.Condition()
        self.error: Exception | None = None

    def _add(self, what: str, kind: str, value: Any) -> None:
        with self.changed:
            if self.error is not None:
                raise self.error
            self.calls.append((what, kind, value))
            self.changed.notify_all()

    def replace(self, kind: str, items: Mapping[str, bytes], resource_version: str) -> None:
        self._add("replace", kind, sorted(items))

    def events(self, kind: str, events: Sequence[ObjectEvent], resource_version: str) -> None:
        for event in events:
            self._add(event.type, kind, event.key)

    def sync(self, state: KindState) -> None:
        self._add("sync", state.kind, state.state)

    def wait_for(self, *call: Any) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: call in self.calls, PATIENCE), self.calls


Start = Callable[..., Informer]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[Informer] = []

    def begin(source: Source, sink: Collector, *kinds: Kind, **options: Any) -> Informer:
        informer = Informer(source, sink, kinds, rng=lambda: 0.0, **options)
        informer.start()
        started.append(informer)
        return informer

    yield begin
    for informer in started:
        informer.stop()


def test_objects_that_cannot_be_read_are_one_warning(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    sink = Collector()
    start(Cluster({"nodes": [obj("n1"), *(obj(f"bad{n}", spec=7) for n in range(3))]}), sink, NODES)

    sink.wait_for("sync", "nodes", "synced")
    [told] = [record for record in caplog.records if "cannot read" in record.getMessage()]
    assert told.levelname == "WARNING"
    assert told.getMessage().startswith("nodes: cannot read 3 objects, such as bad0: ")


def test_each_kind_is_listed_then_followed(start: Start) -> None:
    cluster, sink = Cluster({"nodes": [obj("n1")], "pods": []}), Collector()
    start(cluster, sink, NODES, PODS)

    sink.wait_for("replace", "nodes", ["n1"])
    sink.wait_for("sync", "nodes", "synced")
    cluster.stream("nodes").queue.put(WatchEvent("ADDED", obj("n2", 11)))

    sink.wait_for("ADDED", "nodes", "n2")
    sink.wait_for("sync", "pods", "synced")
    assert cluster.discoveries == 1


def test_an_expired_watch_is_closed_and_listed_again(start: Start) -> None:
    cluster, sink = Cluster({"nodes": [obj("n1")]}), Collector()
    start(cluster, sink, NODES)
    stream = cluster.stream("nodes")
    cluster.objects["nodes"] = [obj("n3")]

    stream.queue.put(Gone("too old"))

    sink.wait_for("replace", "nodes", ["n3"])
    assert stream.closed.wait(PATIENCE)


def test_a_failing_kind_does_not_hold_up_another(start: Start) -> None:
    cluster, sink = Cluster({"nodes": [], "pods": [claiming_pod("p")]}), Collector()
    cluster.failures["nodes"] = [Unavailable("no route")] * 100
    start(cluster, sink, NODES, PODS)

    sink.wait_for("replace", "pods", ["ns/p"])


ASKS = {"containers": [{"name": "c", "resources": {"requests": {"example.com/gpu": "1"}}}]}
BACKED = {"extendedResourceName": "example.com/gpu"}


def test_pods_are_kept_for_the_extended_resources_of_classes_that_are_listed_first(start: Start) -> None:
    waiting, bound = obj("waits", 1, "ns", spec=ASKS), obj("bound", 1, "ns", spec={**ASKS, "nodeName": "n"})
    cluster = Cluster({"pods": [waiting, bound], "deviceclasses": [obj("gpu", spec=BACKED)]})
    sink = Collector()
    start(cluster, sink, PODS, KINDS["deviceclasses"])

    sink.wait_for("replace", "pods", ["ns/waits"])
    assert cluster.lists == ["deviceclasses", "pods"]


def test_a_class_that_comes_later_brings_the_pods_that_ask_for_its_resource(start: Start) -> None:
    asking, other = obj("p", 11, "ns", spec=ASKS), obj("q", 11, "ns", spec={})
    cluster, sink = Cluster({"deviceclasses": [], "pods": [asking, other]}), Collector()
    start(cluster, sink, PODS, KINDS["deviceclasses"])
    sink.wait_for("replace", "pods", [])
    first = cluster.stream("pods")
    cluster.stream("deviceclasses").queue.put(WatchEvent("ADDED", obj("gpu", 12, spec=BACKED)))

    sink.wait_for("replace", "pods", ["ns/p"])
    assert first.closed.wait(PATIENCE)
    assert cluster.lists.count("pods") == 2


def test_a_second_class_for_the_same_resource_lists_no_pods_again(start: Start) -> None:
    cluster, sink = Cluster({"deviceclasses": [obj("gpu", spec=BACKED)], "pods": []}), Collector()
    start(cluster, sink, PODS, KINDS["deviceclasses"])
    pods = cluster.stream("pods")
    cluster.stream("deviceclasses").queue.put(WatchEvent("ADDED", obj("other", 12, spec=BACKED)))
    sink.wait_for("ADDED", "deviceclasses", "other")
    pods.queue.put(WatchEvent("ADDED", obj("p", 13, "ns", spec=ASKS)))
    sink.wait_for("ADDED", "pods", "ns/p")  # by the watch that was open before
    assert cluster.lists.count("pods") == 1


def test_a_bug_in_a_source_is_backed_off_and_survived(start: Start) -> None:
    cluster, sink = Cluster({"nodes": [obj("n1")]}), Collector()
    cluster.failures["nodes"] = [ZeroDivisionError("bug")]  # type: ignore[list-item] # what no source should raise
    start(cluster, sink, NODES)

    sink.wait_for("replace", "nodes", ["n1"])


def test_stop_ends_quiet_watches_at_once(start: Start) -> None:
    cluster, sink = Cluster({"nodes": [], "pods": []}), Collector()
    informer = start(cluster, sink, NODES, PODS, EVENTS)
    cluster.stream("nodes")
    cluster.stream("pods")

    informer.stop()

    assert informer.wait(0)
    assert not [t for t in threading.enumerate() if t.name.startswith("informer-")]


def test_nothing_is_delivered_after_stop(start: Start) -> None:
    cluster, sink = Cluster({"nodes": [obj("n1")]}), Collector()
    cluster.gate.clear()
    informer = start(cluster, sink, NODES)
    sink.wait_for("sync", "nodes", "syncing")

    stopper = threading.Thread(target=informer.stop)
    stopper.start()
    assert informer.wait(PATIENCE)
    cluster.gate.set()
    stopper.join(PATIENCE)

    assert ("replace", "nodes", ["n1"]) not in sink.calls


def test_a_sink_that_raises_ends_the_informer_and_names_the_failure(start: Start) -> None:
    cluster, sink = Cluster({"nodes": [], "pods": []}), Collector()
    informer = start(cluster, sink, NODES, PODS)
    stream = cluster.stream("nodes")
    cluster.stream("pods")
    sink.error = RuntimeError("not the leader any more")

    stream.queue.put(WatchEvent("ADDED", obj("n2", 11)))

    assert informer.wait(PATIENCE)
    assert informer.failure is sink.error


def test_pods_without_claims_are_dropped_and_fetched_once_they_matter(start: Start) -> None:
    wanted: set[str] = set()
    cluster, sink = Cluster({"pods": [obj("plain", 1, "ns"), claiming_pod("p")]}), Collector()
    informer = start(cluster, sink, PODS, wanted=wanted.__contains__)
    sink.wait_for("replace", "pods", ["ns/p"])
    stream = cluster.stream("pods")

    stream.queue.put(WatchEvent("MODIFIED", obj("plain", 11, "ns")))
    stream.queue.put(WatchEvent("MODIFIED", claiming_pod("p", 12)))
    sink.wait_for("MODIFIED", "pods", "ns/p")
    cluster.singles["ns/plain"] = obj("plain", 13, "ns")
    wanted.add("ns/plain")
    informer.fetch("pods", "ns/plain")
    sink.wait_for("ADDED", "pods", "ns/plain")
    stream.queue.put(WatchEvent("DELETED", obj("plain", 14, "ns")))

    sink.wait_for("DELETED", "pods", "ns/plain")
    assert ("MODIFIED", "pods", "ns/plain") not in sink.calls


def test_a_fetch_during_a_list_waits_for_it(start: Start) -> None:
    cluster, sink = Cluster({"pods": []}), Collector()
    cluster.gate.clear()
    cluster.singles["ns/plain"] = obj("plain", 13, "ns")
    informer = start(cluster, sink, PODS)
    sink.wait_for("sync", "pods", "syncing")

    informer.fetch("pods", "ns/plain")
    cluster.gate.set()

    sink.wait_for("ADDED", "pods", "ns/plain")
    order = [call[0] for call in sink.calls if call[0] != "sync"]
    assert order == ["replace", "ADDED"]


def test_events_are_listed_when_it_is_known_which_pods_matter(start: Start) -> None:
    cluster, sink = Cluster({"pods": [], "events": []}), Collector()
    cluster.gate.clear()
    start(cluster, sink, EVENTS, PODS)
    sink.wait_for("sync", "pods", "syncing")
    assert cluster.lists == ["pods"]

    cluster.gate.set()

    sink.wait_for("sync", "events", "synced")
    assert cluster.lists == ["pods", "events"]


def test_a_silent_watch_is_closed_and_opened_again(start: Start) -> None:
    now = [1000.0]
    cluster, sink = Cluster({"nodes": []}), Collector()
    start(cluster, sink, NODES, watch_timeout=60, clock=lambda: now[0])
    silent = cluster.stream("nodes")
    sink.wait_for("sync", "nodes", "synced")

    now[0] += 100

    assert silent.closed.wait(PATIENCE)
    assert cluster.stream("nodes") is not silent
