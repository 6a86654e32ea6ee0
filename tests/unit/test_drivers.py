"""One driver is the same as in the list of all, and costs its own claims only."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from django.test import Client

from dradash.reader import current
from dradash.reader.drivers import driver_item, driver_items
from dradash.scheduling.classic.claims import claims_of, driver_of
from tests import build
from tests.scene import Scene

DRIVERS = ("gpu.example.com", "nic.example.com", "fpga.example.com")
HEARD_ONLY = "heard.example.com"


def _scene(seed: int) -> Scene:
    rng = random.Random(seed)
    classes = [build.resource_class(f"class-{i}", driver=DRIVERS[i % 2]) for i in range(4)]
    scene = Scene(*build.nodes(3), *classes, build.namespace("ml"))
    for i in range(30):
        allocated = rng.random() < 0.4
        claim = build.claim(
            f"claim-{i}",
            "ml",
            resource_class=f"class-{rng.randrange(6)}",  # two of them do not exist
            mode=rng.choice(("Immediate", "WaitForFirstConsumer")),
            allocation=build.allocation("node-0") if allocated else None,
            driver=rng.choice(DRIVERS),
            deallocation_requested=allocated and rng.random() < 0.5,
        )
        pod = build.pod(f"pod-{i}", "ml", claims={"one": f"claim-{i}", "two": f"claim-{rng.randrange(30)}"})
        scene.put(claim, pod)
        if rng.random() < 0.6:
            scene.put(build.context(pod, potential=["node-0", "node-1"], selected=rng.choice(("", "node-0"))))
    scene.look()
    scene.web.follower.observations.drivers._of(HEARD_ONLY).moves.add(scene.now)
    return scene


@pytest.mark.parametrize("seed", range(8))
def test_one_driver_is_as_in_the_list_of_all(seed: int) -> None:
    scene = _scene(seed)
    seen = scene.web.follower.observations
    with scene.web.follower.world() as world:
        every = {i.name: i for i in driver_items(world, seen.drivers, scene.now, seen.waits)}
        assert {*DRIVERS[:2], HEARD_ONLY} <= set(every) <= {*DRIVERS, HEARD_ONLY}
        assert any(i.debts for i in every.values())
        assert any(len(i.claims) > 2 for i in every.values())
        for name, item in every.items():
            assert driver_item(world, seen.drivers, name, scene.now, seen.waits) == item
            claims = world.cluster.claims
            assert claims_of(name, world.cluster) == {
                k for k, c in claims.items() if driver_of(c, world.cluster) == name
            }
        for name in ("", "unheard.of"):
            assert driver_item(world, seen.drivers, name, scene.now, seen.waits) is None


def test_the_index_follows_a_claim_that_another_driver_allocates_or_that_goes() -> None:
    taken = build.claim("c", "ml", allocation=build.allocation("node-0"), driver="nic.example.com")
    cluster = build.cluster(build.resource_class(), build.claim("c", "ml"))
    assert claims_of("gpu.example.com", cluster) == {"ml/c"}
    cluster.put("resourceclaims", "ml/c", build.raw(taken))
    assert claims_of("gpu.example.com", cluster) == set()
    assert claims_of("nic.example.com", cluster) == {"ml/c"}
    assert claims_of("nic.example.com", cluster.copy()) == {"ml/c"}
    cluster.remove("resourceclaims", "ml/c")
    assert "nic.example.com" not in cluster.claims_by_driver


class _NotListed(dict[str, Any]):
    def _refuse(self, *_: object) -> Any:
        raise AssertionError("all of them were listed for one driver")

    values = items = __iter__ = _refuse


def test_one_driver_does_not_look_at_the_claims_and_negotiations_of_others() -> None:
    scene = _scene(1)
    seen = scene.web.follower.observations
    with scene.web.follower.world() as world:
        world.cluster.claims = _NotListed(world.cluster.claims)
        world.cluster.contexts = _NotListed(world.cluster.contexts)
        item = driver_item(world, seen.drivers, DRIVERS[0], scene.now, seen.waits)
        assert item is not None
        assert item.debts
        with pytest.raises(AssertionError, match="all of them"):
            driver_items(world, seen.drivers, scene.now, seen.waits)


def test_owed_is_one_number_in_the_list_its_order_on_the_page_and_in_the_api() -> None:
    """What a driver refuses is answered: it is among those who wait, and not among what is owed."""
    pods = [build.pod(name, "ml", claims={"x": f"{name}-claim"}) for name in ("asked", "refused", "also-refused")]
    scene = Scene(
        *build.nodes(2),
        build.namespace("ml"),
        build.resource_class("gpu", driver="gpu.example.com"),
        build.resource_class("nic", driver="nic.example.com"),
        *pods,
        build.claim("asked-claim", "ml", resource_class="nic"),
        *(build.claim(f"{name}-claim", "ml", resource_class="gpu") for name in ("refused", "also-refused")),
        build.context(pods[0], potential=["node-0"]),
        *(build.context(p, potential=["node-0"], unsuitable={"x": ["node-0"]}) for p in pods[1:]),
    )
    scene.look()
    current.use(scene.web)
    try:
        ask = Client()
        rows = ask.get("/api/v1/drivers?sort=owed").json()["items"]
        assert [(r["name"], r["owed"]) for r in rows] == [("nic.example.com", 1), ("gpu.example.com", 0)]
        listed = re.findall(r'data-label="Owed"[^>]*>(\d+)<', ask.get("/drivers?sort=owed").content.decode())
        assert listed == ["1", "0"]
        for name, said, debts in (
            ("nic", "Who waits for it 1 move owed", 1),
            ("gpu", "Who waits for it 0 moves owed, 2 negotiations where it finds no node suitable", 2),
        ):
            page = " ".join(re.sub("<[^>]*>", " ", ask.get(f"/drivers/{name}.example.com").content.decode()).split())
            assert said in page
            detail = ask.get(f"/api/v1/drivers/{name}.example.com").json()
            assert (detail["driver"]["owed"], len(detail["debts"])) == (2 - debts, debts)
    finally:
        current.use(None)
