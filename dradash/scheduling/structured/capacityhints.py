"""What is advised where a request asks for an amount of capacity that a device never gives."""

from __future__ import annotations

from dradash.kinds.quantity import Quantity
from dradash.scheduling.structured.advised import About, Option
from dradash.scheduling.structured.capacity import Limit, Never
from dradash.scheduling.structured.fates import Fate
from dradash.scheduling.structured.selectorwants import NAMED, listing
from dradash.scheduling.structured.trial import Change, with_capacity

_Cause = tuple[str, Limit, Quantity | None]


def capacity_options(about: About, limit: int) -> list[Option]:
    """One for each cause, those of most devices first, so many at most. Tried is what may be asked for instead."""
    by_cause: dict[_Cause, list[tuple[Fate, Never]]] = {}
    for fate in about.course.fates:
        if (never := fate.never) is not None:
            # How much a device has matters only of the largest.
            most = never.most if never.limit is Limit.POLICY else None
            by_cause.setdefault((never.name, never.limit, most), []).append((fate, never))
    return [_option(about, of) for of in sorted(by_cause.values(), key=lambda of: -len(of))[:limit]]


def _option(about: About, of: list[tuple[Fate, Never]]) -> Option:
    never = max((n for _, n in of), key=lambda n: n.most or Quantity(0))
    devices = tuple(fate.id for fate, _ in of)
    sentence = _sentence(never, of, about.where)
    hint = about.hint("capacity", sentence, names=(never.name,), devices=devices[:NAMED])
    amount = None if never.most is None else str(never.most)
    claim = with_capacity(about.claim, about.course.request, never.name, amount)
    return Option(hint, Change(claims=about.with_claim(claim)))


def _sentence(never: Never, of: list[tuple[Fate, Never]], where: str) -> str:
    which = listing([fate.id.device for fate, _ in of])
    match never.limit:
        case Limit.NAME:
            names = listing(sorted(of[0][0].seen.candidate.device.capacity))
            has = f"; there is {names}" if names else ""
            return f"{which}{where} {'has' if len(of) == 1 else 'have'} no capacity {never.name}{has}"
        case Limit.POLICY:
            most = f"at most {never.most} of {never.name} may be asked of {which}{where}"
            return f"{most}, and {never.needs} are needed"
        case Limit.WHOLE:
            whole = max(n.whole for _, n in of if n.whole is not None)
            return f"{_asked(never)}, and the largest device{where} has {whole}{_instead(never, whole)}"


def _asked(never: Never) -> str:
    if never.asked is None:
        return f"{never.needs} of {never.name} are taken where no amount is asked for"
    rounded = "" if never.asked == never.needs else f", rounded up to {never.needs}"
    return f"{never.asked} of {never.name} are asked for{rounded}"


def _instead(never: Never, whole: Quantity) -> str:
    if never.most is None:
        return ", less than the least that its policy allows"
    return "" if never.most == whole else f": at most {never.most} may be asked for"
