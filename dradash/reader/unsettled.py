"""Moves in negotiations of which it is not known yet whose they are.

Kinds are listed and watched side by side, so a context may come before its pod, a claim before its class. What is known
only of a part of them is kept until the rest comes, with its own time: the order in which kinds come must not matter.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.reader.entries import claim_names
from dradash.scheduling.classic.claims import driver_of
from dradash.scheduling.cluster import Cluster, Index

MOVES: Final = 16  # of one negotiation that are kept
NEGOTIATIONS: Final = 5000  # that are kept: where pods may not be read, none is ever settled
CLAIMS: Final = 5000  # whose last allocations and deallocations are kept
TURNS: Final = 4  # of one claim


class Party(msgspec.Struct, frozen=True):
    """A claim of a negotiation, by key, and the driver in charge of it."""

    claim: str
    driver: str


class Move(msgspec.Struct, frozen=True):
    """A change of a context. told: the pod's names for the claims for which it is in the record already."""

    at: float
    old: PodSchedulingContext | None
    new: PodSchedulingContext
    told: frozenset[str]


class Turn(msgspec.Struct, frozen=True):
    """A claim became allocated, or is not any more. seen: it was seen to change, not only found like this."""

    at: float
    allocated: bool
    seen: bool


def was_allocated(turns: Sequence[Turn], at: float) -> bool:
    """turns: of the claim, oldest first. What was found later only is taken to have been free before."""
    before = [t for t in turns if t.at <= at]
    if before:
        return before[-1].allocated
    return bool(turns) and turns[0].seen and not turns[0].allocated


def parties(pod_key: str, cluster: Cluster) -> tuple[dict[str, Party], set[str]]:
    """The pod's names for its claims -> the parties that are known, and what the others wait for (see `awaited`)."""
    pod = cluster.pods.get(pod_key)
    if pod is None:
        return {}, {awaited("pods", pod_key)}
    known, missing = {}, set()
    without = {s.name for s in pod.status.resource_claim_statuses if not s.resource_claim_name}  # need no claim
    for entry, name in claim_names(pod).items():
        if not name:
            missing |= set() if entry in without else {awaited("pods", pod_key)}
            continue
        key = f"{pod.namespace}/{name}"
        claim = cluster.claims.get(key)
        driver = driver_of(claim, cluster) if claim else ""
        if driver:
            known[entry] = Party(key, driver)
            continue
        missing.add(awaited("resourceclaims", key))
        if claim is not None:
            missing.add(awaited("resourceclasses", claim.spec.resource_class_name))
    return known, missing


def awaited(kind: str, key: str) -> str:
    return f"{kind} {key}"


class Unsettled:
    """Costs what waits for an object when that changes, and nothing for other changes."""

    def __init__(self) -> None:
        self._moves: OrderedDict[str, deque[Move]] = OrderedDict()
        self._awaited = Index()
        self._turns: OrderedDict[str, deque[Turn]] = OrderedDict()

    def hold(self, key: str, move: Move, missing: set[str]) -> None:
        """key: of the context."""
        self._moves.setdefault(key, deque(maxlen=MOVES)).append(move)
        self._awaited.set(key, missing)
        while len(self._moves) > NEGOTIATIONS:
            self.forget(next(iter(self._moves)))

    def forget(self, key: str) -> None:
        self._moves.pop(key, None)
        self._awaited.set(key, set())

    def waiting_for(self, kind: str, key: str) -> list[str]:
        """Keys of contexts with moves that may be settled now."""
        return sorted(self._awaited.members(awaited(kind, key)))

    def take(self, key: str, told: Iterable[str], missing: set[str]) -> list[Move]:
        """The moves that are held, oldest first, with what was told of them before; for `told` they are settled now."""
        moves = list(self._moves.get(key, ()))
        if missing:
            left = (msgspec.structs.replace(m, told=m.told.union(told)) for m in moves)
            self._moves[key] = deque(left, maxlen=MOVES)
            self._awaited.set(key, missing)
        else:
            self.forget(key)
        return moves

    # --- claims ----------------------------------------------------------------------------------------------------

    def claim_changed(self, at: float, key: str, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        had = old is not None and old.status.allocation is not None
        has = new is not None and new.status.allocation is not None
        if new is None:
            self._turns.pop(key, None)
        elif had != has:
            self._turns.setdefault(key, deque(maxlen=TURNS)).append(Turn(at, has, old is not None))
            self._turns.move_to_end(key)
            if len(self._turns) > CLAIMS:
                self._turns.popitem(last=False)

    def turns(self, claim: str) -> Sequence[Turn]:
        """Its last ones, oldest first; none: as far as it was seen, it has always been as it is."""
        return self._turns.get(claim, ())
