"""Changes that somebody else than who asks must make: of a pool that is invalid, and of several devices at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from dradash.kinds.deviceclaim import ALL, DeviceToleration, ResourceClaim
from dradash.scheduling.structured.advised import About, Hint
from dradash.scheduling.structured.constraintfates import Course
from dradash.scheduling.structured.fates import Fate, Stage, untolerated, untolerated_taints
from dradash.scheduling.structured.funnel import Holders
from dradash.scheduling.structured.nodefunnel import NodeFunnel, lacking
from dradash.scheduling.structured.pools import PoolID
from dradash.scheduling.structured.selectorwants import NAMED, listing
from dradash.scheduling.structured.smallestchange import PodsOf
from dradash.scheduling.structured.trial import Change, Trials, with_tolerations

_KEPT_BACK: Final = (Stage.TAINTS, Stage.FREE, Stage.POOL)


class Jointly:
    """everywhere: the sentence names the node."""

    def __init__(self, trials: Trials, holders: Holders, pods_of: PodsOf, *, everywhere: bool) -> None:
        self._trials, self._holders, self._pods_of, self._everywhere = trials, holders, pods_of, everywhere

    def invalid_pools(self, funnel: NodeFunnel) -> list[Hint]:
        """Of those with devices that a request wants; tried without the devices that make the pool invalid."""
        invalid = {p.id for p in funnel.sight.pools if p.is_invalid} if funnel.sight else set()
        found = []
        for about in self._short(funnel) if invalid else ():
            for why, fates in about.lost(Stage.POOL).items():
                pool = PoolID(fates[0].id.driver, fates[0].id.pool)
                if pool in invalid and any(f.is_wanted for f in fates):
                    hint = about.hint("pool", why, names=(pool.driver,), devices=tuple(f.id for f in fates[:NAMED]))
                    fits = self._trials.fits(funnel, Change(repaired=frozenset((pool,))))
                    found.append(replace(hint, verified=fits))
        return found

    def several(self, funnel: NodeFunnel) -> list[Hint]:
        """Where one change is not enough: as many devices as are lacking, each with what keeps it back."""
        found = []
        for about in self._short(funnel):
            kept = [f for f in about.course.fates if f.is_wanted and f.lost in _KEPT_BACK]
            if about.course.request.mode != ALL:
                # Those first that the fewest must move for: a taint needs nobody who gives something back.
                kept = sorted(kept, key=lambda f: (self._is_held(f), f.lost is Stage.POOL))[: lacking(about.course)]
            parts = [*self._pools(kept), *self._free(kept, about), *self._taints(kept, about)]
            if len(parts) > 1 and (hint := self._tried(about, kept, parts)) is not None:
                found.append(hint)
        return found

    def _short(self, funnel: NodeFunnel) -> Iterator[About]:
        where = f" on {funnel.node.name}" if self._everywhere else ""
        for place, course in funnel.short():
            yield About(funnel, place, course, where)

    def _is_held(self, fate: Fate) -> bool:
        return bool(fate.blockers or self._holders(fate.id))

    def _tried(self, about: About, kept: list[Fate], parts: list[str]) -> Hint | None:
        """None where it does not help: it is only a guess then."""
        freed = {b for f in kept for b in f.blockers or (f.id,)}
        pools = frozenset(PoolID(f.id.driver, f.id.pool) for f in kept if f.lost is Stage.POOL)
        claims = about.with_claim(_tolerating(about.claim, about.course, kept))
        if not self._trials.fits(about.funnel, Change(freed=frozenset(freed), repaired=pools, claims=claims)):
            return None
        held = tuple(dict.fromkeys(c for f in kept for b in f.blockers or (f.id,) for c in self._holders(b)))
        names = dict.fromkeys([*(p.driver for p in sorted(pools)), *_taints_of(kept, about.course)])
        hint = about.hint("several", " and ".join(parts), names=tuple(names), devices=tuple(f.id for f in kept[:NAMED]))
        return replace(hint, claims=held, pods=self._pods(held), verified=True)

    def _pods(self, claims: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(p for c in claims for p in self._pods_of(c)))

    def _pools(self, kept: list[Fate]) -> list[str]:
        return list(dict.fromkeys(f"mend the pool ({f.why})" for f in kept if f.lost is Stage.POOL))

    def _free(self, kept: list[Fate], about: About) -> list[str]:
        freed = dict.fromkeys(b for f in kept for b in f.blockers or (f.id,) if self._holders(b))
        if not freed:
            return []
        claims = tuple(dict.fromkeys(c for b in freed for c in self._holders(b)))
        by = listing([f"pod {p}" for p in self._pods(claims)] or [f"claim {c}" for c in claims])
        return [f"free {listing([b.device for b in freed])}{about.where} (held by {by})"]

    def _taints(self, kept: list[Fate], about: About) -> list[str]:
        devices: dict[str, list[str]] = {}
        for fate in kept:
            if taints := untolerated(fate.seen.candidate, about.course.request):
                devices.setdefault(", ".join(taints), []).append(fate.id.device)
        return [f"tolerate taint {taints} ({listing(of)}{about.where})" for taints, of in devices.items()]


def _taints_of(kept: list[Fate], course: Course) -> list[str]:
    return [t for f in kept for t in untolerated(f.seen.candidate, course.request)]


def _tolerating(claim: ResourceClaim, course: Course, kept: list[Fate]) -> ResourceClaim:
    taints = dict.fromkeys(t for f in kept for t in untolerated_taints(f.seen.candidate, course.request))
    added = [DeviceToleration(key=t.key, operator="Equal", value=t.value, effect=t.effect) for t in taints]
    return with_tolerations(claim, course.request, added)
