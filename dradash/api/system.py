"""The state of the watch, counts, reason codes, and from what an alert knows to an address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from django.conf import settings

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.classes import driver_items
from dradash.api.endpoint import Endpoint, projected
from dradash.api.pods import NOT_JUDGED
from dradash.api.problems import UNAVAILABLE, Refusal
from dradash.api.schemas import Rows, Shape, Total, page, time_of, url
from dradash.kinds.registry import KINDS
from dradash.reader.talks import all_talks
from dradash.reader.world import World
from dradash.scheduling.classic.claimstate import claim_state
from dradash.scheduling.reasons import REASONS, codes_of
from dradash.store.model import StoreUnavailable, SyncState

FOUND: Final = 100


class KindHealth(Shape, frozen=True):
    """A watched kind. state: unknown, notServed, forbidden, syncing, synced or stale. objects: null, not known."""

    kind: str
    state: str
    version: str
    since: str | None
    seen: str | None
    error: str
    objects: int | None
    malformed: int


class Health(Shape, frozen=True):
    """state: loading, live or unavailable (what is answered is then what was read last). leader: "" for nobody."""

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
    """source: which plugin writes it. example: such a text."""

    code: str
    source: str
    example: str
    meaning: str
    remedy: str


class Found(Shape, frozen=True):
    """gone: when it was deleted, null: it exists."""

    kind: str
    key: str
    uid: str
    gone: str | None
    url: str | None
    page: str | None


def _known(sync: SyncState | None) -> bool:
    return sync is not None and sync.state in ("synced", "stale")


def health(ask: Ask) -> Any:
    fresh = ask.here.follower.freshness()
    with ask.here.follower.world() as world:
        kinds = tuple(_kind(world, plural) for plural in KINDS)
        instance = world.instance
    try:
        start = ask.here.model.history_start() or 0.0
    except StoreUnavailable:
        start = 0.0
    found = Health(
        state=fresh.state,
        cluster=str(settings.DRADASH.cluster),
        revision=fresh.revision,
        instance=instance,
        changed_at=time_of(fresh.changed_at),
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
            claims=Counter(str(claim_state(c)) for c in world.cluster.claims.values()),
            negotiations=Counter(t.state for t in talks),
            findings=findings,
            disagreements=sum(v.agreement.agrees is False for v in pending if v),
            objects={k: len(world.cluster.objects(k)) for k in KINDS if _known(world.sync.get(k))},
        )
    return projected(found, ask)


def reasons(ask: Ask) -> Any:
    rows = [ReasonRow(**{n: getattr(r, n) for n in ReasonRow.__struct_fields__}) for r in REASONS.values()]
    with ask.world() as world:
        total = Total(count=len(rows), exact=True)
        return Rows(items=tuple(rows), total=total, next=None, revision=world.revision, instance=world.instance)


# --- lookup ----------------------------------------------------------------------------------------------------------

_LABELS: Final = {  # of alerts: kube-state-metrics' and our own names
    "pod": "pods",
    "resourceclaim": "resourceclaims",
    "claim": "resourceclaims",
    "node": "nodes",
    "resourceclass": "resourceclasses",
    "class": "resourceclasses",
    "driver": "drivers",
}
_SEARCHED: Final = ("pods", "resourceclaims", "podschedulingcontexts", "nodes", "resourceclasses")


def lookup(ask: Ask) -> Any:
    given = ask.params
    with ask.world() as world:
        found = list(_by_labels(ask, world))
        if uid := given.get("uid"):
            found += _by_uid(world, uid)
        if (name := given.get("name")) or given.get("q"):
            found += _by_name(world, given.get("namespace"), name or "", given.get("q", ""))
        revision, instance = world.revision, world.instance
    unique = {(f.kind, f.key): f for f in found}
    rows = tuple(unique.values())[:FOUND]
    total = Total(count=len(unique), exact=len(unique) < FOUND)
    return Rows(items=rows, total=total, next=None, revision=revision, instance=instance)


def _found(kind: str, key: str, uid: str = "", gone: float = 0.0) -> Found:
    return Found(kind=kind, key=key, uid=uid, gone=time_of(gone), url=url(kind, key), page=page(kind, key))


def _by_labels(ask: Ask, world: World) -> Iterator[Found]:
    namespace = ask.get("namespace")
    for label, kind in _LABELS.items():
        name = ask.get(label)
        if not name:
            continue
        if kind == "drivers":
            if _is_driver(ask, world, name):
                yield _found(kind, name)
            continue
        key = f"{namespace}/{name}" if KINDS[kind].namespaced and "/" not in name else name
        there = world.cluster.objects(kind).get(key)
        if there is not None:
            yield _found(kind, key, there.uid)
        elif history := ask.history(kind, key):
            yield _found(kind, key, gone=history[-1].at)


def _is_driver(ask: Ask, world: World, name: str) -> bool:
    with ask.here.follower.world():  # a driver that was only heard is in the record, which is of now
        return any(item.name == name for item in driver_items(ask, world, None))


def _by_uid(world: World, uid: str) -> Iterator[Found]:
    for kind in _SEARCHED:
        for key, found in world.cluster.objects(kind).items():
            if found.uid == uid:
                yield _found(kind, key, uid)


def _by_name(world: World, namespace: str | None, name: str, text: str) -> Iterator[Found]:
    text, count = text.casefold(), 0
    for kind in _SEARCHED:
        for key, found in world.cluster.objects(kind).items():
            if (name and found.name != name) or (namespace and found.namespace != namespace):
                continue
            if text in key.casefold() and count < FOUND:
                count += 1
                yield _found(kind, key, found.uid)


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
        varies="time",
        past=False,
    ),
    Endpoint("stats", "/stats", "system", "Counts by outcome, reason and state", Stats, stats, varies="findings"),
    Endpoint(
        "reasons",
        "/reasons",
        "system",
        "Every reason code explained",
        Rows[ReasonRow],
        reasons,
        past=False,
    ),
    Endpoint(
        "lookup",
        "/lookup",
        "system",
        "From a UID, a name, or the labels of an alert to the address of its page",
        Rows[Found],
        lookup,
        (
            params.text("uid", "UID of an object.", "uid-ml-train"),
            params.text("namespace", "Namespace of what is looked for.", "ml"),
            params.text("name", "Name of an object of any kind.", "train"),
            params.text("q", "Text that a key contains.", "train"),
            *(params.text(label, f"Name of one of the {kind}.") for label, kind in _LABELS.items()),
        ),
    ),
)
