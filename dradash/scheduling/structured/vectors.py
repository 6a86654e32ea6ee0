"""Answers one test vector as the harness of the real plugin of Kubernetes 1.36 did (format: the vectors' README)."""

from __future__ import annotations

import re
from typing import Any, Final

from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.deviceversions import to_v1
from dradash.kinds.node import Node
from dradash.kinds.pod import Pod
from dradash.kinds.registry import decode
from dradash.kinds.resourceslice import ResourceSlice
from dradash.scheduling.effects import Effect
from dradash.scheduling.status import Code, Status
from dradash.scheduling.structured import binding, hints, plugin
from dradash.scheduling.structured.claims import pod_claims
from dradash.scheduling.structured.claimwrites import ClaimWrites, held
from dradash.scheduling.structured.cycle import CycleState, Listed
from dradash.scheduling.structured.extended import is_extended_claim_of
from dradash.scheduling.structured.inventory import Inventory

Answer = dict[str, Any]

# Long after the times in the vectors: allocations of 2020 have timed out.
_NOW: Final = 1.8e9
# Of these the vectors compare what stands before them only.
_CUT: Final = re.compile(r"(CEL (?:compile|runtime) error:|&Device\{|&NodeSelector\{).*", re.DOTALL)


def is_structured(case: dict[str, Any]) -> bool:
    """Whether the input of a vector is one for this plugin."""
    return "deviceClasses" in case or "resourceSlices" in case


def answer(case: dict[str, Any], seed: int = 0) -> Answer:
    """The plugin's answer to a vector's `input`, with the random choices of this seed.

    Raises MalformedObject, KeyError or ValueError for an input of another shape.
    """
    pod = decode(Pod, case["pod"])
    caches = listed(case)
    match case["op"]:
        case "cycle":
            return _Cycle(case, pod, caches, seed).run()
        case "hint-claim":
            old = held(to_v1(case["oldClaim"])).claim if case.get("oldClaim") else None
            return {"hint": str(hints.claim_hint(pod, caches.claims, old, held(to_v1(case["newClaim"])).claim))}
        case "hint-pod":
            return {"hint": str(hints.pod_hint(pod, caches.claims, decode(Pod, case["newPod"])))}
        case op:
            raise ValueError(f"unknown op {op!r}: this is no structured vector")


def comparable(answer_: Answer) -> Answer:
    """The answer without the texts that are not compared."""
    return {k: _cut(v) if k in _WITH_REASONS else v for k, v in answer_.items()}


_WITH_REASONS: Final = ("preEnqueue", "preFilter", "filter", "postFilter", "reserve", "preBind", "scores")


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: [_CUT.sub(r"\1", r) for r in v] if k == "reasons" else _cut(v) for k, v in value.items()}
    return value


def listed(case: dict[str, Any]) -> Listed:
    """The cluster of a vector's `input`, without its nodes."""
    claims = [held(to_v1(c)) for c in case.get("claims") or ()]
    flying = [held(to_v1(c)).claim for c in case.get("inFlightClaims") or ()]
    slices = [decode(ResourceSlice, to_v1(s)) for s in case.get("resourceSlices") or ()]
    holding = {c.claim.key: c.claim for c in claims} | {f"in flight {i}": c for i, c in enumerate(flying)}
    return Listed(
        claims={c.claim.key: c for c in claims},
        classes={c["metadata"]["name"]: decode(DeviceClass, c) for c in case.get("deviceClasses") or ()},
        inventory=Inventory(slices, holding),
        extended_claim=lambda pod: next((c for c in claims if is_extended_claim_of(pod, c.claim)), None),
        in_flight={c.uid: c for c in flying},
    )


