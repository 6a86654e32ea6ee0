"""What is kept of every claim."""

from __future__ import annotations

import random

from dradash.reader.claimtable import ClaimTable
from dradash.scheduling.classic.claimstate import ClaimState
from tests import build
from tests import builddevices as make
from tests.unit.test_presenters_lists import World

KEYS = tuple(f"ns/c{i}" for i in range(6))


def change(rng: random.Random, world: World) -> tuple[str, str]:
    """One object is put, broken or removed; its kind and key."""
    kind, key = rng.choice([("resourceclaims", k) for k in KEYS] + [("resourceclasses", n) for n in ("a", "b")] * 2)
    namespace, _, name = key.rpartition("/")
    if rng.random() < 0.25:
        world.cluster.remove(kind, key)
    elif rng.random() < 0.1:
        world.cluster.put(kind, key, b'{"metadata": 5}')
    elif kind == "resourceclasses":
        world.cluster.put(kind, key, build.raw(build.resource_class(name, driver=f"driver-{rng.randrange(3)}")))
    elif rng.random() < 0.3:
        world.cluster.put(kind, key, build.raw(make.claim(name, namespace, make.request("gpu", "a"))))
    else:
        allocation = build.allocation("node-0") if rng.random() < 0.5 else None
        driver = "its.own" if allocation and rng.random() < 0.5 else ""
        claim = build.claim(name, namespace, resource_class=rng.choice("ab"), allocation=allocation, driver=driver)
        world.cluster.put(kind, key, build.raw(claim))
    return kind, key


def test_what_is_kept_as_changes_come_is_what_would_be_worked_out_anew() -> None:
    for seed in range(30):
        rng, world, table = random.Random(seed), World(), ClaimTable()
        for _ in range(60):
            table.feed(*change(rng, world), world.cluster)
            kept = {e.key: e for e in table.entries()}
            assert kept == {e.key: e for e in ClaimTable.of(world).entries()}, seed


def test_a_claim_that_waits_has_the_driver_that_its_class_has_by_now() -> None:
    world = World(build.claim("c", resource_class="a"))
    table = ClaimTable.of(world)
    world.cluster.put("resourceclasses", "a", build.raw(build.resource_class("a", driver="late.example.com")))
    table.feed("resourceclasses", "a", world.cluster)
    (entry,) = table.entries()
    assert (entry.state, entry.classes, entry.drivers) == (ClaimState.PENDING, ("a",), ("late.example.com",))
