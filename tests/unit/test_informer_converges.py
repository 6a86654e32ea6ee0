"""Whatever the API server does on the way, in the end the sink holds what the cluster holds."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dradash.informer.kubernetes_source import KubernetesSource
from dradash.informer.run import Informer
from dradash.informer.sink import KindState, ObjectEvent
from dradash.informer.source import Source
from dradash.kinds.registry import KINDS
from dradash.sim import kubeconfig
from dradash.sim.apiserver import APIServer
from dradash.sim.faults import Fault
from dradash.sim.http import Application
from dradash.sim.listener import Listener
from dradash.sim.source import SimSource
from tests.patience import PATIENCE

CLAIMS = KINDS["resourceclaims"]
FAULTS = (
    Fault(fault="drop_watches"),
    Fault(fault="compact"),
    Fault(fault="answer", code=410, verbs=("watch",)),
    Fault(fault="answer", code=500),
    Fault(fault="answer", code=429, retry_after=0),
    Fault(fault="delay", seconds=0.05),
)


class Mirror:
    """A sink that keeps what it is told, and refuses what cannot follow."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, bytes]] = {}
        self.states: dict[str, KindState] = {}
        self.changed = threading.Condition()

    def replace(self, kind: str, items: Mapping[str, bytes], resource_version: str) -> None:
        with self.changed:
            self.objects[kind] = dict(items)
            self.changed.notify_all()

    def events(self, kind: str, events: Sequence[ObjectEvent], resource_version: str) -> None:
        with self.changed:
            for event in events:
                if event.type == "DELETED":
                    self.objects[kind].pop(event.key, None)
                else:
                    self.objects[kind][event.key] = event.object
            self.changed.notify_all()

    def sync(self, state: KindState) -> None:
        with self.changed:
            self.states[state.kind] = state
            self.changed.notify_all()

    def wait_until_equal(self, kind: str, truth: Mapping[str, Any]) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self._parsed(kind) == truth, PATIENCE), (self.states.get(kind), truth)

    def wait_for_state(self, kind: str, state: str) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.states[kind].state == state, PATIENCE), self.states[kind]

    def _parsed(self, kind: str) -> dict[str, Any]:
        return {key: json.loads(raw) for key, raw in self.objects.get(kind, {}).items()}


@pytest.fixture
def server() -> APIServer:
    return APIServer(seed=1, first_revision=1000)


@pytest.fixture(params=["in-process", "http"])
def source(request: pytest.FixtureRequest, server: APIServer, tmp_path: Path) -> Iterator[Source]:
    if request.param == "in-process":
        yield SimSource(server, bookmark_interval=0.05)
        return
    with Listener(Application(server, bookmark_interval=0.05)) as listener:
        server.faults.on_unreachable = listener.go_away
        path = tmp_path / "kubeconfig"
        kubeconfig.write(path, listener.url, None)
        found = KubernetesSource.from_kubeconfig(str(path))
        yield found
        found.close()


def truth(server: APIServer) -> dict[str, Any]:
    found = {}
    for item in server.list("resourceclaims"):
        item["metadata"].pop("managedFields", None)
        found[f"{item['metadata']['namespace']}/{item['metadata']['name']}"] = item
    return found


def change(server: APIServer, rng: random.Random) -> None:
    """One random change to one of twelve claims."""
    name = f"c{rng.randrange(12)}"
    there = {item["metadata"]["name"]: item for item in server.list("resourceclaims")}
    if name not in there:
        server.create("resourceclaims", {"metadata": {"name": name}, "spec": {"resourceClassName": "gpu"}})
    elif rng.random() < 0.4:
        server.delete("resourceclaims", name, "default")
    else:
        there[name]["metadata"]["labels"] = {"n": str(rng.randrange(1000))}
        server.update("resourceclaims", there[name])


@pytest.fixture
def mirror(source: Source) -> Iterator[Mirror]:
    mirror = Mirror()
    informer = Informer(source, mirror, [CLAIMS], limit=3, watch_timeout=30, rng=lambda: 0.0)
    informer.start()
    yield mirror
    informer.stop()
    assert informer.failure is None


@pytest.mark.parametrize("seed", range(2))
def test_the_sink_equals_the_cluster_after_random_changes_and_faults(
    server: APIServer, mirror: Mirror, seed: int
) -> None:
    rng = random.Random(seed)
    for _ in range(8):
        for _ in range(rng.randrange(6)):
            change(server, rng)
        server.inject(msgspec.structs.replace(rng.choice(FAULTS)))
        change(server, rng)
        # Round by round: faults that pile up would only show how long a backoff is.
        mirror.wait_until_equal("resourceclaims", truth(server))
    server.inject(Fault(fault="clear"))

    mirror.wait_for_state("resourceclaims", "synced")


def test_a_server_that_is_away_makes_the_kind_stale_and_comes_back_whole(server: APIServer, mirror: Mirror) -> None:
    rng = random.Random(7)
    change(server, rng)
    mirror.wait_until_equal("resourceclaims", truth(server))

    server.inject(Fault(fault="unreachable", seconds=1.5))
    mirror.wait_for_state("resourceclaims", "stale")
    for _ in range(10):
        change(server, rng)

    mirror.wait_until_equal("resourceclaims", truth(server))
    mirror.wait_for_state("resourceclaims", "synced")
