"""A small cluster in a memory model, judged by the real judge: what view, socket and browser tests look at."""

from __future__ import annotations

from collections.abc import Sequence

from dradash.pipeline.judge import Judge
from dradash.reader import current
from dradash.store.memory import MemoryModel
from dradash.store.model import DuePod, SyncState
from tests import build


class Scene:
    """A model with its leader "test", and a web process that looks at it; `look` lets the web process catch up."""

    def __init__(self, *objects: build.Obj, synced: Sequence[str] = tuple(build.PLURALS.values())) -> None:
        self.model = MemoryModel()
        self.epoch = build.fill(self.model, at=build.NOW)
        self.now = build.NOW
        self._judge = Judge(self.model, clock=lambda: self.now)
        for kind in synced:
            self.sync(kind, "synced")
        self.put(*objects)
        self.web = current.build(self.model)

    def sync(self, kind: str, state: str, error: str = "") -> None:
        version = "v1alpha2" if kind.startswith(("resource", "podscheduling")) else "v1"
        self.model.set_sync(self.epoch, SyncState(kind, state, version, since=self.now, error=error), self.now)

    def put(self, *objects: build.Obj, type_: str = "MODIFIED") -> None:
        """Apply objects as one change each, and judge every pod again."""
        self.now += 1.0
        self.model.apply(self.epoch, [build.write(o, type_) for o in objects], [], self.now)
        self.judge()

    def delete(self, *objects: build.Obj) -> None:
        self.put(*objects, type_="DELETED")

    def judge(self) -> None:
        pods = self.model.load().objects.get("pods", {})
        self.model.mark_due(self.epoch, [DuePod(p, self.model.revision()) for p in pods])
        self._judge.judge(self.model.take_due(self.now, 10_000, 1.0))

    def look(self) -> None:
        self.web.follower.step()
