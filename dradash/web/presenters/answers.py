"""How a negotiation stands: for each claim and node the driver's answer, or what has become of the allocation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.reader.driverstats import DriverStats, Summary
from dradash.reader.entries import claim_names
from dradash.reader.talks import Talk
from dradash.scheduling.classic.claims import available_on, can_be_reserved, is_reserved_for_pod, no_claim
from dradash.scheduling.classic.claimstate import UNREADABLE, claim_state
from dradash.scheduling.cluster import Cluster
from dradash.web.presenters.words import Chip, claim_chip, claim_href, driver_href, node_href

COLUMNS: Final = 24  # claims that are shown ...
CELLS: Final = 900  # ... each with what its driver says of the nodes shown: 128 nodes, the most there should be, for 7


class Answer(msgspec.Struct, frozen=True):
    """What holds for one claim on one node: its driver's answer, or what has become of the allocation."""

    word: str
    tone: str
    icon: str


class NodeRow(msgspec.Struct, frozen=True):
    name: str
    href: str
    selected: bool
    proposed: bool
    answers: tuple[Answer, ...]  # in the order of `claims`


class ClaimColumn(msgspec.Struct, frozen=True):
    name: str
    href: str
    chip: Chip
    driver: str
    driver_href: str
    silent: bool  # its driver has answered nothing for it
    record: Summary


class Answers(msgspec.Struct, frozen=True):
    """What is taken from the world while it is held still; all but `talk` by the pod's name for a claim."""

    talk: Talk
    records: Mapping[str, Summary]  # by driver
    available: Mapping[str, frozenset[str]]  # nodes that its allocation allows
    absent: Mapping[str, tuple[str, str]]  # of a claim that is not held: its key and state


class AnswersView(msgspec.Struct, frozen=True):
    claims: tuple[ClaimColumn, ...]  # the first ones, ...
    more_claims: int  # ... how many more there are, ...
    nodes: tuple[NodeRow, ...]
    more_nodes: int  # ... and of the nodes


def gather(cluster: Cluster, standing: Talk, stats: DriverStats, now: float) -> Answers:
    return Answers(
        talk=standing,
        records={driver: stats.summary(driver, now) for driver in set(standing.drivers.values()) if driver},
        available=_available(cluster, standing),
        absent=_absent(cluster, standing),
    )


def present(answers: Answers) -> AnswersView:
    standing = answers.talk
    return AnswersView(
        claims=tuple(_column(answers, name) for name in _shown(standing)),
        more_claims=max(0, len(standing.claims) - COLUMNS),
        nodes=_nodes(answers),
        more_nodes=max(0, len(_named(standing.context)) - _rows(standing)),
    )


def _absent(cluster: Cluster, standing: Talk) -> dict[str, tuple[str, str]]:
    if standing.pod is None:
        return {}
    names = claim_names(standing.pod)
    keys = {e: f"{standing.pod.namespace}/{names[e]}" for e, claim in standing.claims.items() if claim is None}
    return {entry: (key, no_claim(key, cluster)) for entry, key in keys.items()}


def _column(answers: Answers, name: str) -> ClaimColumn:
    standing = answers.talk
    claim, driver = standing.claims[name], standing.drivers.get(name, "")
    key, state = (claim.key, claim_state(claim)) if claim else answers.absent[name]
    answered = {s.name for s in standing.context.status.resource_claims}
    waits = claim is not None and claim.status.allocation is None
    return ClaimColumn(
        name=name,
        href=claim_href(key) if claim or state == UNREADABLE else "",
        chip=claim_chip(state),
        driver=driver,
        driver_href=driver_href(driver) if driver else "",
        silent=waits and name not in answered,
        record=answers.records.get(driver, Summary()),
    )


SUITABLE: Final = Answer("suitable", "good", "check")
UNSUITABLE: Final = Answer("unsuitable", "bad", "cross")
SILENT: Final = Answer("no answer", "idle", "dots")
ALLOCATED: Final = Answer("allocated", "good", "check")
IN_USE: Final = Answer("allocated, in use by another pod", "bad", "lock")
RETURNING: Final = Answer("allocated, to be deallocated", "bad", "turns")
DELETING: Final = Answer("allocated, being deleted", "bad", "trash")
ELSEWHERE: Final = Answer("not available here", "bad", "cross")
REFUSED: Final = Answer("not available here, was unsuitable", "bad", "cross")


def _named(context: PodSchedulingContext) -> tuple[str, ...]:
    """Every node that is selected, proposed or refused; the selected one first."""
    spec = context.spec
    refused = {n for s in context.status.resource_claims for n in s.unsuitable_nodes}
    others = sorted(refused.difference(spec.potential_nodes))
    return tuple(dict.fromkeys(n for n in (spec.selected_node, *spec.potential_nodes, *others) if n))


def _available(cluster: Cluster, standing: Talk) -> dict[str, frozenset[str]]:
    names, found = _named(standing.context)[: _rows(standing)], {}
    for entry in _shown(standing):
        claim = standing.claims[entry]
        if claim is not None and claim.status.allocation is not None:
            nodes = available_on(claim, cluster)
            found[entry] = frozenset(n for n in names if cluster.nodes.named((n,)) & nodes)
    return found


def _shown(standing: Talk) -> list[str]:
    return list(standing.claims)[:COLUMNS]


def _rows(standing: Talk) -> int:
    return CELLS // max(1, len(_shown(standing)))


def _nodes(answers: Answers) -> tuple[NodeRow, ...]:
    standing, spec = answers.talk, answers.talk.context.spec
    refused = {s.name: frozenset(s.unsuitable_nodes) for s in standing.context.status.resource_claims}
    proposed = set(spec.potential_nodes)
    rows = []
    for node in _named(standing.context)[: _rows(standing)]:
        cells = tuple(_answer(answers, refused, claim, node) for claim in _shown(standing))
        rows.append(NodeRow(node, node_href(node), node == spec.selected_node, node in proposed, cells))
    return tuple(rows)


def _answer(answers: Answers, refused: Mapping[str, frozenset[str]], name: str, node: str) -> Answer:
    claim = answers.talk.claims[name]
    unsuitable = node in refused.get(name, ())
    if claim is not None and claim.status.allocation is not None:
        if node in answers.available.get(name, ()):
            return _of_allocated(answers.talk, claim)
        return REFUSED if unsuitable else ELSEWHERE
    if name not in refused:
        return SILENT
    return UNSUITABLE if unsuitable else SUITABLE


def _of_allocated(standing: Talk, claim: ResourceClaim) -> Answer:
    if claim.metadata.deletion_timestamp is not None:
        return DELETING
    if claim.status.deallocation_requested:
        return RETURNING
    if can_be_reserved(claim) or (standing.pod is not None and is_reserved_for_pod(standing.pod, claim)):
        return ALLOCATED
    return IN_USE
