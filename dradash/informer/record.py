"""`manage.py record`: writes down what a cluster's API server says, as it says it.

The informer runs as always, over a source that writes down what passes: lists when they are complete, watch events
one by one. So a recording has the relists and gaps that a live informer would have seen. Only the kinds of the
registry are read (no Secrets), only pods and events that matter are written, and never managedFields.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from dradash.informer import objects
from dradash.informer.extended import Extended
from dradash.informer.recording import Writer
from dradash.informer.redact import Redactor
from dradash.informer.relevance import filter_for
from dradash.informer.run import Informer
from dradash.informer.sink import KindState, ObjectEvent
from dradash.informer.source import Closable, ListPage, Source, WatchEvent, WatchStream, in_batches
from dradash.kinds.registry import KINDS, ONE_GENERATION, Kind, MalformedObject

log = logging.getLogger(__name__)

_GIVEN_UP: Final = frozenset({"forbidden", "notServed"})


class _Reference(msgspec.Struct, rename="camel"):
    resource: str | None = None
    name: str | None = None
    api_group: str | None = None


class _Status(msgspec.Struct, rename="camel"):
    reserved_for: list[_Reference] | None = None


class _Claim(msgspec.Struct):
    status: _Status | None = None


def _ignore(_kind: str, _key: str) -> None:
    pass


class Matters:
    """Which pods to write: those that use claims, those that a claim was ever reserved for, and their events."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pods: set[str] = set()

    def see(self, kind: str, key: str, raw: bytes) -> set[str]:
        """Take note of an object that is written; the pods that matter from now on because of it."""
        if kind == "pods":
            self._add({key})
        if kind == "resourceclaims" and b'"reservedFor"' in raw:
            return self._add(_holders(key, raw))
        return set()

    def _add(self, pods: set[str]) -> set[str]:
        with self._lock:
            new = pods - self._pods
            self._pods |= new
        return new

    def __call__(self, pod: str) -> bool:
        with self._lock:
            return pod in self._pods


def _holders(key: str, raw: bytes) -> set[str]:
    """Keys of the pods that a claim is reserved for."""
    try:
        claim = msgspec.json.decode(raw, type=_Claim)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return set()
    namespace = key.rpartition("/")[0]
    references = (claim.status.reserved_for if claim.status else None) or ()
    return {f"{namespace}/{r.name}" for r in references if r.resource == "pods" and not r.api_group and r.name}


class Recorder:
    """Takes what passes, leaves out what does not matter, redacts if asked to, and writes."""

    def __init__(self, writer: Writer, redactor: Redactor | None) -> None:
        self.left_out: Counter[str] = Counter()
        self.malformed = 0
        self.fetch: Callable[[str, str], None] = _ignore  # Informer.fetch, for pods that begin to matter
        self._writer = writer
        self._redactor = redactor
        self._redacting = threading.Lock()
        self._matters = Matters()
        self._extended = Extended()
        self._filters = {kind: filter_for(kind, self._matters, self._extended) for kind in KINDS}

    def list(self, kind: Kind, version: str, items: Sequence[bytes], resource_version: str) -> None:
        group_version = f"{kind.group}/{version}" if kind.group else version
        kept = [item for item in (self._object(kind, version, raw) for raw in items) if item is not None]
        whole = {
            "kind": f"{kind.kind}List",
            "apiVersion": group_version,
            "metadata": {"resourceVersion": resource_version},
            "items": kept,
        }
        self._writer.write(kind.plural, "LIST", msgspec.Raw(msgspec.json.encode(whole)))

    def event(self, kind: Kind, version: str, event: WatchEvent) -> None:
        if event.type == "BOOKMARK":
            try:
                metadata = {"resourceVersion": objects.resource_version(event.object)}
            except MalformedObject:
                self.malformed += 1
                return
            raw = msgspec.json.encode({"kind": kind.kind, "metadata": metadata})
            self._writer.write(kind.plural, event.type, msgspec.Raw(raw))
        elif event.type in ("ADDED", "MODIFIED", "DELETED"):
            item = self._object(kind, version, event.object)
            if item is not None:
                self._writer.write(kind.plural, event.type, item)
        elif event.type != "ERROR":  # an ERROR tells of our watch, not of the cluster; the relist after it is written
            self.malformed += 1

    def _object(self, kind: Kind, version: str, raw: bytes) -> msgspec.Raw | None:
        try:
            key = objects.identity(raw).key
            keep = self._filters[kind.plural]
            if keep is not None and not keep(key, raw):
                self.left_out[kind.plural] += 1
                return None
            if kind.plural == "deviceclasses":
                self._extended.put(key, raw)
            for pod in self._matters.see(kind.plural, key, raw):
                self.fetch("pods", pod)
            item = objects.normalized(raw, kind, version)
            if self._redactor is not None:
                with self._redacting:  # pseudonyms are handed out in order
                    item = self._redactor.object(kind.plural, item)
        except MalformedObject as error:
            log.warning("left out a malformed object of %s: %s", kind.plural, error)
            self.malformed += 1
            return None
        return msgspec.Raw(item)


