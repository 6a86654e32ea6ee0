"""A driver of structured parameters: what it publishes, what is taken of it, what it owes and what it reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from dradash.reader import current
from dradash.reader.devicedrivers import drivers_asked
from dradash.reader.moment import show
from dradash.scheduling.structured import usage
from dradash.scheduling.structured.anymatch import Budget
from tests import build
from tests import builddevices as make
from tests.scene import Scene
from tests.unit import html

DRIVER = make.DRIVER
POD = build.pod("train", "ml", claims={"gpu": "one"}, node="node-0")
TAINT = {"key": "broken", "value": "fan", "effect": "NoSchedule"}
WAITS: dict[str, Any] = {"bindingConditions": ["Attached"]}
READY = {"type": "Ready", "status": "True", "reason": "Up", "message": "", "lastTransitionTime": build.CREATED}
HOT = {"type": "Cool", "status": "False", "reason": "Hot", "message": "95 degrees", "lastTransitionTime": build.CREATED}
REPORTED = {"driver": DRIVER, "pool": "node-0", "device": "gpu-0", "conditions": [READY, HOT]}
OBJECTS = (
    *build.nodes(3),
    make.resource_slice(make.device("gpu-0"), make.device("gpu-1", taints=[TAINT]), make.device("gpu-2")),
    make.resource_slice(make.device("half"), node="node-1", count=2, generation=7),
    make.resource_slice(make.device("x"), make.device("x"), node="node-2"),
    make.resource_slice(make.device("nic-0"), driver="nic.example.com", pool="nics"),
    make.device_class("gpu", f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].model == "a100"'),
    make.device_class("quoted", f"'{DRIVER}' == device.driver"),
    make.device_class("other", f'device.driver != "{DRIVER}" || device.driver == "{DRIVER}"'),
    POD,
    make.claim("one", "ml", devices=[make.result("gpu-0")], reserved_for=[POD], status={"devices": [REPORTED]}),
    make.claim("two", "ml", devices=[make.result("gpu-2", **WAITS)]),
    make.claim("later", "ml", make.request("gpu", "gpu")),
    build.pod("waits", "ml", claims={"gpu": "later"}),
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
    assert html.read(text).faults == []
    return text


def ask(path: str) -> Any:
    response = Client().get("/api/v1" + path)
    assert response.status_code == 200, response.content
    return response.json()


@pytest.mark.parametrize(
    ("expression", "drivers"),
    [
        (f'device.driver == "{DRIVER}"', [DRIVER]),
        (f"( '{DRIVER}'==device.driver ) && true", [DRIVER]),
        (f'device.driver != "{DRIVER}"', []),
        (f'device.driver == "{DRIVER}" || true', []),
        (f'!(device.driver == "{DRIVER}")', []),
        ("true", []),
        ("device.driver ==", []),
    ],
)
def test_a_selector_asks_for_a_driver_where_nothing_else_can_pass(expression: str, drivers: list[str]) -> None:
    assert list(drivers_asked(expression)) == drivers


@pytest.mark.usefixtures("scene")
def test_a_driver_shows_its_pools_devices_claims_and_the_classes_that_ask_for_it() -> None:
    row = ask(f"/drivers/{DRIVER}")["driver"]
    assert row["pools"] == {"usable": 1, "incomplete": 1, "invalid": 1}
    assert [row[n] for n in ("devices", "devicesHeld", "devicesTainted")] == [6, 2, 1]
    assert (row["classes"], row["deviceClasses"]) == ([], ["gpu", "quoted"])
    assert row["claims"] == {"Allocated": 1, "Reserved": 1}
    page = get(f"/drivers/{DRIVER}")
    assert "no class names it" not in page
    assert '<a href="/deviceclasses/gpu">gpu</a>' in page
    assert f'<a href="/devices?driver={DRIVER}&amp;state=taken">2 held</a>' in page
    assert f'<a href="/devices?driver={DRIVER}&amp;state=tainted">1 tainted</a>' in page
    assert [d["device"] for d in ask(f"/devices?driver={DRIVER}&state=taken")["items"]] == ["gpu-0", "gpu-2"]
    assert "1 of 2 slices of generation 7" in page.split('id="pools-title"', 1)[1].split("</section>", 1)[0]
    assert "Half within" not in page, "it answers no negotiation"
    assert "How long negotiations take" not in page


@pytest.mark.usefixtures("scene")
def test_links_of_a_driver_show_what_they_count() -> None:
    main = get(f"/devices?driver={DRIVER}&state=taken").split("<tbody>", 1)[1]
    assert "gpu-0" in main
    assert "gpu-2" in main
    assert "gpu-1" not in main


@pytest.mark.usefixtures("scene")
def test_the_list_of_drivers_counts_devices_and_pools_that_give_none() -> None:
    page = get("/drivers")
    row = page.split(f'<a href="/drivers/{DRIVER}"', 1)[1].split("</tr>", 1)[0]
    assert "2 of 6" in row
    assert "1 incomplete" in row
    assert "1 invalid" in row
    assert "Owes a move" in row
    other = page.split('<a href="/drivers/nic.example.com"', 1)[1].split("</tr>", 1)[0]
    assert "0 of 1" in other
    assert "Owes nothing" in other


@pytest.mark.usefixtures("scene")
def test_a_driver_owes_whole_pools_and_binding_conditions() -> None:
    owed = ask(f"/drivers/{DRIVER}")["debts"]
    assert sorted((d["stage"], d["pool"], d["claim"], d["what"], d["url"]) for d in owed) == [
        ("Binding", "", "ml/two", "report Attached for device node-0/gpu-2", "/api/v1/claims/ml/two"),
        (
            "Pool",
            f"{DRIVER}/node-1",
            "",
            "publish the pool whole: 1 of 2 slices of generation 7 are there",
            f"/api/v1/pools/{DRIVER}/node-1",
        ),
        (
            "Pool",
            f"{DRIVER}/node-2",
            "",
            "correct the slices: duplicate device name x",
            f"/api/v1/pools/{DRIVER}/node-2",
        ),
    ]
    assert ask(f"/drivers/{DRIVER}")["driver"]["owed"] == 3
    page = get(f"/drivers/{DRIVER}")
    assert "Owes a move" in page
    assert f'<a href="/pools/{DRIVER}/node-1">node-1</a></th><td data-label="Claim">' in page


def test_a_driver_owes_nothing_once_it_has_published_and_reported_all(scene: Scene) -> None:
    met = {
        "driver": DRIVER,
        "pool": "node-0",
        "device": "gpu-2",
        "conditions": [{"type": "Attached", "status": "True"}],
    }
    scene.put(
        make.resource_slice(make.device("half"), node="node-1", count=1, generation=8),
        make.resource_slice(make.device("x"), node="node-2", generation=2),
        make.claim("two", "ml", devices=[make.result("gpu-2", **WAITS)], status={"devices": [met]}),
    )
    scene.look()
    assert ask(f"/drivers/{DRIVER}")["debts"] == []
    page = get(f"/drivers/{DRIVER}")
    assert "Owes nothing" in page
    assert ask(f"/drivers/{DRIVER}")["driver"]["lastHeard"], "its slices changed"


@pytest.mark.usefixtures("scene")
def test_what_a_driver_reports_of_devices_is_told_what_is_wrong_first() -> None:
    reports = ask(f"/drivers/{DRIVER}")["reports"]
    assert [(r["condition"], r["status"], r["reason"]) for r in reports] == [
        ("Cool", "False", "Hot"),
        ("Ready", "True", "Up"),
    ]
    assert (reports[0]["claim"]["key"], reports[0]["device"]) == ("ml/one", f"{DRIVER}/node-0/gpu-0")
    assert "Hot: 95 degrees" in get(f"/drivers/{DRIVER}")


@pytest.mark.usefixtures("scene")
def test_pods_that_wait_for_a_class_of_the_driver_wait_for_it() -> None:
    assert "/ns/ml/pods/waits" in get(f"/drivers/{DRIVER}")
    assert "/ns/ml/pods/waits" not in get("/drivers/nic.example.com")


def test_allocations_are_counted_as_they_come(scene: Scene) -> None:
    assert ask(f"/drivers/{DRIVER}")["driver"]["allocations"] == 0, "they were there before anybody looked"
    scene.put(make.claim("later", "ml", make.request("gpu", "gpu"), devices=[make.result("gpu-1")]))
    scene.look()
    row = ask(f"/drivers/{DRIVER}?at={show(scene.now)}")["driver"]
    assert (row["allocations"], row["deallocations"]) == (1, 0)
    assert row["allocationsPerMinute"] == pytest.approx(0.2)
    scene.put(make.claim("later", "ml", make.request("gpu", "gpu")))
    scene.look()
    assert ask(f"/drivers/{DRIVER}")["driver"]["deallocations"] == 1
    assert ask("/drivers/nic.example.com")["driver"]["allocations"] == 0


def test_a_class_says_how_many_of_its_devices_are_free(scene: Scene) -> None:
    def told(name: str) -> list[int]:
        row = ask(f"/deviceclasses/{name}")["deviceClass"]
        return [row[n] for n in ("devices", "devicesFree", "devicesTainted", "devicesTotal")]

    assert told("gpu") == [3, 0, 1, 4]
    scene.put(make.claim("later", "ml", make.request("gpu", "gpu"), devices=[make.result("gpu-1")]))
    scene.look()
    assert told("gpu") == [3, 0, 0, 4]
    assert "none free" in get("/deviceclasses/gpu")
    scene.put(make.resource_slice(make.device("gpu-0"), make.device("new"), generation=2))
    scene.look()
    assert told("gpu") == [2, 1, 0, 3]
    assert "2 of 3, 1 free" in get("/deviceclasses")


def test_devices_that_are_tainted_are_free_to_those_who_tolerate_it_only(scene: Scene) -> None:
    """As dradash_class_devices counts them. A taint without an effect of these keeps nobody away."""
    taints = [{"key": "broken", "effect": effect} for effect in ("NoSchedule", "NoExecute", "None")]
    devices = [make.device(f"new-{i}", taints=[taint]) for i, taint in enumerate(taints)]
    scene.put(make.resource_slice(*devices, generation=2))
    scene.look()
    row = ask("/deviceclasses/gpu")["deviceClass"]
    with scene.web.follower.world() as world:
        of = world.cluster.device_classes["gpu"]
        chain = tuple(s.cel.expression for s in of.spec.selectors if s.cel is not None)
        counted = usage.of_class(world.cluster.inventory, chain, Budget(100))
    assert counted is not None
    assert (row["devicesFree"], row["devicesTainted"]) == (counted[usage.FREE], counted[usage.TAINTED]) == (1, 2)
    page = " ".join(get("/deviceclasses/gpu").split())
    assert "3 of 4, 1 free, 2 tainted" in page
