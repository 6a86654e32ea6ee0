"""A large cluster: 5,000 nodes, 12 classes, hundreds of pods that come and go."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from dradash.sim.drivers import Behaviour
from dradash.sim.scenarios.model import Object, Scenario
from dradash.sim.scenarios.objects import namespace, node, pod, resource_class, selector, template
from dradash.sim.workloads import Stream

NODES: Final = 5000
CLASSES: Final = 12
NAMESPACES: Final = tuple(f"team-{i:02}" for i in range(8))
_MODELS: Final = ("a100", "h100", "l4", "mi300")


def _nodes(choose: random.Random) -> list[Object]:
    return [
        node(
            f"node-{i:04}",
            f"zone-{'abcdef'[i % 6]}",
            {"accelerator": choose.choice(_MODELS), "rack": f"rack-{i // 40}", "pool": f"pool-{i % CLASSES}"},
            taint="maintenance=planned:NoSchedule" if choose.random() < 0.02 else "",
            unschedulable=choose.random() < 0.01,
        )
        for i in range(NODES)
    ]


def _class(number: int) -> str:
    return f"device-{number:02}.example.com"


def _driver(number: int) -> Behaviour:
    """Most are quick; number 10 is slow, number 11 silent."""
    return Behaviour(
        driver=f"device-{number:02}.driver.example.com",
        devices=4,
        answers_after=(10.0, 30.0) if number == 10 else (0.3, 2.0),
        silent=number == 11,
    )


def _suitable(number: int) -> Object | None:
    if number % 3 == 0:
        return None
    return selector("accelerator", _MODELS[number % 4]) if number % 3 == 1 else selector("pool", f"pool-{number}")


def _stream(ns: str, number: int) -> Stream:
    names = {f"dev{i}": f"tmpl-{(number + 5 * i) % CLASSES:02}" for i in range(1 + number % 3)}
    return Stream(name=f"{ns}-load-{number:02}", make=_maker(ns, names), every=15.0, most=5, runs=(60.0, 180.0))


def _maker(ns: str, templates: dict[str, str]) -> Callable[[str], Object]:
    return lambda name: pod(ns, name, templates=templates)


def large(seed: int) -> Scenario:
    choose = random.Random(f"large/{seed}")
    objects = [namespace(ns) for ns in NAMESPACES]
    objects += _nodes(choose)
    objects += [resource_class(_class(i), _driver(i).driver, _suitable(i)) for i in range(CLASSES)]
    objects += [template(ns, f"tmpl-{i:02}", _class(i)) for ns in NAMESPACES for i in range(CLASSES)]
    return Scenario(
        objects=tuple(objects),
        drivers=tuple(_driver(i) for i in range(CLASSES)),
        streams=tuple(_stream(ns, i) for ns in NAMESPACES for i in range(CLASSES)),
        event_ttl=300.0,
    )
