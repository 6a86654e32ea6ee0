"""The smallest changes that would make the claims fit on a node, each tried on the allocator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from itertools import combinations, islice
from typing import Final

from msgspec.structs import replace

from dradash.kinds.deviceclaim import ALL, DeviceToleration, ResourceClaim
from dradash.kinds.resourceslice import DeviceTaint
from dradash.scheduling.structured.advised import About, Hint, Option
from dradash.scheduling.structured.allocator import object_name
from dradash.scheduling.structured.capacityhints import capacity_options
from dradash.scheduling.structured.claimhints import compete, over_limit
from dradash.scheduling.structured.conjuncts import short
from dradash.scheduling.structured.constraintfates import Course
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.fates import Fate, Stage, untolerated, untolerated_taints
from dradash.scheduling.structured.funnel import Holders, met_text
from dradash.scheduling.structured.looks import Budget
from dradash.scheduling.structured.nodefunnel import NodeFunnel, lacking
from dradash.scheduling.structured.pools import PoolID
from dradash.scheduling.structured.selectorwants import NAMED, besides, listing, wants
from dradash.scheduling.structured.trial import (
    Change,
    Trials,
    selectors_less,
    with_selectors_less,
    with_tolerations,
    without_constraint,
)

FREED: Final = 32  # devices among which those to free are looked for
MORE: Final = 2  # than seem to be missing
COMBINATIONS: Final = 16
REQUESTS: Final = 16  # that are advised about, of those that have too few
OF_A_KIND: Final = 3  # taints, selectors: the most frequent ones

_KINDS: Final = 9
_GLANCES: Final = 64  # at devices, in the time of one look
_FACTS: Final = ("devices", "class")  # nothing that could be tried
PodsOf = Callable[[str], tuple[str, ...]]  # claim key -> keys of the pods that use it


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
        self._trials, self._holders, self._pods_of = trials, holders, pods_of
        self._everywhere, self._unread = everywhere, unread
        self._work = work

    def on(self, funnel: NodeFunnel) -> list[Hint]:
        """The verified ones first; where no single one helps, those that help together, else none but facts."""
        if over := over_limit(funnel, everywhere=self._everywhere):
            return over
        found: list[Hint] = []
        first: list[Option] = []
        short = funnel.short()
        together = [] if short else [(i, c) for i, courses in enumerate(funnel.courses) for c in courses]
        concerned = short or together
        is_whole = len(concerned) <= REQUESTS and not funnel.left_out
        for place, course in concerned[:REQUESTS]:
            if not self._work.spend(_looks(funnel.claims[place], course)):
                is_whole = False
                break
            of_request = [o for kind in self._kinds(funnel, place, course) for o in kind]
            tried = [self._tried(funnel, option) for option in of_request]
            found += tried
            first += of_request[:1]
        if len(first) > 1 and is_whole and not any(h.verified for h in found) and self._help_together(funnel, first):
            return [replace(o.hint, verified=True) for o in first]
        if together:
            helps = {(h.kind, h.sentence): h for h in reversed(found) if h.verified}
            found = [*reversed(helps.values()), compete(funnel)]
        return sorted(found, key=lambda h: not h.verified)

    def _tried(self, funnel: NodeFunnel, option: Option) -> Hint:
        if option.hint.verified or option.hint.kind in _FACTS:
            return option.hint
        return replace(option.hint, verified=self._trials.fits(funnel, option.change))

    def _help_together(self, funnel: NodeFunnel, options: list[Option]) -> bool:
        """Only changes of devices can be joined; changes of claims would overwrite each other."""
        if any(o.change.claims is not None or o.change.classes is not None for o in options):
            return False
        freed = frozenset(d for o in options for d in o.change.freed)
        repaired = frozenset(p for o in options for p in o.change.repaired)
        return self._trials.fits(funnel, Change(freed=freed, repaired=repaired))

    def _kinds(self, funnel: NodeFunnel, place: int, course: Course) -> Iterator[list[Option]]:
        about = About(funnel, place, course, self._where(funnel))
        yield self._devices(about)
        yield self._class(about)
        yield self._pools(about)
        yield self._free(about)
        yield capacity_options(about, OF_A_KIND)
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

    def _class(self, about: About) -> list[Option]:
        name = about.course.request.class_name
        if name in self._trials.classes:
            return []
        return [
            Option(
                about.hint(
                    "class", f"class {name} {'cannot be read' if name in self._unread else 'is missing'}", names=(name,)
                ),
                Change(),
            )
        ]

    def _pools(self, about: About) -> list[Option]:
        """Pools that are incomplete here, taken for complete as they are."""
        incomplete = {p.id for p in about.funnel.sight.pools if p.is_incomplete} if about.funnel.sight else set()
        options = []
        for why, fates in about.lost(Stage.POOL).items():
            id_ = fates[0].id
            pool = PoolID(id_.driver, id_.pool)
            if pool in incomplete:
                hint = about.hint("pool", why, names=(id_.driver,), devices=tuple(f.id for f in fates[:NAMED]))
                options.append(Option(hint, Change(repaired=frozenset((pool,)))))
        return options[:OF_A_KIND]

    def _free(self, about: About) -> list[Option]:
        """As few devices as possible. Verified at once: which ones help is found by trying."""
        blockers = dict.fromkeys(b for f in about.course.fates if f.lost is Stage.FREE for b in f.blockers)
        names = list(blockers)[:FREED]
        if not names:
            return []
        least = max(1, lacking(about.course)) if about.course.request.mode != ALL else len(blockers)
        for count in range(least, min(len(names), least + MORE) + 1):
            tried = list(islice(combinations(names, count), COMBINATIONS))
            helps = [c for c in tried if self._trials.fits(about.funnel, Change(freed=frozenset(c)))]
            if helps:
                return [self._freeing(about, helps, names, count, is_any=len(helps) == len(tried))]
        if len(names) < least:
            return []
        some = names[:least]
        return [Option(self._free_hint(about, some, len(some), verified=False), Change(freed=frozenset(some)))]

    def _freeing(
        self, about: About, helps: list[tuple[DeviceID, ...]], names: list[DeviceID], count: int, *, is_any: bool
    ) -> Option:
        among = names if is_any else [c[0] for c in helps] if count == 1 else list(helps[0])
        return Option(self._free_hint(about, among, count, verified=True), Change(freed=frozenset(helps[0])))

    def _free_hint(self, about: About, among: list[DeviceID], count: int, *, verified: bool) -> Hint:
        claims = tuple(dict.fromkeys(c for d in among for c in self._holders(d)))
        pods = tuple(dict.fromkeys(p for c in claims for p in self._pods_of(c)))
        which = listing([d.device for d in among])
        amount = f"{count} of " if count < len(among) else ""
        by = listing([f"pod {p}" for p in pods] or [f"claim {c}" for c in claims])
        sentence = f"free {amount}{which}{about.where} (held by {by})" if by else f"free {amount}{which}{about.where}"
        hint = about.hint("free", sentence, devices=tuple(among))
        return replace(hint, claims=claims, pods=pods, verified=verified)

    def _tolerate(self, about: About) -> list[Option]:
        options = []
        for why, fates in islice(about.lost(Stage.TAINTS).items(), OF_A_KIND):
            request = about.course.request
            taints = untolerated_taints(fates[0].seen.candidate, request)
            claim = with_tolerations(about.claim, request, [_toleration(t) for t in taints])
            devices = tuple(f.id for f in fates[:NAMED])
            sentence = f"tolerate {why} ({listing([d.device for d in devices])}{about.where})"
            names = untolerated(fates[0].seen.candidate, request)
            hint = about.hint("tolerate", sentence, names=names, devices=devices)
            options.append(Option(hint, Change(claims=about.with_claim(claim))))
        return options

    def _constraints(self, about: About) -> list[Option]:
        lost = about.lost(Stage.CONSTRAINTS)
        is_short = not about.course.is_enough
        if is_short and not lost:
            return []
        options = []
        for place, given in enumerate(about.claim.spec.devices.constraints):
            name = given.match_attribute or given.distinct_attribute or ""
            word = "matchAttribute" if given.match_attribute else "distinctAttribute"
            clashes = [w for w in lost if name in w][:NAMED]
            if clashes or not is_short:
                sentence = f"{word} {name} refuses{about.where}: {'; '.join(clashes) or 'in combination'}"
                hint = about.hint("constraint", sentence, names=(name,))
                changed = about.with_claim(without_constraint(about.claim, place))
                options.append(Option(hint, Change(claims=changed)))
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
            options.append(Option(hint, self._less(about, stage, part)))
        return options

    def _less(self, about: About, stage: Stage, part: str) -> Change:
        request = about.course.request
        if stage is Stage.REQUEST:
            return Change(claims=about.with_claim(with_selectors_less(about.claim, request, part)))
        known = self._trials.classes[request.class_name]
        less = replace(known, spec=replace(known.spec, selectors=selectors_less(known.spec.selectors, part)))
        return Change(classes={**self._trials.classes, request.class_name: less})


def _looks(claim: ResourceClaim, course: Course) -> int:
    """What advising about a request is worth, besides trying it: nine kinds, each with a glance at every device."""
    return 1 + len(course.fates) * (_KINDS + len(claim.spec.devices.constraints)) // _GLANCES


def _toleration(taint: DeviceTaint) -> DeviceToleration:
    return DeviceToleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
