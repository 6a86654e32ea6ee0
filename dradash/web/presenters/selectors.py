"""The selector bench: which devices of the cluster a CEL selector matches, and where it refuses or fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from dradash.reader.world import World
from dradash.scheduling.structured import celfaults, ledger
from dradash.scheduling.structured.celframe import COST_LIMIT
from dradash.scheduling.structured.conjuncts import short
from dradash.scheduling.structured.ledger import Published
from dradash.scheduling.structured.selectorbench import Answer, Fault, Part, Question, Seen, Share
from dradash.web.presenters.deviceclaim import attributes_of
from dradash.web.presenters.inventory import nodes_of
from dradash.web.presenters.query import EXPRESSION, Option, options
from dradash.web.presenters.words import Chip, bench_href, device_href, driver_href, node_href, plural, pool_href

PARAMS: Final = frozenset({EXPRESSION, "class", "driver"})
GROUPS: Final = 10  # drivers, pools and nodes that are named
MATCHES: Final = 50
NAMED_ATTRIBUTES: Final = 6
_LONGEST_LINE: Final = 200

Link = Callable[[tuple[str, ...]], tuple[str, str]]  # name -> its words, and its page

KINDS: Final = {
    celfaults.MISSING_KEY: "the device has no attribute or capacity of this name",
    celfaults.WRONG_TYPE: "the value is of another type than the expression needs",
    celfaults.COST: f"it costs more than the {COST_LIMIT:,} that Kubernetes allows for one device",
    celfaults.UNREADABLE: "the device publishes a value that no selector can read: all of them fail on it",
    celfaults.OTHER: "it cannot be evaluated",
}


class Choices(msgspec.Struct, frozen=True):
    """What the form offers. chain: selectors of the chosen class."""

    text: str
    device_class: str
    classes: tuple[str, ...]
    drivers: tuple[Option, ...]
    chain: tuple[str, ...]
    joined_href: str  # the class's selectors as text to go on with, "" where there are none
    active: bool


class WrongView(msgspec.Struct, frozen=True):
    """place: "line 1, column 14", "" where it is not known; marked: that line and a caret below its place."""

    message: str
    place: str
    marked: str


class PartView(msgspec.Struct, frozen=True):
    text: str
    of: str  # the class's name for its own parts
    left: int
    refused: int
    failed: int
    share: int  # of what was asked, in percent
    met: tuple[str, ...]
    more: int


class FaultView(msgspec.Struct, frozen=True):
    kind: str
    meaning: str
    message: str
    part: str
    devices: int
    named: tuple[tuple[str, str], ...]
    more: int
    met: tuple[str, ...]


class ShareView(msgspec.Struct, frozen=True):
    name: str
    href: str
    matching: int
    devices: int
    share: int


class GroupView(msgspec.Struct, frozen=True):
    """rows: the first; matching, total: how many have a match, of how many."""

    label: str
    rows: tuple[ShareView, ...]
    more: int
    matching: int
    total: int


class MatchView(msgspec.Struct, frozen=True):
    name: str
    href: str
    pool: str
    pool_href: str
    nodes: tuple[tuple[str, str], ...]
    where: str
    attributes: tuple[tuple[str, str], ...]
    more: int


class SelectorsView(msgspec.Struct, frozen=True):
    chip: Chip
    sentence: str
    notes: tuple[str, ...]
    wrong: tuple[WrongView, ...]
    wrong_of: str
    parts: tuple[PartView, ...]
    kinds: tuple[tuple[str, int], ...]
    faults: tuple[FaultView, ...]
    groups: tuple[GroupView, ...]
    matches: tuple[MatchView, ...]
    more: int


def choices(world: World, asked: Question) -> Choices:
    joined = " && ".join(f"({e})" for e in asked.chain) if len(asked.chain) > 1 else "".join(asked.chain)
    return Choices(
        text=asked.expression,
        device_class=asked.device_class,
        classes=tuple(sorted({*world.cluster.device_classes, asked.device_class} - {""})),
        drivers=options(ledger.devices_by_driver(world.cluster.inventory), asked.driver),
        chain=asked.chain,
        joined_href=bench_href(joined, driver=asked.driver) if joined else "",
        active=bool(asked.expression or asked.device_class or asked.driver),
    )


def present(asked: Question, said: Answer) -> SelectorsView:
    chip, sentence = _verdict(asked, said)
    return SelectorsView(
        chip=chip,
        sentence=sentence,
        notes=tuple(_notes(asked, said)),
        wrong=tuple(WrongView(w.message, _place(w), _marked(w)) for w in said.wrong),
        wrong_of=asked.device_class if 0 <= said.wrong_at < len(asked.chain) else "",
        parts=tuple(_part(p, asked, said.asked) for p in said.parts),
        kinds=said.kinds,
        faults=tuple(_fault(f) for f in said.faults),
        groups=(
            _group("Drivers", said.drivers, lambda n: (n[0], driver_href(n[0]))),
            _group("Pools", said.pools, lambda n: ("/".join(n), pool_href(n[0], n[1]))),
            _group("Nodes", said.nodes, lambda n: (n[0], node_href(n[0])) if n[0] else ("no single node", "")),
        )
        if said.asked
        else (),
        matches=tuple(_match(one) for one in said.matches[:MATCHES]),
        more=said.matching - min(said.matching, MATCHES),
    )


def _verdict(asked: Question, said: Answer) -> tuple[Chip, str]:
    if said.wrong:
        return Chip("Not evaluated", "bad", "alert"), "Nothing was asked of any device."
    of = plural(asked.devices, "device") + " in usable pools" + (f" of {asked.driver}" if asked.driver else "")
    if said.asked < asked.devices:
        told = f"{said.matching} of the first {said.asked} match: the time was over before all {of} were asked."
        return Chip("Not finished", "warn", "clock"), told
    if not asked.devices:
        return Chip("No devices", "warn", "question"), "There is no device in a usable pool to ask."
    if said.failed:
        told = f"{said.matching} of {of} match; on {said.failed} it fails, which ends a pod's whole attempt."
        return Chip("Fails", "bad", "alert"), told
    if not said.matching:
        return Chip("No match", "bad", "cross"), f"None of {of} match."
    return Chip("Matches", "good", "check"), f"{said.matching} of {of} match."


def _notes(asked: Question, said: Answer) -> Iterable[str]:
    if asked.unusable:
        yield f"Not asked: {plural(asked.unusable, 'device')} of incomplete or invalid pools, which nobody is given."
    if said.cost:
        yield f"It costs at most {said.cost:,} of the {COST_LIMIT:,} that Kubernetes allows for one device."


def _place(wrong: celfaults.Wrong) -> str:
    return f"line {wrong.line}, column {wrong.column}" if wrong.line else ""


def _marked(wrong: celfaults.Wrong) -> str:
    """The line, cut around the place, and a caret."""
    if not wrong.line:
        return ""
    start = max(0, wrong.column - 1 - _LONGEST_LINE // 2)
    shown = wrong.source[start : start + _LONGEST_LINE]
    before = "…" if start else ""
    return f"{before}{shown}\n{' ' * (len(before) + wrong.column - 1 - start)}^"


def _seen(seen: Seen) -> str:
    values = ", ".join(f"{m.name} {m.value}" if m.value == "nothing" else f"{m.name} = {m.value}" for m in seen.values)
    return f"{values or 'nothing of the device'} ({seen.devices})"


def _part(part: Part, asked: Question, total: int) -> PartView:
    return PartView(
        text=short(part.text),
        of=asked.device_class if part.of_class else "",
        left=part.left,
        refused=part.refused,
        failed=part.failed,
        share=round(100 * part.left / total) if total else 0,
        met=tuple(_seen(s) for s in part.met),
        more=part.combinations - len(part.met),
    )


def _fault(fault: Fault) -> FaultView:
    return FaultView(
        kind=fault.kind,
        meaning=KINDS[fault.kind],
        message=fault.message,
        part=short(fault.part),
        devices=fault.devices,
        named=tuple((f"{one.id.pool}/{one.id.device}", device_href(one.id)) for one in fault.named),
        more=fault.devices - len(fault.named),
        met=tuple(_seen(s) for s in fault.met),
    )


def _group(label: str, shares: tuple[Share, ...], link: Link) -> GroupView:
    rows = tuple(
        ShareView(*link(s.name), s.matching, s.devices, round(100 * s.matching / s.devices)) for s in shares[:GROUPS]
    )
    return GroupView(label, rows, len(shares) - len(rows), sum(bool(s.matching) for s in shares), len(shares))


def _match(one: Published) -> MatchView:
    nodes, where = nodes_of(one)
    attributes = attributes_of(one.device)
    return MatchView(
        name=one.id.device,
        href=device_href(one.id),
        pool=one.id.pool,
        pool_href=pool_href(one.id.driver, one.id.pool),
        nodes=nodes,
        where=where,
        attributes=attributes[:NAMED_ATTRIBUTES],
        more=max(0, len(attributes) - NAMED_ATTRIBUTES),
    )
