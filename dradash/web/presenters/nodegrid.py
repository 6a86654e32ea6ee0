"""All nodes of a verdict as a grid: grouped by a label, each cell marked with its reason."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from dradash.reader.series import groups_of
from dradash.scheduling import nodeset
from dradash.scheduling.nodetable import NodeTable
from dradash.scheduling.verdict import Verdict
from dradash.web.presenters.nodes import Names, NodeGroupView, view_of
from dradash.web.presenters.query import Option, Query
from dradash.web.presenters.steps import untold
from dradash.web.presenters.words import pod_href

PARAMS: Final = frozenset({"group", "hide", "reason"})
CELLS: Final = "cells-"  # begins the ids of the groups' blocks
_NUMBERS: Final = re.compile(r"([0-9]{1,18})")
UNGROUPED: Final = "-"  # no label key looks like this
MOST_VALUES: Final = 300  # groups; what a label has beyond is shown together
MOST_KEYS: Final = 40
NAMED: Final = 120  # cells up to which their names are written into them
DENSE: Final = 1500  # cells from which they are small
CHUNK: Final = 1680  # cells that a browser lays out together
# What people group by, before all other labels.
TOPOLOGY: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region", "rack", "instance-type", "nodepool")


class Labels(msgspec.Struct, frozen=True):
    """What is taken from the nodes while they are held still. choices: (label key, number of values)."""

    key: str
    choices: tuple[tuple[str, int], ...]
    sets: tuple[tuple[str, int], ...]  # value -> node set, in the order of the values
    known: int  # nodes that exist now


class Cells(msgspec.Struct, frozen=True):
    """Cells that stand together: names, and for each the number of its reason's group."""

    names: list[str]
    kinds: list[int]


class GridGroup(msgspec.Struct, frozen=True):
    """Nodes with the same value of the label. size: 1 to 5, how much space a browser keeps before it lays it out."""

    id: str
    label: str
    count: int
    fit: int
    chunks: tuple[Cells, ...]
    size: int
    named: bool
    dense: bool
    hidden: tuple[int, ...]  # kinds whose cells are not shown


class ReasonView(msgspec.Struct, frozen=True):
    """A line of the legend. token: stands for the reason in the address; names: of its nodes, one a line."""

    group: NodeGroupView
    token: str
    hidden: bool
    names: str


class GridView(msgspec.Struct, frozen=True):
    key: str
    pod_href: str
    reasons: tuple[ReasonView, ...]
    groups: tuple[GridGroup, ...]
    choices: tuple[Option, ...]
    grouped_by: str  # "" not at all
    fit: int
    total: int
    known: bool  # False: Filter was not reached
    untold: str  # why no attempt is told at all
    only: str | None  # the one reason that is shown, None for all of them
    gone: float  # Unix seconds of the pod's deletion, 0: it exists


# --- taken while the nodes are held still ----------------------------------------------------------------------------


