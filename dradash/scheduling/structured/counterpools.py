"""Pools with shared counters, as the nodes see them that have none of their devices.

Slices with shared counters concern every node (upstream's GatherPools). To most nodes such a pool has no device to
give: all that it can do there is to be incomplete or invalid, and that is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from dradash.kinds.resourceslice import ResourceSlice
from dradash.scheduling.structured.pools import Pool, PoolID, Whole, add_slice, judged

Unusable = tuple[PoolID, bool, str]  # a pool: whether it is incomplete, why it is invalid


class CounterPools:
    def __init__(self, whole: Whole) -> None:
        self._whole = whole
        self._slices: dict[PoolID, dict[str, ResourceSlice]] = {}
        self._pools: dict[PoolID, Pool] = {}  # those that cannot be used
        self._stale: set[PoolID] = set()
        self._unusable: frozenset[Unusable] = frozenset()
        # Name of a pool, of whatever driver -> owner of a slice with devices that consume counters -> number of these.
        # The owner is a node, None for a slice that no node owns.
        self._consuming: dict[str, dict[str | None, int]] = {}

    def copy(self, whole: Whole) -> CounterPools:
        other = CounterPools(whole)
        other._slices = {pool: dict(slices) for pool, slices in self._slices.items()}
        other._consuming = {name: dict(owners) for name, owners in self._consuming.items()}
        other._stale = set(self._slices)
        return other

    # --- changes ---------------------------------------------------------------------------------------------------

    def link(self, key: str, item: ResourceSlice) -> None:
        """Any slice: with counters, with devices that consume them, or neither."""
        if item.spec.shared_counters:
            self._slices.setdefault(_pool_of(item), {})[key] = item
        elif _consumes(item):
            owners = self._consuming.setdefault(item.spec.pool.name, {})
            owner = item.spec.node_name or None
            owners[owner] = owners.get(owner, 0) + 1
        self._stale.add(_pool_of(item))

    def unlink(self, key: str, item: ResourceSlice) -> None:
        id_ = _pool_of(item)
        if item.spec.shared_counters:
            self._slices[id_].pop(key)
            if not self._slices[id_]:
                del self._slices[id_]
        elif _consumes(item):
            owners = self._consuming[item.spec.pool.name]
            owner = item.spec.node_name or None
            owners[owner] -= 1
            if not owners[owner]:
                del owners[owner]
        self._stale.add(id_)

    # --- questions -------------------------------------------------------------------------------------------------

    def consumers(self, name: str) -> Collection[str | None]:
        """Who owns the slices, of pools of that name, whose devices consume counters; None: no node does."""
        return self._consuming.get(name, {}).keys()

    @property
    def slices(self) -> Iterable[ResourceSlice]:
        return (item for slices in self._slices.values() for item in slices.values())

    def complete(self, seen: dict[PoolID, list[ResourceSlice]]) -> None:
        """Add the slices with counters to what a node sees of each of these pools."""
        for id_ in list(seen):
            for item in self._slices.get(id_, {}).values():
                add_slice(seen, item)

    def seen_of(self, id_: PoolID) -> list[ResourceSlice]:
        """What a node without devices of the pool sees of it."""
        seen: dict[PoolID, list[ResourceSlice]] = {}
        for item in self._slices.get(id_, {}).values():
            add_slice(seen, item)
        return seen.get(id_, [])

    def unusable(self) -> frozenset[Unusable]:
        """The pools that nodes without devices of them cannot use; it is another object if one has changed."""
        if self._stale:
            for id_ in self._stale:
                self._pools.pop(id_, None)
                found = self.seen_of(id_)
                pool = judged(id_, found, self._whole) if found else None
                if pool is not None and not pool.is_usable:
                    self._pools[id_] = pool
            self._stale.clear()
            now = frozenset((p.id, p.is_incomplete, p.invalid_reason) for p in self._pools.values())
            if now != self._unusable:
                self._unusable = now
        return self._unusable

    def unusable_besides(self, near: Collection[PoolID]) -> list[Pool]:
        self.unusable()
        return [pool for id_, pool in self._pools.items() if id_ not in near]


def _consumes(item: ResourceSlice) -> bool:
    return any(device.consumes_counters for device in item.spec.devices)


def _pool_of(item: ResourceSlice) -> PoolID:
    return PoolID(item.spec.driver, item.spec.pool.name)
