"""What an object of each kind says of itself when it is new, and what of it has changed; used by `diff`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from dradash.kinds import deviceclaim
from dradash.kinds.claim import AllocationResult, ResourceClaim
from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.devicetaintrule import DeviceTaintRule
from dradash.kinds.event import Event
from dradash.kinds.meta import KubeObject
from dradash.kinds.node import Node
from dradash.kinds.pod import Pod
from dradash.kinds.resourceclass import ResourceClass
from dradash.kinds.resourceslice import ResourceSlice
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.scheduling.claimfacts import class_text
from dradash.scheduling.classic.turns import TurnKind
from dradash.scheduling.structured.life import device_claim_turns
from dradash.scheduling.verdict import ActsNext, Verdict
from dradash.web.presenters import filterwords
from dradash.web.presenters.deviceclaim import device_taint_text

NAMES: Final = 3
_NODE_NAMES: Final = frozenset({"metadata.name", "kubernetes.io/hostname"})

Words = Iterator[str]


# --- what is new -----------------------------------------------------------------------------------------------------


def created(obj: Any) -> Words:
    match obj:
        case Verdict():
            yield f"verdict {obj.outcome}: {obj.sentence}"
        case Event():
            yield f"{obj.reason}: {obj.text}"
        case Pod():
            names = ", ".join(c.name for c in obj.spec.resource_claims)
            if names:
                yield f"with claims {names}"
            yield from _placed(Pod(), obj)
        case ResourceClaim():
            yield f"class {obj.spec.resource_class_name or 'not set'}"
            yield from _claim(ResourceClaim(), obj)
        case deviceclaim.ResourceClaim():
            yield f"class {class_text(obj) or 'not set'}"
            yield from _device_claim(deviceclaim.ResourceClaim(), obj)
        case ResourceSlice():
            yield f"generation {obj.spec.pool.generation} of pool {obj.spec.driver}/{obj.spec.pool.name}"
            yield f"with {len(obj.spec.devices)} devices"
        case DeviceTaintRule():
            yield f"taint {device_taint_text(obj.spec.taint)}"
            yield rule_selects(obj)
        case DeviceClass():
            yield from (s.cel.expression for s in obj.spec.selectors if s.cel)
        case PodSchedulingContext():
            yield from _context(PodSchedulingContext(), obj)
        case ResourceClass():
            yield f"driver {obj.driver_name or 'not set'}"
        case _:
            pass


# --- what has changed ------------------------------------------------------------------------------------------------


def changed(old: Any, new: Any) -> Words:
    if isinstance(new, KubeObject):
        yield from _metadata(old, new)
    more = _BY_TYPE.get(type(new))
    if more is not None:
        yield from more(old, new)


def _metadata(old: KubeObject, new: KubeObject) -> Words:
    was, now = old.metadata, new.metadata
    if now.deletion_timestamp and not was.deletion_timestamp:
        yield "deletion asked for"
    yield from _set("finalizer", was.finalizers, now.finalizers)
    if was.labels != now.labels:
        yield from _mapping("label", was.labels, now.labels)
    if was.owner_references != now.owner_references:
        yield f"owner {_owners(old)} → {_owners(new)}"


def _owners(obj: KubeObject) -> str:
    return ", ".join(f"{r.kind} {r.name}" for r in obj.metadata.owner_references) or "none"


def _arrow(what: str, before: str, after: str) -> Words:
    if before != after:
        yield f"{what} {before or 'none'} → {after or 'none'}"


def _names(names: list[str]) -> str:
    return ", ".join(names[:NAMES]) + (f" and {len(names) - NAMES} more" if len(names) > NAMES else "")


def _set(what: str, before: tuple[str, ...], after: tuple[str, ...]) -> Words:
    if come := [n for n in after if n not in set(before)]:
        yield f"{what} {_names(come)} added"
    if gone := [n for n in before if n not in set(after)]:
        yield f"{what} {_names(gone)} removed"


def _mapping(what: str, before: Mapping[str, str], after: Mapping[str, str]) -> Words:
    keys = [k for k in dict.fromkeys((*before, *after)) if before.get(k) != after.get(k)]
    for key in keys[:NAMES]:
        yield f"{what} {key} {before.get(key, 'none')} → {after.get(key, 'none')}"
    if len(keys) > NAMES:
        yield f"and {len(keys) - NAMES} more {what}s"


def _pod(old: Pod, new: Pod) -> Words:
    yield from _placed(old, new)
    yield from _set(
        "scheduling gate",
        tuple(g.name for g in old.spec.scheduling_gates),
        tuple(g.name for g in new.spec.scheduling_gates),
    )
    was = {s.name: s.resource_claim_name or "none needed" for s in old.status.resource_claim_statuses}
    now = {s.name: s.resource_claim_name or "none needed" for s in new.status.resource_claim_statuses}
    if was != now:
        yield from _mapping("claim generated for", was, now)
    condition, before = new.status.condition("PodScheduled"), old.status.condition("PodScheduled")
    if condition is not None and condition != before and condition.status != "True":
        yield f"{condition.reason or 'PodScheduled'}: {condition.message}"


def _placed(old: Pod, new: Pod) -> Words:
    if new.spec.node_name != old.spec.node_name:
        yield f"bound to {new.spec.node_name or 'no node'}"
    if new.status.phase != old.status.phase and (old.status.phase or new.status.phase != "Pending"):
        yield from _arrow("phase", old.status.phase, new.status.phase)


def _claim(old: ResourceClaim, new: ResourceClaim) -> Words:
    was, now = old.status, new.status
    if now.allocation != was.allocation:
        if now.allocation is None:
            yield "allocation taken back"
        else:
            yield f"allocation {'set' if was.allocation is None else 'changed'} {_where(now.allocation)}"
    if now.deallocation_requested != was.deallocation_requested:
        yield "asks for deallocation" if now.deallocation_requested else "no longer asks for deallocation"
    yield from _reserved({r.uid: r.name for r in was.reserved_for}, {r.uid: r.name for r in now.reserved_for})
    if old.spec.resource_class_name:
        yield from _arrow("class", old.spec.resource_class_name, new.spec.resource_class_name)


def _reserved(had: Mapping[str, str], has: Mapping[str, str]) -> Words:
    if come := [name for uid, name in has.items() if uid not in had]:
        yield f"reserved for {_names(come)}"
    if gone := [name for uid, name in had.items() if uid not in has]:
        yield f"no longer reserved for {_names(gone)}"


def _device_claim(old: deviceclaim.ResourceClaim, new: deviceclaim.ResourceClaim) -> Words:
    yield from (
        turn.text
        for turn in device_claim_turns(0.0, old, new)
        if turn.kind in (TurnKind.ALLOCATED, TurnKind.DEALLOCATED, TurnKind.REPORTED)
    )
    was, now = old.status.reserved_for, new.status.reserved_for
    yield from _reserved({r.uid: r.name for r in was}, {r.uid: r.name for r in now})


def _slice(old: ResourceSlice, new: ResourceSlice) -> Words:
    was, now = old.spec, new.spec
    yield from _arrow("generation", str(was.pool.generation), str(now.pool.generation))
    yield from _arrow("slices of the pool", str(was.pool.resource_slice_count), str(now.pool.resource_slice_count))
    yield from _set("device", tuple(d.name for d in was.devices), tuple(d.name for d in now.devices))
    before = {d.name: d for d in was.devices}
    changed = [d for d in now.devices if d.name in before and before[d.name] != d]
    for device in changed:
        taints = [tuple(f"{t.key}:{t.effect}" for t in d.taints) for d in (before[device.name], device)]
        yield from _set(f"taint of {device.name}", *taints)
    if changed:
        yield f"device {_names([d.name for d in changed])} changed"


def _rule(old: DeviceTaintRule, new: DeviceTaintRule) -> Words:
    yield from _arrow("taint", device_taint_text(old.spec.taint), device_taint_text(new.spec.taint))
    yield from _arrow("selects", rule_selects(old), rule_selects(new))


def rule_selects(rule: DeviceTaintRule) -> str:
    selector = rule.spec.device_selector
    if selector is None:
        return "no devices"
    named = (
        ("driver", selector.driver),
        ("pool", selector.pool),
        ("device", selector.device),
        ("class", selector.device_class_name),
        *(("CEL", one.cel.expression) for one in selector.selectors if one.cel is not None),
    )
    return ", ".join(f"{name} {value}" for name, value in named if value is not None) or "all devices"


def _device_class(old: DeviceClass, new: DeviceClass) -> Words:
    was, now = (tuple(s.cel.expression for s in c.spec.selectors if s.cel) for c in (old, new))
    yield from _set("selector", was, now)
    yield from _arrow("extended resource", old.spec.extended_resource_name or "", new.spec.extended_resource_name or "")


def _where(allocation: AllocationResult) -> str:
    selector = allocation.available_on_nodes
    if selector is None:
        return "on every node"
    asked = [r for t in selector.node_selector_terms for r in (*t.match_fields, *t.match_expressions)]
    names = [v for r in asked if r.operator == "In" for v in r.values]
    if asked and all(r.operator == "In" and r.key in _NODE_NAMES for r in asked):
        return f"on {_names(names)}"
    return f"on nodes where {' or '.join(filterwords.words(selector)) or 'nothing holds'}"


def _context(old: PodSchedulingContext, new: PodSchedulingContext) -> Words:
    was, now = old.spec, new.spec
    yield from _arrow("selectedNode", was.selected_node, now.selected_node)
    if set(was.potential_nodes) != set(now.potential_nodes):
        come, gone = (
            set(now.potential_nodes) - set(was.potential_nodes),
            set(was.potential_nodes) - set(now.potential_nodes),
        )
        yield f"potentialNodes: {len(now.potential_nodes)} ({len(come)} added, {len(gone)} removed)"
    answered = {s.name: s.unsuitable_nodes for s in old.status.resource_claims}
    for status in new.status.resource_claims:
        nodes = list(status.unsuitable_nodes)
        if status.name not in answered or set(answered[status.name]) != set(nodes):
            yield f"claim {status.name}: {f'unsuitable on {_names(nodes)}' if nodes else 'every node suits'}"


def _node(old: Node, new: Node) -> Words:
    if old.spec.unschedulable != new.spec.unschedulable:
        yield "cordoned" if new.spec.unschedulable else "uncordoned"
    yield from _set("taint", tuple(map(_taint, old.spec.taints)), tuple(map(_taint, new.spec.taints)))


def _taint(taint: Any) -> str:
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"


def _class(old: ResourceClass, new: ResourceClass) -> Words:
    yield from _arrow("driver", old.driver_name, new.driver_name)
    if old.suitable_nodes != new.suitable_nodes:
        yield (
            "suitableNodes changed"
            if old.suitable_nodes and new.suitable_nodes
            else ("suitableNodes set" if new.suitable_nodes else "suitableNodes removed")
        )


def _event(old: Event, new: Event) -> Words:
    if old.times != new.times or old.last_seen != new.last_seen:
        yield f"{new.reason}: {new.text} (seen {new.times} times)"
    elif old.text != new.text:
        yield f"{new.reason}: {new.text}"


def _verdict(old: Verdict, new: Verdict) -> Words:
    if old.uid != new.uid:
        yield f"verdict {new.outcome} on another pod of this name: {new.sentence}"
        return
    if old.outcome != new.outcome:
        yield f"verdict {old.outcome} → {new.outcome}"
    if old.sentence != new.sentence:
        yield new.sentence
    if old.acts_next != new.acts_next:
        was, now = _actor(old.acts_next), _actor(new.acts_next)
        yield f"acts next: {was} → {now}" if was != now else f"{now} must now {new.acts_next.what or 'act'}"
    if new.nodes_total and (old.nodes_fit, old.nodes_total) != (new.nodes_fit, new.nodes_total):
        yield f"nodes that fit {old.nodes_fit}/{old.nodes_total} → {new.nodes_fit}/{new.nodes_total}"
    if new.agreement.said != old.agreement.said or new.agreement.agrees != old.agreement.agrees:
        yield _agreement(new)


def _actor(acts: ActsNext) -> str:
    return f"{acts.who}{f' {_names(list(acts.names))}' if acts.names else ''}"


def _agreement(verdict: Verdict) -> str:
    said = verdict.agreement
    word = {True: "agrees", False: "says something else", None: "cannot be compared"}[said.agrees]
    return f"the scheduler {word}: {said.said}" if said.said else "the scheduler's words are gone"


_BY_TYPE: Final[dict[type[Any], Callable[[Any, Any], Words]]] = {
    Verdict: _verdict,
    Event: _event,
    Pod: _pod,
    ResourceClaim: _claim,
    PodSchedulingContext: _context,
    Node: _node,
    ResourceClass: _class,
    deviceclaim.ResourceClaim: _device_claim,
    ResourceSlice: _slice,
    DeviceTaintRule: _rule,
    DeviceClass: _device_class,
}
