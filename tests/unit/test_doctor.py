"""The doctor: each code is found where it should be, is gone when it is cured, and never raises."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dradash.kinds.registry import decode
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.scheduling.classic.negotiation import SeenContext
from dradash.scheduling.doctor.diagnose import blind, diagnose
from dradash.scheduling.doctor.document import document
from dradash.scheduling.doctor.exam import SEEN, Exam, Observed
from dradash.scheduling.doctor.finding import Finding, Ref, code_of
from dradash.scheduling.doctor.rules import RULES
from dradash.scheduling.doctor.thresholds import MEANINGS, Thresholds
from dradash.scheduling.evaluate import evaluate
from dradash.scheduling.generation import readable
from dradash.scheduling.rfc3339 import seconds
from dradash.scheduling.verdict import ActsNext, Agreement, Outcome, Verdict
from dradash.store.model import SyncState
from tests import build, devicecases
from tests import builddevices as make
from tests.devicecases import EXTENDED
from tests.unit.test_dependencies import KINDS, random_object

LATER = build.NOW + 3600.0
SYNCED = {kind: SyncState(kind, "synced") for kind in build.PLURALS.values()}


def look(
    *objects: build.Obj,
    verdicts: Sequence[Verdict] = (),
    now: float = LATER,
    sync: dict[str, SyncState] = SYNCED,
    times: dict[str, dict[str, float]] | None = None,
    observed: Observed | None = None,
    raw: tuple[tuple[str, str, bytes], ...] = (),
) -> list[Finding]:
    cluster = build.cluster(*objects)
    for kind, key, body in raw:
        cluster.put(kind, key, body)
    known = {k: evaluate(p, cluster, 1).verdict for k, p in cluster.pods.items()}
    known = {k: msgspec.structs.replace(v, since=build.NOW, judged_at=build.NOW) for k, v in known.items()}
    known |= {v.pod: v for v in verdicts}
    return diagnose(Exam(cluster, known, sync, times or {}, observed or Observed(), now, Thresholds()))


def codes(findings: Sequence[Finding]) -> set[str]:
    return {f.code for f in findings}


def at(offset: float) -> str:
    minute, second = divmod(int(offset), 60)
    return f"2026-11-30T04:{minute:02}:{second:02}Z"


P = build.pod("p", claims={"gpu": "c"})
T = build.pod("t", templates={"gpu": "tmpl"})
MADE = build.pod("t", templates={"gpu": "tmpl"}, generated={"gpu": "c"})
NO_SELECTOR = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Is", "values": ["b"]}]}]}
OTHER = build.pod("other", claims={"gpu": "c"})
CLASS = build.resource_class()
NODE = build.node("node-0", labels={"zone": "a"})
PENDING = build.claim("c")
GPU = make.device("gpu-0")
ALLOCATED = build.claim("c", allocation=build.allocation("node-0"))
HELD_BY = build.claim("c", allocation=build.allocation("node-0"), reserved_for=[P])
FINISHED = build.pod("p", claims={"gpu": "c"}, node="node-0", phase="Succeeded")
PLACED = build.pod("p", claims={"gpu": "c"}, node="node-0", phase="Running")
MANY = [f"node-{i}" for i in range(128)]
FITS = build.verdict(P, Outcome.SCHEDULABLE, "fits", nodes_fit=1, nodes_total=1)
DISAGREES = build.verdict(P, agreement=Agreement(said="other words", source="event", at=at(5), agrees=False))
SAID_NO_CLASS = build.verdict(
    P,
    Outcome.WAITING,
    "waiting",
    claims=evaluate(
        build.cluster(P, PENDING, CLASS).pods["default/p"], build.cluster(P, PENDING, CLASS), 1
    ).verdict.claims,
    acts_next=ActsNext(who="driver"),
    agreement=Agreement(said="0/1 nodes are available: resource class gpu does not exist.", source="event", at=at(5)),
)


def seen(*nodes: str, step: float = 1.0) -> list[SeenContext]:
    """States of P's context, the last one just before LATER."""
    states = [build.struct(build.context(P, potential=["node-0", "node-1"], selected=n)) for n in nodes]
    return [
        SeenContext(LATER - step * (len(states) - i), s)
        for i, s in enumerate(states)
        if isinstance(s, PodSchedulingContext)
    ]


