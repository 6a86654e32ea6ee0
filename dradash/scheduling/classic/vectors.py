"""Answers one test vector as the real plugin's harness did (format: the vectors' README)."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.pod import Pod
from dradash.kinds.registry import KINDS, decode
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.scheduling.choice import Seed
from dradash.scheduling.classic import hints, plugin
from dradash.scheduling.classic.claims import pod_claims
from dradash.scheduling.classic.cycle import CycleState
from dradash.scheduling.classic.publish import API_VERSION
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.effects import Effect
from dradash.scheduling.status import Status

Answer = dict[str, Any]


# Seeds that together make every choice that upstream may make between up to eight claims to deallocate.
SEEDS: Final = range(8)


def answer(case: dict[str, Any], seed: int = 0) -> Answer:
    """The plugin's answer to a vector's `input`, with the random choices of this seed.

    Raises MalformedObject, KeyError or ValueError for an input of another shape.
    """
    pod = decode(Pod, case["pod"])
    cluster = _cluster(case)
    match case["op"]:
        case "cycle":
            return _Cycle(case, pod, cluster, Seed(seed)).run()
        case "hint-claim":
            new = decode(ResourceClaim, case["newClaim"])
            return {"hint": str(hints.claim_hint(pod, cluster, _optional(ResourceClaim, case.get("oldClaim")), new))}
        case "hint-psc":
            old_context = _optional(PodSchedulingContext, case.get("oldPodSchedulingContext"))
            new_context = _optional(PodSchedulingContext, case.get("newPodSchedulingContext"))
            return {"hint": str(hints.context_hint(pod, cluster, old_context, new_context))}
        case op:
            raise ValueError(f"unknown op {op!r}: this is no classic vector")


def _optional(struct: Any, raw: dict[str, Any] | None) -> Any:
    return None if raw is None else decode(struct, raw)


def _cluster(case: dict[str, Any]) -> Cluster:
    cluster = Cluster()
    kinds = {
        "nodes": "nodes",
        "classes": "resourceclasses",
        "claims": "resourceclaims",
        "podSchedulingContexts": "podschedulingcontexts",
    }
    for field, kind in kinds.items():
        for obj in case.get(field) or ():
            meta = obj["metadata"]
            key = f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else meta["name"]
            cluster.put(kind, key, msgspec.json.encode(_with_type(kind, obj)))
    return cluster


def _with_type(kind: str, obj: dict[str, Any]) -> dict[str, Any]:
    """Items of a list do not say what they are; without a version a claim would be taken for one of a later API."""
    if not KINDS[kind].group or obj.get("apiVersion"):
        return obj
    return {**obj, "apiVersion": API_VERSION, "kind": KINDS[kind].kind}


class _Cycle:
    def __init__(self, case: dict[str, Any], pod: Pod, cluster: Cluster, seed: Seed) -> None:
        self.case, self.pod, self.cluster, self.seed = case, pod, cluster, seed
        self.answer: Answer = {}
        self.writes: list[Answer] = []
        # Only the first update is answered 409.
        self.conflict = bool(case.get("conflictOnUpdate"))

    def run(self) -> Answer:
        self._points()
        if self.writes:
            self.answer["writes"] = self.writes
        return self.answer

    def _points(self) -> None:
        lookup = pod_claims(self.pod, self.cluster)
        if not self._say("preEnqueue", plugin.pre_enqueue(lookup)):
            return
        state, status = plugin.pre_filter(self.pod, self.cluster, lookup)
        if not self._say("preFilter", status):
            return
        nodes = self.cluster.nodes
        groups = plugin.filter_nodes(state, nodes, nodes.all)
        by_node = {name: status for status, members in groups for name in nodes.names(members)}
        order = [n["metadata"]["name"] for n in self.case.get("nodes") or ()]
        self.answer["filter"] = {name: _status(by_node[name]) for name in order}
        passed = [name for name in order if by_node[name].is_success]
        if not passed:
            status, effects = plugin.post_filter(state, self.cluster, self.seed, conflict=self.conflict)
            self._write(effects)
            self._say("postFilter", status)
            return
        if len(passed) > 1:
            self._say("preScore", plugin.pre_score(state, nodes, groups[-1][1], self.seed))
        wanted = str(self.case.get("selectNode"))
        self._bind(state, wanted if wanted in passed else passed[0])

    def _bind(self, state: CycleState, node: str) -> None:
        self.answer["node"] = node
        if not self._say("reserve", plugin.reserve(state, node)):
            self._unreserve(state)
            return
        status, effects = plugin.pre_bind(state, self.cluster, conflict=self.conflict)
        self._write(effects)
        if not self._say("preBind", status):
            self._unreserve(state)
            return
        self.answer["postBind"] = True
        self._write(plugin.post_bind(state))

    def _unreserve(self, state: CycleState) -> None:
        self.answer["unreserve"] = True
        self._write(plugin.unreserve(state, self.cluster, conflict=self.conflict))

    def _say(self, point: str, status: Status) -> bool:
        self.answer[point] = _status(status)
        return status.is_success

    def _write(self, effects: tuple[Effect, ...]) -> None:
        self.writes += [_write(e) for e in effects]
        if any(e.verb == "apply" for e in effects):
            self.conflict = False


def _status(status: Status) -> Answer:
    shown: Answer = {"code": str(status.code)}
    if status.reasons:
        shown["reasons"] = list(status.reasons)
    return shown


def _write(effect: Effect) -> Answer:
    shown: Answer = {
        "verb": "patch" if effect.verb == "apply" else effect.verb,
        "resource": effect.resource,
        "subresource": effect.subresource,
        "namespace": effect.namespace,
        "name": effect.name,
        "patchType": effect.patch_type,
        "body": without_unset(effect.body),
    }
    return {k: v for k, v in shown.items() if v not in ("", None, {})}


def without_unset(body: dict[str, Any]) -> dict[str, Any]:
    """Drop what Go serialises though it is not set: null creationTimestamp, empty metadata, spec and status.

    Empty lists count as unset too: Go leaves them out.
    """
    cleaned: dict[str, Any] = {}
    for key, value in body.items():
        kept = _without_unset(value)
        if not (key in ("metadata", "spec", "status") and kept == {}):
            cleaned[key] = kept
    return cleaned


def _without_unset(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_unset(v) for k, v in value.items() if v is not None and v != []}
    if isinstance(value, list):
        return [_without_unset(v) for v in value]
    return value
