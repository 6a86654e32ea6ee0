"""DeviceTaintRules, and the preview of a taint: which claims and pods it would evict or keep, what others lose."""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from dradash.kinds.devicetaintrule import DeviceTaintRule, DeviceTaintSelector
from dradash.kinds.resourceslice import DeviceTaint
from dradash.reader.world import World
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.structured import ledger, taintpreview
from dradash.scheduling.structured.taintpreview import (
    EFFECTS,
    NO_EXECUTE,
    NONE,
    ClaimFate,
    Fate,
    PendingFate,
    PodFate,
    Preview,
    Question,
    Use,
)
from dradash.scheduling.structured.taintrules import Classes, idle
from dradash.web.presenters.changewords import rule_selects
from dradash.web.presenters.deviceclaim import device_taint_text
from dradash.web.presenters.query import Option, Query, options
from dradash.web.presenters.words import Chip, claim_href, device_href, node_href, plural, pod_href, taint_rule_href

PARAMS: Final = frozenset({"rule", "driver", "pool", "device", "key", "value", "effect"})
_SELECTING: Final = ("rule", "driver", "pool", "device", "key")
SHOWN: Final = 50  # devices, claims and pods that are named

CHIPS: Final = {
    Fate.EVICTED: Chip("Evicted", "bad", "cross", "The eviction controller deletes the pods at once"),
    Fate.LATER: Chip("Evicted later", "warn", "clock", "When the toleration's seconds are over"),
    Fate.TOLERATED: Chip("Tolerated", "good", "check", "The allocation tolerates it for ever"),
    Fate.KEPT: Chip("Kept", "good", "check", "Nothing happens to it"),
}


class RuleRow(msgspec.Struct, frozen=True):
    name: str
    href: str
    taint: str
    selects: str
    since: str
    selected: bool


class UseView(msgspec.Struct, frozen=True):
    device: str
    href: str
    request: str
    why: str


class ClaimRow(msgspec.Struct, frozen=True):
    name: str
    href: str
    chip: Chip
    uses: tuple[UseView, ...]
    more: int


class PodRow(msgspec.Struct, frozen=True):
    name: str
    href: str
    node: str
    node_href: str
    chip: Chip
    why: str
    claims: tuple[tuple[str, str], ...]


class PendingRow(msgspec.Struct, frozen=True):
    name: str
    href: str
    chip: Chip
    before: int
    after: int
    why: str
    sentence: str


class TaintsView(msgspec.Struct, frozen=True):
    """asked: something is previewed. absent: name of the rule that is not there."""

    query: Query
    drivers: tuple[Option, ...]
    effects: tuple[tuple[str, bool], ...]
    rules: tuple[RuleRow, ...]
    asked: bool
    absent: str
    what: str
    sentence: str
    pending_sentence: str
    devices: tuple[tuple[str, str], ...]
    devices_total: int
    claims: tuple[ClaimRow, ...]
    claims_total: int
    pods: tuple[PodRow, ...]
    pods_total: int
    pending: tuple[PendingRow, ...]

    @property
    def typed(self) -> dict[str, str]:
        return dict(self.query.params)

    @property
    def more_devices(self) -> int:
        return self.devices_total - len(self.devices)

    @property
    def more_claims(self) -> int:
        return self.claims_total - len(self.claims)

    @property
    def more_pods(self) -> int:
        return self.pods_total - len(self.pods)


def is_asked(query: Query) -> bool:
    return any(query.get(name) for name in _SELECTING)


def question(query: Query, cluster: Cluster) -> Question:
    if name := query.get("rule"):
        return taintpreview.of_rule(cluster, name)
    selector = DeviceTaintSelector(
        driver=query.get("driver") or None, pool=query.get("pool") or None, device=query.get("device") or None
    )
    return Question(selector, DeviceTaint(key=query.get("key"), value=query.get("value"), effect=_effect(query)))


def _effect(query: Query) -> str:
    effect = query.get("effect")
    return effect if effect in EFFECTS else NO_EXECUTE