def refused(*nodes: str) -> list[SeenContext]:
    states = []
    for i, node in enumerate(nodes):
        bad = {"gpu": [node]} if node else {"gpu": []}
        made = build.struct(build.context(P, potential=["node-0"], selected=node, unsuitable=bad))
        assert isinstance(made, PodSchedulingContext)
        states.append(SeenContext(LATER - len(nodes) + i, made))
    return states


# code -> (objects with the trouble, objects when it is cured, more for both)
CASES: dict[str, tuple[tuple[build.Obj, ...], tuple[build.Obj, ...], dict[str, Any]]] = {
    "claim-missing": ((P,), (P, PENDING), {}),
    "template-missing": ((T,), (T, build.template("tmpl")), {}),
    "class-missing": ((P, PENDING), (P, PENDING, CLASS), {}),
    "claim-not-created": (
        (T, build.template("tmpl")),
        (MADE, build.template("tmpl"), PENDING),
        {},
    ),
    "claim-owned-by-other": (
        (MADE, build.claim("c", ownerReferences=[build.owner(OTHER)])),
        (MADE, build.claim("c", ownerReferences=[build.owner(T)])),
        {},
    ),
    "scheduler-bypassed": ((PLACED, ALLOCATED), (PLACED, HELD_BY), {}),
    "blocked-silently": ((T,), (T, build.event(T, "template not found", reason="FailedResourceClaimCreation")), {}),
    "immediate-unallocated": (
        (build.claim("c", mode="Immediate"),),
        (build.claim("c", mode="Immediate", allocation=build.allocation()),),
        {},
    ),
    "deallocation-unanswered": (
        (build.claim("c", allocation=build.allocation(), deallocation_requested=True),),
        (PENDING,),
        {},
    ),
    "deletion-held": (
        (build.claim("c", deletionTimestamp=at(0), finalizers=["gpu/protect"], reserved_for=[P]),),
        (),
        {},
    ),
    "reserved-for-gone": ((HELD_BY,), (HELD_BY, P), {}),
    "allocated-idle": ((ALLOCATED,), (HELD_BY, P), {}),
    "reserved-by-several": (
        (build.claim("c", allocation=build.allocation(), reserved_for=[P, OTHER]), P, OTHER),
        (build.claim("c", allocation=build.allocation(shareable=True), reserved_for=[P, OTHER]), P, OTHER),
        {},
    ),
    "class-matches-no-node": (
        (build.resource_class(suitable=build.with_labels(zone="b")), NODE),
        (build.resource_class(suitable=build.with_labels(zone="a")), NODE),
        {},
    ),
    "class-filter-invalid": (
        (build.resource_class(suitable=NO_SELECTOR),),
        (CLASS,),
        {},
    ),
    "selected-not-potential": (
        (P, PENDING, CLASS, build.context(P, potential=["node-1"], selected="node-0")),
        (P, PENDING, CLASS, build.context(P, potential=["node-0"], selected="node-0")),
        {},
    ),
    "selected-unsuitable": (
        (P, PENDING, CLASS, build.context(P, potential=["node-0"], selected="node-0", unsuitable={"gpu": ["node-0"]})),
        (P, PENDING, CLASS, build.context(P, potential=["node-0"], selected="node-0", unsuitable={"gpu": []})),
        {},
    ),
    "no-node-suits": (
        (P, PENDING, CLASS, build.context(P, potential=["node-0", "node-1"], unsuitable={"gpu": ["node-0", "node-1"]})),
        (P, PENDING, CLASS, build.context(P, potential=["node-0", "node-1"], unsuitable={"gpu": ["node-0"]})),
        {},
    ),
    "potential-nodes-cut": (
        (P, PENDING, CLASS, build.context(P, potential=MANY, unsuitable={"gpu": []})),
        (P, PENDING, CLASS, build.context(P, potential=MANY[:127], unsuitable={"gpu": []})),
        {},
    ),
    "context-owned-by-other": (
        (P, PENDING, build.context(P) | {"metadata": build.meta("p", "default", ownerReferences=[build.owner(OTHER)])}),
        (P, PENDING, build.context(P)),
        {},
    ),
    "driver-silent": (
        (P, PENDING, CLASS, build.context(P, potential=["node-0"])),
        (P, PENDING, CLASS, build.context(P, potential=["node-0"], unsuitable={"gpu": []})),
        {},
    ),
    "pool-incomplete": ((make.resource_slice(GPU, count=2),), (make.resource_slice(GPU),), {}),
    "pool-invalid": ((make.resource_slice(GPU, GPU),), (make.resource_slice(GPU),), {}),
    "selector-fails": (
        (make.resource_slice(GPU), make.device_class("gpu", 'device.attributes["gpu.example.com"].nothing == 1')),
        (make.resource_slice(GPU), make.device_class("gpu", 'device.attributes["gpu.example.com"].model == "a100"')),
        {},
    ),
    "class-matches-no-device": (
        (make.resource_slice(GPU), make.device_class("gpu", 'device.attributes["gpu.example.com"].model == "h100"')),
        (make.resource_slice(GPU), make.device_class("gpu", 'device.attributes["gpu.example.com"].model == "a100"')),
        {},
    ),
    "device-vanished": (
        (make.resource_slice(GPU), make.claim("c", devices=[make.result("gone")])),
        (make.resource_slice(GPU), make.claim("c", devices=[make.result("gpu-0")])),
        {},
    ),
    "device-allocated-twice": (
        tuple(make.claim(n, devices=[make.result("gpu-0")]) for n in "cd"),
        tuple(make.claim(n, devices=[make.result("gpu-0", adminAccess=n == "d")]) for n in "cd"),
        {},
    ),
    "reserved-for-full": (
        (make.claim("c", devices=[make.result("gpu-0")], reserved_for=[build.pod(f"p{i}") for i in range(256)]),),
        (make.claim("c", devices=[make.result("gpu-0")], reserved_for=[build.pod(f"p{i}") for i in range(255)]),),
        {},
    ),
    **devicecases.CASES,
}  # fmt: skip


