"""What the drivers did, read from how PodSchedulingContexts and claims change. Pure: fed change by change.

Everything is kept with its time and within bounds, so that it can also be told as of an earlier moment.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import msgspec

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.reader.dated import EVENTS, Times, Took, insert
from dradash.scheduling.classic.turns import is_new

PAIRS: Final = 20_000  # (node, driver) pairs with refusals that are kept
REFUSALS_OF_PAIR: Final = 32
RATE_WINDOW: Final = 300.0  # seconds over which allocations a minute are counted
LEAST_WINDOW: Final = 10.0  # the same at first: one allocation in the first second is not sixty a minute
FOREVER: Final = float("inf")


class Refusal(msgspec.Struct, frozen=True):
    at: float
    pod: str  # key
    claim: str  # the pod's name for it


class Refused(msgspec.Struct, frozen=True):
    """A driver's refusals of one node."""

    driver: str
    node: str
    count: int
    last: Refusal


class Summary(msgspec.Struct, frozen=True):
    """One driver's record. Times are Unix seconds, 0.0 for never; durations are seconds, None for none known."""

    responses: int = 0
    p50: float | None = None
    p95: float | None = None
    last_took: float | None = None
    refusals: int = 0
    allocations: int = 0
    per_minute: float = 0.0
    deallocations: int = 0
    heard: float = 0.0  # its last move
    durations: tuple[float, ...] = ()  # first asked to allocated, of each claim


def _at(one: Took | Refusal) -> float:
    return one.at


class _Driver:
    def __init__(self) -> None:
        self.moves = Times()
        self.refusals = Times()
        self.allocations = Times()
        self.deallocations = Times()
        self.responses: deque[Took] = deque(maxlen=EVENTS)
        self.negotiations: deque[Took] = deque(maxlen=EVENTS)


class _Pair:
    def __init__(self) -> None:
        self.count = 0
        self.last: deque[Refusal] = deque(maxlen=REFUSALS_OF_PAIR)


class _Ask(msgspec.Struct):
    """A claim of a pod that is negotiated about. owed: asked and not answered since then, 0.0: nothing is owed.

    begun, exact: whether `first` and `owed` are when it was asked, and not only when that was first seen.
    """

    first: float
    begun: bool
    owed: float = 0.0
    exact: bool = False


