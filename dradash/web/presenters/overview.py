"""The overview: how many, in which state, who must move, what is known and what is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import urlencode

import msgspec

from dradash.kinds.registry import KINDS
from dradash.reader.world import World
from dradash.scheduling.claimfacts import claims_of, state_of
from dradash.scheduling.classic.claimstate import ClaimState
from dradash.scheduling.structured.ledgerpages import held_of_all
from dradash.scheduling.verdict import Outcome, Verdict
from dradash.store.model import SYNC, Change, SyncState
from dradash.web.presenters.pods import SETTLED, UNJUDGED, needs_a_person, reasons_of
from dradash.web.presenters.status import is_expected
from dradash.web.presenters.words import (
    Actor,
    Chip,
    actor,
    claim_chip,
    href,
    negotiation_href,
    outcome_chip,
    row_id,
    sync_chip,
)

TOP_REASONS: Final = 8
NEGOTIATIONS: Final = 25
CHANGES: Final = 20
MALFORMED: Final = 50
OTHER: Final = Chip("Not in this cluster", "idle", "skip", "It serves the other generation of DRA")


class Share(msgspec.Struct, frozen=True):
    """A count with its part of the whole. start, width: per cent, for a bar made of all shares."""

    label: str
    count: int
    href: str
    start: float
    width: float
    chip: Chip | None = None


class NegotiationRow(msgspec.Struct, frozen=True):
    id: str
    href: str
    pod: str
    selected: str
    proposed: int
    answered: int
    claims: int
    actor: Actor | None
    since: float


class KindRow(msgspec.Struct, frozen=True):
    kind: str
    version: str
    chip: Chip
    count: int | None  # None: not known
    stale: bool  # the count is the last one known
    since: float
    seen: float
    error: str
    malformed: int


class ChangeRow(msgspec.Struct, frozen=True):
    at: float
    kind: str
    type: str
    key: str
    href: str
    revision: int


class MalformedRow(msgspec.Struct, frozen=True):
    kind: str
    key: str
    error: str


class Totals(msgspec.Struct, frozen=True):
    """Headline numbers; None where the kind is not known. devices: held, and all, where there are no negotiations."""

    pending: int | None
    stuck: int | None  # pending pods that nobody but a person can help
    negotiations: int | None
    claims: int | None
    nodes: int | None
    devices: tuple[int, int] | None


class OverviewView(msgspec.Struct, frozen=True):
    totals: Totals
    negotiates: bool  # False: the cluster has structured parameters, and the scheduler nothing to negotiate
    outcomes: tuple[Share, ...]
    reasons: tuple[Share, ...]
    claim_states: tuple[Share, ...]
    negotiations: tuple[NegotiationRow, ...]
    negotiations_total: int
    kinds: tuple[KindRow, ...]
    changes: tuple[ChangeRow, ...]
    malformed: tuple[MalformedRow, ...]
    malformed_total: int


def present(world: World) -> OverviewView:
    pending = {k: world.verdicts.get(k) for k, p in world.cluster.pods.items() if p.is_pending}
    negotiations = _negotiations(world)
    malformed = [MalformedRow(k, key, e) for k, keys in world.cluster.malformed.items() for key, e in keys.items()]
    return OverviewView(
        totals=_totals(world, pending, len(negotiations)),
        negotiates=bool(world.cluster.contexts) or not is_expected("podschedulingcontexts", world.sync),
        outcomes=_outcomes(pending.values()),
        reasons=_reasons(pending.values()),
        claim_states=_claim_states(world),
        negotiations=tuple(negotiations[:NEGOTIATIONS]),
        negotiations_total=len(negotiations),
        kinds=tuple(_kind(world, plural) for plural in KINDS),
        changes=tuple(_change(c) for c in _newest(world)),
        malformed=tuple(malformed[:MALFORMED]),
        malformed_total=len(malformed),
    )


def is_known(sync: SyncState | None) -> bool:
    """Whether a count of the kind means anything: an unsynced kind has no zero."""
    return sync is not None and sync.state in ("synced", "stale")


def _totals(world: World, pending: dict[str, Verdict | None], negotiations: int) -> Totals:
    def known(kind: str, count: int) -> int | None:
        # A kind of the other generation is not there: of it there is none.
        return count if is_known(world.sync.get(kind)) or is_expected(kind, world.sync) else None

    stuck = sum(v is not None and needs_a_person(v) for v in pending.values())
    return Totals(
        pending=known("pods", len(pending)),
        stuck=known("pods", stuck),
        negotiations=known("podschedulingcontexts", negotiations),
        claims=known("resourceclaims", len(claims_of(world.cluster))),
        nodes=known("nodes", len(world.cluster.nodes)),
        devices=_devices(world),
    )


def _devices(world: World) -> tuple[int, int] | None:
    return held_of_all(world.cluster.inventory) if is_known(world.sync.get("resourceslices")) else None


def _shares(counts: Sequence[tuple[str, int, str, Chip | None]]) -> tuple[Share, ...]:
    total = sum(c for _, c, _, _ in counts) or 1
    shares, start = [], 0.0
    for label, count, link, chip in counts:
        width = 100 * count / total
        shares.append(Share(label, count, link, round(start, 3), round(width, 3), chip))
        start += width
    return tuple(shares)


def _outcomes(verdicts: Iterable[Verdict | None]) -> tuple[Share, ...]:
    counts = Counter(v.outcome if v else None for v in verdicts)
    found = []
    for outcome in (*Outcome, None):
        if outcome not in SETTLED and counts[outcome]:
            chip = outcome_chip(outcome)
            link = "/pods?" + urlencode({"outcome": outcome or UNJUDGED})
            found.append((chip.text, counts[outcome], link, chip))
    return _shares(found)


def _reasons(verdicts: Iterable[Verdict | None]) -> tuple[Share, ...]:
    counts = Counter(r for v in verdicts if v for r in reasons_of(v))
    most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:TOP_REASONS]
    top = most[0][1] if most else 1
    return tuple(
        Share(reason, n, "/pods?" + urlencode({"reason": reason}), 0.0, round(100 * n / top, 1)) for reason, n in most
    )


def _claim_states(world: World) -> tuple[Share, ...]:
    counts = Counter(state_of(c) for c in claims_of(world.cluster).values())
    chips = {state: claim_chip(state) for state in ClaimState}
    return _shares(
        [(chips[s].text, counts[s], "/claims?" + urlencode({"state": s}), chips[s]) for s in ClaimState if counts[s]]
    )


def _negotiations(world: World) -> list[NegotiationRow]:
    """Contexts of pods that still wait, longest wait first."""
    rows = []
    for key, context in world.cluster.contexts.items():
        pod = world.cluster.pods.get(key)
        if pod is None or not pod.is_pending:
            continue
        verdict = world.verdicts.get(key)
        rows.append(
            NegotiationRow(
                id=row_id("talk", key),
                href=negotiation_href(key),
                pod=key,
                selected=context.spec.selected_node,
                proposed=len(context.spec.potential_nodes),
                answered=len(context.status.resource_claims),
                claims=len(pod.spec.resource_claims),
                actor=actor(verdict.acts_next) if verdict else None,
                since=verdict.since if verdict else 0.0,
            )
        )
    return sorted(rows, key=lambda r: (r.since or float("inf"), r.pod))


def _kind(world: World, plural: str) -> KindRow:
    sync = world.sync.get(plural) or SyncState(plural)
    count, other = len(world.cluster.objects(plural)), is_expected(plural, world.sync)
    return KindRow(
        kind=plural,
        version=sync.version,
        chip=OTHER if other else sync_chip(sync.state),
        count=count if is_known(sync) else None,
        stale=sync.state == "stale",
        since=sync.since,
        seen=sync.seen,
        error="" if other else sync.error,
        malformed=len(world.cluster.malformed[plural]),
    )


def _newest(world: World) -> list[Change]:
    """The last change of each object, newest first: a verdict that flaps must not fill the list.

    Sync states have a list of their own.
    """
    seen: set[tuple[str, str]] = set()
    newest = []
    for change in reversed(world.recent):
        if change.kind != SYNC and (change.kind, change.key) not in seen:
            seen.add((change.kind, change.key))
            newest.append(change)
            if len(newest) == CHANGES:
                break
    return newest


def _change(change: Change) -> ChangeRow:
    link = "" if change.type == "DELETED" else href(change.kind, change.key)
    return ChangeRow(change.at, change.kind, change.type.lower(), change.key, link, change.revision)