def labels(nodes: NodeTable, asked: str) -> Labels:
    """asked: the label key of the address; "" takes the first sensible one."""
    counts = {key: len(nodes.label_values(key)) for key in nodes.label_keys()}
    most = min(MOST_VALUES, max(2, len(nodes) // 2))
    choices = sorted(((k, n) for k, n in counts.items() if 2 <= n <= most), key=lambda choice: _rank(choice[0]))
    key = asked or next((k for k, _ in choices if _rank(k)[0] < len(TOPOLOGY)), UNGROUPED)
    values = {} if key == UNGROUPED else nodes.label_values(key)
    sets = tuple(
        (value, nodeset.of_slots(members)) for value, members in sorted(values.items(), key=lambda v: _by_number(v[0]))
    )
    if key != UNGROUPED and key not in dict(choices[:MOST_KEYS]):
        choices.insert(0, (key, counts.get(key, 0)))
    return Labels(key, tuple(choices[:MOST_KEYS]), sets, nodes.all)


def _by_number(value: str) -> list[tuple[int, str]]:
    """rack-2 before rack-11."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in _NUMBERS.split(value)]


def _rank(key: str) -> tuple[int, str]:
    last = key.rpartition("/")[2]
    return next((i for i, known in enumerate(TOPOLOGY) if known in (key, last)), len(TOPOLOGY)), key


# --- from what was taken ---------------------------------------------------------------------------------------------


def present(
    key: str,
    verdict: Verdict | None,
    sets: Mapping[str, int],
    names: Names,
    taken: Labels,
    query: Query,
    only: str | None = None,
    gone: float = 0.0,
) -> GridView:
    """only: the reason whose nodes alone are shown ("" is the nodes that pass), None for all; gone: since when."""
    groups = groups_of(verdict)
    total = sum(g.count for g in groups)
    hidden = set(query.get("hide").split("."))
    reasons: list[ReasonView] = []
    members: list[tuple[int, int]] = []
    for i, group in enumerate(groups):
        if only is not None and group.reason != only:
            continue
        nodes = sets.get(group.nodes, 0)
        view = view_of(groups, i, total, verdict)
        token = hashlib.blake2b(f"{group.plugin} {group.reason}".encode(), digest_size=4).hexdigest()
        reasons.append(ReasonView(view, token, token in hidden, "\n".join(names(nodes))))
        members.append((view.kind, nodes))
    reasons.sort(key=lambda r: not r.group.passed)
    return GridView(
        key=key,
        pod_href=pod_href(key),
        untold=untold(verdict, gone=gone > 0),
        reasons=tuple(reasons),
        groups=tuple(_groups(members, taken, names, tuple(r.group.kind for r in reasons if r.hidden))),
        choices=_choices(taken),
        grouped_by="" if taken.key == UNGROUPED else taken.key,
        fit=verdict.nodes_fit if verdict else 0,
        total=total,
        known=bool(groups),
        only=only,
        gone=gone,
    )


def _choices(taken: Labels) -> tuple[Option, ...]:
    keys = [Option(key, key, count, key == taken.key) for key, count in taken.choices]
    return (*keys, Option(UNGROUPED, "nothing", 1, taken.key == UNGROUPED))


def _groups(
    members: list[tuple[int, int]], taken: Labels, names: Names, hidden: tuple[int, ...]
) -> Iterator[GridGroup]:
    shown = 0
    for _, nodes in members:
        shown |= nodes
    count = shown.bit_count()
    kinds = bytearray(shown.bit_length())
    for kind, nodes in members:
        for slot in nodeset.slots(nodes):
            kinds[slot] = kind
    fit = next((nodes for kind, nodes in members if kind == 0), 0)
    for label, nodes in _by_label(shown, taken):
        slots = nodeset.slots(nodes)
        named = names(nodes)
        chunks = tuple(
            Cells(named[i : i + CHUNK], [kinds[slot] for slot in slots[i : i + CHUNK]])
            for i in range(0, len(slots), CHUNK)
        )
        yield GridGroup(
            id=f"{CELLS}{hashlib.blake2b(label.encode(), digest_size=6).hexdigest()}",
            label=label,
            count=len(slots),
            fit=(nodes & fit).bit_count(),
            chunks=chunks,
            size=1 + sum(len(slots) > limit for limit in (50, 200, 800, 3000)),
            named=count <= NAMED,
            dense=count > DENSE,
            hidden=hidden,
        )


def _by_label(shown: int, taken: Labels) -> Iterator[tuple[str, int]]:
    """Those that have no such label, and those that are gone by now, come last."""
    if taken.key == UNGROUPED:
        if shown:
            yield "", shown
        return
    rest = shown
    for value, nodes in taken.sets[:MOST_VALUES]:
        if here := nodes & shown:
            rest &= ~here
            yield value or '""', here
    others = 0
    for _, nodes in taken.sets[MOST_VALUES:]:
        others |= nodes
    for label, here in (
        ("other values", rest & others),
        (f"without {taken.key}", rest & ~others & taken.known),
        ("gone by now", rest & ~taken.known),
    ):
        if here:
            yield label, here
