"""The state of the watch, counts, and reason codes."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import Any, Final

from django.conf import settings

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.endpoint import Endpoint, projected
from dradash.api.pods import NOT_JUDGED
from dradash.api.schemas import Rows, Shape, Total, time_of
from dradash.kinds.registry import KINDS
from dradash.problems import UNAVAILABLE, Refusal
from dradash.reader.talks import all_talks
from dradash.reader.world import World
from dradash.scheduling.claimfacts import claims_of, state_of
from dradash.scheduling.codes import ALL as CODES
from dradash.scheduling.codes import KINDS as CODE_KINDS
from dradash.scheduling.reasons import codes_of
from dradash.store.model import StoreUnavailable, SyncState


class KindHealth(Shape, frozen=True):
    """A watched kind. state: unknown, notServed, forbidden, syncing, synced or stale; of the past also notKept.

    objects: null, not known. seen: of the past null, it is not kept.
    """

    kind: str
    state: str
    version: str
    since: str | None
    seen: str | None
    error: str
    objects: int | None
    malformed: int


class Health(Shape, frozen=True):
    """state: loading, live or unavailable (what is answered is then what was read last). leader: "" for nobody.

    With at, revision, changedAt (null: not kept) and kinds are as of then; all else is of now.
    """

    state: str
    cluster: str
    revision: int
    instance: str
    changed_at: str | None
    checked_at: str | None
    error: str
    leader: str
    history_since: str | None
    kinds: tuple[KindHealth, ...]


class Stats(Shape, frozen=True):
    """Counts; a kind that cannot be read is left out of `objects`: unknown is not zero.

    outcomes, reasons (by code), actors: of pending pods. claims, negotiations: by state. findings: by severity.
    """

    revision: int
    pending: int
    outcomes: dict[str, int]
    reasons: dict[str, int]
    actors: dict[str, int]
    claims: dict[str, int]
    negotiations: dict[str, int]
    findings: dict[str, int]
    disagreements: int
    objects: dict[str, int]


class ReasonRow(Shape, frozen=True):
    """kind: of code; a code is unique within its kind. source: who writes it. example: such a text, or ""."""

    kind: str
    code: str
    source: str
    example: str
    meaning: str
    remedy: str


def _known(sync: SyncState | None) -> bool:
    return sync is not None and sync.state in ("synced", "stale")


def health(ask: Ask) -> Any:
    fresh = ask.here.follower.freshness()
    revision, changed_at = fresh.revision, fresh.changed_at
    with ask.world() as world:
        kinds = tuple(_kind(world, plural) for plural in KINDS)
        instance = world.instance
        if ask.at is not None:
            revision, changed_at = world.revision, world.recent[-1].at if world.recent else 0.0
    start = 0.0
    if fresh.state == "live":  # else nobody has to wait to learn that it cannot be read
        with contextlib.suppress(StoreUnavailable):
            start = ask.here.model.history_start() or 0.0
    found = Health(
        state=fresh.state,
        cluster=str(settings.DRADASH.cluster),
        revision=revision,
        instance=instance,
        changed_at=time_of(changed_at),
        checked_at=time_of(fresh.checked_at),
        error=fresh.error,
        leader=fresh.leader,
        history_since=time_of(start),
        kinds=kinds,
    )
    return projected(found, ask)


def _kind(world: World, plural: str) -> KindHealth:
    sync = world.sync.get(plural) or SyncState(plural)
    return KindHealth(
        kind=plural,
        state=sync.state,
        version=sync.version,
        since=time_of(sync.since),
        seen=time_of(sync.seen),
        error=sync.error,
        objects=len(world.cluster.objects(plural)) if _known(sync) else None,
        malformed=len(world.cluster.malformed[plural]),
    )


def stats(ask: Ask) -> Any:
    findings = Counter(str(f.severity) for f in ask.findings().findings)
    with ask.world() as world:
        pending = [world.verdicts.get(k) for k, p in world.cluster.pods.items() if p.is_pending]
        talks = all_talks(world, ask.here.waits(ask.at))
        found = Stats(
            revision=world.revision,
            pending=len(pending),
            outcomes=Counter(str(v.outcome) if v else NOT_JUDGED for v in pending),
            reasons=Counter(code for v in pending for code in codes_of(v)),
            actors=Counter(v.acts_next.who for v in pending if v),
            claims=Counter(str(state_of(c)) for c in claims_of(world.cluster).values()),
            negotiations=Counter(t.state for t in talks),
            findings=findings,
            disagreements=sum(v.agreement.agrees is False for v in pending if v),
            objects={k: len(world.cluster.objects(k)) for k in KINDS if _known(world.sync.get(k))},
        )
    return projected(found, ask)


def reasons(ask: Ask) -> Any:
    kind = ask.get("kind")
    listed = [c for c in CODES if kind in ("", c.kind)]
    rows = [ReasonRow(**{n: getattr(c, n) for n in ReasonRow.__struct_fields__}) for c in listed]
    with ask.world() as world:
        total = Total(count=len(rows), exact=True)
        return Rows(items=tuple(rows), total=total, next=None, revision=world.revision, instance=world.instance)


def unready(state: str) -> Refusal:
    return Refusal(UNAVAILABLE, f"the model has not been read yet ({state}); try again in a moment")


ENDPOINTS: Final = (
    Endpoint(
        "health",
        "/health",
        "system",
        "How fresh and whole the answers are",
        Health,
        health,
        varies="freshness",
    ),
    Endpoint("stats", "/stats", "system", "Counts by outcome, reason and state", Stats, stats, varies="findings"),
    Endpoint(
        "reasons",
        "/reasons",
        "system",
        "Every code explained: of reasons, of findings, of states",
        Rows[ReasonRow],
        reasons,
        (params.choice("kind", "Only codes of this kind.", CODE_KINDS),),
        past=False,
    ),
)