@pytest.mark.parametrize("code", sorted(CASES))
def test_it_is_found_and_gone_when_it_is_cured(code: str) -> None:
    wrong, cured, more = CASES[code]
    found = [f for f in look(*wrong, **more) if f.code == code]
    assert len(found) == 1
    assert found[0].objects
    assert found[0].sentence.endswith(".")
    assert 0 < found[0].since <= LATER
    assert code not in codes(look(*cured, **more))


@pytest.mark.parametrize(
    ("code", "with_it", "without_it"),
    [
        ("fits-not-retried", {"verdicts": [FITS]}, {"verdicts": [FITS], "now": build.NOW + 30}),
        ("words-disagree", {"verdicts": [DISAGREES]}, {"verdicts": [DISAGREES], "now": build.NOW + 30}),
        ("reference-not-retried", {"verdicts": [SAID_NO_CLASS]}, {"verdicts": [SAID_NO_CLASS], "now": build.NOW + 30}),
        (
            "statuses-flapping",
            {"observed": Observed(statuses={"default/p": [LATER - n for n in range(6, 0, -1)]})},
            {"observed": Observed(statuses={"default/p": [LATER - 700 * n for n in range(6, 0, -1)]})},
        ),
        (
            "selected-node-flapping",
            {"observed": Observed(contexts={"default/p": seen(*["node-0", "node-1"] * 3)})},
            {"observed": Observed(contexts={"default/p": seen(*["node-0", "node-1"] * 3, step=700.0)})},
        ),
        (
            "node-refused-repeatedly",
            {"observed": Observed(contexts={"default/p": refused(*["node-0", ""] * 3, "node-0")})},
            {"observed": Observed(contexts={"default/p": refused("node-0", "")})},
        ),
        (
            "malformed-object",
            {"raw": (("nodes", "bad", b'{"metadata": {"name": 7}}'),)},
            {"raw": (("nodes", "bad", build.raw(build.node("bad"))),)},
        ),
        (
            "kind-not-served",
            {"sync": SYNCED | {"pods": SyncState("pods", "notServed")}},
            {"sync": SYNCED},
        ),
        ("kind-forbidden", {"sync": SYNCED | {"nodes": SyncState("nodes", "forbidden", error="no")}}, {"sync": SYNCED}),
        (
            "kind-out-of-sync",
            {"sync": SYNCED | {"nodes": SyncState("nodes", "stale", since=LATER - 60)}},
            {"sync": SYNCED | {"nodes": SyncState("nodes", "stale", since=LATER - 5)}},
        ),
        (
            "version-beta",
            {"sync": SYNCED | {"deviceclasses": SyncState("deviceclasses", "synced", "v1beta1")}},
            {"sync": SYNCED | {"deviceclasses": SyncState("deviceclasses", "synced", "v1")}},
        ),
    ],
)
def test_what_depends_on_time_words_or_sync(code: str, with_it: dict[str, Any], without_it: dict[str, Any]) -> None:
    def world(more: dict[str, Any]) -> tuple[build.Obj, ...]:
        states = more.get("observed", Observed()).contexts.get("default/p")
        last = [msgspec.to_builtins(states[-1].context) | {"kind": "PodSchedulingContext"}] if states else []
        return (P, PENDING, CLASS, NODE, *last)

    assert code in codes(look(*world(with_it), **with_it))
    assert code not in codes(look(*world(without_it), **without_it))


