"""Pools as one node sees them: newest generation, complete or not, valid or not (pools_incubating.go)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from dradash.kinds.node import Node
from dradash.kinds.resourceslice import CounterSet, ResourceSlice
from dradash.kinds.selectors import NodeSelector
from dradash.scheduling.gotext import json_list
from dradash.scheduling.nodeselector import selector_error, term_matches
from dradash.scheduling.structured.devices import AllocationError


class PoolID(msgspec.Struct, frozen=True, order=True):
    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class Pool(msgspec.Struct):
    """`here`: slices with devices for the node; `elsewhere`: the others, known only if they were needed."""

    id: PoolID
    is_incomplete: bool = False
    invalid_reason: str = ""
    here: list[ResourceSlice] = []
    elsewhere: list[ResourceSlice] = []
    counter_sets: dict[str, CounterSet] = {}

    @property
    def is_invalid(self) -> bool:
        return bool(self.invalid_reason)

    @property
    def is_usable(self) -> bool:
        return not self.is_incomplete and not self.is_invalid


def node_matches(node: Node, name: str | None, all_nodes: bool | None, selector: NodeSelector | None) -> bool:
    """NodeMatches. Raises AllocationError for a selector that is none."""
    if name:
        return node.name == name
    if all_nodes:
        return True
    if selector is None:
        return False
    if wrong := selector_error(selector, json_list):
        # Upstream prints the whole struct here.
        raise AllocationError(f"failed to parse node selector &NodeSelector{{...}}: {wrong}")
    return any(term_matches(t, node.name, node.metadata.labels) for t in selector.node_selector_terms)


Whole = Callable[[PoolID], Iterable[ResourceSlice]]  # all slices of the pool in the cluster


def gathered(seen: Mapping[PoolID, list[ResourceSlice]], whole: Whole) -> list[Pool]:
    """GatherPools, of the slices that concern a node."""
    return in_order(pool for id_, found in seen.items() if (pool := judged(id_, found, whole)) is not None)


def in_order(pools: Iterable[Pool]) -> list[Pool]:
    """The order in which devices are tried: by driver and name, those with binding conditions last."""
    return sorted(pools, key=lambda pool: (_has_binding_conditions(pool), pool.id))


def concerning(slices: Iterable[ResourceSlice], node: Node) -> dict[PoolID, list[ResourceSlice]]:
    """Of each pool the slices of the newest generation that concern the node. Raises AllocationError."""
    seen: dict[PoolID, list[ResourceSlice]] = {}
    for item in slices:
        if _concerns(item, node):
            add_slice(seen, item)
    return seen


def _concerns(item: ResourceSlice, node: Node) -> bool:
    spec = item.spec
    if spec.shared_counters:
        return True
    if spec.node_name or spec.all_nodes or spec.node_selector is not None:
        try:
            return node_matches(node, spec.node_name, spec.all_nodes, spec.node_selector)
        except AllocationError as error:
            where = f"gather pool information: failed to perform node selection for slice {item.name}"
            raise AllocationError(f"{where}: {error}") from error
    if not spec.per_device_node_selection:
        return False
    for device in spec.devices:
        try:
            if node_matches(node, device.node_name, device.all_nodes, device.node_selector):
                return True
        except AllocationError as error:
            where = f"failed to perform node selection for device &Device{{{device.name}}} in slice {item.name}"
            raise AllocationError(f"gather pool information: {where}: {error}") from error
    return False


def add_slice(seen: dict[PoolID, list[ResourceSlice]], item: ResourceSlice) -> None:
    """addSlice: a newer generation replaces what was seen, an older one is ignored."""
    id_ = PoolID(item.spec.driver, item.spec.pool.name)
    known = seen.get(id_)
    generation = item.spec.pool.generation
    if known is None or generation > known[0].spec.pool.generation:
        seen[id_] = [item]
    elif generation == known[0].spec.pool.generation:
        known.append(item)


def judged(id_: PoolID, found: list[ResourceSlice], whole: Whole) -> Pool | None:
    """One pool, None if a newer generation of it is elsewhere."""
    found.sort(key=lambda s: s.name)
    expected = found[0].spec.pool.resource_slice_count
    if len(found) == expected:
        return built(id_, found, None)
    generation = found[0].spec.pool.generation
    newest: list[ResourceSlice] = []
    for item in whole(id_):
        if item.spec.pool.generation > generation:
            return None
        if item.spec.pool.generation == generation:
            newest.append(item)
    if len(newest) != expected:
        return Pool(id_, is_incomplete=True)
    return built(id_, found, newest)


def built(id_: PoolID, found: list[ResourceSlice], whole: list[ResourceSlice] | None) -> Pool:
    """buildPool. `whole`: all slices of the generation, None if these are all."""
    here = [s for s in found if not s.spec.shared_counters]
    if duplicate := _duplicate(d.name for s in here for d in s.spec.devices):
        return Pool(id_, invalid_reason=f"duplicate device name {duplicate}")
    sets = [c for s in found for c in s.spec.shared_counters]
    if duplicate := _duplicate(c.name for c in sets):
        return Pool(id_, invalid_reason=f"duplicate counter set name {duplicate}")
    counter_sets = {c.name: c for c in sets}
    names = {s.name for s in found}
    elsewhere = [s for s in whole or () if s.name not in names]
    for slices in (found, elsewhere):
        if wrong := _wrong_consumption(counter_sets, slices):
            return Pool(id_, invalid_reason=wrong)
    return Pool(id_, here=here, elsewhere=elsewhere, counter_sets=counter_sets)


def _duplicate(names: Iterable[str]) -> str:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name or "<empty>"
        seen.add(name)
    return ""


def _wrong_consumption(counter_sets: dict[str, CounterSet], slices: list[ResourceSlice]) -> str:
    """validateDeviceCounterConsumption: "" or what is wrong."""
    for item in slices:
        for device in item.spec.devices:
            for consumption in device.consumes_counters:
                counter_set = counter_sets.get(consumption.counter_set)
                if counter_set is None:
                    return f"counter set {consumption.counter_set} not found"
                for name in consumption.counters:
                    if name not in counter_set.counters:
                        return f"counter {name} not found in counter set {counter_set.name}"
    return ""


def _has_binding_conditions(pool: Pool) -> bool:
    return any(d.binding_conditions for s in pool.here for d in s.spec.devices)
