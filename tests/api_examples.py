"""Writes dradash/api/examples.json, the examples of the OpenAPI document: `python -m tests.api_examples`.

With --check nothing is written: exit 1 where fields or types of an answer are not those of its example (api_shapes.py).

The simulated cluster's demo runs for a while; its changes go into a model, and every endpoint is asked once.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dradash.settings")

import django
from django.test import Client

from dradash.api import openapi
from dradash.api.endpoints import ENDPOINTS
from dradash.api.openapi import EXAMPLES
from dradash.api.schemas import ROOT
from dradash.reader import current
from dradash.reader.moment import show
from dradash.store.model import VERDICTS
from tests import build, builddevices, devicescene, pages
from tests.api_shapes import differences, shape
from tests.scene import Scene
from tests.simworld import scenario

SECONDS: Final = 4.0
SPEED: Final = 25.0
ROWS: Final = 2
SELECTOR: Final = 'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0'
# What endpoints are asked that say nothing else.
ASKED: Final = {
    "selectors": f"?class=a100&limit={ROWS}&" + urlencode({"expression": SELECTOR}),
    "compare": f"?limit={ROWS}&kind=verdicts&" + urlencode({"with": show(build.NOW + 50)}),
    "taints": f"?limit={ROWS}&pool=rack/one&key=maintenance",
}


def watched() -> Scene:
    """The demo after 100 of its seconds."""
    with scenario("demo", speed=SPEED) as world:
        time.sleep(SECONDS)
        rows = list(world.eyes.rows)
    scene = Scene()
    for at, _, type_, obj in rows:
        scene.now = build.NOW + round(at * SPEED, 3)
        scene.model.apply(scene.epoch, [build.write(obj, type_)], [], scene.now)
    for obj in (pages.A100, pages.SLICE, pages.DEVICES):
        scene.model.apply(scene.epoch, [build.write(obj, "ADDED")], [], scene.now)
    scene.judge()
    scene.look()
    return scene


def subjects(scene: Scene) -> dict[str, str]:
    """What is shown of each kind: a pod that negotiates, its claim, a node that refuses it."""
    with scene.web.follower.world() as world:
        key = next(
            k for k, v in sorted(world.verdicts.items()) if v.outcome == "Waiting" and k in world.cluster.contexts
        )
        claim = world.verdicts[key].claims[0]
        return {
            "pods": key,
            "claims": f"{key.partition('/')[0]}/{claim.claim}",
            "negotiations": key,
            "nodes": min(world.cluster.nodes.by_name),
            "classes": claim.resource_class,
            "drivers": claim.driver,
            "deviceclasses": "a100",
            "slices": "slice-one",
        }


def address(path: str, known: dict[str, str], finding: str) -> str:
    namespace, _, name = known.get(path.split("/")[1], "").rpartition("/")
    for part, value in (("driver", builddevices.DRIVER), ("pool", "rack/one"), ("device", "gpu-0")):
        path = path.replace(f"{{{part}}}", value)
    filled = path.replace("{namespace}", namespace).replace("{name}", name).replace("{id}", finding)
    return ROOT + filled


def shortened(value: Any) -> Any:
    """Lists cut to a few rows, names to a few: an example is to be read. Steps of a verdict and of a funnel stay."""
    if isinstance(value, dict):
        return {k: shortened(v) for k, v in value.items()}
    if isinstance(value, list):
        is_steps = bool(value) and isinstance(value[0], dict) and ("point" in value[0] or "stage" in value[0])
        return [shortened(v) for v in (value if is_steps else value[:ROWS])]
    return value


def devices(path: str) -> Any:
    """The demo has no structured parameters: the answer of a scene that has."""
    scene = devicescene.scene()
    scene.look()
    current.use(scene.web)
    return Client(headers={"host": "127.0.0.1"}).get(address(path, {"pods": "team/train"}, ""))


def made() -> dict[str, Any]:
    """The answer of each endpoint, by its name."""
    scene = watched()
    scene.web.doctor.look(scene.now)
    current.use(scene.web)
    known, finding = subjects(scene), scene.web.doctor.report().findings[0].id
    assert scene.model.history(VERDICTS, known["pods"], 0.0, float("inf"), 1)
    client = Client(headers={"host": "127.0.0.1"})
    found = {}
    for endpoint in ENDPOINTS:
        path = address(endpoint.path, known, finding)
        more = ASKED.get(endpoint.name, f"?limit={ROWS}")
        if endpoint.name == "lookup":
            more = "?uid=none&name=" + known["pods"].partition("/")[2]
        response = client.get(path + (more if endpoint.pageable or endpoint.name in (*ASKED, "lookup") else ""))
        if endpoint.name == "pod-devices":
            response = devices(endpoint.path)
            current.use(scene.web)
        assert response.status_code == 200, (path, response.content)
        found[endpoint.name] = shortened(response.json())
    return found


def faults(kept: Mapping[str, Any], found: Mapping[str, Any], document: Mapping[str, Any]) -> list[str]:
    """What the examples that are kept say otherwise than the answers that are found now."""
    schemas, listed = document["components"]["schemas"], []
    for endpoint in ENDPOINTS:
        if endpoint.name not in kept:
            listed.append(f"{endpoint.name}: there is no example")
            continue
        answer = document["paths"][endpoint.path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        was, is_ = (shape(of[endpoint.name], answer, schemas) for of in (kept, found))
        listed += [f"{endpoint.name}: {fault}" for fault in differences(was, is_)]
    return listed + [f"{name}: there is no such endpoint" for name in kept if name not in found]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.api_examples", description=__doc__, allow_abbrev=False)
    parser.add_argument("--check", action="store_true", help="compare fields and types only; write nothing")
    args = parser.parse_args(argv)
    django.setup()
    found = made()
    if args.check:
        wrong = faults(json.loads(EXAMPLES.read_text(encoding="utf-8")), found, json.loads(openapi.document()))
        sys.stdout.writelines(
            f"{line}\n" for line in wrong or [f"{EXAMPLES}: {len(found)} examples are as they are answered"]
        )
        return 1 if wrong else 0
    EXAMPLES.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stdout.write(f"{EXAMPLES}: {len(found)} examples\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
