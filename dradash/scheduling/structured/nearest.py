"""What is advised over all nodes that were looked at: what helps on those that are nearest to a solution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from dradash.scheduling.status import Status
from dradash.scheduling.structured.advised import Hint
from dradash.scheduling.structured.allocator import object_name
from dradash.scheduling.structured.claimsize import oversized
from dradash.scheduling.structured.fates import Stage
from dradash.scheduling.structured.funnel import Holders, RequestFunnel
from dradash.scheduling.structured.looks import ADVISED, Budget
from dradash.scheduling.structured.nodefunnel import NodeFunnel
from dradash.scheduling.structured.requests import requests_of
from dradash.scheduling.structured.selectorwants import besides, wants
from dradash.scheduling.structured.sight import Sight
from dradash.scheduling.structured.smallestchange import Advice, PodsOf
from dradash.scheduling.structured.trial import Trials

NEAREST: Final = 3  # nodes on which changes are tried
HINTS: Final = 8
FACTS: Final = ("devices", "class", "capacity", "selector", "together", "limit")  # what is asked for cannot be had
CUT: Final = "not decided here: the search takes long"


class Looked(msgspec.Struct, frozen=True):
    """A node for all that are like it, `nodes` many. also: what others of them see, whose pools cannot be used."""

    funnel: NodeFunnel
    nodes: int
    status: Status
    also: tuple[Sight, ...] = ()


class Looks(NamedTuple):
    """of: how many nodes there are, or 0 where one was asked about. requests: their funnels over all that was seen."""

    looked: list[Looked]
    of: int
    requests: tuple[RequestFunnel, ...]

    @property
    def where(self) -> str:
        seen = sum(one.nodes for one in self.looked)
        return "this cluster" if seen == self.of else f"a part of this cluster ({seen} of {self.of} nodes)"


def distance(one: Looked) -> tuple[bool, bool, bool, int, int, int, str]:
    """The least first: how far the node is from a solution. Others can do nothing on a node that is hopeless."""
    of = one.funnel
    fails = bool(one.status.message)
    return (fails, of.sees_nothing, of.is_hopeless, of.lacking, -of.reach, -one.nodes, of.node.name)


class Advisers:
    def __init__(self, trials: Trials, holders: Holders, pods_of: PodsOf, unread: Collection[str]) -> None:
        self._trials, self._holders, self._pods_of, self._unread = trials, holders, pods_of, unread

    def hints(self, looks: Looks) -> tuple[Hint, ...]:
        """Those that were tried and help first, of them those of the nearest node."""
        if any(one.status.is_success for one in looks.looked):
            return ()
        work = Budget(ADVISED)
        # A node without devices has nothing that could be changed: it is told of where no node has any.
        able = [one for one in looks.looked if not one.funnel.sees_nothing] or looks.looked
        nearest = sorted(able, key=distance)[:NEAREST]
        if over := oversized(nearest[0].funnel.claims if nearest else []):
            return over[:HINTS]
        # That all requests find enough devices says little where some were left out, or nothing was decided.
        told = [o.funnel for o in nearest if o.funnel.short() or not (o.funnel.left_out or o.status.message == CUT)]
        found: dict[tuple[str, str, str], Hint] = {}
        helps = False
        missing = self._missing(nearest[0].funnel) if nearest else []
        for hint in (*missing, *self._advised(told, work, everywhere=bool(looks.of))):
            helps |= hint.verified
            if helps and hint.kind == "pool" and not hint.verified:
                continue  # its devices are not those that are wanted
            about = _of_cluster(hint, looks, work) if looks.of else hint
            found.setdefault((about.kind, about.request, about.sentence), about)
            if len(found) == HINTS:
                break
        return tuple(found.values())

    def _missing(self, funnel: NodeFunnel) -> list[Hint]:
        """Classes that some request or alternative names: without one of them PreFilter refuses the pod."""
        return [
            Hint(
                kind="class",
                sentence=f"class {asked.class_name} is missing",
                claim=object_name(claim),
                request=asked.full_name,
                node=funnel.node.name,
                verified=False,
                names=(asked.class_name,),
            )
            for claim in funnel.claims
            for request in claim.spec.devices.requests
            for asked in requests_of(request)
            if asked.class_name not in self._trials.classes and asked.class_name not in self._unread
        ]

    def _advised(self, told: list[NodeFunnel], work: Budget, *, everywhere: bool) -> list[Hint]:
        advice = Advice(self._trials, self._holders, self._pods_of, work, everywhere=everywhere, unread=self._unread)
        found: list[tuple[tuple[bool, bool], Hint]] = []
        for funnel in told:
            useful = (h for h in advice.on(funnel) if not _is_idle(h, funnel))
            found += [(_rank(h, is_hopeless=funnel.is_hopeless), h) for h in useful]
        return [hint for _, hint in sorted(found, key=lambda one: one[0])]


def _is_idle(hint: Hint, funnel: NodeFunnel) -> bool:
    """A part of a class's selector that is not what keeps the devices back: the class takes enough of them."""
    if hint.verified or hint.kind != "selector" or not hint.sentence.startswith("class "):
        return False
    return any(
        course.request.full_name == hint.request
        and object_name(funnel.claims[place]) == hint.claim
        and sum(f.lost not in (Stage.POOL, Stage.CLASS) for f in course.fates) >= max(1, course.needed)
        for place, course in funnel.short()
    )


def _rank(hint: Hint, *, is_hopeless: bool) -> tuple[bool, bool]:
    """What was tried and helps, then facts: on a node that has enough of what is wanted, not that it has others."""
    if hint.verified:
        return (False, False)
    return (True, hint.kind not in FACTS if is_hopeless else hint.kind == "selector")


def _of_cluster(hint: Hint, looks: Looks, work: Budget) -> Hint:
    """A selector is the same on all nodes: what it met anywhere is told."""
    if hint.kind != "selector":
        return replace(hint, node="") if hint.kind == "class" else hint
    values: Counter[str] = Counter()
    for request in looks.requests:
        if (request.claim, request.request) == (hint.claim, hint.request):
            losses = (loss for s in request.stages if s.stage in (Stage.CLASS, Stage.REQUEST) for loss in s.losses)
            for loss in losses:
                if hint.names[0] in loss.why:
                    values.update({v.text: v.count for v in loss.values})
    owner = hint.sentence.partition(" wants ")[0]
    stage = Stage.CLASS if owner.startswith("class ") else Stage.REQUEST
    more = besides(((o.funnel, o.nodes) for o in looks.looked), hint.claim, hint.request, hint.names[0], stage, work)
    return replace(hint, node="", sentence=wants(owner, hint.names[0], values, looks.where, more))