def test_every_code_has_a_case() -> None:
    tested = set(CASES) | {
        mark.args[1][i][0]
        for mark in test_what_depends_on_time_words_or_sync.pytestmark
        for i in range(len(mark.args[1]))
    }
    assert tested == set(RULES)


# Codes that tell why pods hang -> objects with the trouble besides the pod P, which hangs for it.
BAD_CLASS = make.device_class("gpu", 'device.attributes["gpu.example.com"].nothing == 1')
NO_DEVICES = make.device_class("gpu", 'device.driver == "nobody.example.com"')
WANTING = make.claim("c", "default", make.request())
NOT_READ = b'{"metadata": {"name": 7}}'
ASKS = build.pod("p") | {
    "spec": {"containers": [{"name": "c", "resources": {"requests": {"example.com/gpu": "1"}}}]},
}
HANGS: list[tuple[str, tuple[build.Obj, ...], dict[str, Any]]] = [
    ("class-missing", (P, PENDING), {}),
    ("class-missing", (P, WANTING), {"sync": "new"}),
    ("class-matches-no-node", (P, PENDING, build.resource_class(suitable=build.with_labels(zone="b")), NODE), {}),
    ("class-filter-invalid", (P, PENDING, build.resource_class(suitable=NO_SELECTOR)), {}),
    ("immediate-unallocated", (P, build.claim("c", mode="Immediate")), {}),
    ("deallocation-unanswered", (P, build.claim("c", allocation=build.allocation(), deallocation_requested=True)), {}),
    ("deletion-held", (P, build.claim("c", deletionTimestamp=at(0), finalizers=["gpu/protect"])), {}),
    ("deletion-held", (P, make.claim("c", deletionTimestamp=at(0), finalizers=["gpu/protect"])), {}),
    ("reserved-for-gone", (P, build.claim("c", allocation=build.allocation(), reserved_for=[build.pod("gone")])), {}),
    (
        "reserved-by-several",
        (P, build.claim("c", allocation=build.allocation(), reserved_for=[OTHER, T]), OTHER, T),
        {},
    ),
    ("selector-fails", (P, WANTING, make.resource_slice(GPU), BAD_CLASS), {}),
    ("class-matches-no-device", (P, WANTING, make.resource_slice(GPU), make.device_class("gpu", "false")), {}),
    ("class-matches-no-device", (ASKS, make.resource_slice(GPU), make.device_class("gpu", "false", **EXTENDED)), {}),
    ("driver-publishes-nothing", (P, WANTING, NO_DEVICES), {}),
    ("driver-publishes-nothing", (P, make.claim("c", devices=[make.result("gpu-0")])), {}),
    ("malformed-object", (P,), {"raw": (("resourceclaims", "default/c", NOT_READ),)}),
    ("malformed-object", (P, PENDING), {"raw": (("resourceclasses", "gpu", NOT_READ),)}),
    ("malformed-object", (P, WANTING), {"raw": (("deviceclasses", "gpu", NOT_READ),)}),
    ("malformed-object", (P, PENDING, CLASS), {"raw": (("podschedulingcontexts", "default/p", NOT_READ),)}),
]


@pytest.mark.parametrize(("code", "objects", "more"), HANGS, ids=[f"{i} {h[0]}" for i, h in enumerate(HANGS)])
def test_what_a_pod_hangs_for_names_the_pod_once(
    code: str, objects: tuple[build.Obj, ...], more: dict[str, Any]
) -> None:
    more = more | ({"sync": NEW} if more.get("sync") else {})
    runs = PLACED | {"metadata": build.meta("runs", "default")}
    (finding,) = [f for f in look(*objects, runs, **more) if f.code == code]
    assert finding.objects.count(Ref("pods", "default/p")) == 1
    if code not in ("immediate-unallocated", "deallocation-unanswered"):  # these name all that use the claim
        assert Ref("pods", "default/runs") not in finding.objects
    assert finding.objects[0].kind != "pods"


