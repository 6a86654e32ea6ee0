"""A selector that somebody typed, tried on the devices of the cluster: which match, and where it refuses or fails.

Nothing of it stays: what people type must not push the cluster's own expressions out of any memory. It is bounded by
its length, by Kubernetes' cost limit for each device, and by the time that the caller gives it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Final

import msgspec

from dradash.scheduling.cluster import Cluster
from dradash.scheduling.structured import ledger
from dradash.scheduling.structured.cel import (
    REGEX,
    CompileError,
    RuntimeFault,
    Selector,
    compile_anew,
)
from dradash.scheduling.structured.celfaults import Wrong, kind_of, wrongs
from dradash.scheduling.structured.celframe import Frame
from dradash.scheduling.structured.celvalues import CostExceeded
from dradash.scheduling.structured.celvariables import variables
from dradash.scheduling.structured.conjuncts import Met, met_by, parts_of
from dradash.scheduling.structured.ledger import Published
from dradash.scheduling.structured.pools import PoolID
from dradash.scheduling.structured.reading import is_readable, values_seen

LONGEST: Final = 4096  # characters; an address has to hold it
NAMED: Final = 5  # devices that a failure names, and combinations of values that are shown
FAULTS: Final = 20
MATCHES: Final = 1000  # devices that are kept to be named

Enough = Callable[[], bool]


class Question(msgspec.Struct, frozen=True):
    """What is asked, and of which devices. chain: the class's selectors; absent: there is no such class.

    unusable: devices of incomplete and invalid pools, which nobody can be given and which are not asked.
    """

    expression: str
    device_class: str
    chain: tuple[str, ...]
    absent: bool
    driver: str
    pools: tuple[tuple[PoolID, list[Published]], ...]
    devices: int
    unusable: int


class Seen(msgspec.Struct, frozen=True):
    """Values that a part met, and on how many devices."""

    values: tuple[Met, ...]
    devices: int


class Part(msgspec.Struct, frozen=True):
    """A part of a && chain. selector: place in the chain of selectors, the typed one comes last; of_class: whose it is.

    left: devices that it and all parts before it leave; refused, failed: those for which it is the first that is not
    true, or that fails. met: what it met on these, the most frequent first, of `combinations`.
    """

    text: str
    selector: int
    of_class: bool
    left: int
    refused: int
    failed: int
    met: tuple[Seen, ...]
    combinations: int


class Fault(msgspec.Struct, frozen=True):
    """A failure: kind is one of celfaults.KINDS; part: the one that fails; named: some of the devices."""

    kind: str
    message: str
    part: str
    devices: int
    named: tuple[Published, ...]
    met: tuple[Seen, ...]


class Share(msgspec.Struct, frozen=True):
    """How many devices of a driver, pool or node match, of those that were asked. name of a pool: driver, then pool;
    "" of a node: no node alone has them."""

    name: tuple[str, ...]
    matching: int
    devices: int


class Answer(msgspec.Struct, frozen=True):
    """asked: devices that were reached in time. cost: the highest of one evaluation. wrong: why nothing was asked, of
    the selector at place `wrong_at` (-1: of none). kinds: devices by kind of failure. faults: the most frequent.
    drivers, pools, nodes: most matches first. matches: the first ones."""

    asked: int = 0
    matching: int = 0
    failed: int = 0
    cost: int = 0
    wrong: tuple[Wrong, ...] = ()
    wrong_at: int = -1
    parts: tuple[Part, ...] = ()
    faults: tuple[Fault, ...] = ()
    kinds: tuple[tuple[str, int], ...] = ()
    drivers: tuple[Share, ...] = ()
    pools: tuple[Share, ...] = ()
    nodes: tuple[Share, ...] = ()
    matches: tuple[Published, ...] = ()


def question(cluster: Cluster, expression: str, device_class: str = "", driver: str = "") -> Question:
    """Cheap: to be asked while the cluster is held still. What is asked later needs the cluster no more."""
    inventory, of = cluster.inventory, cluster.device_classes.get(device_class)
    chosen, unusable = [], 0
    for state in ledger.pool_states(inventory):
        if driver and state.id.driver != driver:
            continue
        if state.state == ledger.USABLE:
            chosen.append((state.id, ledger.published_in(inventory, state)))
        else:
            unusable += state.devices
    return Question(
        expression=expression,
        device_class=device_class,
        chain=tuple(s.cel.expression if s.cel else "" for s in of.spec.selectors) if of else (),
        absent=bool(device_class) and of is None,
        driver=driver,
        pools=tuple(chosen),
        devices=sum(len(devices) for _, devices in chosen),
        unusable=unusable,
    )


class OutOfTime(CostExceeded):
    """The caller's time is over."""


