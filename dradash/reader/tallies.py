"""Claims and waiting pods counted for each class and node set, kept as changes come: a change costs what it is about.

Pure. The follower feeds the one of now; of a past moment it is counted anew.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, Final

from dradash.kinds.pod import Pod
from dradash.reader.world import World
from dradash.scheduling.claimfacts import AnyClaim, class_kind, class_names_of, classes_in, state_of
from dradash.scheduling.verdict import NodeGroup, Verdict
from dradash.store.model import VERDICTS

STRUCTURED: Final = "structured"
Group = tuple[str, bool]  # a node set's digest, and whether its nodes pass


class Tallies:
    """waiting: (kind of class, name) -> pending pods whose verdict has a claim of it; waiting pods of either
    generation count for ResourceClasses. groups: node sets of pending pods' verdicts. claims: (kind of class, name) ->
    claims by state.
    """

    def __init__(self) -> None:
        self.waiting: Counter[tuple[str, str]] = Counter()
        self.groups: Counter[Group] = Counter()
        self._claims: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._pending: set[str] = set()
        self._verdicts: dict[str, Verdict] = {}

    @classmethod
    def of(cls, world: World) -> Tallies:
        made = cls()
        for key, verdict in world.verdicts.items():
            made.feed(VERDICTS, key, None, verdict)
        for key, pod in world.cluster.pods.items():
            made.feed("pods", key, None, pod)
        for key, claim in world.cluster.objects("resourceclaims").items():
            made.feed("resourceclaims", key, None, claim)
        return made

    def claims(self, kind: str, name: str) -> dict[str, int]:
        """Claims that ask for the class, by state."""
        return dict(self._claims.get((kind, name), ()))

    def feed(self, kind: str, key: str, old: Any, new: Any) -> None:
        """old, new: what the object was and is, None: there was or is none, or a malformed one."""
        if kind == "resourceclaims":
            self._claim(old, -1)
            self._claim(new, 1)
        elif kind in ("pods", VERDICTS):
            self._count(key, -1)
            if kind == VERDICTS:
                self._verdicts.pop(key, None)
                if new is not None:
                    self._verdicts[key] = new
            else:
                self._pending.discard(key)
                if isinstance(new, Pod) and new.is_pending:
                    self._pending.add(key)
            self._count(key, 1)

    def _claim(self, claim: AnyClaim | None, by: int) -> None:
        if claim is None:
            return
        for name in class_names_of(claim):
            of = (class_kind(claim), name)
            _add(self._claims[of], str(state_of(claim)), by)
            if not self._claims[of]:
                del self._claims[of]

    def _count(self, key: str, by: int) -> None:
        verdict = self._verdicts.get(key)
        if verdict is None or key not in self._pending:
            return
        for of in waited_for(verdict):
            _add(self.waiting, of, by)
        for group in node_groups(verdict):
            _add(self.groups, (group.nodes, not group.reason), by)


def _add(counts: Counter[Any], what: Any, by: int) -> None:
    counts[what] += by
    if not counts[what]:
        del counts[what]


def waited_for(verdict: Verdict) -> set[tuple[str, str]]:
    """(kind, name) of the classes whose rows count the pod."""
    names = {n for c in verdict.claims for n in classes_in(c.resource_class)}
    found = {("resourceclasses", name) for name in names}
    return found | ({("deviceclasses", name) for name in names} if verdict.generation == STRUCTURED else set())


def node_groups(verdict: Verdict | None) -> tuple[NodeGroup, ...]:
    """What Filter said, as sets of nodes."""
    return next((s.groups for s in verdict.steps if s.groups), ()) if verdict else ()