def test_a_template_that_cannot_be_used_names_the_pods_that_wait_for_its_claim() -> None:
    raw = (("resourceclaimtemplates", "default/tmpl", NOT_READ),)
    (finding,) = [f for f in look(T, raw=raw) if f.code == "malformed-object"]
    assert finding.objects == (Ref("resourceclaimtemplates", "default/tmpl"), Ref("pods", "default/t"))


def test_nothing_is_told_before_its_threshold() -> None:
    for code, (wrong, _, more) in CASES.items():
        if RULES[code].threshold:
            assert code not in codes(look(*wrong, now=build.NOW + 1, **more)), code


def test_a_placed_pod_whose_devices_are_reserved_for_it_lacks_nothing() -> None:
    held = make.claim("c", devices=[make.result("gpu-0")], reserved_for=[PLACED])
    around = (make.resource_slice(GPU), make.device_class("gpu"), NODE)
    assert "scheduler-bypassed" not in codes(look(PLACED, held, *around))
    others = make.claim("c", devices=[make.result("gpu-0")], reserved_for=[OTHER])
    assert "scheduler-bypassed" in codes(look(PLACED, others, *around))


def test_claims_with_structured_parameters_are_idle_held_and_reserved_for_the_gone_as_well() -> None:
    devices = [make.result("gpu-0")]
    assert "allocated-idle" in codes(look(make.claim("c", devices=devices)))
    assert "reserved-for-gone" in codes(look(make.claim("c", devices=devices, reserved_for=[P])))
    assert "reserved-for-gone" not in codes(look(make.claim("c", devices=devices, reserved_for=[P]), P))
    deleting = make.claim("c", deletionTimestamp=at(0), finalizers=["resource.kubernetes.io/delete-protection"])
    assert "deletion-held" in codes(look(deleting))


def test_a_healthy_cluster_has_no_findings() -> None:
    assert look(PLACED, HELD_BY, CLASS, NODE) == []


def test_a_late_template_is_told_apart_from_one_that_was_there() -> None:
    late = build.template("tmpl") | {"metadata": build.meta("tmpl", "default", created=at(60))}
    found = {f.code: f for f in look(T, late)}
    assert "claim-not-created" not in found
    assert found["reference-not-retried"].since == build.NOW + 60
    assert codes(look(T, late, now=build.NOW + 61)).isdisjoint({"reference-not-retried"})


LATE = build.claim("c", created=at(60))
NOT_FOUND = '0/1 nodes are available: resourceclaim.resource.k8s.io "c" not found.'


def _late(*objects: build.Obj, **more: Any) -> list[Finding]:
    found = look(P, CLASS, NODE, *objects, **more)
    return [f for f in found if f.code in ("reference-not-retried", "fits-not-retried")]


def test_a_claim_that_came_after_its_pod_and_was_not_tried_since_is_told_once() -> None:
    (found,) = _late(LATE)
    assert (found.code, found.since) == ("reference-not-retried", build.NOW + 60)
    assert found.sentence == (
        "ResourceClaim default/c was created after the scheduler left aside pod default/p, "
        "which it has not tried again."
    )
    assert found.objects == (Ref("pods", "default/p"), Ref("resourceclaims", "default/c"))
    assert (found.resource_class, found.driver) == ("gpu", "gpu.example.com")
    assert _late(LATE, now=build.NOW + 60 + 59) == []
    assert len(_late(LATE, now=build.NOW + 60 + 60)) == 1


def test_a_claim_that_came_after_the_scheduler_refused_its_pod_is_told_with_these_words() -> None:
    refused = build.event(P, NOT_FOUND, at=at(30))
    (found,) = _late(LATE, refused, verdicts=[_said(LATE, NOT_FOUND, 30)])
    assert (found.code, found.since) == ("reference-not-retried", build.NOW + 60)
    assert "was created after the scheduler last refused pod default/p" in found.sentence


def test_words_that_miss_a_claim_which_is_there_are_enough_though_the_second_is_the_same() -> None:
    (found,) = _late(LATE, verdicts=[_said(LATE, NOT_FOUND, 60)])
    assert (found.code, found.since) == ("reference-not-retried", build.NOW + 60)
    (found,) = _late(PENDING, verdicts=[_said(PENDING, NOT_FOUND, 90)])
    assert (found.code, found.since) == ("reference-not-retried", build.NOW + 90)


