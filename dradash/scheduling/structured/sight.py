"""The devices that a node sees, in pools that can be used and in others: where the funnel of a request begins."""

from __future__ import annotations

import msgspec

from dradash.kinds.node import Node
from dradash.kinds.resourceslice import ResourceSlice
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.pools import Pool, PoolID, node_matches
from dradash.scheduling.structured.requests import Candidate


class Seen(msgspec.Struct, frozen=True):
    """A device of the node. trouble: why its pool cannot be used, "" if it can."""

    candidate: Candidate
    trouble: str

    @property
    def is_local(self) -> bool:
        """Whether no other node sees it."""
        return bool(self.candidate.slice.spec.node_name)


class Sight(msgspec.Struct, frozen=True):
    node: Node
    pools: list[Pool]  # as the allocator sees them
    devices: list[Seen]  # in the order in which the allocator tries them


def sight_of(inventory: Inventory, node: Node) -> Sight:
    """Raises AllocationError, which ends the whole attempt."""
    pools = inventory.pools(node)
    devices: list[Seen] = []
    seen = inventory.seen_from(node)
    for pool in pools:
        found = seen.pop(pool.id, [])
        trouble = "" if pool.is_usable else _trouble(pool, found, inventory)
        devices += _devices(pool, pool.here if pool.is_usable else found, trouble, node)
    for id_, found in sorted(seen.items()):
        generation = found[0].spec.pool.generation
        trouble = f"pool {id_.pool} has a newer generation than {generation}, which does not reach the node"
        devices += _devices(Pool(id_), found, trouble, node)
    return Sight(node, pools, devices)


def _trouble(pool: Pool, found: list[ResourceSlice], inventory: Inventory) -> str:
    if pool.is_invalid:
        return f"pool {pool.id.pool} is invalid: {pool.invalid_reason}"
    return f"pool {pool.id.pool} is incomplete: {how_complete(pool.id, found, inventory)}"


def how_complete(id_: PoolID, found: list[ResourceSlice], inventory: Inventory) -> str:
    """`1 of 2 slices of generation 7`."""
    of = found[0].spec.pool
    have = sum(s.spec.pool.generation == of.generation for s in inventory.slices_of(id_))
    return f"{have} of {of.resource_slice_count} slices of generation {of.generation}"


def _devices(pool: Pool, slices: list[ResourceSlice], trouble: str, node: Node) -> list[Seen]:
    return [
        Seen(Candidate(DeviceID(pool.id.driver, pool.id.pool, device.name), device, item, pool), trouble)
        for item in slices
        for device in item.spec.devices
        if not item.spec.per_device_node_selection
        or node_matches(node, device.node_name, device.all_nodes, device.node_selector)
    ]