class _Cycle:
    def __init__(self, case: dict[str, Any], pod: Pod, listed: Listed, seed: int) -> None:
        self.case, self.pod, self.listed, self.seed = case, pod, listed, seed
        self.answer: Answer = {}
        self.nodes = [decode(Node, n) for n in case.get("nodes") or ()]
        conflicts = int(case.get("conflictOnUpdate") or 0)
        status_conflicts = int(case.get("conflictOnStatusUpdate") or 0)
        claims = {c.claim.key: c.raw for c in listed.claims.values()}
        self.writes = ClaimWrites(claims, conflicts=conflicts, status_conflicts=status_conflicts)

    def run(self) -> Answer:
        self._points()
        if self.writes.effects:
            self.answer["writes"] = [_write(e, self.writes.refused.get(i)) for i, e in enumerate(self.writes.effects)]
        return self.answer

    def _points(self) -> None:
        lookup = pod_claims(self.pod, self.listed.claims)
        self._say("sign", plugin.sign_pod(self.pod))
        if not self.case.get("skipPreEnqueue") and not self._say("preEnqueue", plugin.pre_enqueue(lookup)):
            return
        state, status = plugin.pre_filter(self.pod, self.listed, lookup)
        if not self._say("preFilter", status):
            if status.is_rejected:
                self._say("postFilter", plugin.post_filter(state, self.writes, self.seed))
            return
        by_node = {n.name: plugin.filter_node(state, n, _NOW) for n in self.nodes}
        self.answer["filter"] = {name: _status(s) for name, s in by_node.items()}
        if any(s.code is Code.ERROR for s in by_node.values()):
            return
        passed = [n.name for n in self.nodes if by_node[n.name].is_success]
        if not passed:
            self._say("postFilter", plugin.post_filter(state, self.writes, self.seed))
            return
        scores = {name: plugin.score(state, name) for name in passed}
        self.answer |= {"scores": scores, "normalizedScores": plugin.normalized(scores)}
        wanted = str(self.case.get("selectNode"))
        self._bind(state, wanted if wanted in passed else passed[0], passed)

    def _bind(self, state: CycleState, node: str, passed: list[str]) -> None:
        self.answer["node"] = node
        others = {n: found for n in passed if n != node and (found := _allocations(state, n))}
        if others:
            self.answer["allocationsByNode"] = others
        if not self._say("reserve", plugin.reserve(state, node)):
            self._unreserve(state)
            return
        if kept := _allocations(state, node):
            self.answer["allocations"] = kept
        if self.case.get("then") == "unreserve":
            self._unreserve(state)
            return
        if not self._say("preBindPreFlight", plugin.pre_bind_pre_flight(state)):
            return
        self._change_claims()
        bound = self._say("preBind", binding.pre_bind(state, node, self.writes, _NOW))
        if state.events:
            self.answer["events"] = state.events
        if not bound or self.case.get("then") == "bindfails":
            self._unreserve(state)

    def _change_claims(self) -> None:
        """What happened to the claims in the API server in the meantime."""
        for claim in self.case.get("claimsAtBind") or ():
            self.writes.put(claim)
        for name in self.case.get("claimsGoneAtBind") or ():
            self.writes.remove(f"{self.pod.namespace}/{name}")

    def _unreserve(self, state: CycleState) -> None:
        self.answer["unreserve"] = True
        binding.unreserve(state, self.writes)

    def _say(self, point: str, status: Status) -> bool:
        self.answer[point] = _status(status)
        return status.is_success


def _allocations(state: CycleState, node: str) -> list[Answer]:
    found = state.node_allocations.get(node)
    if found is None:
        return []
    shown = []
    for index, result in zip(state.to_allocate(), found.results, strict=True):
        entry: Answer = {"claim": state.claims[index].claim.name, "allocation": result}
        if state.is_extended(index) and found.extended_claim is not None:
            entry["spec"] = found.extended_claim.raw["spec"]
        shown.append(entry)
    return shown


def _status(status: Status) -> Answer:
    shown: Answer = {"code": str(status.code)}
    if status.reasons:
        shown["reasons"] = list(status.reasons)
    return shown


def _write(effect: Effect, refused: str | None) -> Answer:
    shown: Answer = {
        "verb": effect.verb,
        "resource": effect.resource,
        "subresource": effect.subresource,
        "namespace": effect.namespace,
        "name": effect.name,
        "patchType": effect.patch_type,
        "body": effect.body,
        "error": refused,
    }
    return {k: v for k, v in shown.items() if v not in ("", None, {})}
