"""What is typed or pasted into the search, and what it finds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from msgspec import structs

from dradash.reader import current
from dradash.web.presenters import found
from dradash.web.presenters.query import Query
from dradash.web.presenters.search import (
    CLAIMS,
    CLASSES,
    CONTEXTS,
    DEVICES,
    DRIVERS,
    NAMESPACES,
    NODES,
    PODS,
    POOLS,
    TEMPLATES,
    Sought,
    kind_of,
    parse,
)
from tests import build
from tests.scene import Scene

UID = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"


def is_(kind: str = "", *words: str, ns: str = "", soft: str = "", uid: str = "", **labels: str) -> Sought:
    return Sought(words, kind, soft, ns, tuple(labels.items()), uid)


def either(one: Sought, other: Sought) -> Sought:
    return structs.replace(one, otherwise=other)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("", is_()),
        ("   ", is_()),
        ("Train", is_("", "train")),
        ("train gpu", is_("", "train", "gpu")),
        ("pod/x -n y", is_(PODS, "x", ns="y")),
        ("-n y pod x", is_(PODS, "x", ns="y")),
        ("--namespace=y po/x", is_(PODS, "x", ns="y")),
        ("-ny pods x", is_(PODS, "x", ns="y")),
        ("pods x", is_(PODS, "x")),
        ("pods -n y", is_(PODS, ns="y")),
        ("pods", is_("", "pods", soft=PODS)),
        ("node-0", is_("", "node-0")),
        ("resourceclaim/x", is_(CLAIMS, "x")),
        ("resourceclaims.resource.k8s.io x", is_(CLAIMS, "x")),
        ("resourceclaim.v1alpha2.resource.k8s.io/x", is_(CLAIMS, "x")),
        ("ns/x", is_(NAMESPACES, "x")),
        ("ns x", is_(NAMESPACES, "x")),
        ("no/node-1", is_(NODES, "node-1")),
        ("class gpu", is_(CLASSES, "gpu")),
        ("resourceclaimtemplate/x -n y", is_(TEMPLATES, "x", ns="y")),
        ("driver gpu.example.com", is_(DRIVERS, "gpu.example.com")),
        ("ml/train", either(is_("", "train", ns="ml"), is_("", "ml/train"))),
        ("nodes Example.com/Rack", either(is_(NODES, "rack", ns="Example.com"), is_(NODES, "example.com/rack"))),
        ("example.com/ 7", either(is_("", "7", ns="example.com"), is_("", "example.com/", "7"))),
        ("-n y a.b/c", either(is_("", "c", ns="a.b"), is_("", "a.b/c", ns="y"))),
        ("/rack", is_("", "rack")),
        ("pool rack", is_(POOLS, "rack")),
        ("device/gpu.example.com/Rack/one/gpu-0", is_(DEVICES, "gpu.example.com/rack/one/gpu-0")),
        ("/devices/gpu.example.com/rack/one/gpu-0?at=x", is_(DEVICES, "gpu.example.com/rack/one/gpu-0")),
        ("http://d/pools/gpu.example.com/rack%2Fone", is_(POOLS, "gpu.example.com/rack/one")),
        (UID, is_(uid=UID)),
        (UID.upper(), is_(uid=UID)),
        ("1b4e28ba-2fa1-11", is_(uid="1b4e28ba-2fa1-11")),
        ("zone=a", is_(zone="a")),
        ("zone==a", is_(zone="a")),
        ("zone=", is_(zone="")),
        ("nodes -l zone=a,rack=7", is_(NODES, zone="a", rack="7")),
        ("kubectl get pod x -n y -o yaml", is_(PODS, "x", ns="y")),
        ("$ kubectl -n y describe resourceclaim x", is_(CLAIMS, "x", ns="y")),
        ("kubectl get pods -A", is_(PODS)),
        ("kubectl --context prod get node n", is_(NODES, "n")),
        ("get", is_("", "get")),
        ("kubectl", is_("", "kubectl")),
        ("/ns/ml/pods/train?at=x", is_(PODS, "train", ns="ml")),
        ("http://127.0.0.1:8000/ns/ml/claims/a%20b", is_(CLAIMS, "a b", ns="ml")),
        ("/api/v1/namespaces/y/pods/x", is_(PODS, "x", ns="y")),
        ("/apis/resource.k8s.io/v1alpha2/namespaces/y/resourceclaims/x", is_(CLAIMS, "x", ns="y")),
        ("/api/v1/nodes/n", is_(NODES, "n")),
        ("/api/v1/namespaces/y", is_(NAMESPACES, "y")),
        ("/ns/pods/pods/pods", is_(PODS, "pods", ns="pods")),
        ("https://example.com/", is_()),
        ('"open', is_("", "open")),
        ("/", is_("", "/")),
        ("pod/", is_(PODS)),
        ("podschedulingcontexts.resource.k8s.io archive", is_(CONTEXTS, "archive")),
        ("PodSchedulingContext archive -n batch", is_(CONTEXTS, "archive", ns="batch")),
        ("kubectl describe po/typo -n platform | less", is_(PODS, "typo", ns="platform")),
        ("kubectl get pod x -n y >out.txt; ls", is_(PODS, "x", ns="y")),
        ("kubectl get pod x -n y 2>/dev/null", is_(PODS, "x", ns="y")),
        ("| less", is_("", "|", "less")),
        ("po\u202ed/x\t-n\ny\u0007", is_(PODS, "x", ns="y")),
    ],
)
def test_what_is_pasted_is_understood(text: str, meant: Sought) -> None:
    assert parse(text) == meant


def test_endless_text_is_cut() -> None:
    assert len(parse("a " * 10_000).words) == 8
    assert len(parse("a" * 10_000).words[0]) == 300


def test_resource_names_are_kubectls() -> None:
    assert kind_of("po") == kind_of("Pods") == PODS
    assert kind_of("pod.example.com") == ""


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("pod/x -n y", (PODS, "y/x")),
        ("kubectl get claim x -n y", (CLAIMS, "y/x")),
        ("no/x", (NODES, "x")),
        ("/ns/y/pods/x", (PODS, "y/x")),
        ("pod/x", None),
        ("y/x", None),
        ("x", None),
        ("pods -n y", None),
        ("pods a b -n y", None),
        ("pods x -l a=b -n y", None),
        ("device/a/b/c", None),
        ("nodes example.com/rack", None),
        ("pods y/x", (PODS, "y/x")),
    ],
)
def test_only_a_kind_a_name_and_its_namespace_name_one_object(text: str, key: tuple[str, str] | None) -> None:
    assert parse(text).exactly == key


TRAIN = build.pod("train", "ml", claims={"gpu": "train-gpu"}, labels={"app": "trainer"}, uid=UID)
OBJECTS = (
    build.node("node-0", labels={"zone": "a"}),
    build.node("node-1", labels={"zone": "b"}),
    build.namespace("ml"),
    build.resource_class("gpu", driver="gpu.example.com"),
    TRAIN,
    build.pod("strain", "other", claims={"gpu": "c"}),
    build.pod("my-train", "ml", claims={"gpu": "c"}),
    build.claim("train-gpu", "ml", allocation=build.allocation("node-0"), driver="old.example.com"),
)


@pytest.fixture(scope="module")
def scene() -> Scene:
    made = Scene(*OBJECTS)
    made.look()
    return made


def find(scene: Scene, text: str, **more: str) -> dict[str, list[str]]:
    """Kind -> names, in the order of the page."""
    query = Query.of({"q": text} | more, found.PARAMS)
    with scene.web.follower.world() as world:
        view = found.present(world, query, found.Haystacks())
    return {g.kind: [h.name for h in g.hits] for g in view.groups}


def test_exact_names_come_first_then_beginnings_then_the_rest(scene: Scene) -> None:
    assert find(scene, "train")[PODS] == ["train", "my-train", "strain"]
    assert next(iter(find(scene, "gpu"))) == CLASSES


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("zone=a", {NODES: ["node-0"]}),
        ("app=tr", {PODS: ["train"]}),
        ("trainer", {PODS: ["train"]}),
        (UID, {PODS: ["train"]}),
        (UID[:13], {PODS: ["train"]}),
        ("ns/ml", {NAMESPACES: ["ml"]}),
        ("pods -n other", {PODS: ["strain"]}),
        ("nodes", {NODES: ["node-0", "node-1"]}),
        ("driver old", {DRIVERS: ["old.example.com"]}),
        ("ml/train-g", {CLAIMS: ["train-gpu"]}),
        ("ml train-g", {CLAIMS: ["train-gpu"]}),
        ("nowhere", {}),
    ],
)
def test_everything_is_found_by_name_uid_and_label(scene: Scene, text: str, names: dict[str, list[str]]) -> None:
    assert find(scene, text) == names


@pytest.mark.parametrize(
    "text", ["topology.kubernetes.io/zone", "topology.kubernetes.io/zo", "nodes kubernetes.io/zone"]
)
def test_a_label_is_found_by_its_key_alone_slash_and_all(text: str) -> None:
    """And a key `namespace/name` as ever, which comes first."""
    scene = Scene(
        build.node("node-0", labels={"topology.kubernetes.io/zone": "a"}),
        build.node("node-1", labels={"zone": "b"}),
        build.pod("zone", "other", claims={"gpu": "c"}),
    )
    scene.look()
    query = Query.of({"q": text}, found.PARAMS)
    with scene.web.follower.world() as world:
        view = found.present(world, query, found.Haystacks())
    ((hit,),) = [g.hits for g in view.groups]
    assert (hit.name, hit.why) == ("node-0", "topology.kubernetes.io/zone=a")
    assert view.exact is None
    scene.put(build.pod("zone", "topology.kubernetes.io", claims={"gpu": "c"}))
    scene.look()
    more = {} if text.startswith("nodes") else {PODS: ["zone"]}
    assert find(scene, text) == more | {NODES: ["node-0"]}
    assert list(find(scene, text)) == [*more, NODES]


def test_what_fits_elsewhere_than_in_the_name_says_where(scene: Scene) -> None:
    query = Query.of({"q": "trainer"}, found.PARAMS)
    with scene.web.follower.world() as world:
        view = found.present(world, query, found.Haystacks())
    assert view.groups[0].hits[0].why == "app=trainer"


def test_an_object_that_changed_is_found_by_its_new_words() -> None:
    scene, haystacks = Scene(TRAIN), found.Haystacks()
    query = Query.of({"q": "app=new"}, found.PARAMS)

    def count() -> int:
        scene.look()
        with scene.web.follower.world() as world:
            return found.present(world, query, haystacks).count

    assert count() == 0
    scene.put(build.pod("train", "ml", claims={"gpu": "train-gpu"}, labels={"app": "new"}, uid=UID))
    assert count() == 1
    scene.delete(TRAIN)
    assert count() == 0


def test_of_ten_thousand_claims_a_few_are_shown_and_all_are_counted() -> None:
    claims = [build.claim(f"job-{i}-gpu", f"team-{i % 40}", labels={"app": f"job-{i}"}) for i in range(10_000)]
    scene, haystacks = Scene(*build.nodes(1000), *claims), found.Haystacks()
    scene.look()
    for text, least in (("job", 10_000), ("job-77", 111), ("app=job-9999", 1), ("zzz", 0), ("j", 10_000), ("77", 299)):
        query = Query.of({"q": text}, found.PARAMS)
        with scene.web.follower.world() as world:
            view = found.present(world, query, haystacks)
        assert all(len(g.hits) <= found.SHOWN for g in view.groups)
        assert sum(g.count for g in view.groups) == least, text


# --- the page --------------------------------------------------------------------------------------------------------


@pytest.fixture
def served(scene: Scene) -> Iterator[Scene]:
    current.use(scene.web)
    yield scene
    current.use(None)


def get(path: str, **headers: Any) -> str:
    response = Client().get(path, **headers)
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.usefixtures("served")
def test_without_script_it_is_a_page_with_a_form_and_links() -> None:
    page = get("/search?q=train")
    assert '<form class="search-form" action="/search" method="get"' in page
    assert 'value="train"' in page
    assert '<a class="hit" href="/ns/ml/pods/train">' in page
    assert "4 results" in page
    assert "Nothing fits “nowhere”" in get("/search?q=nowhere")
    assert "key=value" in get("/search")


@pytest.mark.usefixtures("served")
def test_the_dialog_gets_the_results_alone() -> None:
    piece = get("/search?q=train", headers={"HX-Request": "true", "HX-Target": "search-results"})
    assert "<html" not in piece
    assert "/ns/ml/pods/train" in piece


@pytest.mark.usefixtures("served")
def test_a_moment_stays_in_the_links_of_what_was_found() -> None:
    page = get("/search?q=train&kiosk=1")
    assert 'href="/ns/ml/pods/train?kiosk=1"' in page
    assert '<input type="hidden" name="kiosk" value="1">' in page


def test_an_object_that_is_named_in_full_and_gone_comes_before_others_that_begin_like_it() -> None:
    other = build.pod("render-24", "batch", claims={"gpu": "c"})
    gone = build.pod("render-2", "batch", claims={"gpu": "c"})
    scene = Scene(other, gone)
    scene.look()
    current.use(scene.web)
    try:
        assert hrefs(get("/search?q=pod/render-2+-n+batch"))[0] == "/ns/batch/pods/render-2"
        scene.delete(gone)
        scene.look()
        page = get("/search?q=pod/render-2+-n+batch+")
        assert hrefs(page) == ["/ns/batch/pods/render-2", "/ns/batch/pods/render-24"]
        assert "its page shows the last state" in page
        assert "No Pod “render-2” in batch; 1 result of a similar name." in page
        assert "none is kept" in get("/search?q=pod/render-+-n+batch")
    finally:
        current.use(None)


def test_a_uid_of_an_object_that_is_gone_leads_to_its_last_state() -> None:
    uid = "0b4e28ba-2fa1-4b3c-9d5e-aa00bb11cc22"
    gone = build.pod("render-2", "batch", claims={"gpu": "c"}, uid=uid)
    scene = Scene(gone)
    scene.look()
    current.use(scene.web)
    try:
        assert hrefs(get(f"/search?q={uid}")) == ["/ns/batch/pods/render-2"]
        scene.delete(gone)
        scene.look()
        page = get(f"/search?q={uid}+")
        assert hrefs(page) == ["/ns/batch/pods/render-2"]
        assert "its page shows the last state" in page
        assert hrefs(get("/search?q=0b4e28ba-2fa1-4b3c-9d5e-aa00bb11cc23")) == []
    finally:
        current.use(None)


def hrefs(page: str) -> list[str]:
    return re.findall(r'<a class="hit" href="([^"]*)"', page)


@pytest.mark.usefixtures("served")
def test_what_was_typed_is_shown_cut_and_without_what_turns_text() -> None:
    page = get("/search?" + urlencode({"q": "nix\u202e\u0007" + "z" * 5000, "other": "y" * 500}))
    assert "\u202e" not in page
    assert "\u0007" not in page
    assert "z" * 290 in page
    assert "z" * 301 not in page
    assert "y" * 10 not in page


def test_kinds_that_cannot_be_read_are_named() -> None:
    scene = Scene(TRAIN)
    scene.sync("nodes", "forbidden")
    scene.look()
    with scene.web.follower.world() as world:
        view = found.present(world, Query.of({"q": "x"}, found.PARAMS), found.Haystacks())
    assert view.unknown == ("nodes",)


def test_a_template_is_found_by_name_and_leads_to_what_the_doctor_says_of_it() -> None:
    scene = Scene(build.template("nic-of-train", "ml", resource_class="nic"))
    scene.look()
    current.use(scene.web)
    try:
        page = Client().get("/search?q=nic-of").content.decode()
        assert "Claim templates" in page
        address = "/doctor?about=resourceclaimtemplates/ml/nic-of-train"
        assert f'href="{address}"' in page
        assert "ml/nic-of-train" in Client().get(address).content.decode()
    finally:
        current.use(None)
