"""Which devices, or shares of one, would have to be given back: as few as possible, found by trying."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import combinations, islice
from typing import Final

from msgspec.structs import replace

from dradash.kinds.deviceclaim import ALL
from dradash.scheduling.structured import capacity
from dradash.scheduling.structured.advised import About, Option
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.fates import Fate, Stage
from dradash.scheduling.structured.funnel import Holders
from dradash.scheduling.structured.nodefunnel import lacking
from dradash.scheduling.structured.selectorwants import listing
from dradash.scheduling.structured.trial import Change, Trials

FREED: Final = 32  # devices among which those to free are looked for, and claims that have shares of one
MORE: Final = 2  # than seem to be missing
COMBINATIONS: Final = 16
PodsOf = Callable[[str], tuple[str, ...]]  # claim key -> keys of the pods that use it


class Freeing:
    def __init__(self, trials: Trials, holders: Holders, pods_of: PodsOf) -> None:
        self._trials, self._holders, self._pods_of = trials, holders, pods_of

    def option(self, about: About) -> Option | None:
        """Verified at once where it helps."""
        names = _blockers(about)
        if not names:
            return None
        if (shares := self._shares(about)) is not None:
            return shares
        least = _least(about, names)
        may_help = len(names) == least or self._trials.fits(about.funnel, Change(freed=frozenset(names)))
        end = self._trials.left * 2 // 3  # the rest is for other requests, and for changes that help only at once
        for count in range(least, min(len(names), least + MORE) + 1) if may_help else ():
            tried = list(islice(combinations(names, count), max(1, min(COMBINATIONS, self._trials.left - end))))
            helps = [c for c in tried if self._trials.fits(about.funnel, Change(freed=frozenset(c)))]
            if helps:
                return self._devices(about, helps, names, count, is_any=len(helps) == len(tried))
        return None if len(names) < least else self._some(about, names[:least])

    def with_others(self, about: About, freed: Collection[DeviceID]) -> list[Option]:
        """What may help together with other changes, of which some free these: what is lacking first, then one by one
        as many as other requests might take away from it."""
        names = [name for name in _blockers(about) if name not in freed]
        least = _least(about, names)
        more = names[least : max(least, about.course.needed)]
        return [self._some(about, some) for some in (names[:least], *([name] for name in more)) if some]

    def at_once(self, about: About, options: list[Option]) -> Option:
        """All of these, which free devices for the request."""
        freed = frozenset(d for o in options for d in o.change.freed)
        return self._some(about, [name for name in _blockers(about) if name in freed])

    def _some(self, about: About, some: list[DeviceID]) -> Option:
        return self._option(about, some, len(some), Change(freed=frozenset(some)), is_verified=False)

    def _devices(
        self, about: About, helps: list[tuple[DeviceID, ...]], names: list[DeviceID], count: int, *, is_any: bool
    ) -> Option:
        among = names if is_any else [c[0] for c in helps] if count == 1 else list(helps[0])
        return self._option(about, among, count, Change(freed=frozenset(helps[0])), is_verified=True)

    def _option(self, about: About, among: list[DeviceID], count: int, change: Change, *, is_verified: bool) -> Option:
        claims = tuple(dict.fromkeys(c for d in among for c in self._holders(d)))
        amount = f"{count} of " if count < len(among) else ""
        what = f"{amount}{listing([d.device for d in among])}"
        return self._told(about, what, among, claims, change, is_verified=is_verified)

    def _told(
        self,
        about: About,
        what: str,
        devices: Sequence[DeviceID],
        claims: tuple[str, ...],
        change: Change,
        *,
        is_verified: bool,
    ) -> Option:
        pods = tuple(dict.fromkeys(p for c in claims for p in self._pods_of(c)))
        by = listing([f"pod {p}" for p in pods] or [f"claim {c}" for c in claims])
        hint = about.hint("free", f"free {what}{about.where}{by and f' (held by {by})'}", devices=tuple(devices))
        return Option(replace(hint, claims=claims, pods=pods, verified=is_verified), change)

    # --- shares of a device ------------------------------------------------------------------------------------------

    def _shares(self, about: About) -> Option | None:
        """Where one device is missing, and not all claims that have shares of it need give theirs back."""
        if about.course.request.mode == ALL or lacking(about.course) != 1:
            return None
        fates = [f for f in about.course.fates if f.lost is Stage.FREE and f.blockers == (f.id,)][:FREED]
        found = [(fate.id, sets) for fate in fates if (sets := self._enough(about, fate))]
        for device, sets in sorted(found, key=lambda item: len(item[1][0]))[:MORE]:
            changes = {claims: Change(given_back=frozenset((c, device) for c in claims)) for claims in sets}
            helps = [claims for claims, change in changes.items() if self._trials.fits(about.funnel, change)]
            if helps:
                count = len(helps[0])
                among = tuple(c[0] for c in helps) if count == 1 else helps[0]
                shares = "a share of" if len(among) == 1 else f"{count} shares of"
                if count < len(among):
                    shares = "1 of the shares of"
                what = f"{shares} {device.device}"
                return self._told(about, what, (device,), among, changes[helps[0]], is_verified=True)
        return None

    def _enough(self, about: About, fate: Fate) -> list[tuple[str, ...]]:
        """The smallest sets of claims, less than all, any of which leaves enough when it gives back what it has."""
        inventory, wanted, held = (
            self._trials.inventory,
            about.course.request.capacity,
            fate.seen.candidate.device.capacity,
        )
        taken = inventory.taken.capacity.get(fate.id, {})
        if fate.id in inventory.taken.devices or capacity.fits(taken, {}, wanted, held):
            return []
        needs = capacity.consumption(wanted, held)
        of = {key: inventory.consumed(key, fate.id) for key in self._holders(fate.id)[:FREED]}
        first = next((n for n, need in needs.items() if capacity.left(held[n], taken.get(n)) < need), "")
        most = sorted(of, key=lambda key: of[key].get(first, capacity.NONE), reverse=True)
        for count in range(1, len(most)):
            sets = list(islice(combinations(most, count), COMBINATIONS))
            found = [c for c in sets if capacity.fits(capacity.less(taken, (of[k] for k in c)), {}, wanted, held)]
            if found:
                return found
        return []


def _blockers(about: About) -> list[DeviceID]:
    return list(dict.fromkeys(b for f in about.course.fates if f.lost is Stage.FREE for b in f.blockers))[:FREED]


def _least(about: About, blockers: list[DeviceID]) -> int:
    return max(1, lacking(about.course)) if about.course.request.mode != ALL else len(blockers)