class _Tee:
    """A source that tells the recorder what passes."""

    def __init__(self, source: Source, recorder: Recorder) -> None:
        self._source = source
        self._recorder = recorder
        self._pages: dict[str, list[bytes]] = {}
        self.discover: Callable[[], dict[str, frozenset[str]]] = source.discover

    def list(self, kind: Kind, version: str, limit: int, continue_token: str) -> ListPage:
        page = self._source.list(kind, version, limit, continue_token)
        if not continue_token:
            self._pages[kind.plural] = []
        items = self._pages[kind.plural]
        items.extend(page.items)
        if not page.continue_token and page.resource_version:
            self._recorder.list(kind, version, self._pages.pop(kind.plural), page.resource_version)
        return page

    def watch(self, kind: Kind, version: str, resource_version: str, timeout: int) -> WatchStream:
        stream = self._source.watch(kind, version, resource_version, timeout)
        return _TeeStream(stream, lambda event: self._recorder.event(kind, version, event))

    def get(self, kind: Kind, version: str, namespace: str, name: str) -> bytes | None:
        raw = self._source.get(kind, version, namespace, name)
        if raw is not None:
            self._recorder.event(kind, version, WatchEvent("ADDED", raw))
        return raw

    def close(self) -> None:
        if isinstance(self._source, Closable):
            self._source.close()


class _TeeStream:
    def __init__(self, stream: WatchStream, tell: Callable[[WatchEvent], None]) -> None:
        self._stream = stream
        self._tell = tell
        self.close: Callable[[], None] = stream.close

    def __iter__(self) -> Iterator[WatchEvent]:
        for batch in self.batches():
            yield from batch

    def batches(self) -> Iterator[tuple[WatchEvent, ...]]:
        for batch in in_batches(self._stream):
            for event in batch:
                self._tell(event)
            yield batch


class _States:
    """The informer's sink: what it delivers was written already; only how each kind fares is of interest."""

    def __init__(self, writer: Writer) -> None:
        self.states: dict[str, KindState] = {}
        self._writer = writer

    def replace(self, kind: str, items: Mapping[str, bytes], resource_version: str) -> None:
        pass

    def events(self, kind: str, events: Sequence[ObjectEvent], resource_version: str) -> None:
        pass

    def sync(self, state: KindState) -> None:
        before = self.states.get(state.kind)
        self.states[state.kind] = state
        if state.error and (before is None or before.error != state.error):
            log.warning("%s: %s", state.kind, state.error)  # who records must not wait for a server that is not there
        if state.state in _GIVEN_UP:
            self._writer.give_up(state.kind)


class Summary(msgspec.Struct, frozen=True):
    counts: Mapping[tuple[str, str], int]  # (kind, type) -> rows
    left_out: Mapping[str, int]  # kind -> objects that do not matter
    malformed: int
    problems: Mapping[str, str]  # kind -> state and error, for kinds that were not in sync at the end

    @property
    def text(self) -> str:
        by_kind: Counter[str] = Counter()
        for (kind, type_), count in self.counts.items():
            by_kind[kind] += count if type_ != "BOOKMARK" else 0
        rows = ", ".join(f"{kind} {count}" for kind, count in sorted(by_kind.items()))
        parts = [f"{sum(self.counts.values())} rows written ({rows})" if rows else "nothing written"]
        if self.malformed:
            parts.append(f"{self.malformed} malformed left out")
        for problem in sorted(set(self.problems.values())):  # often one for all kinds
            kinds = ", ".join(sorted(kind for kind in self.problems if self.problems[kind] == problem))
            parts.append(f"{kinds}: {problem}")
        return "; ".join(parts)


def record(
    source: Source,
    writer: Writer,
    *,
    redactor: Redactor | None = None,
    seconds: float | None = None,
    kinds: Iterable[Kind] = tuple(KINDS.values()),
    stop: threading.Event | None = None,
) -> Summary:
    """Record until `stop` is set, for `seconds`, or until the output cannot be written (raises what it raised)."""
    recorder = Recorder(writer, redactor)
    states = _States(writer)
    # Everything reaches the recorder, which decides itself; the informer then keeps nothing in memory for long.
    informer = Informer(_Tee(source, recorder), states, kinds)
    recorder.fetch = informer.fetch
    informer.start()
    try:
        _wait(informer, writer, stop or threading.Event(), seconds)
    finally:
        informer.stop()
        writer.finish()
    return Summary(dict(writer.counts), dict(recorder.left_out), recorder.malformed, _problems(states.states))


def _problems(states: Mapping[str, KindState]) -> dict[str, str]:
    """A cluster that serves claims lacks the kinds of the other generation of DRA, as it should."""
    claims = states.get("resourceclaims")
    expected = ONE_GENERATION if claims is not None and claims.state not in _GIVEN_UP else frozenset()
    return {
        state.kind: f"{state.state} ({state.error})" if state.error else state.state
        for state in states.values()
        if state.state != "synced" and not (state.state == "notServed" and state.kind in expected)
    }


def _wait(informer: Informer, writer: Writer, stop: threading.Event, seconds: float | None) -> None:
    end = None if seconds is None else time.monotonic() + seconds
    while not stop.is_set() and not informer.wait(0.05):
        if writer.error is not None:
            raise writer.error
        if end is not None and time.monotonic() >= end:
            return
    if informer.failure is not None:
        raise informer.failure
