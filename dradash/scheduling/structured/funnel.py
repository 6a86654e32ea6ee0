"""The funnel as it is told: for each request how many devices each stage lost, which, and why.

Over many nodes one of each situation stands for all of them: the devices of a node count as often as there are such
nodes, those of pools that cannot be used with each node's own pool; a device that several nodes see counts once, with
the best that happens to it anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from dradash.kinds.deviceclaim import ALL
from dradash.scheduling.structured.allocator import object_name
from dradash.scheduling.structured.conjuncts import Met
from dradash.scheduling.structured.constraintfates import Course
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.fates import Fate, Fates, Stage
from dradash.scheduling.structured.nodefunnel import NodeFunnel
from dradash.scheduling.structured.sight import Sight

NAMED: Final = 50  # devices of a stage
LOSSES: Final = 20  # reasons of a stage
VALUES: Final = 12  # of an attribute

_STAGES: Final = tuple(Stage)
_RANK: Final[dict[Stage | None, int]] = {s: i for i, s in enumerate(_STAGES)} | {None: len(_STAGES)}

Holders = Callable[[DeviceID], tuple[str, ...]]


class Told(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of what is told."""


class LostDevice(Told, frozen=True):
    """node: the one whose it is, "" if several see it. claims: keys of those that hold it or what it needs."""

    driver: str
    pool: str
    device: str
    node: str
    claims: tuple[str, ...]


class MetValue(Told, frozen=True):
    """What a selector met, and on how many devices."""

    text: str
    count: int


class Loss(Told, frozen=True):
    """stops: asking such a device ends the whole attempt, on whatever node it is. devices: some of them."""

    why: str
    count: int
    stops: bool
    values: tuple[MetValue, ...]
    devices: tuple[LostDevice, ...]


class FunnelStage(Told, frozen=True):
    """left: devices that are left behind this stage."""

    stage: str
    lost: int
    left: int
    losses: tuple[Loss, ...]


class RequestFunnel(Told, frozen=True):
    """request: "request" or "request/subrequest". needed: on a node; null where all devices are asked for.

    nodesEnough: nodes where enough devices are left for it.
    """

    claim: str
    request: str
    device_class: str
    mode: str
    needed: int | None
    nodes_enough: int
    stages: tuple[FunnelStage, ...]


class _Lost(msgspec.Struct):
    count: int = 0
    stops: bool = False
    values: Counter[tuple[Met, ...]] = msgspec.field(default_factory=Counter)
    devices: list[LostDevice] = []