def test_a_late_claim_is_not_told_of_once_the_scheduler_tried_or_where_it_rightly_does_not() -> None:
    def found(*objects: build.Obj, **more: Any) -> set[str]:
        return codes(_late(*objects, **more)) & {"reference-not-retried"}

    assert found(PENDING) == set(), "it came with its pod"
    assert found(LATE, verdicts=[_said(LATE, "0/1 nodes are available: 1 other.", 61)]) == set(), "it spoke since"
    undated = _said(LATE, "0/1 nodes are available: 1 other.", 30)
    assert found(LATE, verdicts=[undated]) != set()
    words = msgspec.structs.replace(undated.agreement, source="condition")
    assert found(LATE, verdicts=[msgspec.structs.replace(undated, agreement=words)]) == set(), "it may be of later"
    context = build.context(P, potential=["node-0"])
    assert found(LATE, context, times={"podschedulingcontexts": {"default/p": build.NOW + 61}}) == set()
    assert found(LATE, context, times={"podschedulingcontexts": {"default/p": build.NOW + 59}}) != set()
    deleting = build.claim("c", created=at(60), deletionTimestamp=at(61), finalizers=["x/y"])
    assert found(deleting) == set(), "PreEnqueue still refuses"
    assert found(LATE, sync=SYNCED | {"resourceclaims": SyncState("resourceclaims", "forbidden")}) == set()


def _said(claim: build.Obj, words: str, second: float) -> Verdict:
    cluster = build.cluster(P, CLASS, NODE, claim)
    verdict = evaluate(cluster.pods["default/p"], cluster, 1).verdict
    agreement = Agreement(said=words, source="event", at=at(second))
    return msgspec.structs.replace(verdict, since=build.NOW + 60, agreement=agreement)


def test_what_is_missing_is_one_finding_however_many_want_it() -> None:
    pods = [build.pod(f"p{i}", claims={"gpu": "none"}) for i in range(50)]
    found = [f for f in look(*pods) if f.code == "claim-missing"]
    assert len(found) == 1
    assert (found[0].objects[0], found[0].total) == (Ref("resourceclaims", "default/none", absent=True), 51)
    assert "50 pending pods" in found[0].sentence
    assert found[0].command == ("-n", "default", "get", "resourceclaim.resource.k8s.io", "none", "-o", "yaml")


@pytest.mark.parametrize("state", ["notServed", "forbidden", "syncing", "unknown"])
def test_what_cannot_be_read_is_not_called_absent(state: str) -> None:
    for kind, code, objects in (
        ("resourceclaims", "claim-missing", (P,)),
        ("resourceclaimtemplates", "template-missing", (T,)),
        ("resourceclasses", "class-missing", (PENDING,)),
        ("pods", "reserved-for-gone", (HELD_BY,)),
        ("events", "blocked-silently", (T,)),
        ("nodes", "class-matches-no-node", (build.resource_class(suitable=build.with_labels(zone="b")),)),
    ):
        assert code not in codes(look(*objects, sync=SYNCED | {kind: SyncState(kind, state)}))


CLASSIC_ONLY = ("resourceclasses", "podschedulingcontexts")
STRUCTURED_ONLY = ("deviceclasses", "resourceslices")
_NOT_SERVED = {k: SyncState(k, "notServed") for k in (*CLASSIC_ONLY, *STRUCTURED_ONLY)}
OLD = SYNCED | {k: _NOT_SERVED[k] for k in STRUCTURED_ONLY}
NEW = SYNCED | {k: _NOT_SERVED[k] for k in CLASSIC_ONLY}
NEW_TEMPLATE: build.Obj = {
    "apiVersion": make.V1,
    "kind": "ResourceClaimTemplate",
    "metadata": build.meta("tmpl", "default"),
    "spec": {"spec": {"devices": {"requests": [make.request()]}}},
}
_OLD_KINDS = ("ResourceClass", "PodSchedulingContext")


def _is_old(objects: Sequence[build.Obj]) -> bool:
    return any(o["kind"] in _OLD_KINDS or o["apiVersion"].endswith("v1alpha2") for o in objects)