class _Frame(Frame):
    """One evaluation that ends when the time does."""

    __slots__ = ("_enough",)

    def __init__(self, seen: dict[str, object], enough: Enough) -> None:
        super().__init__(seen, REGEX)
        self._enough = enough

    def spend(self, cost: int) -> None:
        super().spend(cost)
        if self._enough():
            raise OutOfTime("the time is over")


class _Step(msgspec.Struct, frozen=True):
    """A selector of the chain with its parts, compiled."""

    whole: Selector
    parts: tuple[Selector, ...]


class _Found(msgspec.Struct, frozen=True):
    """What the chain says of a device. part: place of the first that is not true, -1: none."""

    part: int = -1
    fault: str = ""


def compiled(chain: Iterable[str]) -> list[_Step]:
    """Raises CompileError with the place in the chain and its words."""
    steps = []
    for place, expression in enumerate(chain):
        whole = compile_anew(expression)
        if isinstance(whole, CompileError):
            raise CompileError(place, str(whole))
        known = {expression: whole}

        def compiles(part: str, known: dict[str, Selector] = known) -> bool:
            made = compile_anew(part)
            if isinstance(made, Selector):
                known[part] = made
            return isinstance(made, Selector)

        steps.append(_Step(whole, tuple(known[part] for part in parts_of(expression, compiles))))
    return steps


def answer(asked: Question, enough: Enough) -> Answer:
    """enough: whether the time is over; asked very often. About 1 s for 40,000 devices that all differ."""
    if asked.absent:
        return Answer(wrong=(Wrong(f"there is no DeviceClass {asked.device_class}"),))
    if len(asked.expression) > LONGEST:
        words = f"longer than {LONGEST} characters, more than is tried here"
        return Answer(wrong=(Wrong(words),), wrong_at=len(asked.chain))
    chain = (*asked.chain, *((asked.expression,) if asked.expression else ()))
    try:
        steps = compiled(chain)
    except CompileError as error:
        place, words = error.args
        return Answer(wrong=wrongs(chain[place], words), wrong_at=place)
    return _Bench(steps, len(asked.chain), enough).run(asked)


