"""What tests of the simulated cluster's actors share: eyes that see all changes, and waiting for a state."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from dradash.scheduling.replay import Replay, Said
from dradash.sim import scenarios
from dradash.sim.actors import Actor, Change, Clock
from dradash.sim.apiserver import APIServer
from dradash.sim.resources import served
from dradash.sim.scenarios import objects
from dradash.sim.scenarios.model import place
from dradash.sim.simulation import actors, running
from tests.patience import PATIENCE

Obj = dict[str, Any]

ALL: Final = (
    "namespaces",
    "nodes",
    "resourceclasses",
    "resourceclaimtemplates",
    "pods",
    "resourceclaims",
    "podschedulingcontexts",
    "deviceclasses",
    "resourceslices",
    "events",
)


class Eyes(Actor):
    """Sees every change of every kind, in the order of revisions, and remembers it as a recording's row."""

    kinds = ALL

    def __init__(self, server: APIServer) -> None:
        super().__init__(server, Clock())
        self.rows: list[tuple[float, str, str, Obj]] = []
        self._started = time.monotonic()
        self._revision = 0
        self.reasons: Counter[str] = Counter()  # of the events
        self._seen = threading.Condition()

    def on_change(self, change: Change) -> None:
        row = (time.monotonic() - self._started, change.kind, change.type, msgspec.json.decode(change.raw))
        with self._seen:
            self.rows.append(row)
            self.reasons[row[3].get("reason", "")] += 1
            self._revision = max(self._revision, change.stored.revision)
            self._seen.notify_all()

    def wait_until(self, what: Callable[[], Any]) -> Any:
        """Wait until `what` gives something true, looking again after each change; that is the result."""
        with self._seen:
            found = self._seen.wait_for(what, PATIENCE)
        assert found, f"in vain; last seen: {self.rows[-3:]}"
        return found

    def catch_up(self) -> None:
        """Wait until everything has been seen that has happened by now."""
        revision = self.server.revision
        self.wait_until(lambda: self._revision >= revision)

    def objects(self, kind: str) -> list[Obj]:
        """Every version of every object of the kind, as they came."""
        return [obj for _, k, type_, obj in list(self.rows) if k == kind and type_ != "DELETED"]


class World:
    """A server with eyes."""

    def __init__(self, server: APIServer, eyes: Eyes) -> None:
        self.server = server
        self.eyes = eyes

    def put(self, *made: Obj) -> None:
        for obj in made:
            place(self.server, obj)

    def find(self, kind: str, name: str, ns: str = "") -> Obj | None:
        return next((o for o in self.server.list(kind, ns) if o["metadata"]["name"] == name), None)

    def pod(self, key: str) -> Obj | None:
        ns, _, name = key.partition("/")
        return self.find("pods", name, ns)

    def claim(self, key: str) -> Obj | None:
        ns, _, name = key.partition("/")
        return self.find("resourceclaims", name, ns)

    def until(self, what: Callable[[], Any]) -> Any:
        """Wait for a state of the server; the eyes have then seen how it came about."""
        found = self.eyes.wait_until(what)
        self.eyes.catch_up()
        return found

    def until_bound(self, key: str) -> str:
        return str(self.until(lambda: (self.pod(key) or {"spec": {}})["spec"].get("nodeName")))

    def until_said(self, key: str, words: str) -> str:
        """The message of the pod's PodScheduled condition, once it has these words in it."""
        return str(self.until(lambda: (text := condition(self.pod(key)).get("message", "")) and words in text and text))

    def until_event(self, key: str, reason: str, words: str = "") -> Obj:
        ns, _, name = key.partition("/")
        found = self.until(
            lambda: next(
                (
                    e
                    for e in self.server.list("events", ns)
                    if e["involvedObject"]["name"] == name and e["reason"] == reason and words in e["message"]
                ),
                None,
            )
        )
        assert isinstance(found, dict)
        return found

    def said(self) -> list[Said]:
        """What the scheduler said so far, compared with our verdicts."""
        replay = Replay()
        told: list[Said] = []
        for row in list(self.eyes.rows):
            told += replay.take(*row)
        return told + list(replay.end())


def condition(pod: Obj | None) -> Obj:
    conditions: list[Obj] = (pod or {}).get("status", {}).get("conditions", [])
    return next((c for c in conditions if c["type"] == "PodScheduled"), {})


@contextmanager
def seen(server: APIServer) -> Iterator[World]:
    eyes = Eyes(server)
    with running([eyes]):
        yield World(server, eyes)


@contextmanager
def world(*made: Obj) -> Iterator[World]:
    """A server with these objects (and namespace team-a), without actors."""
    server = APIServer(seed=1)
    with seen(server) as empty:
        empty.put(objects.namespace("team-a"), *made)
        yield empty


@contextmanager
def scenario(name: str, *, speed: float = 25.0, seed: int = 0) -> Iterator[World]:
    """The scenario at work, seen from its first change on."""
    chosen = scenarios.build(name, seed)
    server = APIServer(served(versions=chosen.versions), seed=seed)
    with seen(server) as empty:
        for obj in chosen.objects:
            place(server, obj)
        with running(actors(server, chosen, Clock(speed), seed)):
            yield empty