def _is_new(objects: Sequence[build.Obj]) -> bool:
    return any(o["apiVersion"] == make.V1 for o in objects)


@pytest.mark.parametrize("code", CASES)
def test_a_cluster_of_one_generation_hides_no_code_of_that_generation(code: str) -> None:
    wrong, cured, more = CASES[code]
    served = [s for s, other in ((OLD, _is_new), (NEW, _is_old)) if not other((*wrong, *cured))]
    assert served
    for states in served:
        sync = more.get("sync", {}) | {k: state for k, state in states.items() if state.state != "synced"}
        assert code in codes(look(*wrong, **(more | {"sync": SYNCED | sync})))


@pytest.mark.parametrize(
    ("objects", "sync", "words"),
    [
        ((P, PENDING), OLD, "ResourceClass gpu does not exist"),
        ((P, make.claim("c")), NEW, "DeviceClass gpu does not exist"),
        ((build.template("tmpl"),), OLD, "ResourceClass gpu does not exist"),
        ((NEW_TEMPLATE,), NEW, "DeviceClass gpu does not exist"),
    ],
)
def test_a_missing_class_is_told_in_a_cluster_of_either_generation(
    objects: tuple[build.Obj, ...], sync: dict[str, SyncState], words: str
) -> None:
    (found,) = [f for f in look(*objects, sync=sync) if f.code == "class-missing"]
    assert found.sentence.startswith(words)
    assert "deviceClassName" in found.remedy
    assert "resourceClassName" in found.remedy


@pytest.mark.parametrize("state", ["forbidden", "syncing", "unknown"])
@pytest.mark.parametrize("kind", STRUCTURED_ONLY)
def test_a_class_of_the_new_generation_is_not_called_absent_while_classes_cannot_be_read(kind: str, state: str) -> None:
    told = "class-missing" in codes(look(P, make.claim("c"), sync=NEW | {kind: SyncState(kind, state)}))
    assert told is (kind != "deviceclasses")


def test_a_new_class_that_was_not_retried_is_told_in_a_cluster_of_the_new_generation_alone() -> None:
    world = (P, make.claim("c"), make.device_class("gpu"), NODE)
    cluster = build.cluster(*world)
    said = Agreement(said="0/1 nodes are available: device class gpu does not exist.", source="event", at=at(5))
    verdict = msgspec.structs.replace(evaluate(cluster.pods["default/p"], cluster, 1).verdict, agreement=said)
    (found,) = [f for f in look(*world, verdicts=[verdict], sync=NEW) if f.code == "reference-not-retried"]
    assert found.sentence.startswith("DeviceClass gpu exists")


@pytest.mark.parametrize("sync", [OLD, NEW], ids=["old", "new"])
def test_no_code_is_out_of_reach_in_a_whole_cluster_of_one_generation(sync: dict[str, SyncState]) -> None:
    assert blind(readable(sync)) == frozenset()


def test_a_malformed_object_is_malformed_and_not_missing() -> None:
    found = codes(look(P, raw=(("resourceclaims", "default/c", b'{"metadata": {"name": 7}}'),)))
    assert "malformed-object" in found
    assert "claim-missing" not in found


def test_a_held_deletion_says_what_holds_it_and_whether_the_pod_exists() -> None:
    held = build.claim("c", deletionTimestamp=at(0), finalizers=["gpu/protect"], reserved_for=[P])
    gone = next(f for f in look(held) if f.code == "deletion-held")
    assert "gpu/protect" in gone.sentence
    assert "p (gone)" in gone.sentence
    assert gone.objects[1] == Ref("pods", "default/p", absent=True)
    assert "p (exists)" in next(f for f in look(held, P) if f.code == "deletion-held").sentence
    assert "p (finished)" in next(f for f in look(held, FINISHED) if f.code == "deletion-held").sentence
    assert gone.since == build.NOW


def test_a_sentence_that_quotes_a_long_text_is_cut() -> None:
    words = Agreement(said="x" * 5000, source="event", at=at(5), agrees=False)
    (found,) = (f for f in look(P, PENDING, CLASS, verdicts=[build.verdict(P, agreement=words)]) if "…" in f.sentence)
    assert len(found.sentence) < 1000