def present(world: World, query: Query, asked: Question | None, said: Preview) -> TaintsView:
    rules, made = world.cluster.inventory.rules, asked.made if asked is not None and not asked.absent else None
    return TaintsView(
        query=query,
        drivers=options(ledger.devices_by_driver(world.cluster.inventory), query.get("driver")),
        effects=tuple((e, e == _effect(query)) for e in EFFECTS),
        rules=tuple(_rule(rules[name], query.get("rule"), world.cluster.device_classes) for name in sorted(rules)),
        asked=made is not None,
        absent=asked.rule if asked is not None and asked.absent else "",
        what=f"{device_taint_text(made.spec.taint)} on {rule_selects(made)}" if made else "",
        sentence=_sentence(said, made.spec.taint.effect) if made else "",
        pending_sentence=_pending(said) if made else "",
        devices=tuple((f"{d.pool}/{d.device}", device_href(d)) for d in said.devices[:SHOWN]),
        devices_total=said.devices_total,
        claims=tuple(_claim(c) for c in said.claims[:SHOWN]),
        claims_total=len(said.claims),
        pods=tuple(_pod(p) for p in said.pods[:SHOWN]),
        pods_total=len(said.pods),
        pending=tuple(_waiting(p) for p in said.pending),
    )


def _rule(rule: DeviceTaintRule, chosen: str, classes: Classes) -> RuleRow:
    taint = rule.spec.taint
    text, since = device_taint_text(taint), taint.time_added or rule.metadata.creation_timestamp or ""
    selector = rule.spec.device_selector
    why = idle(selector, classes) if selector is not None else ""
    selects = f"{rule_selects(rule)}: no devices ({why})" if why else rule_selects(rule)
    return RuleRow(rule.name, taint_rule_href(rule.name), text, selects, since, rule.name == chosen)


def _sentence(said: Preview, effect: str) -> str:
    fates = Counter(p.fate for p in said.pods)
    if effect == NONE:
        return f"Effect None does nothing: it only marks {plural(said.devices_total, 'device')}."
    if not fates:
        return "No pod uses such a device."
    if effect != NO_EXECUTE:
        return f"{plural(len(said.pods), 'pod')} that use such a device stay: {effect} evicts nobody."
    evicted, later = fates[Fate.EVICTED], fates[Fate.LATER]
    return f"{plural(evicted, 'pod')} would be evicted at once, {later} later, {len(said.pods) - evicted - later} stay."


def _pending(said: Preview) -> str:
    if not said.pending_total:
        return ""
    losing = sum(p.after < p.before for p in said.pending)
    tried = f" of the first {len(said.pending)} that were tried" if len(said.pending) < said.pending_total else ""
    of = f"{losing}{tried} of {plural(said.pending_total, 'pending pod')}"
    return f"{of} would fit fewer nodes."


def _claim(fate: ClaimFate) -> ClaimRow:
    uses = tuple(_use(u) for u in fate.uses[:SHOWN])
    return ClaimRow(
        fate.claim, claim_href(fate.claim), _chip(fate.fate, fate.seconds), uses, len(fate.uses) - len(uses)
    )


def _use(use: Use) -> UseView:
    why = f"tolerates {use.by}" if use.by else "does not tolerate it" if use.fate == Fate.EVICTED else ""
    return UseView(f"{use.device.pool}/{use.device.device}", device_href(use.device), use.request, why)


def _chip(fate: Fate, seconds: int | None) -> Chip:
    chip = CHIPS[fate]
    return msgspec.structs.replace(chip, text=f"Evicted after {seconds} s") if seconds is not None else chip


def _pod(fate: PodFate) -> PodRow:
    return PodRow(
        name=fate.pod,
        href=pod_href(fate.pod),
        node=fate.node,
        node_href=node_href(fate.node) if fate.node else "",
        chip=_chip(fate.fate, fate.seconds),
        why=fate.why,
        claims=tuple((key, claim_href(key)) for key in fate.claims),
    )


def _waiting(fate: PendingFate) -> PendingRow:
    if fate.after >= fate.before:
        chip = Chip("As before", "good", "check", "It fits as many nodes as without the taint")
    elif fate.after:
        chip = Chip("Fewer nodes", "warn", "alert", "It fits fewer nodes than without the taint")
    else:
        chip = Chip("Fits nowhere", "bad", "cross", "It would fit without the taint")
    tolerated = f"tolerated by request {', '.join(fate.tolerated)}" if fate.tolerated else "no request tolerates it"
    return PendingRow(fate.pod, pod_href(fate.pod), chip, fate.before, fate.after, tolerated, fate.sentence)
