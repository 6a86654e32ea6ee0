"""DeviceTaintRules taint the devices that they select, wherever these are looked at, as long as they are there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from dradash.informer.pseudonyms import Pseudonyms
from dradash.informer.redact import RULES
from dradash.kinds.devicetaintrule import DeviceTaintSelector, RuleTaint, selects
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
        (DeviceTaintSelector(device_class_name="gpu"), False),
    ],
)
def test_all_that_is_set_must_match_and_no_selector_matches_nothing(
    selector: DeviceTaintSelector | None, matches: bool
) -> None:
    assert selects(selector, DRIVER, "node-0", "gpu-0") is matches


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