def test_a_refusal_of_every_node_is_as_old_as_its_first_answer() -> None:
    states = [build.context(P, potential=["a"], unsuitable={"gpu": [n]}) for n in ("x", "a", "a")]
    history = [SeenContext(LATER - 300 + 100 * i, decode(PodSchedulingContext, s)) for i, s in enumerate(states)]
    found = look(P, PENDING, CLASS, states[-1], observed=Observed(contexts={"default/p": history}))
    assert next(f.since for f in found if f.code == "no-node-suits") == LATER - 200


@pytest.mark.parametrize(("number", "words"), [(SEEN - 1, "changed 60 times"), (SEEN, "changed at least 60 times")])
def test_more_changes_than_are_kept_are_at_least_so_many(number: int, words: str) -> None:
    states = [decode(PodSchedulingContext, build.context(P, potential=["a", "b"], selected=s)) for s in "ab"]
    history = [SeenContext(LATER - number + n, states[n % 2]) for n in range(number)]
    context = msgspec.to_builtins(history[-1].context) | {"kind": "PodSchedulingContext"}
    observed = Observed(
        contexts={"default/p": history}, statuses={"default/p": [LATER - 90 + n for n in range(number)]}
    )
    found = {f.code: f.sentence for f in look(P, PENDING, CLASS, context, observed=observed)}
    assert f"selectedNode of pod default/p {words} within" in found["selected-node-flapping"]
    least = "at least 61" if number == SEEN else "60"
    assert f"resourceClaimStatuses of pod default/p changed {least} times" in found["statuses-flapping"]


def test_since_when_a_pod_is_gone_is_taken_from_what_was_observed() -> None:
    observed = Observed(gone={P["metadata"]["uid"]: LATER - 30})
    assert "reserved-for-gone" not in codes(look(HELD_BY, observed=observed))
    (found,) = (f for f in look(HELD_BY, observed=observed, now=LATER + 60) if f.code == "reserved-for-gone")
    assert found.since == LATER - 30


def test_ids_stay_for_the_same_trouble_and_change_with_the_object() -> None:
    first = {f.code: f.id for f in look(HELD_BY, T)}
    again = {
        f.code: f.id for f in look(T, HELD_BY, NODE, now=LATER + 500, times={"resourceclaims": {"default/c": 9.0}})
    }
    assert first.items() <= again.items()
    other = build.claim("c", allocation=build.allocation("node-0"), reserved_for=[P], uid="another")
    assert {f.code: f.id for f in look(other)}["reserved-for-gone"] != first["reserved-for-gone"]
    assert all(code_of(id_) == code for code, id_ in first.items())


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32), size=st.integers(0, 40), skew=st.sampled_from([-5000.0, 0.0, 10.0, 1e6]))
def test_it_never_raises_and_its_findings_are_sound(seed: int, size: int, skew: float) -> None:
    rng = random.Random(seed)
    objects = [random_object(rng, rng.choice(KINDS), rng.randrange(3)) for _ in range(size)]
    hostile = (
        ("pods", "x/y", b"[]"),
        ("resourceclaims", "default/z", b'{"metadata":{"name":"z","namespace":"default"}}'),
    )
    found = look(*objects, now=build.NOW + skew, raw=hostile)
    assert len({f.id for f in found}) == len(found)
    for f in found:
        assert f.severity is RULES[f.code].severity
        assert f.objects
        assert f.command
        assert f.since <= max(build.NOW + skew, build.NOW)
    rng.shuffle(objects)
    assert [f.severity for f in found] == sorted((f.severity for f in found), key=["error", "warning", "info"].index)


def test_the_page_of_codes_is_made_from_the_rules() -> None:
    written = (Path(__file__).parents[2] / "docs/doctor.md").read_text(encoding="utf-8")
    assert written == document(), "run: python -m dradash.scheduling.doctor.document > docs/doctor.md"
    assert set(MEANINGS) == set(Thresholds.__struct_fields__)
    assert {r.threshold for r in RULES.values()} - {""} <= set(MEANINGS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-30T04:00:00Z", build.NOW),
        ("2026-11-30T05:00:00.5+01:00", build.NOW + 0.5),
        ("1970-01-01T00:00:00Z", 0.0),
        ("2024-02-29T12:00:00Z", 1709208000.0),
        ("2026-13-01T00:00:00Z", 0.0),
        ("yesterday", 0.0),
        ("", 0.0),
        (None, 0.0),
    ],
)
def test_times_are_read_and_nonsense_is_unknown(text: str | None, expected: float) -> None:
    assert seconds(text) == expected
