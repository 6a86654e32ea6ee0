"""What this process learnt by watching, beside the state itself: the drivers' record and counts over time.

The follower feeds it with every change and asks for a sample now and then; it holds the follower's lock meanwhile.
Pure: times and histories are given.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final

from dradash.kinds import deviceclaim
from dradash.kinds.claim import ResourceClaim
from dradash.kinds.registry import MalformedObject, decode
from dradash.kinds.resourceslice import ResourceSlice
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.reader.claimtable import ClaimTable
from dradash.reader.driverstats import DriverStats
from dradash.reader.entries import claims_by_entry, entry_of
from dradash.reader.nodeseries import LOOKED_BACK, NodeSeries
from dradash.reader.nodeseries import STEP as NODE_STEP
from dradash.reader.series import Groups, Series, node_groups, take, walk_back
from dradash.reader.tallies import Tallies
from dradash.reader.trails import COURSES, Course, M, Trails
from dradash.reader.unsettled import Move, Party, Turn, Unsettled, parties, was_allocated
from dradash.reader.waits import Waits
from dradash.reader.world import World
from dradash.scheduling.classic.claims import driver_of
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.structured.claimstate import drivers_of
from dradash.store.model import Change, HistoryEntry
from dradash.store.replica import Applied

SEEDED: Final = 500  # contexts whose history is read at start: some 0.2 ms each

REFUSED_LATE: Final = 200  # changes by which refusals were told that had come before them

ReadHistory = Callable[[str, str], list[HistoryEntry]]


def _no_trails() -> dict[str, Trails[Any]]:
    return {course.kind: Trails(course) for course in COURSES}


def _standing(world: World, kind: str, key: str, now: float) -> HistoryEntry:
    """The object as it stands, as if it were its history."""
    return HistoryEntry(0, world.times.get(kind, {}).get(key, now), "MODIFIED", world.cluster.raw[kind][key])


class Observations:
    def __init__(self) -> None:
        self.drivers = DriverStats()
        self.waits = Waits()
        self.series = Series()
        self.nodes = NodeSeries()
        self._instance = ""
        self._unsettled = Unsettled()
        self._refused_late: deque[tuple[int, frozenset[str]]] = deque(maxlen=REFUSED_LATE)
        self._trails = _no_trails()
        self.tallies = Tallies()
        self.claims = ClaimTable()
        self.on_response: Callable[[str, float], None] = lambda _driver, _seconds: None  # driver, how long it took

    def feed(self, applied: Applied, cluster: Cluster) -> None:
        change = applied.change
        self.tallies.feed(change.kind, change.key, applied.old, applied.new)
        self.claims.feed(change.kind, change.key, cluster)
        self.waits.feed(change.kind, change.key, change.at, applied.old, applied.new, cluster)
        if change.kind in self._trails:
            self._trails[change.kind].feed(change.at, change.key, applied.new)
        if change.kind == "podschedulingcontexts":
            claims = cluster.claims
            self._context(
                change.at,
                change.key,
                applied.old,
                applied.new,
                cluster,
                lambda party: claims[party.claim].status.allocation is not None,
            )
        elif change.kind == "resourceclaims":  # with structured parameters it is the scheduler that allocates
            old, new = (o if isinstance(o, ResourceClaim) else None for o in (applied.old, applied.new))
            self._claim(change.at, change.key, old, new, cluster)
            self._device_claim(change.at, applied.old, applied.new)
        elif change.kind == "resourceslices" and isinstance(applied.new, ResourceSlice):
            self.drivers.heard(change.at, applied.new.spec.driver)
        nodes: set[str] = set()
        for key in self._unsettled.waiting_for(change.kind, change.key):
            nodes |= self._settle(key, cluster)
        if nodes:
            self._refused_late.append((change.revision, frozenset(nodes)))

    def refused_late(self, revision: int) -> frozenset[str]:
        """Nodes whose refusals are in the record since that change, of which the negotiations had been told before."""
        return next((nodes for at, nodes in self._refused_late if at == revision), frozenset())

    def trails(self, course: Course[M]) -> Trails[M]:
        return self._trails[course.kind]

    def sample(self, world: World, now: float) -> None:
        if self.series.is_due(now):
            self.series.add(take(world, now))

    def look_back(
        self, world: World, undone: Iterable[tuple[Change, bytes | None]], now: float
    ) -> list[tuple[float, Groups]]:
        """Begin the counts over time with what the change stream still tells (see series.rewind).

        Counts that there are already, from before the model had to be loaded anew, stay. Gives back what the nodes'
        samples of before are made of, oldest first.
        """
        samples, groups = [], [(now, node_groups(world))]
        for at, counts in walk_back(world, now, undone):
            samples.append(counts.sample(at))
            if groups[-1][0] - at >= NODE_STEP and len(groups) <= LOOKED_BACK:
                groups.append((at, counts.groups()))
        self.series.prepend(samples[::-1])
        return groups[::-1]

    def restart(self, world: World, history: ReadHistory, now: float) -> None:
        """Begin the drivers' record anew: from the histories of the newest negotiations and of their claims.

        What was negotiated and forgotten before this process started is not in it: `drivers.since` says so.
        """
        if world.instance != self._instance:  # another model numbers its nodes anew
            self._instance, self.nodes = world.instance, NodeSeries()
        self.drivers, self.waits, self._trails = DriverStats(now), Waits(), _no_trails()
        self._unsettled = Unsettled()
        self.tallies = Tallies.of(world)
        self.claims = ClaimTable.of(world)
        history = cache(history)  # both begin with much the same ones
        self.waits.restart(world, history)
        cluster = world.cluster
        times = world.times.get("podschedulingcontexts", {})
        newest = sorted(cluster.contexts, key=lambda k: -times.get(k, 0.0))
        entries = []
        read = set()
        for number, key in enumerate(newest):
            claims = [c.key for c in claims_by_entry(key, cluster).values() if c is not None]
            for kind, name in (("podschedulingcontexts", key), *(("resourceclaims", c) for c in claims)):
                if (kind, name) not in read:
                    read.add((kind, name))
                    # What is not read, or was not kept, counts at least as it stands now.
                    known = (history(kind, name) if number < SEEDED else []) or [_standing(world, kind, name, now)]
                    entries += [(kind, name, e) for e in known]
        self._replay(entries, cluster)
        for name, item in cluster.inventory.slices.items():
            self.drivers.heard(world.times.get("resourceslices", {}).get(name, now), item.spec.driver)
        self.drivers.on_response = self._heard  # what was replayed was heard before

    def _heard(self, driver: str, seconds: float) -> None:
        self.on_response(driver, seconds)

    def _replay(self, entries: list[tuple[str, str, HistoryEntry]], cluster: Cluster) -> None:
        before: dict[tuple[str, str], PodSchedulingContext | ResourceClaim | None] = {}
        for kind, key, entry in sorted(entries, key=lambda e: (e[2].at, e[2].revision)):
            old = before.get((kind, key))
            try:
                if kind == "resourceclaims":
                    claim = None if entry.type == "DELETED" else decode(ResourceClaim, entry.object)
                    before[kind, key] = claim
                    self._claim(entry.at, key, old if isinstance(old, ResourceClaim) else None, claim, cluster)
                else:
                    context = None if entry.type == "DELETED" else decode(PodSchedulingContext, entry.object)
                    before[kind, key] = context
                    was = old if isinstance(old, PodSchedulingContext) else None
                    self._context(entry.at, key, was, context, cluster, self._was_allocated(entry.at))
            except MalformedObject:
                continue

    # --- what a change is about ------------------------------------------------------------------------------------

    def _context(
        self,
        at: float,
        key: str,
        old: PodSchedulingContext | None,
        new: PodSchedulingContext | None,
        cluster: Cluster,
        is_allocated: Callable[[Party], bool],
    ) -> None:
        if new is None:
            self._unsettled.forget(key)
            self.drivers.context_changed(at, key, old, None, {})
            return
        known, missing = parties(key, cluster)
        allocated = {name for name, party in known.items() if is_allocated(party)}
        self.drivers.context_changed(at, key, old, new, {n: p.driver for n, p in known.items()}, allocated)
        if missing:
            self._unsettled.hold(key, Move(at, old, new, frozenset(known)), missing)

    def _settle(self, key: str, cluster: Cluster) -> set[str]:
        """Tell what was held of a negotiation, now that an object came by which more of it is known; gives back the
        nodes that it says are unsuitable."""
        nodes: set[str] = set()
        known, missing = parties(key, cluster)
        moves = self._unsettled.take(key, known, missing)
        for name, party in known.items():
            turns = self._unsettled.turns(party.claim)
            stands = cluster.claims[party.claim].status.allocation is not None
            past = deque(turns)
            for move in [m for m in moves if name not in m.told]:
                self._end_asks(key, name, party, past, move.at)
                allocated = (name,) if (was_allocated(turns, move.at) if turns else stands) else ()
                self.drivers.context_changed(move.at, key, move.old, move.new, {name: party.driver}, allocated)
                nodes.update(*(s.unsuitable_nodes for s in move.new.status.resource_claims if s.name == name))
            self._end_asks(key, name, party, past, float("inf"))
        return nodes

    def _end_asks(self, key: str, name: str, party: Party, turns: deque[Turn], until: float) -> None:
        while turns and turns[0].at <= until:
            turn = turns.popleft()
            if turn.allocated:
                self.drivers.allocated(turn.at, key, name, party.driver, seen=turn.seen)

    def _was_allocated(self, at: float) -> Callable[[Party], bool]:
        return lambda party: was_allocated(self._unsettled.turns(party.claim), at)

    def _claim(
        self, at: float, key: str, old: ResourceClaim | None, new: ResourceClaim | None, cluster: Cluster
    ) -> None:
        claim = new or old
        if claim is None:
            return
        driver = claim.status.driver_name or (old.status.driver_name if old else "") or driver_of(claim, cluster)
        users = {}
        for pod_key in cluster.pods_by_claim.members(key):
            pod = cluster.pods.get(pod_key)
            name = entry_of(pod, claim.name) if pod else ""
            if name:
                users[pod_key] = name
        self._unsettled.claim_changed(at, key, old, new)
        self.drivers.claim_changed(at, old, new, driver, users)

    def _device_claim(self, at: float, old: object, new: object) -> None:
        """What was allocated before anybody looked counts as nothing."""
        was = old if isinstance(old, deviceclaim.ResourceClaim) else None
        now = new if isinstance(new, deviceclaim.ResourceClaim) else None
        if was is None:
            return
        self.drivers.devices_changed(at, set(drivers_of(was)), set(drivers_of(now)) if now is not None else set())
        if now is not None and now.status.devices != was.status.devices:
            said = {d.driver for d in now.status.devices if d not in was.status.devices}
            for driver in sorted(said):
                self.drivers.heard(at, driver)
