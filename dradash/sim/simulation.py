"""A living cluster: an API server with all the actors of a scenario, or with a recording that is played into it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dradash.kinds.registry import CLASSIC
from dradash.sim.actors import Actor, Clock
from dradash.sim.apiserver import APIServer
from dradash.sim.claimcontroller import ClaimController
from dradash.sim.devicedrivers import DeviceDrivers
from dradash.sim.drivers import Drivers
from dradash.sim.garbage import GarbageCollector
from dradash.sim.replay import Recorded
from dradash.sim.scenarios.model import Scenario, Script, place
from dradash.sim.scheduler import Scheduler
from dradash.sim.tainteviction import TaintEviction
from dradash.sim.workloads import Kubelet, Workloads


def actors(server: APIServer, scenario: Scenario, clock: Clock, seed: int = 0) -> list[Actor]:
    return [
        GarbageCollector(server, clock, event_ttl=scenario.event_ttl),
        ClaimController(server, clock),
        *_drivers(server, scenario, clock, seed),
        Scheduler(server, clock),
        Kubelet(server, clock, [p.driver for p in scenario.publishers if p.keeps]),
        Workloads(server, clock, scenario.streams, seed),
        Script(server, clock, scenario.script),
    ]


def _drivers(server: APIServer, scenario: Scenario, clock: Clock, seed: int) -> list[Actor]:
    claims = server.collection("resourceclaims").resource
    found: list[Actor] = []
    if claims.is_structured:
        found += [DeviceDrivers(server, clock, scenario.publishers), TaintEviction(server, clock)]
    if CLASSIC in claims.versions:
        found.append(Drivers(server, clock, scenario.drivers, seed))
    return found


@contextmanager
def running(all_actors: list[Actor]) -> Iterator[None]:
    """The actors at work; they end together."""
    started: list[Actor] = []
    try:
        for actor in all_actors:
            actor.start()
            started.append(actor)
        yield
    finally:
        for actor in started:
            actor.ask_to_stop()
        for actor in started:
            actor.stop()


@contextmanager
def living(server: APIServer, scenario: Scenario, *, speed: float = 1.0, seed: int = 0) -> Iterator[None]:
    """The scenario on this server, from its first objects on, for as long as the context is open."""
    for obj in scenario.objects:
        place(server, obj)
    with running(actors(server, scenario, Clock(speed), seed)):
        yield


@contextmanager
def recorded(server: APIServer, path: Path, *, speed: float = 1.0, patience: float = 0.0) -> Iterator[None]:
    """The recording, `speed` times as fast as it was. What is wrong in the file is logged (see replay.check).

    patience: seconds to wait for somebody who watches.
    """
    with running([Recorded(server, Clock(speed), path, patience=patience)]):
        yield
