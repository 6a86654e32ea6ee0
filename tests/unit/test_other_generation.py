"""A cluster serves one generation of DRA: pages of the other one say so, and nothing is told as missing."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.test import Client

from dradash.reader import current
from dradash.reader.moment import show
from dradash.store.model import StoreUnavailable
from tests import build, builddevices, pages
from tests.scene import Scene
from tests.unit import html

CLASSIC = ("resourceclasses", "podschedulingcontexts")
STRUCTURED = ("deviceclasses", "resourceslices")
FAULTS = ("Not served", "As last seen", "Not known", "There may be", "cannot tell")
ONLY_V1 = "This cluster serves resource.k8s.io/v1: it has no "
ONLY_V1ALPHA2 = "This cluster serves resource.k8s.io/v1alpha2: it has no "


@pytest.fixture
def v1() -> Iterator[Scene]:
    yield from scene_without(CLASSIC, pages.A100, pages.SLICE, pages.DEVICES)


@pytest.fixture
def v1alpha2() -> Iterator[Scene]:
    yield from scene_without(STRUCTURED, build.resource_class(), pages.CLAIM, pages.HELD)


def scene_without(kinds: tuple[str, ...], *objects: build.Obj) -> Iterator[Scene]:
    made = Scene(build.node("node-1"), pages.TRAIN, *objects)
    for kind in kinds:
        made.sync(kind, "notServed", error="the API server does not serve it")
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def main_of(path: str, *statuses: int) -> str:
    response = Client().get(path)
    assert response.status_code in (statuses or (200,))
    text = response.content.decode()
    assert html.read(text).faults == []
    return text[text.index("<main") : text.index("</main>")]


def words_of(main: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", main).split()).replace(" : ", ": ")


def says(main: str, sentence: str, href: str) -> None:
    assert words_of(main).count(sentence) == 1
    assert f'<a href="{href}">{href}</a>' in main
    for fault in FAULTS:
        assert fault not in words_of(main)


@pytest.mark.usefixtures("v1")
@pytest.mark.parametrize(
    ("path", "kind", "href"),
    [
        ("/classes", "ResourceClasses", "/deviceclasses"),
        ("/classes/gpu", "ResourceClasses", "/deviceclasses"),
        ("/negotiations", "PodSchedulingContexts", "/devices"),
        ("/ns/ml/negotiations/train", "PodSchedulingContexts", "/devices"),
    ],
)
def test_pages_of_the_classic_generation_say_that_the_cluster_has_the_other(path: str, kind: str, href: str) -> None:
    main = main_of(path, 200, 404)
    says(main, ONLY_V1 + kind, href)
    assert "There are no classes" not in main


@pytest.mark.usefixtures("v1alpha2")
@pytest.mark.parametrize(
    ("path", "kind", "href"),
    [
        ("/deviceclasses", "DeviceClasses", "/classes"),
        ("/deviceclasses/gpu", "DeviceClasses", "/classes"),
        ("/pools", "ResourceSlices", "/negotiations"),
        ("/slices", "ResourceSlices", "/negotiations"),
        ("/devices", "ResourceSlices", "/negotiations"),
        ("/pools/gpu.example.com/one", "ResourceSlices", "/negotiations"),
        ("/devices/gpu.example.com/one/gpu-0", "ResourceSlices", "/negotiations"),
    ],
)
def test_pages_of_devices_say_that_the_cluster_has_drivers_that_allocate(path: str, kind: str, href: str) -> None:
    main = main_of(path, 200, 404)
    says(main, ONLY_V1ALPHA2 + kind, href)
    assert "There are no " not in main


@pytest.mark.parametrize("generation", ["v1", "v1alpha2"])
@pytest.mark.parametrize("path", ["/", "/drivers", "/drivers/none.example.com", "/pods", "/claims", "/nodes"])
def test_pages_of_both_generations_miss_nothing(request: pytest.FixtureRequest, generation: str, path: str) -> None:
    scene: Scene = request.getfixturevalue(generation)
    for asked in (path, f"{path}?at={show(scene.now)}"):
        main = main_of(asked, 200, 404)
        without_kinds = re.sub(r'<section[^>]*aria-labelledby="kinds-title".*?</section>', "", main, flags=re.DOTALL)
        for words in (*FAULTS, "it has no"):
            assert words not in words_of(without_kinds), asked


def test_what_is_left_of_the_other_generation_is_of_an_earlier_time() -> None:
    for made in scene_without(CLASSIC, pages.A100, build.resource_class()):
        made.look()
        main = main_of("/classes")
        assert ONLY_V1 in words_of(main)
        assert "As last seen" in main
        assert ">gpu</a>" in main


@pytest.mark.parametrize("path", ["/classes", "/negotiations", "/deviceclasses", "/pools", "/slices", "/devices"])
def test_where_neither_generation_is_served_each_kind_is_missed(path: str) -> None:
    for _ in scene_without((*CLASSIC, *STRUCTURED)):
        main = main_of(path)
        assert "it has no" not in main
        assert "There may be some." in main
        assert "Not served" in main


def test_a_driver_is_not_called_absent_while_its_slices_cannot_be_read() -> None:
    for made in scene_without(CLASSIC, builddevices.device_class("a100")):
        made.sync("resourceslices", "forbidden", error="no role")
        made.look()
        assert "dradash cannot tell" in main_of("/drivers/gpu.example.com", 503)
        main = main_of("/drivers")
        assert "Not known:" in main
        assert "no slice names a driver" not in main


@pytest.mark.parametrize("state", ["forbidden", "notServed", "stale"])
def test_a_pool_and_a_device_are_not_called_absent_while_slices_cannot_be_read(state: str) -> None:
    for made in scene_without(()):
        for kind in CLASSIC:
            made.sync(kind, "notServed")
        if state == "notServed":
            made.sync("deviceclasses", "notServed")  # neither generation is there
        made.sync("resourceslices", state, error="no role")
        made.look()
        for path in ("/pools/gpu.example.com/one", "/devices/gpu.example.com/one/gpu-0"):
            main = words_of(main_of(path, 503))
            assert "dradash cannot tell: resourceslices are" in main
            assert "may exist" in main
            assert "no role" in main
            assert "No pool" not in main
            assert "No device" not in main
        for path in ("/pools", "/slices", "/devices", "/nodes/node-1"):
            assert "There may be some." in words_of(main_of(path))
        answer = Client().get("/api/v1/pools/gpu.example.com/one")
        assert answer.status_code == (404 if state == "notServed" else 503)
        assert state == "notServed" or answer.json()["type"] == "urn:dradash:problem:not-known"
        for path in ("/devices/gpu.example.com/one/gpu-0", "/slices/none"):
            assert Client().get("/api/v1" + path).status_code == answer.status_code


def test_devices_that_are_held_are_not_called_unpublished_while_slices_cannot_be_read() -> None:
    for made in scene_without(CLASSIC, pages.A100, pages.DEVICES):
        made.sync("resourceslices", "forbidden", error="no role")
        made.look()
        (result,) = pages.DEVICES["status"]["allocation"]["devices"]["results"][:1]
        path = "/".join(("/devices", result["driver"], result["pool"], result["device"]))
        assert "Not published" not in main_of(path)
        assert "does not publish this device any more" not in main_of(
            f"/ns/{build.key(pages.DEVICES).replace('/', '/claims/')}"
        )
        assert "slices are not known" in main_of("/deviceclasses")
        assert "which devices it leaves is not known" in main_of("/deviceclasses/a100")


def test_a_pool_that_was_seen_is_shown_as_last_seen() -> None:
    for made in scene_without(CLASSIC, pages.SLICE):
        made.sync("resourceslices", "stale", error="no route")
        made.look()
        spec = pages.SLICE["spec"]
        pool = f"{spec['driver']}/{spec['pool']['name']}"
        for path in (
            f"/pools/{pool}",
            f"/devices/{pool}/{spec['devices'][0]['name']}",
            f"/slices/{build.key(pages.SLICE)}",
        ):
            assert "As last seen" in main_of(path)


@pytest.mark.usefixtures("v1")
def test_nodes_of_a_structured_cluster_tell_devices_and_nothing_of_classes() -> None:
    page = main_of("/nodes")
    for words in ("Classes passed", "Driver refusals", "Label that a class asks for", "Passes the filter of"):
        assert words not in page
    assert re.search(r'data-label="Devices held"[^>]*><a href="/devices\?node=node-1">1 of 2</a>', page)
    page = main_of("/nodes/node-1")
    assert "There are no classes" not in page
    assert "pass here" not in page
    assert "Drivers that refused" not in page


@pytest.mark.usefixtures("v1alpha2")
def test_nodes_of_a_classic_cluster_tell_classes_and_nothing_of_devices() -> None:
    page = main_of("/nodes")
    assert "Classes passed" in page
    assert "Driver refusals" in page
    assert "Passes the filter of" in page
    assert "Devices held" not in page
    page = main_of("/nodes/node-1")
    assert "pass here" in page
    assert "Drivers that refused" in page


@pytest.mark.usefixtures("v1")
def test_the_overview_of_a_structured_cluster_tells_devices_and_nothing_of_negotiations() -> None:
    main = main_of("/")
    assert "Negotiations" not in main
    assert "nothing to settle" not in main
    assert re.search(r'<a href="/devices">Devices held</a></dt><dd>1 <span class="of">of 2</span>', main)
    kinds = main[main.index('id="kinds-title"') :]
    kinds = kinds[: kinds.index("</section>")]
    assert kinds.count("Not in this cluster") == len((*CLASSIC, "devicetaintrules"))  # which no cluster must have
    assert "tone-bad-text" not in kinds
    assert "Not served" not in kinds


@pytest.mark.usefixtures("v1alpha2")
def test_the_overview_of_a_classic_cluster_tells_negotiations_and_nothing_of_devices() -> None:
    main = main_of("/")
    assert "Negotiations under way" in main
    assert "Devices held" not in main


def test_a_kind_that_neither_generation_explains_is_still_a_fault() -> None:
    for _ in scene_without((*CLASSIC, *STRUCTURED)):
        main = main_of("/")
        assert main.count("Not in this cluster") == 1  # DeviceTaintRules, which no cluster must have
        assert main.count("the API server does not serve it") >= len((*CLASSIC, *STRUCTURED))


@pytest.mark.parametrize(
    ("generation", "listed", "left_out"),
    [
        ("v1", ("/deviceclasses", "/pools", "/slices", "/devices"), ("/classes", "/negotiations")),
        ("v1alpha2", ("/classes", "/negotiations"), ("/deviceclasses", "/pools", "/slices", "/devices")),
    ],
)
def test_a_page_that_is_not_there_lists_the_pages_of_what_is_served(
    request: pytest.FixtureRequest, generation: str, listed: tuple[str, ...], left_out: tuple[str, ...]
) -> None:
    request.getfixturevalue(generation)
    main = main_of("/nowhere", 404)
    assert all(f'<li><a href="{path}">' in main for path in listed)
    assert not any(f'<li><a href="{path}">' in main for path in left_out)


@pytest.mark.usefixtures("v1")
def test_a_page_on_paper_names_the_cluster_and_the_exact_time() -> None:
    """Shown by the print style alone; the crumbs beside it name kind and namespace."""
    for path in ("/", "/ns/ml/pods/train", "/nodes/node-1"):
        main = main_of(path)
        assert re.search(
            r'class="on-paper">[^\n]*as of <time datetime="[^"]+">[0-9-]{10} [0-9:]{8}(\.\d{3})? UTC', main
        )


@pytest.mark.parametrize("path", ["/classes/gpu", "/ns/ml/negotiations/train"])
def test_a_cluster_without_the_kind_has_none_also_while_the_history_cannot_be_read(
    v1: Scene, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    def refuse(*_: object) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(v1.model, "history", refuse)
    main = main_of(path, 404)
    assert ONLY_V1 in words_of(main)
    assert "Not known" not in main