class _Bench:
    def __init__(self, steps: list[_Step], of_class: int, enough: Enough) -> None:
        self._steps, self._of_class, self._enough = steps, of_class, enough
        self._parts = [(i, part) for i, step in enumerate(steps) for part in step.parts]
        self._reads = frozenset(read for step in steps for read in step.whole.reads)
        self._known: dict[Hashable, _Found] = {}
        self._cost = 0
        self._refused: Counter[int] = Counter()
        self._failed: Counter[int] = Counter()
        self._met: dict[int, Counter[tuple[Met, ...]]] = {}
        self._faults: dict[tuple[int, str], tuple[Counter[tuple[Met, ...]], list[Published]]] = {}
        self._kinds: Counter[str] = Counter()
        self._of: tuple[Counter[tuple[str, ...]], ...] = (Counter(), Counter(), Counter())
        self._with: tuple[Counter[tuple[str, ...]], ...] = (Counter(), Counter(), Counter())
        self._matches: list[Published] = []
        self._asked = self._matching = 0

    def run(self, asked: Question) -> Answer:
        for _, devices in asked.pools:
            for one in devices:
                try:
                    found = self._found(one)
                except OutOfTime:
                    return self._answer()
                self._count(one, found)
        return self._answer()

    def _found(self, one: Published) -> _Found:
        """Raises OutOfTime."""
        if self._enough():
            raise OutOfTime
        if not is_readable(one.device):
            return self._evaluated(one)
        device, driver = one.device, one.id.driver
        seen = (driver, device.allow_multiple_allocations, values_seen(driver, device, self._reads))
        known = self._known.get(seen)
        if known is None:
            known = self._known[seen] = self._evaluated(one)
        return known

    def _evaluated(self, one: Published) -> _Found:
        first = 0
        for step in self._steps:
            said = self._ask(step.whole, one)
            if said is not True:
                # A part that fails does not decide where another one is false.
                wanted = str if isinstance(said, str) else bool
                for place, part in enumerate(step.parts):
                    told = self._ask(part, one) if len(step.parts) > 1 else said
                    if told is not True and isinstance(told, wanted):
                        return _Found(first + place, told if isinstance(told, str) else "")
                return _Found(first, said if isinstance(said, str) else "")
            first += len(step.parts)
        return _Found()

    def _ask(self, selector: Selector, one: Published) -> bool | str:
        try:
            frame = _Frame(variables(one.id.driver, one.device), self._enough)
            said = selector.answer(frame)
        except RuntimeFault as fault:
            if isinstance(fault.__cause__, OutOfTime):
                raise fault.__cause__ from fault
            return str(fault)
        self._cost = max(self._cost, frame.cost)
        return said

    def _count(self, one: Published, found: _Found) -> None:
        self._asked += 1
        groups = ((one.id.driver,), (one.id.driver, one.id.pool), (ledger.node_of(one),))
        for counter, group in zip(self._of, groups, strict=True):
            counter[group] += 1
        if found.part < 0:
            self._matching += 1
            for counter, group in zip(self._with, groups, strict=True):
                counter[group] += 1
            if len(self._matches) < MATCHES:
                self._matches.append(one)
            return
        part = self._parts[found.part][1]
        met = met_by(part.expression, part.reads, one)
        self._met.setdefault(found.part, Counter())[met] += 1
        if not found.fault:
            self._refused[found.part] += 1
            return
        self._failed[found.part] += 1
        self._kinds[kind_of(found.fault)] += 1
        met_of, named = self._faults.setdefault((found.part, found.fault), (Counter(), []))
        met_of[met] += 1
        if len(named) < NAMED:
            named.append(one)

    def _answer(self) -> Answer:
        faults = sorted(self._faults.items(), key=lambda item: (-item[1][0].total(), item[0]))
        drivers, pools, nodes = (_shares(*pair) for pair in zip(self._with, self._of, strict=True))
        return Answer(
            asked=self._asked,
            matching=self._matching,
            failed=self._failed.total(),
            cost=self._cost,
            parts=tuple(self._told()),
            faults=tuple(
                Fault(kind_of(words), words, self._parts[place][1].expression, met.total(), tuple(named), _most(met))
                for (place, words), (met, named) in faults[:FAULTS]
            ),
            kinds=tuple(self._kinds.most_common()),
            drivers=drivers,
            pools=pools,
            nodes=nodes,
            matches=tuple(self._matches),
        )

    def _told(self) -> Iterator[Part]:
        left = self._asked
        for place, (selector, part) in enumerate(self._parts):
            refused, failed = self._refused[place], self._failed[place]
            left -= refused + failed
            met = self._met.get(place, Counter())
            of_class = selector < self._of_class
            yield Part(part.expression, selector, of_class, left, refused, failed, _most(met), len(met))


def _most(met: Counter[tuple[Met, ...]]) -> tuple[Seen, ...]:
    return tuple(Seen(v, n) for v, n in sorted(met.items(), key=lambda item: (-item[1], item[0]))[:NAMED])


def _shares(matching: Counter[tuple[str, ...]], of: Counter[tuple[str, ...]]) -> tuple[Share, ...]:
    ordered = sorted(of, key=lambda name: (-matching[name], name))
    return tuple(Share(name, matching[name], of[name]) for name in ordered)
