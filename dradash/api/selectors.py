"""A CEL selector, tried on the devices of the cluster."""

from __future__ import annotations

import time
from typing import Any, Final

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.endpoint import Endpoint, projected
from dradash.api.params import Param
from dradash.api.published import address
from dradash.api.schemas import ROOT, Shape
from dradash.scheduling.structured import ledger, selectorbench
from dradash.scheduling.structured.celframe import COST_LIMIT
from dradash.scheduling.structured.ledger import Published
from dradash.scheduling.structured.selectorbench import LONGEST, Answer, Fault, Part, Question, Seen, Share

SECONDS: Final = 2.0
GROUPS: Final = 100


class MetBody(Shape, frozen=True):
    """Values that were met on so many devices; "nothing" where a device has none of that name."""

    values: dict[str, str]
    devices: int


class SelectorErrorBody(Shape, frozen=True):
    """line, column: from 1, null where the place is not known."""

    message: str
    line: int | None
    column: int | None


class SelectorPart(Shape, frozen=True):
    """A part of a && chain. selector: place of its selector, those of the class first. left: devices that it and all
    before it leave; refused, failed: those for which it is the first that is not true, or that fails. met: what it met
    on these, the most frequent of metTotal."""

    text: str
    selector: int
    of_class: bool
    left: int
    refused: int
    failed: int
    met: tuple[MetBody, ...]
    met_total: int


class DeviceName(Shape, frozen=True):
    driver: str
    pool: str
    device: str
    node: str | None
    url: str
    page: str


class SelectorFault(Shape, frozen=True):
    """A failure on devices: kind is missing key, wrong type, cost limit, unreadable device or other. named: some."""

    kind: str
    message: str
    part: str
    devices: int
    named: tuple[DeviceName, ...]
    met: tuple[MetBody, ...]


class SelectorShare(Shape, frozen=True):
    """How many of the devices match. pool: with its driver; node: null for devices that no node alone has."""

    driver: str | None
    pool: str | None
    node: str | None
    matching: int
    devices: int


class SelectorResult(Shape, frozen=True):
    """asked: devices that were reached, of those in usable pools; complete: whether that is all of them.

    unusable: devices of other pools, which are not asked. errors: why nothing was asked; errorOf: place of the selector
    that does not compile, those of the class first. cost: the highest of one evaluation, costLimit what Kubernetes
    allows. drivers, pools, nodes: most matches first, at most 100 of the totals. items: the first that match.
    """

    expression: str
    device_class: str | None
    driver: str | None
    devices: int
    unusable: int
    asked: int
    complete: bool
    matching: int
    failed: int
    cost: int
    cost_limit: int
    errors: tuple[SelectorErrorBody, ...]
    error_of: int | None
    parts: tuple[SelectorPart, ...]
    faults: tuple[SelectorFault, ...]
    fault_kinds: dict[str, int]
    drivers: tuple[SelectorShare, ...]
    drivers_total: int
    pools: tuple[SelectorShare, ...]
    pools_total: int
    nodes: tuple[SelectorShare, ...]
    nodes_total: int
    items: tuple[DeviceName, ...]


def answer(ask: Ask) -> Any:
    with ask.world() as world:
        asked = selectorbench.question(world.cluster, ask.get("expression"), ask.get("class"), ask.get("driver"))
    end = time.monotonic() + SECONDS
    said = selectorbench.answer(asked, lambda: time.monotonic() > end)
    return projected(_result(asked, said, ask.params.get("limit", params.ROWS)), ask)


def _result(asked: Question, said: Answer, limit: int) -> SelectorResult:
    return SelectorResult(
        expression=asked.expression,
        device_class=asked.device_class or None,
        driver=asked.driver or None,
        devices=asked.devices,
        unusable=asked.unusable,
        asked=said.asked,
        complete=said.asked == asked.devices,
        matching=said.matching,
        failed=said.failed,
        cost=said.cost,
        cost_limit=COST_LIMIT,
        errors=tuple(
            SelectorErrorBody(message=w.message, line=w.line or None, column=w.column or None) for w in said.wrong
        ),
        error_of=said.wrong_at if said.wrong_at >= 0 else None,
        parts=tuple(_part(p) for p in said.parts),
        faults=tuple(_fault(f) for f in said.faults),
        fault_kinds=dict(said.kinds),
        drivers=tuple(_share(s, driver=s.name[0]) for s in said.drivers[:GROUPS]),
        drivers_total=len(said.drivers),
        pools=tuple(_share(s, driver=s.name[0], pool=s.name[1]) for s in said.pools[:GROUPS]),
        pools_total=len(said.pools),
        nodes=tuple(_share(s, node=s.name[0] or None) for s in said.nodes[:GROUPS]),
        nodes_total=len(said.nodes),
        items=tuple(_name(one) for one in said.matches[:limit]),
    )


def _part(part: Part) -> SelectorPart:
    return SelectorPart(
        text=part.text,
        selector=part.selector,
        of_class=part.of_class,
        left=part.left,
        refused=part.refused,
        failed=part.failed,
        met=tuple(_met(s) for s in part.met),
        met_total=part.combinations,
    )


def _met(seen: Seen) -> MetBody:
    return MetBody(values={m.name: m.value for m in seen.values}, devices=seen.devices)


def _fault(fault: Fault) -> SelectorFault:
    return SelectorFault(
        kind=fault.kind,
        message=fault.message,
        part=fault.part,
        devices=fault.devices,
        named=tuple(_name(one) for one in fault.named),
        met=tuple(_met(s) for s in fault.met),
    )


def _share(share: Share, driver: str | None = None, pool: str | None = None, node: str | None = None) -> SelectorShare:
    return SelectorShare(driver=driver, pool=pool, node=node, matching=share.matching, devices=share.devices)


def _name(one: Published) -> DeviceName:
    page = address("devices", one.id)
    return DeviceName(
        driver=one.id.driver,
        pool=one.id.pool,
        device=one.id.device,
        node=ledger.node_of(one) or None,
        url=ROOT + page,
        page=page,
    )


def _expression(value: str) -> str:
    if len(value) > LONGEST:
        raise ValueError(f"at most {LONGEST} characters")
    return value


ENDPOINTS: Final = (
    Endpoint(
        "selectors",
        "/selectors",
        "devices",
        "A CEL selector tried on the devices: which match, and where it refuses or fails",
        SelectorResult,
        answer,
        (
            Param(
                "expression",
                "The selector, as in a claim's request; every device unless given.",
                {"type": "string", "maxLength": LONGEST},
                _expression,
                'device.attributes["gpu.example.com"].model == "a100"',
            ),
            params.text("class", "A DeviceClass, whose selectors are asked before it.", "gpu"),
            params.text("driver", "Only devices of this driver.", "gpu.example.com"),
            params.LIMIT,
        ),
    ),
)
