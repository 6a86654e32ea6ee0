"""Objects that hold thousands of what usually is a handful: every page stays small, and says what it leaves out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client

from dradash.reader import current
from tests import build
from tests.scene import Scene
from tests.unit import html

MANY = 3000
LARGEST = 300_000  # bytes of a page


def names(prefix: str, count: int = MANY) -> list[str]:
    """About as long as a label's value may be."""
    return [f"{prefix}-{i}-".ljust(60, "x") for i in range(count)]


def selector() -> build.Obj:
    wanted = {"key": "a", "operator": "In", "values": names("v", 7_000)}
    return {"nodeSelectorTerms": [{"matchExpressions": [wanted]} for _ in range(3)]}


MANY_CLAIMS = build.pod("many", claims={f"c{i}": f"claim-{i}" for i in range(MANY)})
SHARED = build.claim(
    "shared",
    allocation=build.allocation() | {"availableOnNodes": selector()},
    reserved_for=[build.pod(f"p{i}") for i in range(MANY)],
    finalizers=[f"example.com/{n}" for n in names("f")],
    ownerReferences=[build.owner(MANY_CLAIMS)] * MANY,
    labels=dict.fromkeys(names("l"), "v"),
    annotations={n: n for n in names("a")},
)
GATED = build.pod(
    "gated",
    claims={"a": "shared"},
    spec={
        "tolerations": [{"key": n, "operator": "Exists"} for n in names("t")],
        "schedulingGates": [{"name": n} for n in names("g")],
        "nodeSelector": dict.fromkeys(names("s"), "v"),
    },
)
NODE = build.node(
    "wide",
    labels=dict.fromkeys(names("l"), "v"),
    taints=[{"key": n, "value": n, "effect": "NoSchedule"} for n in names("t")],
)
TALK = build.context(MANY_CLAIMS, potential=names("n", 128), unsuitable={f"c{i}": names("n", 20) for i in range(MANY)})


@pytest.fixture(scope="module")
def scene() -> Scene:
    claims = [build.claim(f"claim-{i}") for i in range(MANY)]
    made = Scene(*build.nodes(5), NODE, build.resource_class(), MANY_CLAIMS, *claims, SHARED, GATED, TALK)
    made.look()
    return made


@pytest.fixture(autouse=True)
def _used(scene: Scene) -> Iterator[None]:
    current.use(scene.web)
    yield
    current.use(None)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/pods?outcome=any",
        "/ns/default/pods/many",
        "/ns/default/pods/gated",
        "/claims",
        "/ns/default/claims/shared",
        "/ns/default/claims/claim-7",
        "/nodes",
        "/nodes/wide",
        "/negotiations",
        "/ns/default/negotiations/many",
        "/classes/gpu",
        "/drivers",
        "/changes",
    ],
)
def test_no_page_grows_with_what_one_object_holds(path: str) -> None:
    answer = Client().get(path)
    assert answer.status_code == 200
    assert len(answer.content) < LARGEST
    assert html.read(answer.content.decode()).faults == []


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/pods?outcome=any", "and 2992 more"),
        ("/ns/default/pods/many", 'and 2,960 claims more: <a href="/api/v1/pods/default/many">all of them</a>'),
        ("/ns/default/pods/gated", "\u2026 2,980 more"),
        ("/ns/default/pods/gated", ", 3000 in all"),
        ("/claims?sort=-reserved", "and 2998 more"),
        (
            "/ns/default/claims/shared",
            '3,000 consumers in all: <a href="/api/v1/claims/default/shared">all of',
        ),
        ("/ns/default/claims/shared", "\u2026 2,980 more"),
        ("/nodes/wide", "\u2026 2,980 more"),
        ("/ns/default/negotiations/many", "Not shown: 2,976 claims"),
    ],
)
def test_what_is_left_out_is_counted(path: str, said: str) -> None:
    assert said in Client().get(path).content.decode()


def test_the_api_leaves_nothing_out() -> None:
    assert len(Client().get("/api/v1/claims/default/shared").json()["object"]["status"]["reservedFor"]) == MANY
