"""What the doctor says of structured parameters, word by word, and what it must not say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from dradash.kinds.deviceclass import DeviceClass
from dradash.scheduling.doctor.exam import Observed
from dradash.scheduling.doctor.finding import Finding, Ref
from dradash.scheduling.doctor.publishing import drivers_named
from dradash.scheduling.doctor.versions import minor
from dradash.store.model import SyncState
from tests import build
from tests import builddevices as make
from tests.devicecases import (
    BROKEN,
    CLASS,
    EXTENDED,
    GPU,
    MODEL,
    NAMES,
    POD,
    SERVED,
    SLICE,
    admin,
    applied,
    bound,
    namespace,
    node,
    slices,
    wanting,
)
from tests.unit.test_doctor import LATER, SYNCED, look

H100 = f'{MODEL} == "h100"'


def found(code: str, *objects: build.Obj, **more: Any) -> list[Finding]:
    return [f for f in look(*objects, **more) if f.code == code]


def only(code: str, *objects: build.Obj, **more: Any) -> Finding:
    (finding,) = found(code, *objects, **more)
    return finding


def refs(kind: str, *keys: str) -> list[Ref]:
    return [Ref(kind, key) for key in keys]


NEWER_ONLY = SYNCED | {kind: SyncState(kind, "notServed") for kind in ("resourceclasses", "podschedulingcontexts")}


def test_a_missing_device_class_is_told_where_only_the_newer_generation_is_served() -> None:
    finding = only("class-missing", SLICE, wanting(), POD, sync=NEWER_ONLY)
    assert finding.objects[0] == Ref("deviceclasses", "gpu", absent=True)
    assert finding.sentence == "DeviceClass gpu does not exist; 1 claim names it."
    unread = NEWER_ONLY | {"deviceclasses": SyncState("deviceclasses", "forbidden")}
    assert found("class-missing", SLICE, wanting(), POD, sync=unread) == []
    refused = SYNCED | {"resourceclasses": SyncState("resourceclasses", "forbidden")}
    assert found("class-missing", build.claim("c"), sync=refused) == []


# --- pools and the pods that they block ------------------------------------------------------------------------------

INCOMPLETE = make.resource_slice(GPU, count=2)


def test_an_incomplete_pool_names_the_pods_that_could_have_its_devices() -> None:
    other = build.pod("other", claims={"gpu": "h100"})
    wants_else = wanting(H100, name="h100")
    finding = only("pool-incomplete", INCOMPLETE, CLASS, POD, wanting(), other, wants_else, build.node("node-0"))
    assert finding.sentence == (
        "Pool gpu.example.com/node-0 has 1 of 2 slices of generation 1: none of its 1 device can be allocated. "
        "It keeps back what 1 pending pod could use: default/p."
    )
    assert list(finding.objects) == [
        *refs("resourceslices", "node-0-gpu.example.com"),
        *refs("pools", "gpu.example.com/node-0"),
        *refs("pods", "default/p"),
    ]


def test_a_bad_pool_blocks_no_pod_that_fits_elsewhere_or_has_its_devices() -> None:
    elsewhere = make.resource_slice(GPU, node="node-1")
    nodes = (build.node("node-0"), build.node("node-1"))
    assert "pending" not in only("pool-incomplete", INCOMPLETE, elsewhere, CLASS, POD, wanting(), *nodes).sentence
    has = make.claim("c", devices=[make.result("gpu-0", pool="node-1")], reserved_for=[POD])
    assert "pending" not in only("pool-incomplete", INCOMPLETE, elsewhere, CLASS, POD, has, *nodes).sentence


def test_a_bad_pool_blocks_no_pod_that_may_not_run_where_its_devices_are() -> None:
    there, elsewhere = (build.pod(n, claims={"gpu": "c"}, spec={"nodeSelector": {"zone": n}}) for n in ("a", "b"))
    nodes = (build.node("node-0", labels={"zone": "a"}), build.node("node-1", labels={"zone": "b"}))
    finding = only("pool-incomplete", INCOMPLETE, CLASS, there, elsewhere, wanting(), *nodes)
    assert finding.sentence.endswith("It keeps back what 1 pending pod could use: default/a.")
    everywhere = make.resource_slice(GPU, count=2, node="", allNodes=True)
    finding = only("pool-incomplete", everywhere, CLASS, there, elsewhere, wanting(), *nodes)
    assert finding.sentence.endswith("2 pending pods could use: default/a, default/b.")
    zone = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}
    chosen = make.resource_slice(GPU, count=2, node="", nodeSelector={"nodeSelectorTerms": [zone]})
    finding = only("pool-incomplete", chosen, CLASS, there, elsewhere, wanting(), *nodes)
    assert finding.sentence.endswith("1 pending pod could use: default/b.")
    unread = SYNCED | {"nodes": SyncState("nodes", "forbidden")}
    finding = only("pool-incomplete", INCOMPLETE, CLASS, there, elsewhere, wanting(), *nodes, sync=unread)
    assert "pending" not in finding.sentence


def test_a_pod_that_wants_an_extended_resource_is_blocked_by_the_pool_of_its_class() -> None:
    backed = make.device_class("gpu", f'device.driver == "{make.DRIVER}"', **EXTENDED)
    container = {"name": "c", "resources": {"requests": {"example.com/gpu": "1"}}}
    pod = build.pod("p", spec={"containers": [container]})
    finding = only("pool-invalid", make.resource_slice(GPU, GPU), backed, pod, build.node("node-0"))
    assert finding.objects[-1] == Ref("pods", "default/p")


def test_many_blocked_pods_are_counted_and_a_few_named() -> None:
    pods = [build.pod(f"p{i}", claims={"gpu": f"c{i}"}) for i in range(5)]
    claims = [wanting(name=f"c{i}") for i in range(5)]
    finding = only("pool-incomplete", INCOMPLETE, CLASS, *pods, *claims, build.node("node-0"))
    assert finding.sentence.endswith("5 pending pods could use: default/p0, default/p1, default/p2 and 2 more.")
    assert finding.total == 7


def test_pools_alike_block_the_same_pods_and_lead_to_twenty_of_them() -> None:
    pods = [build.pod(f"p{i:02}", claims={"gpu": f"c{i}"}) for i in range(25)]
    claims = [wanting(name=f"c{i}") for i in range(25)]
    pools = [make.resource_slice(GPU, count=2, node=n) for n in NAMES]
    bad = found("pool-incomplete", *pools, CLASS, *pods, *claims, *map(build.node, NAMES))
    assert len(bad) == 4
    for finding in bad:
        assert "25 pending pods could use" in finding.sentence
        assert list(finding.objects[2:]) == refs("pods", *(f"default/p{i:02}" for i in range(20)))


# --- drivers without slices ------------------------------------------------------------------------------------------


def test_a_driver_that_publishes_nothing_is_told_with_its_classes_and_claims() -> None:
    held = make.claim("held", devices=[make.result("gpu-0")])
    finding = only("driver-publishes-nothing", CLASS, held)
    assert finding.sentence == (
        "Driver gpu.example.com publishes no ResourceSlice: DeviceClass gpu wants its devices, "
        "and 1 claim has devices of it."
    )
    assert list(finding.objects) == [*refs("deviceclasses", "gpu"), *refs("resourceclaims", "default/held")]
    assert finding.command[-1] == "--field-selector=spec.driver=gpu.example.com"
    assert (finding.driver, finding.resource_class) == ("gpu.example.com", "gpu")
    assert only("driver-publishes-nothing", held).objects == (Ref("resourceclaims", "default/held"),)


def test_a_class_whose_driver_publishes_nothing_is_not_told_twice() -> None:
    other = make.resource_slice(GPU, driver="nic.example.com")
    assert found("class-matches-no-device", CLASS, other) == []
    assert found("class-matches-no-device", CLASS, SLICE, make.device_class("h100", H100))


def test_a_driver_that_took_its_slices_back_has_published_nothing_since_then() -> None:
    gone = Observed(withdrawn={("driver", make.DRIVER): LATER - 200})
    assert only("driver-publishes-nothing", CLASS, observed=gone).since == LATER - 200
    assert found("driver-publishes-nothing", CLASS, observed=gone, now=LATER - 100) == []


@pytest.mark.parametrize(
    ("expression", "drivers"),
    [
        ('device.driver == "a"', ("a",)),
        ("'a' == device.driver", ("a",)),
        ('(device.driver == "a") && device.attributes["a"].x == 1', ("a",)),
        ('device.driver == "a" || device.driver == "b"', ()),
        ('device.driver != "a"', ()),
        ('!(device.driver == "a")', ()),
        ('device.driver.startsWith("a")', ()),
        ("nonsense(", ()),
    ],
)
def test_a_driver_is_read_from_a_class_only_where_it_must_be_that_one(expression: str, drivers: Sequence[str]) -> None:
    made = build.struct(make.device_class("c", expression))
    assert isinstance(made, DeviceClass)
    assert drivers_named(made) == drivers


def _lacking(*objects: build.Obj, **more: Any) -> list[str]:
    return [f.objects[0].key for f in found("node-without-slice", *objects, **more)]


def test_a_ready_node_without_the_slices_of_its_like_is_told() -> None:
    finding = only("node-without-slice", *map(node, NAMES), *slices(NAMES[:3]))
    assert finding.sentence == (
        "Node node-3 is Ready and has no ResourceSlice of driver gpu.example.com, "
        "which 3 of 4 nodes with the same labels have."
    )
    assert finding.since == build.NOW + 60, "since when it is Ready"
    assert finding.command[-1] == "--field-selector=spec.nodeName=node-3"
    gone = Observed(withdrawn={("node", make.DRIVER, "node-3"): LATER - 300})
    assert only("node-without-slice", *map(node, NAMES), *slices(NAMES[:3]), observed=gone).since == LATER - 300


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (node("node-3", ready="False"), "it is not Ready"),
        (node("node-3", ready="Unknown"), "nobody knows whether it is Ready"),
        (node("node-3", labels={"accelerator": "none"}), "it is of another kind"),
        (node("node-3", labels={}), "nothing says of which kind it is"),
        (node("node-3", unschedulable=True), "it is cordoned"),
        (build.node("node-3", labels={"accelerator": "a100"}), "its conditions are not known"),
    ],
)
def test_a_node_is_not_missed_where(last: build.Obj, why: str) -> None:
    assert _lacking(*map(node, NAMES[:3]), last, *slices(NAMES[:3])) == [], why


def test_nodes_are_not_compared_by_labels_that_say_nothing_of_hardware() -> None:
    bare = [node(n, labels={"topology.kubernetes.io/zone": "a", "kubernetes.io/os": "linux"}) for n in NAMES]
    assert _lacking(*bare, *slices(NAMES[:3])) == []
    zones = [node(n, labels={"accelerator": "a100", "topology.kubernetes.io/zone": n}) for n in NAMES]
    assert _lacking(*zones, *slices(NAMES[:3])) == ["node-3"]


def test_a_kind_of_which_many_lack_slices_is_not_the_kind_that_has_devices() -> None:
    many = [f"node-{i}" for i in range(20)]
    assert _lacking(*map(node, many), *slices(many[:17])) == []
    assert _lacking(*map(node, many), *slices(many[:18])) == ["node-18", "node-19"]
    assert _lacking(*map(node, NAMES[:2]), *slices(NAMES[:1])) == [], "one other node proves nothing"


def test_devices_that_no_node_owns_are_missed_on_none() -> None:
    assert _lacking(*map(node, NAMES), make.resource_slice(GPU, allNodes=True)) == []


# --- requests --------------------------------------------------------------------------------------------------------


def test_requests_that_ask_for_the_same_are_one_finding_about_their_class() -> None:
    claims = [wanting(H100, name=f"c{i}") for i in range(3)]
    pod = build.pod("p", claims={"gpu": "c1"})
    finding = only("request-matches-no-device", SLICE, CLASS, *claims, pod)
    assert finding.sentence == (
        f"Request gpu of ResourceClaim default/c0 (and of 2 other claims): its selector matches no device: {H100}."
    )
    assert list(finding.objects) == [
        *refs("deviceclasses", "gpu"),
        *refs("resourceclaims", "default/c0", "default/c1", "default/c2"),
        *refs("pods", "default/p"),
    ]
    assert (finding.namespace, finding.resource_class) == ("default", "gpu")
    assert only("request-matches-no-device", SLICE, CLASS, *claims[1:], pod).id == finding.id, "who is left is the same"


def test_a_request_that_a_device_of_a_bad_pool_would_satisfy_matches_one() -> None:
    held_back = make.resource_slice(make.device("gpu-0", "h100"), node="node-1", count=2)
    assert found("request-matches-no-device", SLICE, held_back, CLASS, wanting(H100)) == []


def test_an_alternative_that_matches_is_enough() -> None:
    def sub(name: str, selector: str) -> build.Obj:
        return {"name": name, **make.exactly(selectors=[selector])}

    def either(*selectors: str) -> build.Obj:
        subs = [sub(f"s{i}", s) for i, s in enumerate(selectors)]
        return make.claim("c", "default", {"name": "gpu", "firstAvailable": subs})

    assert found("request-matches-no-device", SLICE, CLASS, either(H100, f'{MODEL} == "a100"')) == []
    finding = only("request-matches-no-device", SLICE, CLASS, either(H100, f'{MODEL} == "b200"'))
    assert "none of its 2 alternatives does better" in finding.sentence


def test_what_the_class_alone_refuses_or_spoils_is_told_of_the_class() -> None:
    none = make.device_class("gpu", H100)
    assert found("request-matches-no-device", SLICE, none, wanting(f'{MODEL} == "a100"')) == []
    spoilt = make.device_class("gpu", f'device.attributes["{make.DRIVER}"].nothing == 1')
    assert found("request-selector-fails", SLICE, spoilt, wanting(f'{MODEL} == "a100"')) == []
    assert found("request-matches-no-device", SLICE, wanting(H100)) == [], "its class is missing"
    assert found("request-matches-no-device", CLASS, wanting(H100)) == [], "there are no devices at all"


def test_an_expression_that_is_none_fails_and_says_why() -> None:
    finding = only("request-selector-fails", SLICE, CLASS, wanting("nonsense("))
    assert finding.sentence.startswith("Request gpu of ResourceClaim default/c: its selector fails: ")
    assert "compilation failed" in finding.sentence


def test_a_selector_that_fails_on_devices_of_a_bad_pool_only_fails_nowhere() -> None:
    bare = make.resource_slice({"name": "gpu-0"}, node="node-1", count=2)
    assert found("request-selector-fails", SLICE, bare, CLASS, wanting(f'{MODEL} == "a100"')) == []
    whole = make.resource_slice({"name": "gpu-0"}, node="node-1")
    assert found("request-selector-fails", SLICE, whole, CLASS, wanting(f'{MODEL} == "a100"'))


def test_claims_that_have_devices_or_go_away_ask_for_nothing() -> None:
    allocated = make.claim("c", "default", make.request(selectors=[H100]), devices=[make.result("gpu-0")])
    assert found("request-matches-no-device", SLICE, CLASS, allocated) == []
    going = wanting(H100)
    going["metadata"] |= {"deletionTimestamp": build.CREATED, "finalizers": ["x/y"]}
    assert found("request-matches-no-device", SLICE, CLASS, going) == []


# --- claims and their devices ----------------------------------------------------------------------------------------


def _held(*results: build.Obj, **more: Any) -> build.Obj:
    return make.claim("c", devices=list(results or (make.result("gpu-0"),)), reserved_for=[POD], **more)


def test_a_device_that_may_be_in_the_missing_slice_has_not_vanished() -> None:
    assert found("device-vanished", _held(make.result("gpu-9")), make.resource_slice(GPU, count=2)) == []
    finding = only("device-vanished", _held(make.result("gpu-9")), SLICE)
    assert finding.objects[:2] == (Ref("resourceclaims", "default/c"), Ref("pools", "gpu.example.com/node-0"))
    assert only("device-vanished", _held()).objects[1] == Ref("pools", "gpu.example.com/node-0", absent=True)


def test_a_device_has_vanished_since_its_slice_changed_or_went() -> None:
    times = {"resourceslices": {"node-0-gpu.example.com": LATER - 5}}
    assert found("device-vanished", _held(make.result("gpu-9")), SLICE, times=times) == [], "it may come back"
    times = {"resourceslices": {"node-0-gpu.example.com": LATER - 50}}
    assert only("device-vanished", _held(make.result("gpu-9")), SLICE, times=times).since == LATER - 50
    gone = Observed(withdrawn={("pool", make.DRIVER, "node-0"): LATER - 40})
    assert only("device-vanished", _held(), observed=gone).since == LATER - 40


def test_a_device_that_two_claims_have_leads_to_its_page_and_to_both() -> None:
    claims = [make.claim(n, devices=[make.result("gpu-0")]) for n in "cd"]
    finding = only("device-allocated-twice", *claims, POD)
    assert list(finding.objects) == [
        *refs("resourceclaims", "default/c", "default/d"),
        *refs("devices", "gpu.example.com/node-0/gpu-0"),
        *refs("pods", "default/p"),
    ]
    assert finding.sentence == "Device gpu.example.com/node-0/gpu-0 is allocated to 2 claims, to each as a whole."


def test_a_device_that_one_claim_has_whole_and_another_a_share_of_is_told_so() -> None:
    share = make.claim("d", devices=[make.result("gpu-0", shareID="d", consumedCapacity={})])
    finding = only("device-allocated-twice", make.claim("c", devices=[make.result("gpu-0")]), share, POD)
    assert finding.sentence.endswith("is allocated to 2 claims, and to 1 of them as a whole.")


def test_shares_of_a_device_are_not_the_device_twice() -> None:
    shares = [make.claim(n, devices=[make.result("gpu-0", shareID=n, consumedCapacity={})]) for n in "cd"]
    assert found("device-allocated-twice", *shares) == []


TAINTED = make.resource_slice(GPU | {"taints": [BROKEN]})


def test_a_taint_that_evicts_and_is_not_tolerated_is_told_since_it_was_added() -> None:
    finding = only("taint-not-tolerated", TAINTED, _held(), POD)
    assert finding.sentence == (
        "ResourceClaim default/c has gpu.example.com/node-0/gpu-0, whose taint broken:NoExecute it does not tolerate."
    )
    assert list(finding.objects) == [
        *refs("resourceclaims", "default/c"),
        *refs("devices", "gpu.example.com/node-0/gpu-0"),
        *refs("pods", "default/p"),
    ]
    assert finding.since == build.NOW + 600


@pytest.mark.parametrize(
    ("taint", "claim", "why"),
    [
        (BROKEN | {"effect": "NoSchedule"}, _held(), "it keeps others away only"),
        (BROKEN | {"effect": "None"}, _held(), "it does nothing"),
        (BROKEN, make.claim("c", devices=[make.result("gpu-0")]), "nobody uses the device"),
        (
            BROKEN,
            _held(make.result("gpu-0", tolerations=[{"operator": "Exists", "effect": "NoExecute"}])),
            "all is tolerated",
        ),
        (
            BROKEN,
            _held(make.result("gpu-0", tolerations=[{"key": "broken", "operator": "Exists", "effect": "NoExecute"}])),
            "it is tolerated",
        ),
    ],
)
def test_a_taint_is_no_trouble_where(taint: build.Obj, claim: build.Obj, why: str) -> None:
    assert found("taint-not-tolerated", make.resource_slice(GPU | {"taints": [taint]}), claim, POD) == [], why


def test_a_toleration_without_the_effect_or_of_another_value_does_not_help() -> None:
    for toleration in (
        {"key": "broken", "operator": "Exists"},
        {"operator": "Exists"},
        {"key": "broken", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "broken", "value": "x", "effect": "NoExecute"},
    ):
        assert found("taint-not-tolerated", TAINTED, _held(make.result("gpu-0", tolerations=[toleration])), POD)


def test_a_taint_that_is_tolerated_for_a_time_is_told_when_that_is_over() -> None:
    tolerations = [
        {"key": "broken", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": s} for s in (900, 300)
    ]
    claim = _held(make.result("gpu-0", tolerations=tolerations))
    tainted = build.NOW + 600
    assert found("taint-not-tolerated", TAINTED, claim, POD, now=tainted + 299) == []
    finding = only("taint-not-tolerated", TAINTED, claim, POD, now=tainted + 300)
    assert finding.since == tainted + 300
    assert finding.sentence == (
        "ResourceClaim default/c has gpu.example.com/node-0/gpu-0, whose taint broken:NoExecute it tolerated for 300 s "
        "only."
    )
    forever = tolerations[0] | {"tolerationSeconds": None}
    assert found("taint-not-tolerated", TAINTED, _held(make.result("gpu-0", tolerations=[*tolerations, forever]))) == []


def test_conditions_that_are_waited_for_name_pod_device_and_driver() -> None:
    finding = only("binding-waits", POD, SLICE, bound("False"))
    assert finding.sentence == (
        "Pod default/p waits for Attached of device gpu.example.com/node-0/gpu-0, which ResourceClaim default/c has: "
        "driver gpu.example.com has not reported it."
    )
    assert finding.driver == "gpu.example.com"
    running = build.pod("p", claims={"gpu": "c"}, node="node-0", phase="Running")
    assert found("binding-waits", running, SLICE, bound("False")) == [], "its conditions were met when it was bound"
    assert found("binding-waits", SLICE, bound("False")) == [], "the pod is gone"


def test_the_wait_for_conditions_counts_from_the_allocation() -> None:
    claim = bound()
    claim["status"]["allocation"]["allocationTimestamp"] = "2026-11-30T04:30:00Z"
    assert only("binding-waits", POD, SLICE, claim).since == build.NOW + 1800
    assert found("binding-waits", POD, SLICE, claim, now=build.NOW + 1919) == []
    assert found("binding-waits", POD, SLICE, claim, now=build.NOW + 1920)


def test_a_condition_that_failed_says_why_and_is_not_waited_for() -> None:
    finding = only("binding-failed", POD, SLICE, bound(failed="True"))
    assert finding.sentence == (
        "Device gpu.example.com/node-0/gpu-0 of ResourceClaim default/c reports Broken: Cable: loose."
    )
    assert found("binding-waits", POD, SLICE, bound(failed="True")) == []


# --- admin access, extended resources, versions ----------------------------------------------------------------------


def test_admin_access_is_allowed_by_the_label_and_unknown_namespaces_are_not_judged() -> None:
    finding = only("admin-access-not-allowed", namespace(), admin())
    assert finding.sentence == (
        "ResourceClaim default/c asks for admin access, which namespace default does not allow."
    )
    assert finding.objects == (Ref("resourceclaims", "default/c"), Ref("namespaces", "default"))
    assert found("admin-access-not-allowed", namespace(**{"resource.kubernetes.io/admin-access": "false"}), admin())
    assert found("admin-access-not-allowed", admin()) == []
    assert found("admin-access-not-allowed", namespace(), wanting()) == []
    unread = SYNCED | {"namespaces": SyncState("namespaces", "forbidden")}
    assert found("admin-access-not-allowed", namespace(), admin(), sync=unread) == []


def test_a_template_that_asks_for_admin_access_is_told_as_well() -> None:
    template = {
        "apiVersion": make.V1,
        "kind": "ResourceClaimTemplate",
        "metadata": build.meta("tmpl", "default"),
        "spec": {"spec": admin()["spec"]},
    }
    assert only("admin-access-not-allowed", namespace(), template).objects[0] == Ref(
        "resourceclaimtemplates", "default/tmpl"
    )


def test_an_extended_resource_is_there_twice_only_on_nodes_that_have_the_devices() -> None:
    backed = make.device_class("gpu", f'device.driver == "{make.DRIVER}"', **EXTENDED)
    both = node("node-0", capacity={"example.com/gpu": "4"})
    plugin_only = node("node-1", capacity={"example.com/gpu": "4"})
    finding = only("extended-resource-twice", both, plugin_only, SLICE, backed)
    assert list(finding.objects) == [*refs("deviceclasses", "gpu"), *refs("nodes", "node-0")]
    assert finding.sentence == (
        "Node node-0 offers example.com/gpu through a device plugin, and has devices of DeviceClass gpu, "
        "which backs the same extended resource."
    )
    assert found("extended-resource-twice", plugin_only, SLICE, backed) == []
    assert found("extended-resource-twice", both, SLICE, CLASS) == [], "the class backs nothing"
    other = make.device_class("gpu", 'device.driver == "nic.example.com"', **EXTENDED)
    assert found("extended-resource-twice", both, SLICE, other) == [], "the node has other devices"


ON_A100 = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "accelerator", "operator": "In", "values": ["a100"]}]}]}
BROKEN_SELECTOR = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "accelerator", "operator": "Beside"}]}]}


@pytest.mark.parametrize(
    ("there", "nodes"),
    [
        (make.resource_slice(GPU, allNodes=True), ["node-0", "node-1"]),
        (make.resource_slice(GPU, nodeSelector=ON_A100), ["node-0"]),
        (make.resource_slice(GPU, nodeSelector=BROKEN_SELECTOR), []),
        (make.resource_slice(GPU | {"nodeName": "node-1"}, perDeviceNodeSelection=True), ["node-1"]),
        (make.resource_slice(GPU | {"allNodes": True}, perDeviceNodeSelection=True), ["node-0", "node-1"]),
        (make.resource_slice(GPU | {"nodeSelector": ON_A100}, perDeviceNodeSelection=True), ["node-0"]),
    ],
)
def test_an_extended_resource_is_there_twice_wherever_its_devices_can_be_used(
    there: build.Obj, nodes: list[str]
) -> None:
    backed = make.device_class("gpu", f'device.driver == "{make.DRIVER}"', **EXTENDED)
    capacity = {"example.com/gpu": "4"}
    all_nodes = [node("node-0", capacity=capacity), node("node-1", capacity=capacity, labels={})]
    told = [o.key for f in found("extended-resource-twice", *all_nodes, there, backed) for o in f.objects[1:]]
    assert told == nodes


def test_fields_that_the_api_server_dropped_are_named_with_their_gate() -> None:
    finding = only("fields-dropped", applied({}, EXTENDED), sync=SERVED)
    assert finding.sentence == (
        "DeviceClass gpu was applied with extendedResourceName, which the API server has dropped "
        "(feature gate DRAExtendedResource, or an older version)."
    )


@pytest.mark.parametrize(
    ("kept", "sent"),
    [
        ({}, {}),
        ({}, {"extendedResourceName": ""}),
        ({}, {"config": [{"opaque": {"driver": "d", "parameters": {"tolerations": ["x"]}}}]}),
    ],
)
def test_nothing_is_called_dropped_that_was_not_asked_for(kept: build.Obj, sent: build.Obj) -> None:
    assert found("fields-dropped", applied(kept, sent), sync=SERVED) == []


def test_what_was_applied_may_be_nonsense() -> None:
    made = make.device_class("gpu")
    for text in ("tolerations{", "[]", '"tolerations"', '{"spec": ["tolerations"]}'):
        annotations = {"kubectl.kubernetes.io/last-applied-configuration": text}
        wrong = made | {"metadata": made["metadata"] | {"annotations": annotations}}
        assert found("fields-dropped", wrong, sync=SERVED) == []


def test_kubelets_are_too_old_by_what_is_served_and_by_the_newest_of_them() -> None:
    def versions(*kubelets: str, served: str = "v1") -> list[str]:
        nodes = [node(f"node-{i}", kubelet=k) for i, k in enumerate(kubelets)]
        sync = SYNCED | {"resourceslices": SyncState("resourceslices", "synced", served)} if served else SYNCED
        return [f.sentence for f in found("kubelet-too-old", *nodes, sync=sync)]

    assert versions("v1.32.1", "v1.33.0+k3s1", "v1.35.0") == []
    (old,) = versions("v1.32.1", "v1.36.0", "v1.36.0-rc.1")
    assert old == (
        "The kubelet of 1 node is of Kubernetes 1.32; the API server is of 1.36 at least, "
        "and supports kubelets of 1.33 and later."
    )
    (older,) = versions("v1.31.0", "v1.31.2", served="v1beta1")
    assert older.startswith("The kubelet of 2 nodes is of Kubernetes 1.31; it does not know resource.k8s.io/v1beta1")
    assert versions("v1.30.0", served="") == [], "the older generation is served: that is another matter"
    assert versions("nonsense", "", "v2.0.0") == []


def test_the_minor_version_is_read_from_what_kubelets_say() -> None:
    assert [minor(v) for v in ("v1.36.2", "v1.9.0-alpha.1", "1.36.2", "v1.36", "")] == [36, 9, None, None, None]


def test_a_beta_version_is_told_once_for_all_kinds() -> None:
    beta = {k: SyncState(k, "synced", "v1beta1", since=build.NOW) for k in ("resourceclaims", "resourceslices")}
    finding = only("version-beta", sync=SYNCED | beta)
    assert finding.sentence == "The API server serves no newer version than resource.k8s.io/v1beta1."
    mixed = beta | {"deviceclasses": SyncState("deviceclasses", "synced", "v1")}
    assert "of resourceclaims, resourceslices than" in only("version-beta", sync=SYNCED | mixed).sentence
    assert found("version-beta", sync=SERVED) == []
