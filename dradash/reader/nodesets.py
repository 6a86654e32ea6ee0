"""Node sets by digest. They are content-addressed, so what was read once is right for ever."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from dradash.scheduling import nodeset
from dradash.store.model import ReadModel, StoreUnavailable

KEPT: Final = 2000  # in memory; a set of 5,000 nodes is 625 bytes


class NodeSets:
    """Thread-safe."""

    def __init__(self, model: ReadModel) -> None:
        self._model = model
        self._known: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, digests: Sequence[str]) -> dict[str, int]:
        """Those of the sets that there are: what is not known here in one read. Without the model, what is known."""
        found = {}
        with self._lock:
            for digest in dict.fromkeys(digests):
                if digest in self._known:
                    self._known.move_to_end(digest)
                    found[digest] = self._known[digest]
        missing = [d for d in dict.fromkeys(digests) if d not in found]
        if not missing:
            return found
        try:
            read = {d: nodeset.from_bytes(raw) for d, raw in self._model.node_sets(missing).items()}
        except StoreUnavailable:
            return found
        with self._lock:
            self._known |= read
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        return found | read
