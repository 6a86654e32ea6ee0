"""The smallest changes that would make the claims fit on a node, each tried on the allocator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Final

from msgspec.structs import replace

from dradash.kinds.deviceclaim import DeviceToleration, ResourceClaim
from dradash.kinds.resourceslice import DeviceTaint
from dradash.scheduling.structured.advised import About, Hint, Option
from dradash.scheduling.structured.allocator import object_name
from dradash.scheduling.structured.atonce import AT_ONCE, MILDEST, at_once, smallest
from dradash.scheduling.structured.capacityhints import capacity_options
from dradash.scheduling.structured.claimhints import compete, over_limit
from dradash.scheduling.structured.conjuncts import short
from dradash.scheduling.structured.constraintfates import Course
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.fates import Fate, Stage, untolerated, untolerated_taints
from dradash.scheduling.structured.freeing import Freeing, PodsOf
from dradash.scheduling.structured.funnel import Holders, met_text
from dradash.scheduling.structured.looks import Budget
from dradash.scheduling.structured.nodefunnel import NodeFunnel
from dradash.scheduling.structured.pools import PoolID
from dradash.scheduling.structured.selectorwants import NAMED, besides, listing, wants
from dradash.scheduling.structured.trial import (
    Change,
    Trials,
    class_with_selectors_less,
    with_selectors_less,
    with_tolerations,
    without_constraint,
)

__all__ = ["Advice", "PodsOf"]

REQUESTS: Final = 16  # that are advised about, of those that have too few
OF_A_KIND: Final = 3  # taints, selectors: the most frequent ones

_KINDS: Final = 9
_GLANCES: Final = 64  # at devices, in the time of one look
_FACTS: Final = ("devices",)  # nothing that could be tried
_SEEN: Final = ("devices", "selector")  # what they say is of use though they do not help


class Advice:
    """hints: those that are right; `everywhere`: the sentence names the node. unread: classes that are malformed."""

    def __init__(
        self,
        trials: Trials,
        holders: Holders,
        pods_of: PodsOf,
        work: Budget,
        *,
        everywhere: bool,
        unread: Collection[str] = (),
    ) -> None:
        self._trials, self._freeing = trials, Freeing(trials, holders, pods_of)
        self._everywhere, self._unread = everywhere, unread
        self._work = work

    def on(self, funnel: NodeFunnel) -> list[Hint]:
        """Classes that are missing first, which nothing else makes up for; then the verified ones. Where no single one
        helps, those that help at once, as one; else none but facts."""
        if over := over_limit(funnel, everywhere=self._everywhere):
            return over
        absent, found = self._absent(funnel), list[Hint]()
        advised: list[tuple[About, list[Option]]] = []
        short = funnel.short()
        together = [] if short else [(i, c) for i, courses in enumerate(funnel.courses) for c in courses]
        concerned = short or together
        is_whole = len(concerned) <= REQUESTS and not funnel.left_out
        for place, course in concerned[:REQUESTS]:
            if not self._work.spend(_looks(funnel.claims[place], course)):
                is_whole = False
                break
            about = About(funnel, place, course, self._where(funnel))
            of_request = [o for kind in self._kinds(about) for o in kind]
            found += [self._tried(funnel, option) for option in of_request]
            advised.append((about, of_request))
        if absent:
            return absent + ([] if together else found)
        helps = list({(h.kind, h.sentence): h for h in reversed(found) if h.verified}.values())[::-1]
        if not helps and is_whole and (at_once := self._at_once(funnel, advised)) is not None:
            helps = [at_once]
            found = [at_once, *(h for h in found if h.kind in _SEEN)]
        if together:
            return [*helps, compete(funnel)]
        return sorted(found, key=lambda h: not h.verified)

    def _absent(self, funnel: NodeFunnel) -> list[Hint]:
        """Of all requests and alternatives: one that cannot be asked about ends the attempt."""
        missing: dict[str, Hint] = {}
        for place, courses in enumerate(funnel.courses):
            for course in courses:
                if (hint := self._class(About(funnel, place, course, self._where(funnel)))) is not None:
                    missing.setdefault(course.request.class_name, hint)
        return list(missing.values())

    def _tried(self, funnel: NodeFunnel, option: Option) -> Hint:
        if option.hint.verified or option.hint.kind in _FACTS:
            return option.hint
        return replace(option.hint, verified=self._trials.fits(funnel, option.change))

    def _at_once(self, funnel: NodeFunnel, advised: list[tuple[About, list[Option]]]) -> Hint | None:
        """Changes that help only together, none of which can be left out."""
        freed: set[DeviceID] = set()
        freeing: list[tuple[About, list[Option]]] = []
        others: list[Option] = []
        for about, of_request in advised:
            freeing.append((about, self._freeing.with_others(about, freed)))
            freed |= {d for o in freeing[-1][1] for d in o.change.freed}
            others += [o for o in of_request if o.hint.kind in MILDEST and not o.change.classes]
        others.sort(key=lambda o: MILDEST.index(o.hint.kind))
        needed = smallest(self._trials, funnel, [*(o for _, of in freeing for o in of), *others][:AT_ONCE])
        frees = [(about, [o for o in of if o in needed]) for about, of in freeing]
        freed_at_once = [self._freeing.at_once(about, of) for about, of in frees if of]
        return at_once([*freed_at_once, *(o for o in others if o in needed)]) if needed else None

    def _kinds(self, about: About) -> Iterator[list[Option]]:
        yield self._devices(about)
        yield self._pools(about)
        freeing = self._freeing.option(about)
        yield [] if freeing is None else [freeing]
        yield capacity_options(about, self._trials.inventory.taken, OF_A_KIND)
        yield self._tolerate(about)
        yield self._constraints(about)
        yield self._selectors(about, Stage.REQUEST)
        yield self._selectors(about, Stage.CLASS)

    def _where(self, funnel: NodeFunnel) -> str:
        return f" on {funnel.node.name}" if self._everywhere else ""

    # --- the kinds ---------------------------------------------------------------------------------------------------

    def _devices(self, about: About) -> list[Option]:
        """Too few, whatever is changed."""
        seen, needed, name = len(about.course.fates), about.course.needed, about.funnel.node.name
        if seen and seen >= needed:
            return []
        sentence = f"{needed} devices are asked for, and {name} sees {seen}"
        if not seen:
            sentence = f"no ResourceSlice has devices for {name}"
        return [Option(about.hint("devices", sentence), Change())]

    def _class(self, about: About) -> Hint | None:
        name = about.course.request.class_name
        if name in self._trials.classes:
            return None
        what = "cannot be read" if name in self._unread else "is missing"
        return about.hint("class", f"class {name} {what}", names=(name,))

    def _pools(self, about: About) -> list[Option]:
        """Pools that cannot be used here, taken for complete as they are, or without what makes them invalid."""
        pools = about.funnel.sight.pools if about.funnel.sight else ()
        incomplete, invalid = {p.id for p in pools if p.is_incomplete}, {p.id for p in pools if p.is_invalid}
        options = []
        for why, fates in about.lost(Stage.POOL).items():
            id_ = fates[0].id
            pool = PoolID(id_.driver, id_.pool)
            if pool in incomplete or (pool in invalid and any(f.is_wanted for f in fates)):
                hint = about.hint("pool", why, names=(id_.driver,), devices=tuple(f.id for f in fates[:NAMED]))
                act = f"complete {why.replace(' is incomplete: ', ' (')})"
                if pool in invalid:
                    act = f"mend {why.replace(' is invalid: ', ' (')})"
                options.append(Option(hint, Change(repaired=frozenset((pool,))), act))
        return options[:OF_A_KIND]

    def _tolerate(self, about: About) -> list[Option]:
        options = []
        for why, fates in islice(about.lost(Stage.TAINTS).items(), OF_A_KIND):
            request = about.course.request
            taints = untolerated_taints(fates[0].seen.candidate, request)
            edit = with_tolerations(request, [_toleration(t) for t in taints])
            devices = tuple(f.id for f in fates[:NAMED])
            sentence = f"tolerate {why} ({listing([d.device for d in devices])}{about.where})"
            names = untolerated(fates[0].seen.candidate, request)
            hint = about.hint("tolerate", sentence, names=names, devices=devices)
            options.append(Option(hint, about.editing(edit)))
        return options

    def _constraints(self, about: About) -> list[Option]:
        lost = about.lost(Stage.CONSTRAINTS)
        is_short = not about.course.is_enough
        if is_short and not lost:
            return []
        options = []
        for given in dict.fromkeys(about.claim.spec.devices.constraints):
            name = given.match_attribute or given.distinct_attribute or ""
            word = "matchAttribute" if given.match_attribute else "distinctAttribute"
            clashes = [w for w in lost if name in w][:NAMED]
            if clashes or not is_short:
                sentence = f"{word} {name} refuses{about.where}: {'; '.join(clashes) or 'in combination'}"
                hint = about.hint("constraint", sentence, names=(name,))
                options.append(Option(hint, about.editing(without_constraint(given)), f"leave out {word} {name}"))
            if len(options) == OF_A_KIND:
                break
        return options

    def _selectors(self, about: About, stage: Stage) -> list[Option]:
        by_part: dict[str, list[Fate]] = {}
        for fate in about.course.fates:
            if fate.lost is stage and fate.part:
                by_part.setdefault(fate.part, []).append(fate)
        request = about.course.request
        options = []
        for part, fates in sorted(by_part.items(), key=lambda item: -len(item[1]))[:OF_A_KIND]:
            values = Counter(met_text(f.met) for f in fates if f.met)
            owner = "selector" if stage is Stage.REQUEST else f"class {request.class_name}"
            claim, name = object_name(about.claim), short(part)
            more = besides([(about.funnel, 1)], claim, request.full_name, name, stage, self._work)
            sentence = wants(owner, part, values, f"node {about.funnel.node.name}", more)
            hint = about.hint("selector", sentence, names=(name,))
            options.append(Option(hint, self._less(about, stage, part), f"leave out {name} of the selector"))
        return options

    def _less(self, about: About, stage: Stage, part: str) -> Change:
        request = about.course.request
        if stage is Stage.REQUEST:
            return about.editing(with_selectors_less(request, part))
        return Change(classes=((request.class_name, class_with_selectors_less(part)),))


def _looks(claim: ResourceClaim, course: Course) -> int:
    """What advising about a request is worth, besides trying it: nine kinds, each with a glance at every device."""
    return 1 + len(course.fates) * (_KINDS + len(claim.spec.devices.constraints)) // _GLANCES


def _toleration(taint: DeviceTaint) -> DeviceToleration:
    return DeviceToleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
