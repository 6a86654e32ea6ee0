"""What refuses a device that consumes counters is what the allocator's own look at every counter says."""

from __future__ import annotations

import random
from typing import Any

import pytest

from dradash.kinds.node import Node
from dradash.kinds.registry import decode
from dradash.kinds.resourceslice import ResourceSlice
from dradash.scheduling.structured.counterfates import BLOCKERS, CounterFates
from dradash.scheduling.structured.counters import AvailableCounters, ConsumedCounters
from dradash.scheduling.structured.devices import AllocatedState
from dradash.scheduling.structured.effort import Effort
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.sight import sight_of
from tests.devicescene import pool

NODE = decode(Node, {"metadata": {"name": "node-0"}})


def partitions(choose: random.Random, devices: int, most: int) -> Inventory:
    sets = [f"set-{i}" for i in range(3)]
    of = [{"name": s, "counters": {c: {"value": str(choose.randint(1, most))} for c in "ab"}} for s in sets]
    made: list[Any] = []
    for i in range(devices):
        some = choose.sample(sets, choose.randint(1, 2))
        takes = {"counters": {c: {"value": str(choose.randint(0, 3))} for c in choose.choice(("a", "ab"))}}
        made.append({"name": f"d{i}", "consumesCounters": [{"counterSet": s, **takes} for s in some]})
    counters = pool(suffix="counters", slices=2, sharedCounters=of)
    del counters["spec"]["devices"]
    return Inventory([decode(ResourceSlice, s) for s in (pool(*made, slices=2), counters)])


@pytest.mark.parametrize("seed", range(60))
def test_a_device_is_refused_where_the_allocator_cannot_take_its_counters(seed: int) -> None:
    choose = random.Random(seed)
    inventory = partitions(choose, devices=8, most=choose.choice((3, 12)))
    seen = [s.candidate for s in sight_of(inventory, NODE).devices]
    held = {c.id for c in choose.sample(seen, choose.randint(0, 4))}
    taken = AllocatedState(held, set(), {})
    fates = CounterFates(taken, Effort())
    for candidate in seen:
        refusal = fates.refusal(candidate)
        assert (refusal is None) == ConsumedCounters(AvailableCounters(taken)).take(candidate)
        if refusal is not None and " left" in refusal[0]:
            sets = {c.counter_set for c in candidate.device.consumes_counters}
            drawing = {
                c.id for c in seen if c.id in held and sets & {x.counter_set for x in c.device.consumes_counters}
            }
            assert set(refusal[1]) == drawing


def test_the_devices_in_the_way_of_one_are_found_once_for_all_and_not_told_without_end() -> None:
    inventory = partitions(random.Random(1), devices=400, most=3)
    seen = [s.candidate for s in sight_of(inventory, NODE).devices]
    taken = AllocatedState({c.id for c in seen}, set(), {})
    effort = Effort(400 * 60)
    fates = CounterFates(taken, effort)
    refusals = [fates.refusal(c) for c in seen]
    assert effort.left > 0
    assert all(r is not None and len(r[1]) <= BLOCKERS for r in refusals)
