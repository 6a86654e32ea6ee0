"""DeviceTaintRules, and what a taint on devices would do."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, Final

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.endpoint import Endpoint, projected
from dradash.api.published import address
from dradash.api.schemas import ROOT, Ref, Shape, ref
from dradash.kinds.devicetaintrule import DeviceTaintRule, DeviceTaintSelector
from dradash.kinds.resourceslice import DeviceTaint
from dradash.problems import NOT_FOUND, Refusal
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.structured import taintpreview
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.taintpreview import EFFECTS, ClaimFate, PendingFate, PodFate, Preview, Question
from dradash.scheduling.structured.taintrules import Classes, idle

SECONDS: Final = 2.0
NAMED: Final = 100  # rules, to who asks for one that there is none of


class TaintSpec(Shape, frozen=True):
    """since: when it was added, null where that is not said."""

    key: str
    value: str
    effect: str
    since: str | None


class TaintRuleBody(Shape, frozen=True):
    """driver, pool, device: that it selects, null where it takes any; deviceClass and selectors (CEL), all of which
    must hold: in v1alpha3 of Kubernetes 1.33 and 1.34. selects: false where it can select no device, whatever there is.
    """

    name: str
    taint: TaintSpec
    selects: bool
    driver: str | None
    pool: str | None
    device: str | None
    device_class: str | None
    selectors: tuple[str, ...]


class TaintedDevice(Shape, frozen=True):
    driver: str
    pool: str
    device: str
    url: str
    page: str


class TaintUse(Shape, frozen=True):
    """A device of the claim. toleration: why it is tolerated, null where it is not; seconds: for how long."""

    device: TaintedDevice
    request: str
    fate: str
    seconds: int | None
    toleration: str | None


class TaintClaim(Shape, frozen=True):
    """fate: of its pods: evicted, evicted later (after so many seconds), tolerated or kept."""

    claim: Ref
    fate: str
    seconds: int | None
    uses: tuple[TaintUse, ...]


class TaintPod(Shape, frozen=True):
    """why: it is kept although a claim of it is not, null else."""

    pod: Ref
    node: str | None
    fate: str
    seconds: int | None
    why: str | None
    claims: tuple[Ref, ...]


class TaintPending(Shape, frozen=True):
    """Nodes that the pod fits without the taint and with it. toleratedBy: its requests that tolerate it."""

    pod: Ref
    nodes_before: int
    nodes_after: int
    tolerated_by: tuple[str, ...]
    requests: int
    sentence: str


class TaintPreview(Shape, frozen=True):
    """rules: all there are. taint: what is previewed, null where nothing is asked. counts: pods by fate.

    devices, claims, pods: at most limit of the totals. pending: those that were tried in time, of pendingTotal.
    """

    rules: tuple[TaintRuleBody, ...]
    rule: str | None
    taint: TaintSpec | None
    devices: tuple[TaintedDevice, ...]
    devices_total: int
    counts: dict[str, int]
    claims: tuple[TaintClaim, ...]
    claims_total: int
    pods: tuple[TaintPod, ...]
    pods_total: int
    pending: tuple[TaintPending, ...]
    pending_total: int


def answer(ask: Ask) -> Any:
    with ask.world() as world:
        inventory = world.cluster.inventory
        rules = [_rule(inventory.rules[n], inventory.classes) for n in sorted(inventory.rules)]
        asked = _question(ask, world.cluster)
        prepared = taintpreview.prepare(asked, world.cluster) if asked else None
    end = time.monotonic() + SECONDS
    said = taintpreview.finish(prepared, lambda: time.monotonic() > end) if prepared else Preview()
    return projected(_result(asked, said, rules, ask.params.get("limit", params.ROWS)), ask)


def _question(ask: Ask, cluster: Cluster) -> Question | None:
    if name := ask.get("rule"):
        if name not in (rules := cluster.inventory.rules):
            known = tuple(sorted(rules)[:NAMED])
            raise Refusal(NOT_FOUND, f"rule: there is no DeviceTaintRule {name[:100]}", known)
        return taintpreview.of_rule(cluster, name)
    if not any(ask.get(name) for name in ("driver", "pool", "device", "key")):
        return None
    selector = DeviceTaintSelector(
        driver=ask.get("driver") or None, pool=ask.get("pool") or None, device=ask.get("device") or None
    )
    effect = ask.get("effect") or taintpreview.NO_EXECUTE
    return Question(selector, DeviceTaint(key=ask.get("key"), value=ask.get("value"), effect=effect))


def _result(asked: Question | None, said: Preview, rules: list[TaintRuleBody], limit: int) -> TaintPreview:
    return TaintPreview(
        rules=tuple(rules),
        rule=asked.rule or None if asked else None,
        taint=_taint(asked.taint) if asked and not asked.absent else None,
        devices=tuple(_device(d) for d in said.devices[:limit]),
        devices_total=said.devices_total,
        counts=dict(Counter(str(p.fate) for p in said.pods)),
        claims=tuple(_claim(c) for c in said.claims[:limit]),
        claims_total=len(said.claims),
        pods=tuple(_pod(p) for p in said.pods[:limit]),
        pods_total=len(said.pods),
        pending=tuple(_pending(p) for p in said.pending),
        pending_total=said.pending_total,
    )


def _taint(taint: DeviceTaint) -> TaintSpec:
    return TaintSpec(key=taint.key, value=taint.value, effect=taint.effect, since=taint.time_added)


def _rule(rule: DeviceTaintRule, classes: Classes) -> TaintRuleBody:
    chosen = rule.spec.device_selector or DeviceTaintSelector()
    return TaintRuleBody(
        name=rule.name,
        taint=_taint(rule.spec.taint),
        selects=not idle(rule.spec.device_selector, classes),
        driver=chosen.driver,
        pool=chosen.pool,
        device=chosen.device,
        device_class=chosen.device_class_name,
        selectors=tuple(one.cel.expression for one in chosen.selectors if one.cel is not None),
    )


def _device(id_: DeviceID) -> TaintedDevice:
    page = address("devices", id_)
    return TaintedDevice(driver=id_.driver, pool=id_.pool, device=id_.device, url=ROOT + page, page=page)


def _claim(of: ClaimFate) -> TaintClaim:
    uses = tuple(
        TaintUse(
            device=_device(u.device), request=u.request, fate=str(u.fate), seconds=u.seconds, toleration=u.by or None
        )
        for u in of.uses
    )
    return TaintClaim(claim=ref("resourceclaims", of.claim), fate=str(of.fate), seconds=of.seconds, uses=uses)


def _pod(of: PodFate) -> TaintPod:
    return TaintPod(
        pod=ref("pods", of.pod),
        node=of.node or None,
        fate=str(of.fate),
        seconds=of.seconds,
        why=of.why or None,
        claims=tuple(ref("resourceclaims", key) for key in of.claims),
    )


def _pending(of: PendingFate) -> TaintPending:
    return TaintPending(
        pod=ref("pods", of.pod),
        nodes_before=of.before,
        nodes_after=of.after,
        tolerated_by=of.tolerated,
        requests=of.requests,
        sentence=of.sentence,
    )


ENDPOINTS: Final = (
    Endpoint(
        "taints",
        "/taints",
        "devices",
        "DeviceTaintRules, and which claims and pods a taint would evict or keep",
        TaintPreview,
        answer,
        (
            params.text("rule", "Preview this DeviceTaintRule.", "drain"),
            params.text("driver", "Or a taint on devices of this driver,", "gpu.example.com"),
            params.text("pool", "of this pool,", "node-1"),
            params.text("device", "of this name,", "gpu-0"),
            params.text("key", "with this key", "maintenance"),
            params.text("value", "and this value."),
            params.choice("effect", "Its effect, NoExecute unless given.", EFFECTS),
            params.LIMIT,
        ),
    ),
)