class _Tally:
    """What requests of the same fates lose over several nodes."""

    def __init__(self, holders: Holders) -> None:
        self._holders = holders
        self._seen = 0
        self._lost: dict[tuple[Stage, str], _Lost] = {}
        self._named: Counter[Stage] = Counter()
        self._shared: dict[DeviceID, Fate] = {}
        self._unnamed = self._unusable = 0  # nodes whose pools are not told by name, and the devices in these

    def add(self, fates: Fates, on: Standing) -> None:
        node = on.funnel.node.name
        unusable = 0
        for fate in fates:
            if fate.seen.is_local:
                is_unusable = fate.lost is Stage.POOL
                unusable += is_unusable
                self._add(fate, 1 if is_unusable else on.nodes, node)
                continue
            known = self._shared.get(fate.id)
            if known is None or _RANK[fate.lost] > _RANK[known.lost]:
                self._shared[fate.id] = fate
        if unusable and on.nodes > 1:
            self._add_unusable(unusable, on)

    def _add_unusable(self, each: int, on: Standing) -> None:
        """Pools have other names on other nodes. each: devices of a node, in pools that cannot be used."""
        for sight in on.also:
            for seen in sight.devices:
                if seen.trouble and seen.is_local:
                    self._add(Fate(seen, Stage.POOL, seen.trouble), 1, sight.node.name)
        more = on.nodes - 1 - len(on.also)
        self._unnamed += more
        self._unusable += each * more

    def _add(self, fate: Fate, count: int, node: str) -> None:
        self._seen += count
        if fate.lost is None:
            return
        lost = self._lost.setdefault((fate.lost, fate.why), _Lost())
        lost.count += count
        lost.stops |= fate.stops
        if fate.met:
            lost.values[fate.met] += count
        if self._named[fate.lost] < NAMED:
            self._named[fate.lost] += 1
            claims = dict.fromkeys(claim for blocker in fate.blockers for claim in self._holders(blocker))
            driver, pool, device = fate.id
            named = LostDevice(driver=driver, pool=pool, device=device, node=node, claims=tuple(claims))
            lost.devices.append(named)

    def stages(self) -> tuple[FunnelStage, ...]:
        for fate in self._shared.values():
            self._add(fate, 1, "")
        self._shared = {}
        if self._unusable:
            nodes = "1 more node" if self._unnamed == 1 else f"{self._unnamed} more nodes"
            self._seen += self._unusable
            self._lost[Stage.POOL, f"pools of {nodes} cannot be used"] = _Lost(self._unusable)
        return tuple(self._stages())

    def _stages(self) -> Iterable[FunnelStage]:
        left = self._seen
        for stage in _STAGES:
            lost = {why: one for (at, why), one in self._lost.items() if at is stage}
            count = sum(one.count for one in lost.values())
            left -= count
            most = sorted(lost.items(), key=lambda item: (-item[1].count, item[0]))[:LOSSES]
            yield FunnelStage(stage=str(stage), lost=count, left=left, losses=tuple(_loss(w, o) for w, o in most))


def _loss(why: str, lost: _Lost) -> Loss:
    values = tuple(
        MetValue(text=met_text(met), count=count)
        for met, count in sorted(lost.values.items(), key=lambda item: (-item[1], item[0]))[:VALUES]
    )
    return Loss(why=why, count=lost.count, stops=lost.stops, values=values, devices=tuple(lost.devices))


def met_text(met: tuple[Met, ...]) -> str:
    """`a100`, or `model a100, memory 40Gi` where the selector reads several values."""
    return met[0].value if len(met) == 1 else ", ".join(f"{m.name} {m.value}" for m in met)


class Standing(NamedTuple):
    """A node for all that are like it, `nodes` many. also: what others of them see, whose pools cannot be used."""

    funnel: NodeFunnel
    nodes: int
    also: Sequence[Sight] = ()


def fold(standing: Iterable[Standing], holders: Holders) -> tuple[RequestFunnel, ...]:
    """The funnel of several nodes."""
    found: dict[tuple[str, str], list[_OnNode]] = {}
    for one in standing:
        for claim, courses in zip(one.funnel.claims, one.funnel.courses, strict=True):
            for course in courses:
                key = (object_name(claim), course.request.full_name)
                found.setdefault(key, []).append(_OnNode(course, one))
    stages: dict[tuple[int, ...], tuple[FunnelStage, ...]] = {}
    requests = []
    for (claim_key, _), of in found.items():
        same = tuple(id(one.course.fates) for one in of)
        if same not in stages:
            stages[same] = _stages(of, holders)
        requests.append(_request(claim_key, of, stages[same]))
    return tuple(requests)


class _OnNode(NamedTuple):
    course: Course
    on: Standing


def _stages(of: list[_OnNode], holders: Holders) -> tuple[FunnelStage, ...]:
    tally = _Tally(holders)
    for one in of:
        tally.add(one.course.fates, one.on)
    return tally.stages()


def _request(claim: str, of: list[_OnNode], stages: tuple[FunnelStage, ...]) -> RequestFunnel:
    request = of[0].course.request
    return RequestFunnel(
        claim=claim,
        request=request.full_name,
        device_class=request.class_name,
        mode=request.mode,
        needed=None if request.mode == ALL else request.count,
        nodes_enough=sum(one.on.nodes for one in of if one.course.is_enough),
        stages=stages,
    )
