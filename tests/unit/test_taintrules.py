"""DeviceTaintRules taint the devices that they select, wherever these are looked at, as long as they are there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from dradash.informer.pseudonyms import Pseudonyms
from dradash.informer.redact import RULES
from dradash.kinds.devicetaintrule import DeviceTaintSelector, RuleTaint, names
from dradash.kinds.registry import KINDS
from dradash.reader import current
from dradash.scheduling.dependencies import Dependencies, hint_for
from dradash.scheduling.evaluate import evaluate
from dradash.sim.resources import served
from dradash.store.model import SyncState
from dradash.web.presenters import changewords
from dradash.web.presenters.status import is_expected
from tests import build
from tests import builddevices as make
from tests.scene import Scene

DRIVER = "gpu.example.com"
POD = build.pod("train", "ml", claims={"gpu": "wants"})
OBJECTS = (
    build.node("node-0"),
    build.node("node-1"),
    make.resource_slice(make.device("gpu-0", taints=[{"key": "own", "effect": "None"}]), node="node-0"),
    make.resource_slice(make.device("gpu-0"), make.device("gpu-1"), node="node-1"),
    make.device_class("gpu"),
    POD,
    make.claim("wants", "ml", make.request("gpu", "gpu")),
)


def taints(cluster: Any, pool: str) -> dict[str, list[str]]:
    (item,) = (s for s in cluster.inventory.slices.values() if s.spec.pool.name == pool)
    return {d.name: [t.rule if isinstance(t, RuleTaint) else t.key for t in d.taints] for d in item.spec.devices}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        (None, False),
        (DeviceTaintSelector(), True),
        (DeviceTaintSelector(driver=DRIVER), True),
        (DeviceTaintSelector(driver="other"), False),
        (DeviceTaintSelector(driver=DRIVER, pool="node-0", device="gpu-0"), True),
        (DeviceTaintSelector(pool="node-1"), False),
        (DeviceTaintSelector(device="gpu-1"), False),
        (DeviceTaintSelector(device=""), False),
    ],
)
def test_all_that_is_set_must_match_and_no_selector_matches_nothing(
    selector: DeviceTaintSelector | None, matches: bool
) -> None:
    assert names(selector, DRIVER, "node-0", "gpu-0") is matches


def test_devices_have_the_taint_while_the_rule_is_there_whichever_came_first() -> None:
    rule = make.taint_rule("drain", pool="node-1", device="gpu-1")
    for objects in ((rule, *OBJECTS), (*OBJECTS, rule)):
        cluster = build.cluster(*objects)
        assert taints(cluster, "node-1") == {"gpu-0": [], "gpu-1": ["drain"]}
        assert taints(cluster.copy(), "node-1") == {"gpu-0": [], "gpu-1": ["drain"]}
        cluster.put("devicetaintrules", "drain", build.raw(make.taint_rule("drain", pool="node-0")))
        assert taints(cluster, "node-1") == {"gpu-0": [], "gpu-1": []}
        assert taints(cluster, "node-0") == {"gpu-0": ["own", "drain"]}
        cluster.remove("devicetaintrules", "drain")
        assert taints(cluster, "node-0") == {"gpu-0": ["own"]}


def test_a_slice_that_changes_keeps_the_taints_of_rules() -> None:
    cluster = build.cluster(*OBJECTS, make.taint_rule("all"))
    cluster.put("resourceslices", f"node-0-{DRIVER}", build.raw(make.resource_slice(make.device("new"), node="node-0")))
    assert taints(cluster, "node-0") == {"new": ["all"]}


def test_the_scheduler_gives_no_device_that_a_rule_taints() -> None:
    cluster = build.cluster(*OBJECTS, make.taint_rule("all"))
    verdict = evaluate(cluster.pods["ml/train"], cluster, 0).verdict
    assert verdict.outcome == "Unschedulable"
    cluster.remove("devicetaintrules", "all")
    assert evaluate(cluster.pods["ml/train"], cluster, 0).verdict.outcome != "Unschedulable"


def test_pods_that_wait_for_devices_are_judged_again_and_queued() -> None:
    cluster = build.cluster(*OBJECTS)
    dependencies = Dependencies(cluster)
    old, new = cluster.put("devicetaintrules", "all", build.raw(make.taint_rule("all")))
    assert dependencies.affected("devicetaintrules", "all", old, new) == {"ml/train"}
    gone = cluster.remove("devicetaintrules", "all")
    assert hint_for(cluster.pods["ml/train"], cluster, "devicetaintrules", "DELETED", gone, None) == "Queue"


MIXED = (
    build.node("node-0"),
    make.resource_slice(
        make.device("gpu-0", "a100"),
        make.device("gpu-1", "h100"),
        {"name": "gpu-2"},
        node="node-0",
    ),
    POD,
    make.claim("wants", "ml", make.request("gpu", "gpu")),
)
MODEL = f'device.attributes["{DRIVER}"].model'
A100 = make.device_class("gpu", f'{MODEL} == "a100"')


@pytest.mark.parametrize(
    ("rule", "selected"),
    [
        (make.taint_rule("r", cel=[f'{MODEL} == "h100"']), ["gpu-1"]),  # gpu-2 has no model: it fails, and is not taken
        (make.taint_rule("r", cel=[f'{MODEL} != "t4"', f'{MODEL}.startsWith("a")']), ["gpu-0"]),
        (make.taint_rule("r", cel=["true"], device="gpu-2"), ["gpu-2"]),
        (make.taint_rule("r", cel=["true"], pool="node-9"), []),
        (make.taint_rule("r", cel=["device."]), []),
        (make.taint_rule("r", cel=["device.allowMultipleAllocations == false"]), ["gpu-0", "gpu-1", "gpu-2"]),
        (make.taint_rule("r", deviceClassName="gpu"), ["gpu-0"]),
        (make.taint_rule("r", deviceClassName="gpu", cel=[f'{MODEL} == "h100"']), []),
        (make.taint_rule("r", deviceClassName="absent"), []),
    ],
)
def test_a_rule_of_v1alpha3_selects_by_class_and_by_expressions_that_all_hold(rule: Any, selected: list[str]) -> None:
    cluster = build.cluster(*MIXED, A100, rule)
    assert [name for name, of in taints(cluster, "node-0").items() if of] == selected
    assert taints(cluster.copy(), "node-0") == taints(cluster, "node-0")


def test_a_rule_by_class_follows_the_class() -> None:
    cluster = build.cluster(make.taint_rule("r", deviceClassName="gpu"), *MIXED)
    dependencies = Dependencies(cluster)
    assert not any(taints(cluster, "node-0").values())
    old, new = cluster.put("deviceclasses", "gpu", build.raw(A100))
    assert taints(cluster, "node-0") == {"gpu-0": ["r"], "gpu-1": [], "gpu-2": []}
    copied = cluster.copy()
    assert dependencies.affected("deviceclasses", "gpu", old, new) == {"ml/train"}
    cluster.put("deviceclasses", "gpu", build.raw(make.device_class("gpu", f'{MODEL} == "h100"')))
    assert taints(cluster, "node-0") == {"gpu-0": [], "gpu-1": ["r"], "gpu-2": []}
    cluster.remove("deviceclasses", "gpu")
    assert not any(taints(cluster, "node-0").values())
    assert taints(copied, "node-0")["gpu-0"] == ["r"], "the copy is its own"


def test_waiting_pods_of_other_classes_are_judged_again_when_a_rule_s_class_changes() -> None:
    other = make.device_class("other", f'{MODEL} == "h100"')
    cluster = build.cluster(*MIXED, A100, make.taint_rule("r", deviceClassName="other"))
    old, new = cluster.put("deviceclasses", "other", build.raw(other))
    assert Dependencies(cluster).affected("deviceclasses", "other", old, new) == {"ml/train"}


def test_the_scheduler_gives_no_device_that_a_rule_selects_by_an_expression() -> None:
    cluster = build.cluster(*MIXED, make.device_class("gpu"), make.taint_rule("r", cel=["true"]))
    assert evaluate(cluster.pods["ml/train"], cluster, 0).verdict.outcome == "Unschedulable"
    cluster.put("devicetaintrules", "r", build.raw(make.taint_rule("r", cel=[f'{MODEL} == "h100"'])))
    assert evaluate(cluster.pods["ml/train"], cluster, 0).verdict.outcome != "Unschedulable"


def test_a_cluster_without_the_kind_misses_nothing() -> None:
    assert is_expected("devicetaintrules", {"devicetaintrules": SyncState("devicetaintrules", "notServed")})
    assert "devicetaintrules" not in {r.plural for r in served(versions=("v1",))}
    assert "devicetaintrules" in {r.plural for r in served(versions=("v1", "v1beta2"))}


def test_a_changed_rule_is_told_in_words() -> None:
    old, new = (
        build.struct(make.taint_rule("drain", pool=p, effect=e)) for p, e in (("a", "None"), ("b", "NoExecute"))
    )
    assert list(changewords.changed(old, new)) == [
        "taint maintenance=planned:None → maintenance=planned:NoExecute",
        "selects pool a → pool b",
    ]


def test_names_and_values_of_a_rule_are_hidden_and_its_effect_is_not() -> None:
    hidden = RULES["devicetaintrules"](Pseudonyms(), make.taint_rule("secret", pool="rack-9", driver=DRIVER))
    text = str(hidden)
    assert "NoExecute" in text
    assert all(word not in text for word in ("secret", "rack-9", "planned", "maintenance"))
    assert hidden["spec"]["deviceSelector"]["pool"]


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(*OBJECTS, make.taint_rule("drain", pool="node-1"))
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


@pytest.mark.usefixtures("scene")
def test_pages_and_api_say_which_rule_gave_a_taint() -> None:
    page = Client().get("/devices").content.decode()
    assert page.count("maintenance=planned:NoExecute (rule drain)") == 2
    (own, *ruled) = Client().get("/api/v1/devices").json()["items"]
    assert [t["rule"] for t in own["taints"]] == [None]
    assert [t["rule"] for d in ruled for t in d["taints"]] == ["drain", "drain"]
    assert KINDS["devicetaintrules"].versions[0] == "v1beta2"


def test_what_a_rule_of_v1alpha3_selects_is_said_and_why_it_is_nothing() -> None:
    rules = (
        make.taint_rule("by-cel", pool="node-0", cel=[f'{MODEL} == "h100"']),
        make.taint_rule("by-class", deviceClassName="gone"),
    )
    made = Scene(*MIXED, A100, *rules)
    made.look()
    current.use(made.web)
    try:
        page = Client().get("/taints").content.decode()
        items = Client().get("/api/v1/taints").json()["rules"]
    finally:
        current.use(None)
    assert "pool node-0, CEL device.attributes[" in page
    assert "class gone: no devices (DeviceClass gone is missing)" in page
    assert [(r["name"], r["selects"], r["deviceClass"], r["selectors"]) for r in items] == [
        ("by-cel", True, None, [f'{MODEL} == "h100"']),
        ("by-class", False, "gone", []),
    ]
