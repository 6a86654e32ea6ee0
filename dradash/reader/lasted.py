"""Since when objects show the marks that findings rest on (doctor/lasting.py), read from the model's history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dradash.kinds.registry import KINDS, MalformedObject, read_object
from dradash.reader.world import World
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.doctor.lasting import RESERVED, Lasting, marks
from dradash.store.model import VERDICTS, HistoryEntry, ReadModel
from dradash.store.replica import decode_verdict

STATES: Final = 1000  # newest states of one object
READ: Final = 10_000  # objects whose history is read: some 0.2 ms each

Begun = Mapping[tuple[str, str], tuple[str, Mapping[str, float]]]  # (kind, key) -> UID, mark -> since when


def marked(world: World) -> Iterator[tuple[str, str, Any]]:
    """What may show marks: (kind, key, object), None for a malformed one."""
    for kind in ("resourceclaims", "pods", "resourceclasses"):
        yield from ((kind, key, obj) for key, obj in world.cluster.objects(kind).items())
    yield from ((VERDICTS, key, verdict) for key, verdict in world.verdicts.items())
    for kind, keys in world.cluster.malformed.items():
        yield from ((kind, key, None) for key in keys)


def names(world: World) -> list[tuple[str, str]]:
    """(kind, key) of what shows marks that matter."""
    return [(k, key) for k, key, obj in marked(world) if any(_matters(mark, world.cluster) for mark in marks(obj))]


def _matters(mark: str, cluster: Cluster) -> bool:
    """Most reservations are for pods that are there."""
    what, _, uid = mark.partition(" ")
    return what != RESERVED or uid not in cluster.pods_by_uid


def read(model: ReadModel, of: Sequence[tuple[str, str]]) -> Begun:
    """What never changed has been so since it is known. Raises StoreUnavailable."""
    changed = set(model.superseded_since(0.0)) if of else set()
    return {(k, key): _begun(model, k, key, float("inf")) for k, key in [n for n in of if n in changed][:READ]}


def _begun(model: ReadModel, kind: str, key: str, end: float) -> tuple[str, Mapping[str, float]]:
    states, uid = Lasting(), ""
    for entry in model.history(kind, key, 0.0, end, STATES):
        if entry.type == "DELETED":
            states.deleted(kind, key)
            continue
        obj = _decoded(kind, entry)
        uid = "" if obj is None else obj.uid
        states.saw(kind, key, entry.at, obj)
    return uid, states.all(kind, key)


def _decoded(kind: str, entry: HistoryEntry) -> Any:
    if kind == VERDICTS:
        return decode_verdict(entry.object)
    try:
        return read_object(KINDS[kind], entry.object)
    except MalformedObject:
        return None


class PastLasting:
    """Of a past moment: what is known of now where it has been so since before, else what the history says."""

    def __init__(self, model: ReadModel, at: float, live: Lasting) -> None:
        self._model, self._at, self._live = model, at, live
        self._known: dict[tuple[str, str], Mapping[str, float]] = {}

    def since(self, kind: str, key: str, mark: str) -> float:
        """0.0: not known. Raises StoreUnavailable."""
        now = self._live.since(kind, key, mark)
        if 0.0 < now <= self._at:
            return now
        if (kind, key) not in self._known:
            if len(self._known) >= READ:
                return 0.0
            self._known[kind, key] = _begun(self._model, kind, key, self._at)[1]
        return self._known[kind, key].get(mark, 0.0)
