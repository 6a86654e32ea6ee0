"""The rows of one watch: which of them its reader has, what a change does to them, and which will be due for it."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from dradash.api.asking import Ask, AskedEarlier
from dradash.api.endpoint import Listing, projected
from dradash.problems import REVISION_GONE, Refusal
from dradash.reader.lately import Lately
from dradash.reader.world import World
from dradash.store.model import Trimmed
from dradash.store.replica import Applied

NEVER: Final = float("inf")
NULL: Final = msgspec.Raw(b"null")


class Told(msgspec.Struct, frozen=True):
    """type: ADDED, MODIFIED or DELETED. row: as JSON, null for the last one."""

    type: str
    key: str
    row: msgspec.Raw


class Dues:
    """When each row that the other filters leave will have waited long enough (Unix seconds)."""

    def __init__(self) -> None:
        self._at: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []  # also of those that were set anew since

    def set(self, key: str, at: float) -> None:
        if at == NEVER:
            self._at.pop(key, None)
        elif self._at.get(key) != at:
            self._at[key] = at
            heapq.heappush(self._heap, (at, key))

    def next(self) -> float:
        while self._heap and self._at.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else NEVER

    def take(self, now: float) -> list[str]:
        """Those that are due by now, which are forgotten."""
        taken = []
        while self.next() <= now:
            taken.append(heapq.heappop(self._heap)[1])
            del self._at[taken[-1]]
        return taken


class Following:
    """after: the revision up to which the reader was told everything.

    Rows are made of the world as it is, so a reader may have got rows newer than `after`. One that comes back with
    `since` may have any state that a row was in from that revision on: see `_resume`.
    """

    def __init__(self, listing: Listing[Any], ask: Ask) -> None:
        self._listing, self._ask = listing, ask
        self._waiting: float | None = ask.params.get("waiting")
        self._had: dict[str, int] = {}  # key of a row that the reader has -> digest of what it was sent, 0: not known
        self._unsure: set[str] = set()  # keys of rows that it may have
        self._touched: set[str] = set()
        self._seen = 0  # the revision up to which changes are in `_touched`
        self._dues = Dues()
        self.after = 0

    def begin(self, since: int | None) -> None:
        """From a revision that was reached here, None: from now on. Raises Refusal and StoreUnavailable."""
        here, now = self._ask.here, time.time()
        with here.follower.world() as world:
            here.part(Lately)  # from here on no change is missed
            if since is None or since == world.revision:
                last = world.recent[-1] if world.recent else None
                reached = last.at if last is not None and last.revision == world.revision else 0.0
                found = self._matching(self._bare(now), world, None)
                dues, told = {key: due for key, (_, due) in found.items()}, now if since is None else reached
                self._set_out({key for key, due in dues.items() if due <= told}, dues, told)
                self.after = self._seen = world.revision
                return
        self.after = since
        self._resume(since)

    def _set_out(self, had: set[str], dues: Mapping[str, float], told: float) -> None:
        """The reader has these rows, and may have the others that match. told: until when what was due was sent."""
        now = time.time()
        self._had = dict.fromkeys(had, 0)
        self._unsure |= {key for key, due in dues.items() if due <= now}
        self._unsure -= had
        for key, due in dues.items():
            self._dues.set(key, due if due > told else NEVER)

    def _resume(self, since: int) -> None:
        """Go through what has changed since. What a change touched is news, and a row that matched at any time since
        may have been sent: a stream that broke has sent some rows, newer than the revision it had come to."""
        here = self._ask.here
        try:
            world, changes = here.follower.earlier(here.model, since)
        except Trimmed as error:
            raise Refusal(REVISION_GONE, f"what was after revision {since} is not kept any more: list again") from error
        told, ask = world.at, AskedEarlier(self._bare(world.at), world)
        dues = {key: due for key, (_, due) in self._matching(ask, world, None).items()}
        had = {key for key, due in dues.items() if due <= told}
        for change in changes:
            keys = set(self._touched_by(ask, world, world.apply(change)))
            self._touched |= keys
            if change.kind in self._listing.decided_by:
                self._unsure |= {key for key in keys if dues.pop(key, NEVER) <= change.at}
                dues |= {key: due for key, (_, due) in self._matching(ask, world, keys).items()}
        if self._waiting is not None:
            dues = self._dues_now()  # since when it waits is known of now only
            untouched = dues.keys() - self._touched
            had = (had - untouched) | {key for key in untouched if dues[key] <= told}
        self._set_out(had, dues, told)
        self._seen = world.revision

    def _dues_now(self) -> dict[str, float]:
        ask = self._bare(time.time())
        with ask.world() as world:
            return {key: due for key, (_, due) in self._matching(ask, world, None).items()}

    # --- what is new -----------------------------------------------------------------------------------------------

    def is_due(self, now: float) -> bool:
        return self._dues.next() <= now

    def news(self) -> list[Told]:
        """What the reader must be told to have the list as it is. Raises Refusal and StoreUnavailable."""
        now = time.time()
        ask = self._bare(now)
        revision = self._catch_up(ask)
        if self._listing.prepare is not None:
            self._listing.prepare(ask, ())
        with ask.world() as world:
            keys = self._touched.union(self._dues.take(now))
            found = self._matching(ask, world, keys)
            rows = {
                key: projected(self._listing.row(ask, world, item), ask)
                for key, (item, due) in found.items()
                if due <= now
            }
        for key in keys:
            due = found[key][1] if key in found else NEVER
            self._dues.set(key, due if due > now else NEVER)
        self._touched, self.after = set(), revision
        return [told for key in sorted(keys) if (told := self._tell(key, rows.get(key))) is not None]

    def _catch_up(self, ask: Ask) -> int:
        """Note what was touched; up to which revision."""
        here = self._ask.here
        with here.follower.world() as world:
            revision = world.revision
            applied = here.part(Lately).since(self._seen, revision)
        if applied is None:  # too much at once
            had, unsure = self._had, self._unsure.copy()
            self._resume(self._seen)
            self._touched |= self._had.keys() - had.keys()  # also what was due already and not told yet
            self._had, self._unsure = had, unsure  # what this stream has told is certain
            return self._seen
        if self._listing.prepare is not None:
            self._listing.prepare(ask, applied)
        with here.follower.world() as world:
            for one in applied:
                self._touched.update(self._touched_by(ask, world, one))
        self._seen = revision
        return revision

    def _tell(self, key: str, row: Any) -> Told | None:
        if row is None:
            had = self._had.pop(key, None)
            if had is None and key not in self._unsure:
                return None
            self._unsure.discard(key)
            return Told("DELETED", key, NULL)
        raw = msgspec.json.encode(row)
        before, digest = self._had.get(key), hash(raw)
        if before == digest:
            return None
        self._had[key] = digest
        self._unsure.discard(key)
        return Told("ADDED" if before is None else "MODIFIED", key, msgspec.Raw(raw))

    # --- questions to the listing ----------------------------------------------------------------------------------

    def _bare(self, now: float) -> Ask:
        """The question without `waiting`, which is looked after here."""
        params = {name: value for name, value in self._ask.params.items() if name != "waiting"}
        return Ask(self._ask.here, params, self._ask.where, now)

    def _touched_by(self, ask: Ask, world: World, applied: Applied) -> Iterable[str]:
        if self._listing.touched is None:
            raise AssertionError("only lists that can be watched are")
        return self._listing.touched(ask, world, applied)

    def _matching(self, ask: Ask, world: World, keys: Iterable[str] | None) -> dict[str, tuple[Any, float]]:
        """Key -> the item that the filters but `waiting` leave, and when it will have waited long enough."""
        if keys is not None and not keys:
            return {}
        items = self._listing.items(ask, world, keys if keys is None else list(keys))
        return {self._listing.identity(item): (item, self._due(ask, item)) for item in items}

    def _due(self, ask: Ask, item: Any) -> float:
        if self._waiting is None or self._listing.since is None:
            return 0.0
        since = self._listing.since(item)
        if since > 0:
            return since + self._waiting
        return NEVER if ask.at is None else 0.0  # of before it may not be known here
