"""Filter's answer node by node: groups of nodes with the same answer, each with a letter of its own."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlencode

import msgspec

from dradash.reader.series import groups_of
from dradash.scheduling.verdict import NodeGroup, Verdict
from dradash.web.presenters.words import cut, pod_href

INLINE_CELLS: Final = 300  # nodes up to which the grid comes with the page; above, the page fetches it on its own
LISTED_NAMES: Final = 60  # names of a group that its list shows; the nodes page has them all
COLOURS: Final = 8

Names = Callable[[int], list[str]]


class NodeGroupView(msgspec.Struct, frozen=True):
    """mark: the letter in each cell, "" for nodes that pass; colour: 0 passes, 1..8 refusals, by their order.

    kind: as colour, but 1..26: it stands for the letter in the cells' class.
    """

    mark: str
    colour: int
    kind: int
    plugin: str
    reason: str
    count: int
    share: float  # per cent of all nodes
    names: tuple[str, ...]  # first ones
    unlisted: int  # how many names are left out
    cells: tuple[str, ...]  # all names, when they are shown as cells here
    href: str  # the nodes page with this group alone

    @property
    def passed(self) -> bool:
        return self.colour == 0


class NodesView(msgspec.Struct, frozen=True):
    groups: tuple[NodeGroupView, ...]
    fit: int
    total: int
    lazy_href: str  # where the grid comes from when it is not here; changes with the node sets
    known: bool  # False: Filter was not reached
    href: str  # the page of the grid

    @property
    def dense(self) -> bool:
        return sum(len(g.cells) for g in self.groups) > INLINE_CELLS


def marks(groups: tuple[NodeGroup, ...]) -> list[tuple[str, int, int]]:
    """(mark, colour, kind) of each group: refusals are lettered in the order of the verdict, A to Z and then again."""
    found, refusals = [], 0
    for group in groups:
        if not group.reason:
            found.append(("", 0, 0))
            continue
        found.append((string.ascii_uppercase[refusals % 26], refusals % COLOURS + 1, refusals % 26 + 1))
        refusals += 1
    return found


def digests(verdict: Verdict | None) -> list[str]:
    return [g.nodes for s in verdict.steps for g in s.groups] if verdict else []


def present(verdict: Verdict | None, sets: Mapping[str, int], names: Names) -> NodesView:
    """The pod page's part. `sets`: digest -> node set; one that is missing is shown as its count alone."""
    groups = groups_of(verdict)
    total = sum(g.count for g in groups)
    inline = total <= INLINE_CELLS
    views = []
    for group, look in zip(groups, marks(groups), strict=True):
        all_names = names(sets.get(group.nodes, 0)) if inline or group.count else []
        views.append(_view(group, look, total, all_names, verdict, inline))
    lazy = ""
    if groups and not inline and verdict:
        lazy = f"{pod_href(verdict.pod)}/nodes?" + urlencode({"sets": ".".join(g.nodes[:6] for g in groups)})
    href = f"{pod_href(verdict.pod)}/nodes" if verdict else ""
    return NodesView(
        _passing_first(views), verdict.nodes_fit if verdict else 0, total, lazy, known=bool(groups), href=href
    )


def view_of(groups: tuple[NodeGroup, ...], index: int, total: int, verdict: Verdict | None) -> NodeGroupView:
    """One group without its names."""
    return _view(groups[index], marks(groups)[index], total, [], verdict, False)


def _passing_first(views: list[NodeGroupView]) -> tuple[NodeGroupView, ...]:
    return tuple(sorted(views, key=lambda v: not v.passed))


def _view(
    group: NodeGroup, look: tuple[str, int, int], total: int, names: list[str], verdict: Verdict | None, cells: bool
) -> NodeGroupView:
    mark, colour, kind = look
    where = pod_href(verdict.pod) if verdict else ""
    shown = tuple(names[:LISTED_NAMES])
    return NodeGroupView(
        mark=mark,
        colour=colour,
        kind=kind,
        plugin=group.plugin,
        reason=cut(group.reason),
        count=group.count,
        share=round(100 * group.count / total, 2) if total else 0.0,
        names=shown,
        unlisted=group.count - len(shown),
        cells=tuple(names) if cells else (),
        href=f"{where}/nodes?" + urlencode({"reason": group.reason}),
    )
