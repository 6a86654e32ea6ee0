"""What a scenario is: what is there at the start, who acts, and what happens when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dradash.kinds.registry import CLASSIC
from dradash.sim.actors import Actor, Clock
from dradash.sim.apiserver import APIServer
from dradash.sim.devicedrivers import Publisher
from dradash.sim.drivers import Behaviour
from dradash.sim.faults import Fault
from dradash.sim.workloads import Stream

# Simulated seconds until somebody looks: what happens once and is over soon must not happen before. `up --demo` starts
# the cluster first, and dradash reads it some seconds later.
WATCHED = 15.0

Object = dict[str, Any]
Action = Callable[[APIServer], None]


class Step(msgspec.Struct, frozen=True):
    """Something that is done `at` simulated seconds after the start, and every `every` seconds from then on."""

    at: float
    do: Action
    every: float = 0.0


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """versions: of resource.k8s.io, that its cluster serves. drivers: with classic DRA; publishers: with structured
    parameters."""

    objects: tuple[Object, ...]
    drivers: tuple[Behaviour, ...] = ()
    publishers: tuple[Publisher, ...] = ()
    versions: tuple[str, ...] = (CLASSIC,)
    script: tuple[Step, ...] = ()
    streams: tuple[Stream, ...] = ()
    event_ttl: float = 600.0  # simulated seconds


def place(server: APIServer, obj: Object) -> None:
    """Create an object, with the status that it comes with; one of v1 where only a beta version is served as that.

    Raises ApiError.
    """
    resource = next(r for r in server.resources.values() if r.kind == obj["kind"])
    plural, obj = resource.plural, resource.as_served(obj)
    created = server.create(plural, obj, obj["metadata"].get("namespace", ""), "scenario")
    if obj.get("status"):
        namespace = obj["metadata"].get("namespace", "")
        server.update_status(plural, {**created, "status": obj["status"]}, namespace, "scenario")


def create(*objects: Object) -> Action:
    def do(server: APIServer) -> None:
        for obj in objects:
            place(server, obj)

    return do


def delete(plural: str, name: str, namespace: str = "") -> Action:
    def do(server: APIServer) -> None:
        server.delete(plural, name, namespace)

    return do


def inject(fault: Fault) -> Action:
    def do(server: APIServer) -> None:
        server.inject(msgspec.structs.replace(fault))  # a fault in force counts itself down

    return do


class Script(Actor):
    """Does a scenario's steps."""

    def __init__(self, server: APIServer, clock: Clock, steps: tuple[Step, ...]) -> None:
        super().__init__(server, clock)
        self._steps = steps

    def on_start(self) -> None:
        for number, step in enumerate(self._steps):
            self._plan(number, step, step.at)

    def _plan(self, number: int, step: Step, seconds: float) -> None:
        def act() -> None:
            if step.every:
                self._plan(number, step, step.every)
            step.do(self.server)

        self.later(number, seconds, act)
