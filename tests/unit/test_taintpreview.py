"""What a taint would do, told before: as the eviction controller and the scheduler would decide."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from django.test import Client

from dradash.kinds.devicetaintrule import DeviceTaintSelector
from dradash.kinds.resourceslice import DeviceTaint
from dradash.reader import current
from dradash.reader.moment import show
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.structured import taintpreview
from dradash.scheduling.structured.taintpreview import Fate, Preview, Question
from tests import build
from tests import builddevices as make
from tests.build import Obj
from tests.scene import Scene
from tests.unit import html

TOLERATION = {"key": "maintenance", "operator": "Exists"}
FOREVER = TOLERATION | {"effect": "NoExecute"}
FIVE_MINUTES = FOREVER | {"tolerationSeconds": 300}
EVIL = "<b>evil</b>"


def user(name: str, device: str, *tolerations: Obj, node: str = "node-0", claim: str = "", **more: Any) -> list[Obj]:
    """A pod on the node, and its claim that has the device."""
    pod = build.pod(name, "ml", claims={"gpu": claim or f"c-{name}"}, node=node)
    result = make.result(device) | ({"tolerations": list(tolerations)} if tolerations else {})
    return [pod, make.claim(f"c-{name}", "ml", devices=[result], reserved_for=[pod], **more)]


def waiting(name: str, *tolerations: Obj) -> list[Obj]:
    asked = make.request("gpu", "gpu")
    if tolerations:
        asked["exactly"]["tolerations"] = list(tolerations)
    return [build.pod(name, "ml", claims={"gpu": f"c-{name}"}), make.claim(f"c-{name}", "ml", asked)]


OBJECTS: list[Obj] = [
    *(build.node(f"node-{i}") for i in range(2)),
    make.resource_slice(*(make.device(f"gpu-{i}") for i in range(6)), node="node-0"),
    make.resource_slice(make.device("gpu-0"), node="node-1"),
    make.device_class("gpu"),
    *user("plain", "gpu-0"),
    *user("forever", "gpu-1", FOREVER),
    *user("patient", "gpu-2", FOREVER | {"tolerationSeconds": 900}, FIVE_MINUTES),
    *user("effectless", "gpu-3", TOLERATION),
    *user("unbound", "gpu-4", node=""),
]
TAINT = DeviceTaint(key="maintenance", value="planned", effect="NoExecute")


def never() -> bool:
    return False


def preview(asked: Question, cluster: Cluster, enough: Callable[[], bool] = never) -> Preview:
    return taintpreview.finish(taintpreview.prepare(asked, cluster), enough)


def ask(*more: Obj, effect: str = "NoExecute", enough: Callable[[], bool] = never, **selector: str) -> Preview:
    taint = DeviceTaint(key=TAINT.key, value=TAINT.value, effect=effect)
    asked = Question(msgspec.convert(selector, DeviceTaintSelector), taint)
    return preview(asked, build.cluster(*OBJECTS, *more), enough)


def test_pods_are_evicted_at_once_later_or_never_by_what_their_devices_tolerate() -> None:
    said = ask(pool="node-0")
    assert [(p.pod, p.fate, p.seconds, p.why) for p in said.pods] == [
        ("ml/effectless", Fate.EVICTED, None, ""),
        ("ml/plain", Fate.EVICTED, None, ""),
        ("ml/patient", Fate.LATER, 300, ""),
        ("ml/forever", Fate.TOLERATED, None, ""),
        ("ml/unbound", Fate.KEPT, None, "it is on no node yet"),
    ]
    assert [(c.claim, c.uses[0].by) for c in said.claims if c.uses[0].by] == [
        ("ml/c-patient", "maintenance:NoExecute for 300s"),
        ("ml/c-forever", "maintenance:NoExecute"),
    ]
    assert (said.devices_total, len(said.claims)) == (6, 5)


def test_a_rule_by_an_expression_evicts_from_devices_that_match_and_are_published() -> None:
    gone = user("gone", "gpu-9")
    objects = [
        *(o for o in OBJECTS if o["kind"] != "ResourceSlice"),
        make.resource_slice(make.device("gpu-0", "h100"), make.device("gpu-3"), node="node-0"),
        *gone,
    ]
    model = f'device.attributes["{make.DRIVER}"].model'
    for rule, evicted in (
        (make.taint_rule("r", cel=[f'{model} == "h100"']), ["ml/plain"]),
        (make.taint_rule("r", deviceClassName="gpu"), ["ml/effectless", "ml/plain"]),
        (make.taint_rule("r", pool="node-0"), ["ml/effectless", "ml/gone", "ml/plain"]),
    ):
        cluster = build.cluster(*objects, rule)
        said = preview(taintpreview.of_rule(cluster, "r"), cluster)
        assert [p.pod for p in said.pods if p.fate == Fate.EVICTED] == evicted


@pytest.mark.parametrize("effect", ["NoSchedule", "None"])
def test_other_effects_evict_nobody(effect: str) -> None:
    assert {p.fate for p in ask(effect=effect).pods} == {Fate.KEPT}


def test_one_device_is_chosen_by_its_name_in_its_pool() -> None:
    said = ask(driver="gpu.example.com", pool="node-0", device="gpu-0")
    assert [p.pod for p in said.pods] == ["ml/plain"]
    assert ask(driver="other").devices_total == 0


def test_a_device_that_no_slice_publishes_any_more_evicts_as_well() -> None:
    said = ask(*user("ghost", "gone"), device="gone")
    assert (said.devices_total, [p.pod for p in said.pods]) == (0, ["ml/ghost"])


def test_a_device_with_admin_access_counts() -> None:
    pod = build.pod("admin", "ml", claims={"gpu": "c-admin"}, node="node-1")
    claim = make.claim(
        "c-admin", "ml", devices=[make.result("gpu-0", pool="node-1", adminAccess=True)], reserved_for=[pod]
    )
    assert [(p.pod, p.fate) for p in ask(pod, claim, pool="node-1").pods] == [("ml/admin", Fate.EVICTED)]


def test_a_pod_that_does_not_name_the_claim_or_has_another_uid_is_spared() -> None:
    said = ask(*user("other", "gpu-5", claim="elsewhere"), device="gpu-5")
    assert [(p.fate, p.why) for p in said.pods] == [(Fate.KEPT, "its spec does not name the claim")]
    again = build.pod("plain", "ml", claims={"gpu": "c-plain"}, node="node-0", uid="new")
    assert ask(again, device="gpu-0", pool="node-0").pods == ()


def test_only_claims_that_the_spec_of_a_pod_names_count_for_its_time() -> None:
    pod = build.pod("both", "ml", claims={"gpu": "own"}, node="node-0")
    own = make.claim("own", "ml", devices=[make.result("gpu-0", tolerations=[FIVE_MINUTES])], reserved_for=[pod])
    special = make.claim("special", "ml", devices=[make.result("gpu-1")], reserved_for=[pod])
    cluster = build.cluster(*OBJECTS[:3], pod, own, special)
    said = preview(Question(DeviceTaintSelector(pool="node-0"), TAINT), cluster)
    assert [(p.fate, p.seconds, p.claims, p.why) for p in said.pods] == [(Fate.LATER, 300, ("ml/own",), "")]
    own["status"]["allocation"]["devices"]["results"][0]["tolerations"] = [FOREVER]
    said = preview(Question(DeviceTaintSelector(pool="node-0"), TAINT), build.cluster(*OBJECTS[:3], pod, own, special))
    assert [(p.fate, p.claims, p.why) for p in said.pods] == [
        (Fate.KEPT, ("ml/special",), "its spec does not name the claim")
    ]


def test_a_pod_is_evicted_because_of_the_claims_that_do_not_tolerate_it() -> None:
    pod = build.pod("two", "ml", claims={"a": "at-once", "b": "forever", "c": "later"}, node="node-0")
    tolerations = {"at-once": [], "forever": [FOREVER], "later": [FIVE_MINUTES]}
    claims = [
        make.claim(name, "ml", devices=[make.result(f"gpu-{i}", tolerations=tolerations[name])], reserved_for=[pod])
        for i, name in enumerate(tolerations)
    ]
    cluster = build.cluster(*OBJECTS[:3], pod, *claims)
    said = preview(Question(DeviceTaintSelector(pool="node-0"), TAINT), cluster)
    assert [(p.fate, p.seconds, p.claims) for p in said.pods] == [(Fate.EVICTED, None, ("ml/at-once", "ml/later"))]


def test_pending_pods_lose_the_nodes_that_have_no_other_device() -> None:
    said = ask(*waiting("one"), *waiting("two", TOLERATION), pool="node-1", effect="NoSchedule")
    assert [(p.pod, p.before, p.after, p.tolerated) for p in said.pending] == [
        ("ml/one", 2, 1, ()),
        ("ml/two", 2, 2, ("gpu",)),
    ]
    both = ask(*waiting("one"), effect="NoSchedule")
    assert both.pending[0].after == 0
    assert "cannot allocate all claims" in both.pending[0].sentence
    assert ask(*waiting("one"), effect="None").pending == ()


def test_time_that_is_over_leaves_pods_untried() -> None:
    said = ask(*waiting("one"), enough=lambda: True)
    assert (said.pending, said.pending_total) == ((), 1)


def test_a_rule_that_is_there_is_compared_with_its_absence() -> None:
    rule = make.taint_rule("drain", pool="node-1")
    cluster = build.cluster(*OBJECTS, *waiting("one"), rule)
    said = preview(taintpreview.of_rule(cluster, "drain"), cluster)
    assert [(p.before, p.after) for p in said.pending] == [(2, 1)]
    assert taintpreview.of_rule(cluster, "none").absent


def test_a_rule_without_a_selector_taints_nothing() -> None:
    rule = make.taint_rule("drain")
    del rule["spec"]["deviceSelector"]
    cluster = build.cluster(*OBJECTS, rule)
    assert preview(taintpreview.of_rule(cluster, "drain"), cluster) == Preview()


# --- page and REST ---------------------------------------------------------------------------------------------------


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(*OBJECTS, *waiting("one"), make.taint_rule("drain", pool="node-1"))
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def get(**query: str) -> str:
    response = Client().get("/taints?" + urlencode(query))
    assert response.status_code == 200, response.content[:500]
    page = response.content.decode()
    assert EVIL not in page
    assert html.read(page).faults == []
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def api(status: int = 200, **query: str) -> Any:
    response = Client().get("/api/v1/taints?" + urlencode(query))
    assert response.status_code == status, response.content
    return response.json()


@pytest.mark.usefixtures("scene")
def test_the_page_lists_the_rules_and_previews_what_is_asked() -> None:
    empty = get()
    assert "drain" in empty
    assert "maintenance=planned:NoExecute" in empty
    page = get(pool="node-0", key="maintenance", effect="NoExecute")
    assert "2 pods would be evicted at once, 1 later, 2 stay." in page
    assert "maintenance:NoExecute for 300s" in page
    assert "it is on no node yet" in page
    assert "1 of 1 pending pod" in page


@pytest.mark.usefixtures("scene")
def test_rest_says_the_same() -> None:
    said = api(pool="node-0", key="maintenance")
    assert said["counts"] == {"evicted": 2, "evicted later": 1, "tolerated": 1, "kept": 1}
    assert [p["pod"]["key"] for p in said["pods"]][:2] == ["ml/effectless", "ml/plain"]
    assert said["taint"]["effect"] == "NoExecute"
    assert [r["name"] for r in said["rules"]] == ["drain"]
    assert api(rule="drain")["pending"][0]["nodesAfter"] == 1
    assert api()["pods"] == []
    assert api(400, effect="nonsense")["allowed"] == ["NoExecute", "NoSchedule", "None"]


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize("query", [{"rule": "none"}, {"pool": EVIL}, {"key": EVIL, "effect": EVIL}, {"rule": EVIL}])
def test_whatever_is_asked_the_page_stands(query: dict[str, str]) -> None:
    assert json.dumps(query)
    get(**query)


def test_it_looks_at_the_pods_of_then(scene: Scene) -> None:
    then = show(scene.now)
    scene.now += 60
    scene.delete(OBJECTS[5])
    scene.look()
    assert api(pool="node-0", key="maintenance")["counts"]["evicted"] == 1
    assert api(pool="node-0", key="maintenance", at=then)["counts"]["evicted"] == 2
