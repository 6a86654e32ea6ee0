"""From changes to the pods that must be judged again, each with upstream's hints for what changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from dradash.scheduling.cluster import Cluster
from dradash.scheduling.dependencies import Dependencies, hint_note
from dradash.scheduling.verdict import HintNote
from dradash.store.model import DuePod

# Node changes in one batch of which each pod is told; of more than that only the last ones (a list of 5,000 nodes
# would otherwise cost a note for each pod and node).
NODE_NOTES: Final = 3


class Applied(msgspec.Struct, frozen=True):
    """A change that was put into the cluster: old and new are the kind's structs, or None."""

    kind: str
    key: str
    type: str
    old: Any
    new: Any


class Reconsider:
    """Collects due pods over a batch. Call `saw` right after each change was put into the cluster, `due` at the end."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._dependencies = Dependencies(cluster)
        self._notes: defaultdict[str, list[HintNote]] = defaultdict(list)
        self._nodes: list[Applied] = []

    def saw(self, change: Applied) -> None:
        if change.kind == "nodes":
            self._nodes.append(change)
            return
        pods = self._dependencies.affected(change.kind, change.key, change.old, change.new)
        self._note(pods, (change,))

    def all_pods(self) -> None:
        """Everything is due: a kind that verdicts depend on became known, or a new leader begins."""
        for pod in self._cluster.raw["pods"]:
            self._notes[pod]  # an entry without a note

    def due(self) -> list[DuePod]:
        """What is due because of the changes since the last call."""
        if self._nodes:
            pods = self._dependencies.affected_by_nodes((c.old, c.new) for c in self._nodes)
            self._note(pods, self._nodes[-NODE_NOTES:])
        taken = [DuePod(pod, hints=msgspec.json.encode(notes)) for pod, notes in self._notes.items()]
        self._notes.clear()
        self._nodes.clear()
        return taken

    def _note(self, pods: Iterable[str], changes: Sequence[Applied]) -> None:
        for pod_key in pods:
            notes = self._notes[pod_key]
            pod = self._cluster.pods.get(pod_key)
            if pod is None:
                continue  # malformed: its verdict says that, and no hint is for it
            for c in changes:
                note = hint_note(pod, self._cluster, c.kind, c.key, c.type, c.old, c.new)
                if note is not None:
                    notes.append(note)
