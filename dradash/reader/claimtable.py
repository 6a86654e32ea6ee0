"""What every list of claims asks of every claim, kept as changes come: a list looks at each but works out none.

Pure. The follower feeds the one of now; of a past moment it is worked out anew. A change of a claim costs that claim, a
change of a ResourceClass the claims of it: their driver is the class's until they are allocated.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from dradash.reader.world import World
from dradash.scheduling.claimfacts import AnyClaim, claims_of, class_names_of, drivers_in_charge, state_of
from dradash.scheduling.classic.claimstate import ClaimState
from dradash.scheduling.cluster import Cluster


class ClaimEntry(msgspec.Struct, frozen=True, gc=False):  # thousands, in no cycle: nothing for the collector
    key: str
    claim: AnyClaim
    state: ClaimState
    classes: tuple[str, ...]
    drivers: tuple[str, ...]


def entry_of(key: str, claim: AnyClaim, cluster: Cluster) -> ClaimEntry:
    return ClaimEntry(key, claim, state_of(claim), class_names_of(claim), drivers_in_charge(claim, cluster))


class ClaimTable:
    def __init__(self) -> None:
        self._entries: dict[str, ClaimEntry] = {}

    @classmethod
    def of(cls, world: World) -> ClaimTable:
        made = cls()
        for key, claim in claims_of(world.cluster).items():
            made._entries[key] = entry_of(key, claim, world.cluster)
        return made

    def entries(self) -> Collection[ClaimEntry]:
        """Of the well-formed claims, in no order. A view: read it while the world is held."""
        return self._entries.values()

    def feed(self, kind: str, key: str, cluster: Cluster) -> None:
        """An object has changed, and `cluster` has it already."""
        if kind == "resourceclaims":
            self._put(key, cluster)
        elif kind == "resourceclasses":
            for claim in cluster.claims_by_class.members(key):
                self._put(claim, cluster)

    def _put(self, key: str, cluster: Cluster) -> None:
        claim = claims_of(cluster).get(key)
        if claim is None:
            self._entries.pop(key, None)
        else:
            self._entries[key] = entry_of(key, claim, cluster)
