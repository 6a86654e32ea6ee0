"""What is advised where a request asks for more of a capacity than a device gives, ever or now."""

from __future__ import annotations

from typing import Final

import msgspec

from dradash.kinds.quantity import Quantity
from dradash.scheduling.structured import capacity
from dradash.scheduling.structured.advised import About, Option
from dradash.scheduling.structured.capacity import Limit, Never, Scarce
from dradash.scheduling.structured.devices import AllocatedState, AllocationError, amount
from dradash.scheduling.structured.fates import Fate, Stage
from dradash.scheduling.structured.selectorwants import NAMED, listing
from dradash.scheduling.structured.trial import with_capacity

_Cause = tuple[str, Limit | None, Quantity | None, Quantity | None]
_FREE: Final = (Stage.FREE, Stage.CONSTRAINTS, None)


class _Refusal(msgspec.Struct, frozen=True):
    """left: of the capacity, None where nobody has anything of it. now: the most that may be asked for while others
    keep theirs, None where there is nothing."""

    fate: Fate
    of: Never | Scarce
    left: Quantity | None
    now: Quantity | None


def capacity_options(about: About, taken: AllocatedState, limit: int) -> list[Option]:
    """One for each cause, those of most devices first, so many at most. Tried is what may be asked for instead."""
    by_cause: dict[_Cause, list[_Refusal]] = {}
    for fate in about.course.fates:
        if (refusal := _refusal(about, fate, taken)) is not None:
            by_cause.setdefault(_cause(refusal), []).append(refusal)
    causes = [sorted(of, key=_now, reverse=True) for of in by_cause.values()]
    causes.sort(key=lambda of: (len(of), _now(of[0])), reverse=True)
    return [_option(about, of) for of in causes[:limit]]


def _refusal(about: About, fate: Fate, taken: AllocatedState) -> _Refusal | None:
    held, used = fate.seen.candidate.device.capacity, taken.capacity.get(fate.id, {})
    never = fate.never
    try:
        if never is None:
            if fate.lost is not Stage.FREE or fate.id in taken.devices:
                return None
            scarce = capacity.scarce(about.course.request.capacity, held, used)
            now = None if scarce is None else capacity.most_now(held[scarce.name], scarce.needs, used.get(scarce.name))
            # Where nothing may be asked for, giving back what others have is all that is left.
            return None if scarce is None or now is None else _Refusal(fate, scarce, scarce.left, now)
        if never.needs is None or never.name not in used:
            return _Refusal(fate, never, None, never.most)
        now = capacity.most_now(held[never.name], never.needs, used[never.name])
        return _Refusal(fate, never, capacity.left(held[never.name], used[never.name]), now)
    except AllocationError:
        return None


def _cause(refusal: _Refusal) -> _Cause:
    """How much a device has matters only of the largest."""
    of = refusal.of
    if isinstance(of, Scarce):
        return (of.name, None, of.left, of.whole)
    return (of.name, of.limit, of.most if of.limit is Limit.POLICY else None, refusal.left)


def _now(refusal: _Refusal) -> Quantity:
    return refusal.now or capacity.NONE


def _option(about: About, of: list[_Refusal]) -> Option:
    """of: the one of which most may be asked for first."""
    first = of[0]
    devices = tuple(r.fate.id for r in of)
    hint = about.hint("capacity", _sentence(about, of), names=(first.of.name,), devices=devices[:NAMED])
    asked = None if first.now is None else str(first.now)
    act = f"ask for no {first.of.name}" if asked is None else f"ask for {asked} of {first.of.name} at most"
    return Option(hint, about.editing(with_capacity(about.course.request, first.of.name, asked)), act)


def _sentence(about: About, of: list[_Refusal]) -> str:
    first, where = of[0], about.where
    which = listing([r.fate.id.device for r in of])
    match first.of:
        case Scarce(left=left, whole=whole):
            has = f"{left} of {whole} of {which}{where} are left"
            return f"{_asked(first.of)}, and {has}: at most {first.now} may be asked for now"
        case Never(limit=Limit.NAME):
            names = listing(sorted(first.fate.seen.candidate.device.capacity))
            has = f"; there is {names}" if names else ""
            return f"{which}{where} {'has' if len(of) == 1 else 'have'} no capacity {first.of.name}{has}"
        case Never(limit=Limit.POLICY) as never:
            most = f"at most {never.most} of {never.name} may be asked of {which}{where}"
            return f"{most}, and {never.needs} are needed{_left(first)}"
    whole = max(r.of.whole for r in of if r.of.whole is not None)
    has = f"the largest device{where} has {whole}"
    if _largest(about, first.of.name) > whole:
        has = f"{which}{where} {'has' if len(of) == 1 else 'have at most'} {whole}"
    return f"{_asked(first.of)}, and {has}{_instead(first.of, whole)}{_left(first)}"


def _largest(about: About, name: str) -> Quantity:
    """What the largest device has of it, of those that the request may be given."""
    devices = [f.seen.candidate.device for f in about.course.fates if f.lost in _FREE]
    return max((amount(d.capacity[name].value) for d in devices if name in d.capacity), default=capacity.NONE)


def _asked(of: Never | Scarce) -> str:
    if of.asked is None:
        return f"{of.needs} of {of.name} are taken where no amount is asked for"
    rounded = "" if of.asked == of.needs else f", rounded up to {of.needs}"
    return f"{of.asked} of {of.name} are asked for{rounded}"


def _instead(of: Never | Scarce, whole: Quantity) -> str:
    if not isinstance(of, Never):
        return ""
    if of.most is None:
        return ", less than the least that its policy allows"
    return "" if of.most == whole else f": at most {of.most} may be asked for"


def _left(refusal: _Refusal) -> str:
    if refusal.left is None:
        return ""
    may = "" if refusal.now is None else f": at most {refusal.now} may be asked for now"
    return f"; {refusal.left} of {refusal.of.whole} are left{may}"
