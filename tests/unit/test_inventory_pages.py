"""Device classes, pools, slices and devices over HTTP: pages and REST, filters, what is missing, navigation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from django.test import Client

from dradash.reader import current
from dradash.reader.moment import show
from dradash.store.model import HistoryEntry, SyncState
from dradash.web.presenters import slices
from tests import build
from tests import builddevices as make
from tests.scene import Scene
from tests.unit import html

EVIL = "<b>evil</b>"
POD = build.pod("train", "ml", claims={"gpu": "one"}, node="node-0")
TAINT = {"key": "broken", "value": EVIL, "effect": "NoSchedule", "timeAdded": build.CREATED}
MEMORY = {"memory": {"value": "40Gi"}}
A100 = 'device.attributes["gpu.example.com"].model == "a100"'
COUNTERS = [{"name": "set", "counters": {"slots": {"value": "4"}}}]
TAKES = [{"counterSet": "set", "counters": {"slots": {"value": "3"}}}]
NODE_SLICE = make.resource_slice(
    make.device("gpu-0", capacity=MEMORY), make.device("gpu-1", EVIL, taints=[TAINT]), name="local"
)
OBJECTS = (
    *(build.node(f"node-{i}") for i in range(2)),
    NODE_SLICE,
    make.resource_slice(make.device("half"), node="node-1", count=2, name="half"),
    make.resource_slice(make.device("x"), make.device("x"), node="node-1", pool="twice", name="twice"),
    make.resource_slice(sharedCounters=COUNTERS, count=2, name="rack-counters", pool="rack/a", allNodes=True),
    make.resource_slice(
        make.device("part", consumesCounters=TAKES), count=2, name="rack-devices", pool="rack/a", allNodes=True
    ),
    make.device_class("gpu", 'device.driver == "gpu.example.com"', A100),
    make.device_class("fails", 'device.attributes["gpu.example.com"].nothing == 1'),
    POD,
    make.claim("one", "ml", devices=[make.result("gpu-0")], reserved_for=[POD]),
    make.claim("two", "ml", devices=[make.result("part", pool="rack/a"), make.result("gone")]),
    make.claim("lost", "ml", make.request("gpu", "absent")),
)


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(*OBJECTS)
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def get(path: str, status: int = 200) -> str:
    response = Client().get(path)
    assert response.status_code == status, response.content[:500]
    text = response.content.decode()
    assert EVIL not in text
    return text


def ask(path: str) -> Any:
    response = Client().get("/api/v1" + path)
    assert response.status_code == 200, response.content
    return response.json()


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize(
    "path",
    [
        "/deviceclasses",
        "/deviceclasses?q=nothing+like+it",
        "/deviceclasses/gpu",
        "/deviceclasses/fails",
        "/pools?state=invalid&sort=-devices",
        "/pools?q=nothing+like+it",
        "/pools/gpu.example.com/rack/a",
        "/pools/gpu.example.com/twice",
        "/slices?node=node-1&sort=created",
        "/slices/local",
        "/devices?state=tainted",
        "/devices?state=nonsense&page=7",
        "/devices/gpu.example.com/rack/a/part",
        "/devices/gpu.example.com/node-0/gone",
        "/nodes/node-0",
        "/ns/ml/claims/two",
    ],
)
def test_pages_are_valid_html(path: str) -> None:
    assert html.read(get(path)).faults == []


@pytest.mark.usefixtures("scene")
def test_a_class_shows_what_each_selector_leaves_and_what_claims_miss() -> None:
    page = get("/deviceclasses")
    assert "absent" in page
    assert "selector fails" in page
    rows = {r["name"]: r for r in ask("/deviceclasses")["items"]}
    assert [s["devices"] for s in rows["gpu"]["selectors"]] == [3, 2]
    assert (rows["gpu"]["devices"], rows["gpu"]["devicesTotal"]) == (2, 3)
    assert rows["gpu"]["claims"] == {"Allocated": 1, "Reserved": 1}
    assert rows["fails"]["selectors"][0]["failed"] == 3
    assert "cannot be evaluated for 3 devices" in get("/deviceclasses/fails")


@pytest.mark.usefixtures("scene")
def test_a_pool_says_why_none_of_its_devices_is_allocated() -> None:
    rows = {r["pool"]: r for r in ask("/pools")["items"]}
    assert {pool: (r["state"], r["why"]) for pool, r in rows.items()} == {
        "node-0": ("usable", None),
        "node-1": ("incomplete", "1 of 2 slices of generation 1"),
        "rack/a": ("usable", None),
        "twice": ("invalid", "duplicate device name x"),
    }
    assert [r["pool"] for r in ask("/pools?state=invalid")["items"]] == ["twice"]
    assert "1 of 2 slices of generation 1" in get("/pools")
    assert "More than one device is named" in get("/pools/gpu.example.com/twice")


@pytest.mark.usefixtures("scene")
def test_shared_counters_are_told_with_what_is_used_of_them() -> None:
    pool = ask("/pools/gpu.example.com/rack/a")
    use = {"counterSet": "set", "name": "slots", "used": "3", "total": "4", "share": 0.75, "error": None}
    assert pool["counters"] == [use]
    assert "3 of 4 used" in get("/pools/gpu.example.com/rack/a")
    assert "3 of 4 used" in get("/devices/gpu.example.com/rack/a/part")


def test_a_device_whose_counters_others_use_up_is_told_as_blocked(scene: Scene) -> None:
    other = make.device("other", consumesCounters=TAKES)
    more = make.resource_slice(other, count=3, name="rack-more", pool="rack/a", allNodes=True)
    counters, parts = OBJECTS[5:7]
    for each in (counters, parts):
        scene.put(each | {"spec": each["spec"] | {"pool": each["spec"]["pool"] | {"resourceSliceCount": 3}}})
    scene.put(more)
    scene.look()
    assert ask("/devices/gpu.example.com/rack/a/other")["device"]["state"] == "blocked by counters"
    (row,) = ask("/devices?state=blocked+by+counters")["items"]
    assert (row["pool"], row["device"], row["holders"]) == ("rack/a", "other", [])
    assert "other" not in [r["device"] for r in ask("/devices?state=free")["items"]]
    page = get("/devices/gpu.example.com/rack/a/other")
    assert "No claim holds it, but its pool has too little left of a counter that it takes of" in page
    assert "Free" not in page
    assert "/devices?driver=gpu.example.com&amp;state=blocked+by+counters" in get("/drivers/gpu.example.com")
    assert ask("/deviceclasses/gpu")["deviceClass"]["devicesFree"] == 0
    scene.delete(make.claim("two", "ml"))
    scene.look()
    assert ask("/devices/gpu.example.com/rack/a/other")["device"]["state"] == "free"


@pytest.mark.usefixtures("scene")
def test_the_ledger_says_who_holds_a_device_and_what_keeps_others_off() -> None:
    device = ask("/devices/gpu.example.com/node-0/gpu-0")["device"]
    assert device["state"] == "held"
    assert [(h["claim"]["key"], h["pods"]) for h in device["holders"]] == [("ml/one", ["ml/train"])]
    page = get("/devices/gpu.example.com/node-0/gpu-0")
    assert '<a href="/ns/ml/claims/one">ml/one</a>' in page
    assert '<a href="/ns/ml/pods/train">train</a>' in page
    (tainted,) = ask("/devices?state=tainted")["items"]
    assert (tainted["device"], tainted["taints"][0]["since"]) == ("gpu-1", build.CREATED)
    assert "Taint" in get("/devices/gpu.example.com/node-0/gpu-1")


@pytest.mark.usefixtures("scene")
def test_a_device_that_is_held_and_not_published_has_a_page() -> None:
    page = get("/devices/gpu.example.com/node-0/gone")
    assert "Not published" in page
    assert "ml/two" in page
    assert ask("/devices/gpu.example.com/node-0/gone")["device"] is None
    assert "does not publish this device any more" in get("/ns/ml/claims/two")


@pytest.mark.usefixtures("scene")
def test_what_nobody_publishes_is_missing() -> None:
    driver = make.DRIVER
    for path in (f"/pools/{driver}/none", f"/devices/{driver}/none/gpu-0", "/slices/none", "/deviceclasses/no"):
        get(path, 404)
        assert Client().get("/api/v1" + path).status_code == 404


@pytest.mark.usefixtures("scene")
def test_a_pods_claims_are_there_with_their_classes_and_drivers() -> None:
    page = get("/ns/ml/pods/train").split('id="claims-title"', 1)[1]
    assert '<a href="/deviceclasses/gpu">gpu</a>' in page
    assert '<a href="/drivers/gpu.example.com">gpu.example.com</a>' in page
    assert "Missing" not in page.split("</section>", 1)[0]


@pytest.mark.usefixtures("scene")
def test_a_node_has_its_devices_with_their_holders() -> None:
    assert "1 of 2 held" in get("/nodes/node-0")
    node = ask("/nodes/node-0")
    assert [(d["device"], d["state"]) for d in node["devices"]] == [("gpu-0", "held"), ("gpu-1", "free")]
    assert node["devicesTotal"] == 2


def test_pages_of_the_past_show_what_was_published_and_held_then(scene: Scene) -> None:
    before = show(scene.now)
    scene.put(make.claim("one", "ml"), make.resource_slice(make.device("new"), generation=2, name="local"))
    scene.look()
    assert "gpu-0" not in get("/pools/gpu.example.com/node-0")
    assert "gpu-0" in get(f"/pools/gpu.example.com/node-0?at={before}")
    assert ask(f"/devices/gpu.example.com/node-0/gpu-0?at={before}")["device"]["state"] == "held"
    gone = get("/devices/gpu.example.com/node-0/gpu-0")
    assert "This device is gone" in gone


def test_what_is_gone_shows_its_last_state(scene: Scene) -> None:
    scene.delete(NODE_SLICE)
    scene.delete(make.device_class("fails"))
    scene.look()
    assert "This slice is gone" in get("/slices/local")
    assert ask("/slices/local")["gone"]
    assert "This class is gone" in get("/deviceclasses/fails")
    assert ask("/deviceclasses/fails")["gone"]


def test_a_slice_of_a_pool_that_is_gone_is_not_said_to_be_outdated(scene: Scene) -> None:
    scene.delete(NODE_SLICE)
    scene.look()
    page = get("/slices/local")
    assert "Outdated" not in page
    assert "Usable" in page, "its pool as it was last"
    assert "/ns/ml/claims/one" in page, "who had its device then"
    assert ask("/slices/local")["slice"]["newest"] is True


def test_an_outdated_slice_that_is_gone_was_outdated(scene: Scene) -> None:
    scene.put(make.resource_slice(make.device("gpu-0"), name="newer", generation=2))
    scene.delete(NODE_SLICE)
    scene.look()
    assert "Outdated" in get("/slices/local")
    assert ask("/slices/local")["slice"]["newest"] is False


def test_where_history_has_no_moment_before_a_slice_went_its_pool_is_said_to_be_gone() -> None:
    raw = msgspec.json.encode(NODE_SLICE)
    world = Scene().web.follower
    last = HistoryEntry(revision=1, at=build.NOW, type="DELETED", object=raw)
    with world.world() as empty:
        view = slices.detail(empty, "local", last)
    assert view is not None
    assert (view.row.chip.text, view.gone) == ("The pool is gone", build.NOW)


def test_a_pool_and_its_devices_that_are_gone_are_answered_with_their_last_state(scene: Scene) -> None:
    scene.delete(make.claim("one", "ml", devices=[make.result("gpu-0")], reserved_for=[POD]))
    scene.delete(NODE_SLICE)
    gone = scene.now
    scene.put(build.node("node-7"))  # time went on
    scene.look()
    moment = f"?at={quote(show(gone - 0.001), '')}"
    for path, there in (("/pools/gpu.example.com/node-0", "gpu-0"), ("/devices/gpu.example.com/node-0/gpu-1", "Free")):
        page = get(path)
        assert html.read(page).faults == []
        assert "is gone</b> since" in page
        assert there in page
        assert moment in page
        assert "is gone" not in get(path + moment), "just before it was there"
        assert ask(path)["gone"] == show(gone)
        assert ask(path + moment)["gone"] is None
    assert ask("/pools/gpu.example.com/node-0")["pool"]["devices"] == 2
    assert ask("/devices/gpu.example.com/node-0/gpu-1")["device"]["poolState"] == "usable"
    get("/pools/gpu.example.com/never", 404)
    get("/devices/gpu.example.com/node-0/never", 404)


def test_a_device_that_its_slice_does_not_publish_any_more_is_gone(scene: Scene) -> None:
    scene.put(make.resource_slice(make.device("gpu-0", capacity=MEMORY), name="local"))
    gone = scene.now
    scene.put(make.resource_slice(make.device("gpu-0", capacity=MEMORY), make.device("new"), name="local"))
    scene.look()
    told = ask("/devices/gpu.example.com/node-0/gpu-1")
    assert (told["gone"], told["device"]["taints"][0]["key"]) == (show(gone), "broken")
    assert "This device is gone" in get("/devices/gpu.example.com/node-0/gpu-1")


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize("limit", [1, 2, 5])
@pytest.mark.parametrize("sort", ["device", "-device"])
def test_a_walk_by_cursors_meets_each_device_once(sort: str, limit: int) -> None:
    """Also the two of one name."""
    cursor, met = "", []
    while True:
        page = ask(f"/devices?limit={limit}&sort={sort}{cursor}")
        met += [f"{d['pool']}/{d['device']}" for d in page["items"]]
        assert page["total"]["count"] == 6
        if not page["next"]:
            break
        cursor = f"&cursor={page['next']}"
    met = met[::-1] if sort.startswith("-") else met
    assert met == ["node-0/gpu-0", "node-0/gpu-1", "node-1/half", "rack/a/part", "twice/x", "twice/x"]
    assert Client().get("/api/v1/devices?cursor=nonsense").status_code == 400


def sections(page: str) -> list[str]:
    nav = page.split('aria-label="Sections"', 1)[1].split("</nav>", 1)[0]
    return [part.split("<", 1)[0] for part in nav.split(">") if part.split("<", 1)[0].strip()]


@pytest.mark.parametrize(
    ("absent", "hidden", "stay"),
    [
        (("deviceclasses", "resourceslices"), {"Device classes", "Pools", "Devices"}, {"Classes", "Negotiations"}),
        (("resourceclasses", "podschedulingcontexts"), {"Classes", "Negotiations"}, {"Device classes", "Devices"}),
    ],
)
def test_sections_of_what_is_not_served_are_in_nobodys_way(
    absent: tuple[str, ...], hidden: set[str], stay: set[str]
) -> None:
    made = Scene(build.node("node-0"))
    for kind in absent:
        made.sync(kind, "notServed")
    made.look()
    current.use(made.web)
    shown = set(sections(get("/")))
    current.use(None)
    assert not hidden & shown
    assert stay <= shown


@pytest.mark.parametrize("absent", [("deviceclasses", "resourceslices"), ("resourceclasses", "podschedulingcontexts")])
def test_kinds_of_the_other_generation_are_neither_missed_nor_a_finding(absent: tuple[str, ...]) -> None:
    made = Scene(build.node("node-0"))
    for kind in absent:
        made.sync(kind, "notServed")
    made.look()
    made.web.doctor.look(made.now + 900)
    current.use(made.web)
    page, doctor = get("/"), get("/doctor")
    findings = made.web.doctor.report().findings
    current.use(None)
    assert "Not known now" not in page
    assert [f.code for f in findings if f.code == "kind-not-served"] == []
    assert "kind-not-served" not in doctor


def test_a_kind_that_is_missed_is_named() -> None:
    made = Scene(build.node("node-0"))
    for kind in ("deviceclasses", "resourceslices", "resourceclasses", "podschedulingcontexts"):
        made.sync(kind, "notServed")
    made.look()
    current.use(made.web)
    page = get("/")
    current.use(None)
    assert "Not known now" in page
    assert "resourceslices" in page


def claims_of(page: str) -> str:
    return page.split('id="claims-title"', 1)[1].split("</section>", 1)[0]


@pytest.mark.usefixtures("scene")
def test_a_pod_that_runs_names_its_devices() -> None:
    said = claims_of(get("/ns/ml/pods/train"))
    assert '<a href="/devices/gpu.example.com/node-0/gpu-0">gpu-0</a>' in said
    assert 'pool <a href="/pools/gpu.example.com/node-0">node-0</a>' in said
    assert "model <b>a100</b>" in said
    assert "memory <b>40Gi</b>" in said
    assert "Shared with" not in said


def test_a_pods_devices_say_their_share_and_who_else_has_one(scene: Scene) -> None:
    user = build.pod("user", "ml", claims={"gpu": "three"}, node="node-0")
    mine = make.result("gpu-0", shareID="s1", consumedCapacity={"memory": "10Gi"})
    scene.put(
        make.claim("one", "ml", devices=[mine], reserved_for=[POD]),
        make.claim("three", "ml", devices=[mine | {"shareID": "s2"}], reserved_for=[user]),
        user,
    )
    scene.look()
    said = claims_of(get("/ns/ml/pods/train"))
    assert "share s1" in said
    assert "memory <b>10Gi of 40Gi</b>" in said
    assert 'Shared with <a href="/ns/ml/claims/three">ml/three</a> for <a href="/ns/ml/pods/user">user</a>.' in said
    assert '<a href="/ns/ml/pods/user">user</a>' in get("/ns/ml/claims/one")


def test_a_pod_of_an_extended_resource_names_its_class_and_the_class_names_the_pod(scene: Scene) -> None:
    asks = {"containers": [{"name": "c", "resources": {"requests": {"example.com/gpu": "2"}}}]}
    pod = build.pod("asks", "ml", spec=asks)
    scene.model.set_sync(scene.epoch, SyncState("resourceclaims", "synced", "v1"), scene.now)
    scene.put(pod, make.device_class("behind", 'device.driver == "none"', extendedResourceName="example.com/gpu"))
    scene.look()
    page = get("/ns/ml/pods/asks")
    assert "claim ml/&lt;extended-resources&gt;" in page
    assert "/ns/ml/claims/" not in page  # there is no such object yet
    said = claims_of(page)
    assert '<a href="/deviceclasses/behind">behind</a>' in said
    assert "<code>2 example.com/gpu</code>" in said
    assert "not created yet" in said
    assert "Missing" not in said
    assert {r["name"]: r["podsWaiting"] for r in ask("/deviceclasses?q=behind")["items"]} == {"behind": 1}
    assert "/ns/ml/pods/asks" in get("/deviceclasses/behind")
    special = make.claim(
        "asks-claim",
        "ml",
        make.request("container-0-request-0", "behind"),
        devices=[make.result("gpu-1", request="container-0-request-0")],
        ownerReferences=[build.owner(pod)],
        annotations={"resource.kubernetes.io/extended-resource-claim": "true"},
    )
    scene.put(special)
    scene.look()
    said = claims_of(get("/ns/ml/pods/asks"))
    assert '<a href="/ns/ml/claims/asks-claim">' in said
    assert '<a href="/devices/gpu.example.com/node-0/gpu-1">gpu-1</a>' in said


@pytest.mark.usefixtures("scene")
def test_drivers_of_a_claim_that_waits_are_not_chosen_yet() -> None:
    row = get("/claims?q=lost").split('data-label="Driver"', 1)[1].split("</td>", 1)[0]
    assert "not chosen yet" in row
    assert "unknown" not in row


def test_configuration_says_whose_it_is_and_what_would_be_gathered(scene: Scene) -> None:
    opaque = {"opaque": {"driver": make.DRIVER, "parameters": {"mode": "fast"}}}
    scene.put(make.device_class("tuned", config=[opaque]), make.claim("new", "ml", make.request("r", "tuned")))
    scene.look()
    assert "of the class tuned, for r, driver" in get("/ns/ml/claims/new")
    config = [{"source": "FromClass", "requests": ["r"], **opaque}, {"source": "FromClaim", **opaque}]
    allocation = {"devices": {"results": [make.result("gpu-1", request="r")], "config": config}}
    scene.put(make.claim("new", "ml", make.request("r", "tuned"), status={"allocation": allocation}))
    scene.look()
    page = get("/ns/ml/claims/new")
    assert "of the class tuned, for r, driver" in page
    assert "of the claim, for all requests, driver" in page


def test_a_class_that_cannot_be_read_is_not_among_those_that_claims_miss(scene: Scene) -> None:
    scene.put(make.device_class("absent") | {"spec": "nonsense"})
    scene.look()
    page = get("/deviceclasses")
    assert "Claims name" not in page
    assert "/deviceclasses/absent" in page.split("Malformed", 1)[1]


def test_the_kubelets_word_on_the_health_of_devices_is_told(scene: Scene) -> None:
    resources = [{"resourceID": "gpu.example.com/gpu=gpu-0", "health": "Unhealthy"}]
    told = [{"name": "c", "allocatedResourcesStatus": [{"name": "claim:gpu/gpu", "resources": resources}]}]
    scene.put(POD | {"status": {"phase": "Running", "containerStatuses": told}})
    scene.look()
    said = claims_of(get("/ns/ml/pods/train"))
    assert "gpu.example.com/gpu=gpu-0" in said
    assert "Unhealthy" in said
    scene.put(POD | {"status": {"phase": "Running", "containerStatuses": [{"allocatedResourcesStatus": 7}]}})
    scene.look()
    assert "The kubelet says" not in get("/ns/ml/pods/train")


def test_a_device_shows_what_its_driver_reports_of_it(scene: Scene) -> None:
    ready = {"type": "Ready", "status": "False", "reason": "Hot", "message": EVIL, "lastTransitionTime": build.CREATED}
    status = {"devices": [{"driver": make.DRIVER, "pool": "node-0", "device": "gpu-0", "conditions": [ready]}]}
    scene.put(make.claim("one", "ml", devices=[make.result("gpu-0")], reserved_for=[POD], status=status))
    scene.look()
    page = get("/devices/gpu.example.com/node-0/gpu-0")
    assert "<b>Ready</b>" in page
    assert "Hot: &lt;b&gt;evil" in page
    assert "Ready is False" in get("/devices?state=held")


def test_capacity_of_a_pool_and_of_a_slice_is_summed_with_what_is_used(scene: Scene) -> None:
    share = make.result("gpu-0", shareID="s1", consumedCapacity={"memory": "10Gi"})
    more = make.resource_slice(make.device("gpu-2", capacity=MEMORY), pool="node-0", count=2, name="more")
    scene.put(
        make.claim("one", "ml", devices=[share]),
        more,
        NODE_SLICE | {"spec": NODE_SLICE["spec"] | {"pool": more["spec"]["pool"]}},
    )
    scene.look()
    assert "10Gi of 80Gi used" in get("/pools/gpu.example.com/node-0")
    assert "10Gi of 40Gi used" in get("/slices/local")
    assert "2 of 2 are there" in get("/slices/local")


@pytest.mark.usefixtures("scene")
def test_a_slice_shows_its_counters_and_the_duplicates_of_its_pool() -> None:
    assert "3 of 4 used" in get("/slices/rack-counters")
    assert "3 of 4 used" not in get("/slices/rack-devices")
    assert "more than one device is named" in get("/slices/twice")
    assert "1 of 2 are there" in get("/slices/half")


@pytest.mark.usefixtures("scene")
def test_a_node_names_the_pools_that_reach_it_without_being_its_own() -> None:
    page = get("/nodes/node-1")
    said = page.split("Pools that reach it", 1)[1].split("</p>", 1)[0]
    assert 'href="/pools/gpu.example.com/rack/a"' in said
    assert "(1 of 1 held)" in said
    assert said.count("<a ") == 1


def test_claims_that_administer_a_device_are_told_beside_those_that_hold_it(scene: Scene) -> None:
    scene.put(make.claim("monitor", "ops", devices=[make.result("gpu-0", adminAccess=True)], reserved_for=[POD]))
    scene.look()
    page = get("/devices/gpu.example.com/node-0/gpu-0")
    held, _, administered = page.partition("Administered by")
    assert "/ns/ml/claims/one" in held
    assert "/ns/ops/claims/monitor" not in held
    assert "/ns/ops/claims/monitor" in administered
    body = ask("/devices/gpu.example.com/node-0/gpu-0")
    assert [h["claim"]["key"] for h in body["holders"]] == ["ml/one"]
    assert ([h["claim"]["key"] for h in body["adminAccess"]], body["adminAccessTotal"]) == (["ops/monitor"], 1)
    assert "Administered by" not in get("/devices/gpu.example.com/node-0/gpu-1")
