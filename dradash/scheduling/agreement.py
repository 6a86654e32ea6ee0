"""Does the scheduler say what our verdict says? Its sentence is taken apart and compared clause by clause.

Clauses of checks that we do not model (resources, ports, volumes, ...) are named as such. These checks run before
DynamicResources, so where one refused nodes, DynamicResources may have seen fewer than we showed it: its counts may
then be lower than ours, by no more than the nodes so refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from dradash.kinds.event import Event
from dradash.kinds.pod import Pod
from dradash.scheduling import fiterror, nodechecks
from dradash.scheduling.classic import plugin
from dradash.scheduling.cluster import FAILED_SCHEDULING
from dradash.scheduling.structured import plugin as structured
from dradash.scheduling.verdict import Agreement, Clause, Verdict

_FIT: Final = re.compile(r"0/(\d{1,9}) nodes are available:\s*")
# How the message of the PostFilter plugins begins, which follows the clauses.
_POST_FILTER: Final = re.compile(
    r"\. (?=preemption: |still not schedulable|no new claims to deallocate|not found$"
    r"|de(allocation|letion) of ResourceClaim completed)"
)
# What follows is the CEL library's, in the words of its version.
_CEL: Final = re.compile(r"(CEL (?:compile|runtime) error:).*", re.DOTALL)
_COUNTED: Final = re.compile(r"(\d{1,9}) (.+)", re.DOTALL)
_NEXT_CLAUSE: Final = re.compile(r", (?=\d{1,9} )")

_NODE_CHECKS: Final = frozenset(
    s.message
    for s in (
        nodechecks.UNSCHEDULABLE_NODE,
        nodechecks.WRONG_NODE,
        nodechecks.NO_AFFINITY,
        nodechecks.AFFINITY_CONFLICT,
        nodechecks.FILTERED_OUT,
    )
)
_PLUGIN_TEXTS: Final = frozenset(
    (
        plugin.EXCLUDED.message,
        plugin.UNSUITABLE.message,
        plugin.NOT_AVAILABLE.message,
        plugin.REALLOCATE.message,
        plugin.WAIT_FOR_DRIVER.message,
        plugin.WAIT_FOR_INFORMATION.message,
        "unallocated immediate resourceclaim",
        "resourceclaim in use",
        structured.CANNOT_ALLOCATE,
        structured.NOT_AVAILABLE,
        "timed out trying to allocate devices",
        "invalid resource pools were encountered",
        "cannot schedule extended resource claim",
        "cannot fit resource",
        fiterror.NO_NODES,
        fiterror.GATED,
    )
)
_PATTERNS: Final = (
    re.compile(r"node\(s\) had untolerated taint(\(s\)| \{.*\})", re.DOTALL),
    re.compile(r"request .*: device class .* does not exist", re.DOTALL),
    re.compile(r"resource claim .* is in the process of being allocated", re.DOTALL),
    re.compile(r"could not find ResourceClaim .*", re.DOTALL),
    re.compile(r"resource class .* does not exist", re.DOTALL),
    re.compile(r'running PreFilter plugin "DynamicResources": .*', re.DOTALL),
    re.compile(r'running "DynamicResources" filter plugin: .*', re.DOTALL),
    re.compile(r"resourceclaim.*(not found|is being deleted)", re.DOTALL),
    re.compile(r"ResourceClaim .* was not created for [pP]od .*", re.DOTALL),
    re.compile(r'pod ".*(ResourceClaim not created yet|none of the supported fields are set)', re.DOTALL),
)


class Sentence(msgspec.Struct, frozen=True):
    """all_nodes 0: no count of nodes in it; a clause with count 0 carries none."""

    all_nodes: int
    clauses: tuple[tuple[str, int], ...]


def parse(message: str) -> Sentence:
    fit = _FIT.match(message)
    if fit is None:
        return Sentence(0, ((message, 0),))
    text = _POST_FILTER.split(message[fit.end() :], maxsplit=1)[0].removesuffix(".")
    parts = [_COUNTED.fullmatch(c) for c in _NEXT_CLAUSE.split(text)]
    if not all(parts):
        return Sentence(int(fit[1]), ((text, 0),) if text else ())
    return Sentence(int(fit[1]), tuple((p[2], int(p[1])) for p in parts if p))


def is_modelled(text: str) -> bool:
    return text in _NODE_CHECKS or text in _PLUGIN_TEXTS or any(p.fullmatch(text) for p in _PATTERNS)


def _is_node_check(text: str) -> bool:
    return text in _NODE_CHECKS or _PATTERNS[0].fullmatch(text) is not None


def compare(said: str, sentences: Iterable[str]) -> tuple[bool | None, tuple[Clause, ...]]:
    """Compare what the scheduler said with each sentence that we hold possible; the best match counts.

    None: every clause comes from checks that we do not model. The clauses have the scheduler's own words, whole.
    """
    agrees, clauses = _compared(said, sentences)
    tail = _of_cel(said)
    whole = (msgspec.structs.replace(c, text=c.text + tail) if _CEL.search(c.text) else c for c in clauses)
    return agrees, tuple(whole) if tail else clauses


def _of_cel(said: str) -> str:
    """What the CEL library says in it, which is not compared."""
    found = _CEL.search(said)
    if found is None:
        return ""
    tail = said[found.end(1) :]
    return _POST_FILTER.split(tail, maxsplit=1)[0].removesuffix(".") if _FIT.match(said) else tail


def _compared(said: str, sentences: Iterable[str]) -> tuple[bool | None, tuple[Clause, ...]]:
    theirs = parse(_CEL.sub(r"\1", said))
    if theirs.clauses and not any(is_modelled(text) for text, _ in theirs.clauses):
        return None, tuple(Clause(text=t, count=c, modelled=False) for t, c in theirs.clauses)
    results = [_compare_one(theirs, parse(_CEL.sub(r"\1", ours))) for ours in sentences]
    return max(results, key=lambda r: (r[0], sum(c.ours == c.count for c in r[1])), default=(False, ()))


def _untold_taints(sentence: Sentence) -> Sentence:
    """With taints counted together, as from 1.35 on."""
    counts: dict[str, int] = {}
    for text, count in sentence.clauses:
        name = nodechecks.UNTOLERATED_UNNAMED if _PATTERNS[0].fullmatch(text) else text
        counts[name] = counts.get(name, 0) + count
    return Sentence(sentence.all_nodes, tuple(counts.items()))


def _compare_one(theirs: Sentence, ours: Sentence) -> tuple[bool, tuple[Clause, ...]]:
    if any(text == nodechecks.UNTOLERATED_UNNAMED for text, _ in ours.clauses):
        theirs = _untold_taints(theirs)  # 1.32 to 1.34 still name them
    our_counts, said = dict(ours.clauses), dict(theirs.clauses)
    clauses = tuple(Clause(text=t, count=c, ours=our_counts.get(t), modelled=is_modelled(t)) for t, c in theirs.clauses)
    hidden = sum(c.count for c in clauses if not c.modelled)
    agrees = theirs.all_nodes == ours.all_nodes and all(_agrees(c, hidden) for c in clauses)
    # What we say and the scheduler does not: only possible where other checks hid the nodes from DynamicResources.
    unsaid = [text for text, _ in ours.clauses if text not in said]
    if any(not hidden or _is_node_check(text) for text in unsaid):
        agrees = False
    return agrees, clauses


def _agrees(clause: Clause, hidden: int) -> bool:
    if not clause.modelled:
        return True
    if clause.ours is None:
        return False
    if hidden and not _is_node_check(clause.text):
        return clause.count <= clause.ours <= clause.count + hidden
    return clause.count == clause.ours


def sentences(verdict: Verdict) -> tuple[str, ...]:
    """What the scheduler may write by this verdict."""
    return (verdict.sentence, *verdict.alternatives)


# --- what the scheduler last said ------------------------------------------------------------------------------------


def last_words(pod: Pod, events: Sequence[Event]) -> Agreement:
    """The newest FailedScheduling event about this very pod, else its PodScheduled condition; not compared yet.

    A series' event keeps its first text whatever is said later, so its time counts but the condition has the words.
    """
    condition = pod.status.condition("PodScheduled")
    condition_text = condition.message if condition is not None and condition.status == "False" else ""
    failed = [
        e
        for e in events
        if e.reason == FAILED_SCHEDULING and (not e.about.uid or e.about.uid == pod.uid) and e.last_seen
    ]
    if failed:
        newest = max(failed, key=lambda e: e.last_seen or "")
        if not condition_text or newest.series is None or newest.series.count < 2 or newest.text == condition_text:
            return Agreement(said=newest.text, source="event", at=newest.last_seen or "")
        return Agreement(said=condition_text, source="condition", at=newest.last_seen or "")
    if condition is not None and condition_text:
        return Agreement(said=condition.message, source="condition", at=condition.last_transition_time or "")
    return Agreement()


def agreement(words: Agreement, now: Verdict, before: Verdict | None) -> Agreement:
    """Compare the scheduler's last words with the verdict of now and the one before it.

    Words are compared once, when they are new: the verdict may move on while the scheduler has not tried again. Words
    that were said before we knew the pod agree or cannot be told.
    """
    if not words.said:
        return words
    if before is not None and (before.agreement.said, before.agreement.at) == (words.said, words.at):
        return before.agreement
    possible = sentences(now) if before is None else (*sentences(now), *sentences(before))
    agrees, clauses = compare(words.said, possible)
    if before is None and agrees is False:
        agrees = None
    return msgspec.structs.replace(words, agrees=agrees, clauses=clauses)
