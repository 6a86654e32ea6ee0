"""Garbage collection: objects whose owners are all gone are deleted, and events expire."""

from __future__ import annotations

import contextlib
from typing import Any, ClassVar, Final

from dradash.sim.actors import Actor, Change, Clock
from dradash.sim.apierrors import ApiError
from dradash.sim.apiserver import APIServer

EVENT_TTL: Final = 3600.0  # simulated seconds, kube-apiserver's --event-ttl
_OWNED: Final = ("pods", "resourceclaims", "podschedulingcontexts")


class GarbageCollector(Actor):
    """Knows pods as owners, which are the only ones in the simulated cluster; other owners count as present."""

    kinds: ClassVar[tuple[str, ...]] = (*_OWNED, "events")

    def __init__(self, server: APIServer, clock: Clock, *, event_ttl: float = EVENT_TTL) -> None:
        super().__init__(server, clock)
        self._event_ttl = event_ttl
        self._pods: set[str] = set()  # UIDs
        self._owners: dict[tuple[str, str], list[dict[str, Any]]] = {}  # kind, key -> references
        self._owned: dict[str, set[tuple[str, str]]] = {}  # UID of an owner -> kind, key

    def on_change(self, change: Change) -> None:
        if change.kind == "events":
            self._expire_later(change)
            return
        metadata = change.stored.metadata
        what = (change.kind, change.key)
        gone = change.type == "DELETED"
        self._note(what, [] if gone else metadata.get("ownerReferences") or [])
        if change.kind == "pods":
            if gone:
                self._pods.discard(metadata["uid"])
                for owned in sorted(self._owned.get(metadata["uid"], ())):
                    self._collect_later(owned)
            else:
                self._pods.add(metadata["uid"])
        if what in self._owners and not self._has_owner(what):
            self._collect_later(what)

    def _note(self, what: tuple[str, str], references: list[dict[str, Any]]) -> None:
        for reference in self._owners.pop(what, []):
            members = self._owned.get(reference["uid"], set())
            members.discard(what)
            if not members:
                self._owned.pop(reference["uid"], None)
        if references:
            self._owners[what] = references
            for reference in references:
                self._owned.setdefault(reference["uid"], set()).add(what)

    def _has_owner(self, what: tuple[str, str]) -> bool:
        return any(r["kind"] != "Pod" or r["uid"] in self._pods for r in self._owners.get(what, ()))

    def _collect_later(self, what: tuple[str, str]) -> None:
        self.later(("collect", *what), 0.0, lambda: self._collect(what))

    def _collect(self, what: tuple[str, str]) -> None:
        if what not in self._owners or self._has_owner(what):
            return
        kind, key = what
        namespace, _, name = key.rpartition("/")
        with contextlib.suppress(ApiError):
            found = self.server.get(kind, name, namespace)["metadata"]
            if not found.get("deletionTimestamp"):
                self.server.delete(kind, name, namespace, uid=found["uid"])

    def _expire_later(self, change: Change) -> None:
        """An event lives for so long after its last write."""
        what = ("expire", change.key)
        self.forget(what)
        if change.type != "DELETED":
            self.later(what, self._event_ttl, lambda: self._expire(change.key))

    def _expire(self, key: str) -> None:
        namespace, _, name = key.rpartition("/")
        with contextlib.suppress(ApiError):
            self.server.delete("events", name, namespace)
