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
    """Sees every change of every kind, in the order of revisions, and remembers it as a recording's row.

    Who waits goes through these rows one by one and looks at the objects as each left them. Looking at the server
    instead would miss, on a busy machine, what came and went before the test's thread had its turn.
    """

    kinds = ALL

    def __init__(self, server: APIServer) -> None:
        super().__init__(server, Clock())
        self.rows: list[tuple[float, str, str, Obj]] = []
        self.reasons: Counter[str] = Counter()  # of the events, as far as the rows were gone through
        self._there: dict[tuple[str, str, str], Obj] = {}
        self._gone_through = 0
        self._started = time.monotonic()
        self._revision = 0
        self._seen = threading.Condition()

    def on_change(self, change: Change) -> None:
        row = (time.monotonic() - self._started, change.kind, change.type, msgspec.json.decode(change.raw))
        with self._seen:
            self.rows.append(row)
            self._revision = max(self._revision, change.stored.revision)
            self._seen.notify_all()

    def wait_until(self, what: Callable[[], Any]) -> Any:
        """Go on, row by row, until `what` gives something true; that is the result."""
        while not (found := what()):
            with self._seen:
                more = self._seen.wait_for(lambda: len(self.rows) > self._gone_through, PATIENCE)
            assert more, f"in vain; last seen: {self.rows[-3:]}"
            self._step()
        return found

    def _step(self) -> None:
        _, kind, type_, obj = self.rows[self._gone_through]
        self._gone_through += 1
        name = (kind, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        if type_ == "DELETED":
            self._there.pop(name, None)
            return
        self._there[name] = obj
        self.reasons[obj.get("reason", "")] += 1

    def catch_up(self) -> None:
        """Go on to what has happened by now."""
        revision = self.server.revision
        with self._seen:
            assert self._seen.wait_for(lambda: self._revision >= revision, PATIENCE), "the eyes see nothing"
        while self._gone_through < len(self.rows):
            self._step()

    def at_hand(self, kind: str, ns: str = "") -> list[Obj]:
        """The objects as the row gone through last left them; ns "": of all namespaces."""
        return [o for (k, namespace, _), o in self._there.items() if k == kind and ns in ("", namespace)]

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
        self.eyes.catch_up()

    def find(self, kind: str, name: str, ns: str = "") -> Obj | None:
        return next((o for o in self.eyes.at_hand(kind, ns) if o["metadata"]["name"] == name), None)

    def pod(self, key: str) -> Obj | None:
        ns, _, name = key.partition("/")
        return self.find("pods", name, ns)

    def claim(self, key: str) -> Obj | None:
        ns, _, name = key.partition("/")
        return self.find("resourceclaims", name, ns)

    def until(self, what: Callable[[], Any]) -> Any:
        """Wait for a state of the cluster; nothing that comes after it has then been looked at."""
        return self.eyes.wait_until(what)

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
                    for e in self.eyes.at_hand("events", ns)
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
        eyes.catch_up()  # what was there before is no news
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