class DriverStats:
    """`since`: Unix seconds from which on everything was seen.

    The moves about one claim of one pod are fed in the order of time; those of others may come late.
    """

    def __init__(self, since: float = 0.0) -> None:
        self.since = since
        self.on_response: Callable[[str, float], None] = lambda _driver, _seconds: None
        self._drivers: dict[str, _Driver] = {}
        self._pairs: OrderedDict[tuple[str, str], _Pair] = OrderedDict()  # (node, driver), oldest refusal first
        self._by_node: dict[str, set[str]] = {}
        self._asks: dict[str, dict[str, _Ask]] = {}  # pod key -> the pod's name for the claim

    # --- feeding ---------------------------------------------------------------------------------------------------

    def context_changed(
        self,
        at: float,
        key: str,
        old: PodSchedulingContext | None,
        new: PodSchedulingContext | None,
        drivers: Mapping[str, str],
        allocated: Collection[str] = (),
    ) -> None:
        """drivers: the pod's name for each of its claims -> the driver in charge.

        allocated: names of those that were allocated then. Nothing is asked about them; answers stay answers.
        """
        if new is None:
            self._asks.pop(key, None)
            return
        before = old or PodSchedulingContext()
        asked = set(new.spec.potential_nodes) - set(before.spec.potential_nodes) or (
            new.spec.selected_node and new.spec.selected_node != before.spec.selected_node
        )
        if asked:
            # An answer that was there when the context was first seen took nobody knows how long.
            told = {s.name for s in new.status.resource_claims} if old is None else set()
            exact = old is not None or is_new(at, new)
            self._ask(at, key, [name for name in drivers if name not in told and name not in allocated], exact=exact)
        answered = {s.name: s.unsuitable_nodes for s in before.status.resource_claims}
        for status in new.status.resource_claims:
            driver = drivers.get(status.name)
            if driver and answered.get(status.name) != status.unsuitable_nodes:
                fresh = set(status.unsuitable_nodes) - set(answered.get(status.name, ()))
                self._answer(at, key, status.name, driver, fresh)

    def claim_changed(
        self, at: float, old: ResourceClaim | None, new: ResourceClaim | None, driver: str, users: Mapping[str, str]
    ) -> None:
        """users: keys of the pods that use the claim -> their name for it. driver: in charge of the claim."""
        had = old is not None and old.status.allocation is not None
        has = new is not None and new.status.allocation is not None
        if new is None or had == has:
            return
        if old is not None and driver:
            record = self._of(driver)
            record.moves.add(at)
            (record.allocations if has else record.deallocations).add(at)
        if has:
            for pod, name in users.items():
                self.allocated(at, pod, name, driver, seen=old is not None)

    def allocated(self, at: float, pod: str, name: str, driver: str, *, seen: bool) -> None:
        """Nothing is owed for the pod's claim of that name any more. seen: not only found allocated."""
        ask = self._asks.get(pod, {}).get(name)
        if ask is None or at < ask.first:
            return
        del self._asks[pod][name]
        if not seen or not driver:
            return
        if ask.begun:
            insert(self._of(driver).negotiations, Took(at, max(0.0, at - ask.first)), _at)
        self._respond(driver, at, ask)

    def devices_changed(self, at: float, had: AbstractSet[str], has: AbstractSet[str]) -> None:
        """Of a claim with structured parameters: drivers whose devices it had and has. The scheduler chooses them."""
        for driver in has - had:
            self._of(driver).allocations.add(at)
        for driver in had - has:
            self._of(driver).deallocations.add(at)

    def heard(self, at: float, driver: str) -> None:
        """It published devices, or reported how one is."""
        self._of(driver).moves.add(at)

    def _ask(self, at: float, key: str, names: Sequence[str], *, exact: bool) -> None:
        asks = self._asks.setdefault(key, {})
        for name in names:
            ask = asks.setdefault(name, _Ask(at, exact))
            if not ask.owed:
                ask.owed, ask.exact = at, exact

    def _answer(self, at: float, key: str, name: str, driver: str, refused: set[str]) -> None:
        record = self._of(driver)
        record.moves.add(at)
        ask = self._asks.get(key, {}).get(name)
        if ask is not None:
            self._respond(driver, at, ask)
            ask.owed = 0.0
        for node in sorted(refused):
            record.refusals.add(at)
            self._refuse(node, driver, Refusal(at, key, name))

    def _respond(self, driver: str, at: float, ask: _Ask) -> None:
        if not ask.owed or not ask.exact:
            return
        seconds = max(0.0, at - ask.owed)
        insert(self._of(driver).responses, Took(at, seconds), _at)
        self.on_response(driver, seconds)

    def _refuse(self, node: str, driver: str, refusal: Refusal) -> None:
        pair = self._pairs.setdefault((node, driver), _Pair())
        pair.count += 1
        insert(pair.last, refusal, _at)
        self._pairs.move_to_end((node, driver))
        self._by_node.setdefault(node, set()).add(driver)
        while len(self._pairs) > PAIRS:
            (old_node, old_driver), _ = self._pairs.popitem(last=False)
            self._by_node[old_node].discard(old_driver)
            if not self._by_node[old_node]:
                del self._by_node[old_node]

    def _of(self, driver: str) -> _Driver:
        return self._drivers.setdefault(driver, _Driver())

    # --- reading ---------------------------------------------------------------------------------------------------

    def names(self) -> frozenset[str]:
        return frozenset(self._drivers)

    def owed_since(self, pod: str, claim: str) -> float:
        """Since when an answer or an allocation for the claim is owed, 0.0: not known to be owed."""
        ask = self._asks.get(pod, {}).get(claim)
        return ask.owed if ask else 0.0

    def refused(self, node: str, until: float = FOREVER) -> list[Refused]:
        """Drivers that refused the node up to `until`, the latest refusal first."""
        found = (self._refused(node, driver, until) for driver in self._by_node.get(node, ()))
        return sorted(filter(None, found), key=lambda r: (-r.last.at, r.driver))

    def refused_most(self, driver: str, limit: int, until: float = FOREVER) -> list[Refused]:
        """The nodes that the driver refused most often."""
        found = (self._refused(node, name, until) for node, name in self._pairs if name == driver)
        return sorted(filter(None, found), key=lambda r: (-r.count, r.node))[:limit]

    def _refused(self, node: str, driver: str, until: float) -> Refused | None:
        pair = self._pairs[node, driver]
        later = sum(r.at > until for r in pair.last)
        seen = list(pair.last)[: len(pair.last) - later]
        return Refused(driver, node, pair.count - later, seen[-1]) if seen else None

    def refusals_of(self, node: str) -> int:
        """How often drivers refused the node."""
        return sum(self._pairs[node, driver].count for driver in self._by_node.get(node, ()))

    def refusals_by_node(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for (node, _), pair in self._pairs.items():
            counts[node] = counts.get(node, 0) + pair.count
        return counts

    def allocation_times(self, driver: str, until: float = FOREVER) -> list[float]:
        record = self._drivers.get(driver)
        return [at for at in record.allocations.last if at <= until] if record else []

    def summary(self, driver: str, now: float) -> Summary:
        """Of what was seen up to `now`."""
        record = self._drivers.get(driver)
        if record is None:
            return Summary()
        took = [t for t in record.responses if t.at <= now]
        seconds = sorted(t.seconds for t in took)
        return Summary(
            responses=len(took),
            p50=percentile(seconds, 50),
            p95=percentile(seconds, 95),
            last_took=took[-1].seconds if took else None,
            refusals=record.refusals.until(now),
            allocations=record.allocations.until(now),
            per_minute=self._per_minute(record, now),
            deallocations=record.deallocations.until(now),
            heard=max((at for at in record.moves.last if at <= now), default=0.0),
            durations=tuple(t.seconds for t in record.negotiations if t.at <= now),
        )

    def _per_minute(self, record: _Driver, now: float) -> float:
        """Of the time that was watched: before `since` all that is known is what histories happen to tell."""
        window = RATE_WINDOW
        if self.since < now < self.since + RATE_WINDOW:
            window = now - self.since
        recent = sum(now - window < at <= now for at in record.allocations.last)
        return recent * 60 / max(window, LEAST_WINDOW)


def percentile(ordered: Sequence[float], per_cent: int) -> float | None:
    """The nearest-rank percentile of ascending numbers, None of none."""
    if not ordered:
        return None
    return ordered[max(0, -(-per_cent * len(ordered) // 100) - 1)]
