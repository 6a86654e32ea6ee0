"""What is advised: a hint, the change that it stands for, and the request that it is about."""

from __future__ import annotations

import msgspec

from dradash.kinds.deviceclaim import ResourceClaim
from dradash.scheduling.structured.allocator import object_name
from dradash.scheduling.structured.constraintfates import Course
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.fates import Fate, Stage
from dradash.scheduling.structured.funnel import Told
from dradash.scheduling.structured.nodefunnel import NodeFunnel
from dradash.scheduling.structured.trial import Change, Edit


class Hint(Told, frozen=True):
    """kind: devices (too few), class, pool, capacity, free, tolerate, constraint, selector, together (the
    requests compete, or changes of several kinds that help only at once), limit (of the API).

    verified: the allocator finds a solution with it alone; a sentence that names several changes means all of them at
    once.
    names: the taints, the class, the driver, the attribute, the capacity or the part of the selector that it is
    about. request: "" for all, or several. node: "" for the whole cluster.
    """

    kind: str
    sentence: str
    claim: str
    request: str
    node: str
    verified: bool
    names: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()


class Option(msgspec.Struct, frozen=True):
    """A hint, and the change that it is about: the allocator has not been asked yet. act: what to do, where the
    sentence does not say it."""

    hint: Hint
    change: Change
    act: str = ""


class About:
    """One request that has too few devices on a node."""

    def __init__(self, funnel: NodeFunnel, place: int, course: Course, where: str) -> None:
        self.funnel, self.course, self.where = funnel, course, where
        self.claim: ResourceClaim = funnel.claims[place]
        self._place = place

    def hint(
        self, kind: str, sentence: str, *, names: tuple[str, ...] = (), devices: tuple[DeviceID, ...] = ()
    ) -> Hint:
        return Hint(
            kind=kind,
            sentence=sentence,
            claim=object_name(self.claim),
            request=self.course.request.full_name,
            node=self.funnel.node.name,
            verified=False,
            names=names,
            devices=tuple(map(str, devices)),
        )

    def lost(self, stage: Stage) -> dict[str, list[Fate]]:
        """Reason -> devices, the most frequent first."""
        found: dict[str, list[Fate]] = {}
        for fate in self.course.fates:
            if fate.lost is stage:
                found.setdefault(fate.why, []).append(fate)
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))

    def editing(self, edit: Edit) -> Change:
        """That this is done to the claim."""
        return Change(claims=((self._place, edit),))
