"""How far each device of a node gets for one request: the stages that the allocator knows, asked one by one.

The same functions answer here and there (Answers, is_refused_by_taint, capacity.fits, AvailableCounters). The
allocator stops at the first solution and passes over devices that are taken; here every device is asked everything.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from functools import cached_property
from typing import Final

import msgspec

from dradash.kinds.deviceclaim import DeviceSelector
from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.resourceslice import DeviceTaint
from dradash.scheduling.structured import capacity
from dradash.scheduling.structured.capacity import Never
from dradash.scheduling.structured.cel import CompileError, RuntimeFault
from dradash.scheduling.structured.conjuncts import Met, met, refusing, short
from dradash.scheduling.structured.counterfates import CounterFates
from dradash.scheduling.structured.devices import AllocatedState, AllocationError, DeviceID, amount
from dradash.scheduling.structured.requests import Candidate, Request, tolerates
from dradash.scheduling.structured.requests import is_refused_by_taint as is_refused
from dradash.scheduling.structured.selection import Answers
from dradash.scheduling.structured.sight import Seen, Sight


class Stage(enum.StrEnum):
    """In the order in which a device passes them."""

    SEEN = "seen"
    POOL = "usable pool"
    CLASS = "class selectors"
    REQUEST = "request selectors"
    TAINTS = "tolerated taints"
    FREE = "not allocated"
    CONSTRAINTS = "constraints"


class Fate(msgspec.Struct, frozen=True):
    """lost: the stage that the device does not pass, None if it is left. stops: asking it ends the whole attempt.

    part: of a selector, that refuses. blockers: devices that are allocated and in the way. never: the amount that is
    asked for and that the device never gives. behind: of a device whose pool cannot be used, the stage that it would
    not pass if the pool could be used.
    """

    seen: Seen
    lost: Stage | None = None
    why: str = ""
    met: tuple[Met, ...] = ()
    part: str = ""
    stops: bool = False
    blockers: tuple[DeviceID, ...] = ()
    never: Never | None = None
    behind: Stage | None = None

    @property
    def is_wanted(self) -> bool:
        """Whether the device would do as it is: something else than what is asked for keeps it back, if anything."""
        stage = self.behind if self.lost is Stage.POOL else self.lost
        return self.never is None and (stage is None or _STAGES.index(stage) > _STAGES.index(Stage.REQUEST))

    @property
    def reach(self) -> int:
        """How far it gets. One whose pool cannot be used counts as what it would be, with something more to mend."""
        return reach_of(self.lost, self.behind)

    @property
    def id(self) -> DeviceID:
        return self.seen.candidate.id


class Fates(list[Fate]):
    """Of every device of a node, not changed once made: requests that ask for the same have the same."""

    @cached_property
    def left(self) -> int:
        return sum(f.lost is None for f in self)

    @cached_property
    def reach(self) -> int:
        """How far the device gets that gets furthest."""
        return max((f.reach for f in self), default=0)

    @cached_property
    def wanted(self) -> int:
        return sum(f.is_wanted for f in self)


_STAGES: Final = tuple(Stage)
_AMOUNT: Final = 8  # units of work (effort.py): of an amount of capacity, asked about twice
_MET: Final = 2  # of a value that is told
_REPAIRED: Final = 2 * _STAGES.index(Stage.FREE) + 1  # a driver that mends its pool is nearer than a pod that ends
_EFFECTS: Final = ("NoSchedule", "NoExecute")


def reach_of(lost: Stage | None, behind: Stage | None = None) -> int:
    """As Fate.reach."""
    if lost is not Stage.POOL:
        return 2 * (len(_STAGES) if lost is None else _STAGES.index(lost))
    return _REPAIRED if behind is None else 2 * _STAGES.index(behind) - 1


class Judge:
    """What is the same for all requests on a node. unread: classes that are malformed, with what is wrong with them."""

    def __init__(self, sight: Sight, taken: AllocatedState, answers: Answers, unread: Mapping[str, str] = {}) -> None:
        self._sight = sight
        self._taken = taken
        self._answers = answers
        self._unread = unread
        self._effort = answers.effort
        self._counters = CounterFates(taken, self._effort)
        self._known: dict[tuple[str, bytes], Fates] = {}

    def knows(self, request: Request) -> bool:
        """Whether a request that asks for the same was judged."""
        return asked_for(request) in self._known

    def fates(self, request: Request, device_class: DeviceClass | None) -> Fates:
        """Raises SearchCut where the effort of the answers ends."""
        key = asked_for(request)
        if key not in self._known:
            self._known[key] = Fates(self._fate(seen, request, device_class) for seen in self._sight.devices)
        return self._known[key]

    def _fate(self, seen: Seen, request: Request, device_class: DeviceClass | None) -> Fate:
        if seen.trouble:
            behind = self._selected(seen, request, device_class)
            if behind is None and seen.candidate.id in self._taken.devices and not request.admin_access:
                return Fate(seen, Stage.POOL, seen.trouble, behind=Stage.FREE)
            return Fate(seen, Stage.POOL, seen.trouble, behind=None if behind is None else behind.lost)
        if (refused := self._selected(seen, request, device_class)) is not None:
            return refused
        try:
            return self._taken_fate(seen, request) or Fate(seen)
        except AllocationError as wrong:
            return Fate(seen, Stage.FREE, str(wrong), stops=True)

    def _selected(self, seen: Seen, request: Request, device_class: DeviceClass | None) -> Fate | None:
        """The selectors and the taints."""
        if device_class is None:
            wrong = self._unread.get(request.class_name)
            why = f"cannot be read: {wrong}" if wrong is not None else "does not exist"
            return Fate(seen, Stage.CLASS, f"class {request.class_name} {why}")
        candidate = seen.candidate
        of_class, of_request = device_class.spec.selectors, request.selectors
        refused = self._refused(seen, Stage.CLASS, f"class {device_class.name}", of_class) or self._refused(
            seen, Stage.REQUEST, "the request", of_request
        )
        if refused is not None:
            return refused
        self._effort.spend(len(candidate.device.taints) * (1 + len(request.tolerations)) // 2)
        if is_refused(candidate.device, request):
            return Fate(seen, Stage.TAINTS, f"taint {', '.join(untolerated(candidate, request))}")
        return None

    def _refused(self, seen: Seen, stage: Stage, owner: str, selectors: tuple[DeviceSelector, ...]) -> Fate | None:
        candidate = seen.candidate
        for i, selector in enumerate(selectors):
            expression = selector.cel.expression if selector.cel is not None else ""
            try:
                if self._answers.ask(expression, candidate):
                    continue
            except CompileError as error:
                return Fate(seen, stage, f"{owner}: selector #{i}: CEL compile error: {error}", stops=True)
            except RuntimeFault as error:
                part = refusing(expression, candidate, self._answers)
                why = f"{owner}: selector #{i}: CEL runtime error: {error}"
                return Fate(seen, stage, why, self._met(part, candidate), part, stops=True)
            part = refusing(expression, candidate, self._answers)
            return Fate(seen, stage, f"{owner} wants {short(part)}", self._met(part, candidate), part)
        return None

    def _met(self, part: str, candidate: Candidate) -> tuple[Met, ...]:
        found = met(part, candidate)
        self._effort.spend(_MET * len(found))
        return found

    def _taken_fate(self, seen: Seen, request: Request) -> Fate | None:
        candidate, taken = seen.candidate, self._taken
        id_, device = candidate.id, candidate.device
        self._effort.spend(_AMOUNT * len(device.capacity))
        # Before what others hold: words that say what is left, or who holds it, say that giving it back would help.
        if (never := capacity.never(request.capacity, device.capacity)) is not None:
            return Fate(seen, Stage.FREE, never.why, never=never)
        if id_ in taken.devices and not request.admin_access:
            return Fate(seen, Stage.FREE, "allocated", blockers=(id_,))
        if not capacity.fits(taken.capacity.get(id_, {}), {}, request.capacity, device.capacity):
            return Fate(seen, Stage.FREE, _capacity_left(candidate, request, taken), blockers=(id_,))
        shares = bool(device.allow_multiple_allocations) and id_ in taken.capacity
        refusal = self._counters.refusal(candidate) if device.consumes_counters and not shares else None
        if refusal is not None:
            return Fate(seen, Stage.FREE, refusal[0], blockers=refusal[1])
        return None


def asked_for(request: Request) -> tuple[str, bytes]:
    """All of a request that a device's fate depends on."""
    asked = (request.admin_access, request.selectors, request.tolerations, request.capacity)
    return request.class_name, msgspec.json.encode(asked)


def untolerated_taints(candidate: Candidate, request: Request) -> tuple[DeviceTaint, ...]:
    """The taints that keep the request away."""
    return tuple(
        t
        for t in candidate.device.taints
        if t.effect in _EFFECTS and not any(tolerates(own, t) for own in request.tolerations)
    )


def untolerated(candidate: Candidate, request: Request) -> tuple[str, ...]:
    """The same as kubectl writes taints."""
    return tuple(
        f"{t.key}={t.value}:{t.effect}" if t.value else f"{t.key}:{t.effect}"
        for t in untolerated_taints(candidate, request)
    )


def _capacity_left(candidate: Candidate, request: Request, taken: AllocatedState) -> str:
    """The first capacity of which others have left too little."""
    held, used = candidate.device.capacity, taken.capacity.get(candidate.id, {})
    for name, needs in capacity.consumption(request.capacity, held).items():
        whole = amount(held[name].value)
        left = whole - used[name] if name in used else whole
        if needs.compare(left) > 0:
            return f"capacity {name}: needs {needs}, {left} of {whole} left"
    return ""  # there is one: the device gives the amount when nobody has anything
