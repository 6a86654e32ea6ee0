"""Pages over HTTP, from a memory model judged by the real judge."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from django.test import Client
from django.urls import URLPattern

from dradash.reader import current
from dradash.store.model import StoreUnavailable
from dradash.urls import urlpatterns
from dradash.web.navigation import sections
from tests import build, pages
from tests.scene import Scene
from tests.unit import html

EVIL = '<script>alert("1")</script>'
QUOTES = "\"'><img src=x onerror=alert(1)>"

TRAIN = build.pod("train", "ml", claims={"gpu": "train-gpu"}, templates={"nic": "nic"})
GPU = build.claim("train-gpu", "ml", ownerReferences=[build.owner(TRAIN)])
HELD = build.claim("held", "ml", allocation=build.allocation("node-0"), reserved_for=[TRAIN])


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(*build.nodes(4), build.resource_class(), TRAIN, GPU, HELD, build.context(TRAIN, potential=["node-1"]))
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def get(path: str, status: int = 200, **headers: Any) -> str:
    response = Client().get(path, **headers)
    assert response.status_code == status, response.content[:500]
    return response.content.decode()


PATHS = (
    "/",
    "/pods",
    "/pods?ns=ml&outcome=any&sort=-fit&q=train",
    "/ns/ml/pods/train",
    "/ns/ml/pods/train/nodes",
    "/claims",
    "/claims?state=Reserved",
    "/ns/ml/claims/train-gpu",
    "/ns/ml/claims/held",
)


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize("path", PATHS)
def test_every_page_is_well_formed_and_needs_no_script(path: str) -> None:
    page = html.read(get(path))
    assert page.faults == []


@pytest.mark.usefixtures("scene")
def test_the_pod_page_says_why_who_and_since_when() -> None:
    page = get("/ns/ml/pods/train")
    for words in (
        "Blocked",
        "ResourceClaim not created yet",
        "Must act next",
        "PreEnqueue",
        "train-gpu",
        "proposes 1 node",
    ):
        assert words in page
    assert "kubectl -n ml get pod train -o yaml" in page


@pytest.mark.usefixtures("scene")
def test_filters_are_in_the_address_and_shown_in_the_form() -> None:
    page = get("/pods?ns=ml&q=nothing+like+it")
    assert 'value="nothing like it"' in page
    assert '<option value="ml" selected>' in page
    assert "No pod matches" in page


@pytest.mark.usefixtures("scene")
def test_what_is_nowhere_is_a_404_that_says_what_was_looked_for() -> None:
    page = get("/ns/ml/pods/nobody", 404)
    assert "No Pod" in page
    assert "kubectl -n ml get pod nobody -o yaml" in page
    assert "/live/ns/ml/pods/nobody" in page
    assert "There is no page" in get("/nowhere", 404)
    for section in sections():
        assert f'<li><a href="{section.path}">{section.label}</a></li>' in get("/nowhere", 404)


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize("name", ["node-0%23x", "node-0%3Fx", "node-0%253F", "node-0%20x"])
def test_the_socket_is_that_of_the_page_whatever_its_name(name: str) -> None:
    """Decoded, a name might end the address (#), begin a query (?) or be another name."""
    assert f'ws-connect="/live/nodes/{name}?' in get(f"/nodes/{name}", 404)
    to = Client().get(f"/nodes/{name}", {"moment": "2026-11-30 04:05"})
    assert to["Location"] == f"/nodes/{name}?at=2026-11-30T04%3A05Z"


@pytest.mark.usefixtures("scene")
def test_what_is_nowhere_is_told_the_addresses_of_all_pages() -> None:
    page = get("/nowhere", 404)
    for address in ("/ns/NAMESPACE/pods/NAME", "/deviceclasses/NAME", "/pools/DRIVER/POOL", "/slices/NAME"):
        assert f"<code>{address}</code>" in page
    assert "<code>/devices/DRIVER/POOL/DEVICE</code>" in page
    patterns = [p for p in urlpatterns if isinstance(p, URLPattern)]
    routes = [str(p.pattern) for p in patterns if "page" in getattr(p.callback, "view_initkwargs", {})]
    assert len([r for r in routes if "<" in r]) == page.count("<li><code>/")
    for route in (r for r in routes if "<" not in r):
        assert f'href="/{route}"' in page


def test_what_is_gone_is_shown_as_it_was(scene: Scene) -> None:
    scene.delete(TRAIN)
    scene.delete(HELD)
    scene.look()
    assert "This pod is gone" in get("/ns/ml/pods/train")
    page = get("/ns/ml/claims/held")
    assert "This claim is gone" in page
    assert "is deleted" in page


def test_a_kind_that_cannot_be_read_is_not_called_absent(scene: Scene) -> None:
    scene.sync("resourceclaims", "forbidden", error="claims are forbidden")
    scene.look()
    page = get("/ns/ml/claims/other", 503)
    assert "dradash cannot tell" in page
    assert "claims are forbidden" in get("/")


# --- hostile text ----------------------------------------------------------------------------------------------------


def hostile(obj: build.Obj, **more: Any) -> build.Obj:
    """An object all of whose free text is hostile."""
    return obj | {"metadata": obj["metadata"] | {"annotations": {EVIL: QUOTES}, "finalizers": [QUOTES]}} | more


def test_hostile_names_and_messages_are_shown_escaped(scene: Scene) -> None:
    name, namespace = "<script>alert(1)", QUOTES  # a slash cannot be in a name: keys are namespace/name
    pod = hostile(
        build.pod(name, namespace, claims={QUOTES: name}, conditions=[build.unschedulable(EVIL + QUOTES)]),
    )
    claim = hostile(
        build.claim(
            name,
            namespace,
            resource_class=QUOTES,
            reserved_for=[build.pod(QUOTES, EVIL)],
            allocation=build.allocation(QUOTES, driver=EVIL, data=EVIL + QUOTES),
        )
    )
    scene.put(build.node(EVIL), build.resource_class(QUOTES, driver=EVIL))
    scene.put(pod, claim, build.context(pod, potential=[EVIL], selected=QUOTES, unsuitable={QUOTES: [EVIL]}))
    scene.put(build.event(pod, EVIL, reporter=QUOTES), build.claim(EVIL, "bad") | {"spec": EVIL})
    scene.look()
    with current.get().follower.world() as world:
        assert f"{namespace}/{name}" in world.cluster.pods
    links = [re.findall(r'href="(/ns/[^"]+)"', get(p)) for p in ("/pods?outcome=any", "/claims")]
    found = {link for group in links for link in group if "script" in link}
    malformed = {link for link in found if link.startswith("/ns/bad")}
    assert len(malformed) == 1
    assert len(found) >= 3
    for path in ("/", "/pods?outcome=any", "/claims", *found):
        page = get(path, 404 if path in malformed else 200)
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert html.read(page).faults == []
        assert path in malformed or name in "".join(html.read(page).text)


# What turns the direction of writing, or is not seen, as it arrives and as it is shown.
UNSEEN = {"\u202e": "\\u202e", "\u2066": "\\u2066", "\u200b": "\\u200b", "\x1b": "\\x1b", "\u2028": "\\u2028"}


def test_characters_that_are_not_seen_or_turn_the_writing_are_shown_as_escapes(scene: Scene) -> None:
    every = "".join(UNSEEN)
    text = f"a{every}b"
    taint = {"key": text, "value": text, "effect": "NoSchedule"}
    pod = build.pod("turned", text, claims={text: text}, conditions=[build.unschedulable(text)])
    claim = build.claim(text, text, allocation=build.allocation(text, driver=text, data=text), reserved_for=[pod])
    claim["metadata"]["annotations"] = {text: text}
    scene.put(build.node(text, taints=[taint]), pod, claim)
    scene.put(build.event(pod, text, reporter=text), build.context(pod, potential=[text], unsuitable={text: [text]}))
    scene.look()
    where, shown = quote(text), f"a{''.join(UNSEEN.values())}b"

    for path in (
        "/",
        "/pods?outcome=any",
        f"/ns/{where}/pods/turned",
        f"/ns/{where}/pods/turned/nodes",
        f"/ns/{where}/claims/{where}",
        "/claims",
        "/nodes",
        f"/nodes/{where}",
        "/negotiations",
        "/changes",
        f"/search?q={where}",
    ):
        page = get(path)
        assert not [c for c in every if c in page], path
        assert shown in page or path == "/", path
        assert html.read(page).faults == []
    # What programs get is what is there.
    assert text in Client().get(f"/api/v1/pods/{where}/turned").content.decode().replace("\\u001b", "\x1b")


def test_the_joiners_that_languages_are_written_with_stay_as_they_are(scene: Scene) -> None:
    scene.put(build.event(TRAIN, "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u05e9\u05dc\u05d5\u05dd"))
    scene.look()
    assert "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u05e9\u05dc\u05d5\u05dd" in get("/ns/ml/pods/train")


def test_no_text_of_the_cluster_is_taken_for_the_place_of_a_tables_rows(scene: Scene) -> None:
    for text in ("\x00rows\x00", "<rows>"):
        scene.put(build.pod(f"p{len(text)}", text, claims={text: text}))
    scene.look()
    page = html.read(get("/pods?outcome=any"))
    assert page.faults == []
    assert "<rows>" in "".join(page.text)


@pytest.mark.usefixtures("scene")
def test_hostile_parameters_are_shown_escaped() -> None:
    page = get("/pods", data={"q": QUOTES, "ns": EVIL, "sort": QUOTES, "page": EVIL})
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert html.read(page).faults == []


# --- large -----------------------------------------------------------------------------------------------------------


def test_five_thousand_nodes_are_quick_and_each_cell_names_node_and_reason() -> None:
    pod = build.pod("p", claims={"gpu": "c"})
    excluding = build.resource_class(suitable=build.with_labels(zone="a"))
    members = [build.node(f"node-{i}", labels={"zone": "ab"[i % 2]}) for i in range(5000)]
    scene = Scene(*members, excluding, pod, build.claim("c"))
    scene.look()
    current.use(scene.web)
    try:
        page = get("/ns/default/pods/p")
        assert "hx-get=" in page
        assert len(page) < 80_000
        grid = get("/ns/default/pods/p/nodes", headers={"HX-Request": "true"})
        assert len(grid) < 700_000
        assert html.read(grid).faults == []
        assert grid.count('<a class="k0"') == grid.count('<a class="k1"') == 2500
        assert '<a class="k1" href="/nodes/node-1">node-1</a>' in grid
        whole = get("/ns/default/pods/p/nodes")
        assert re.search(r'data-kind="k1">.*?excluded by resource class node filter', whole, re.DOTALL)
        assert len(gzip.compress(whole.encode())) < 60_000
        assert "<html" not in grid
        assert "<html" in get("/ns/default/pods/p/nodes?reason=")
    finally:
        current.use(None)


def test_ten_thousand_claims_are_a_page_of_a_hundred() -> None:
    scene = Scene(build.resource_class(), *(build.claim(f"claim-{i:05}") for i in range(10_000)))
    scene.look()
    current.use(scene.web)
    try:
        page = get("/claims?ns=default&page=100")
        assert page.count('<tr id="claim-') == 100
        assert "claim-09999" in page
    finally:
        current.use(None)


# --- trouble ---------------------------------------------------------------------------------------------------------


def test_while_the_model_cannot_be_read_pages_show_what_they_have_and_say_so(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StoreUnavailable("Redis at 127.0.0.1:1 cannot be reached")

    for name in ("changes", "history", "histories", "node_sets", "lease"):
        monkeypatch.setattr(scene.model, name, refuse)
    assert not scene.web.follower.step()
    page = get("/ns/ml/pods/train")
    assert "This is old." in page
    assert "Redis at 127.0.0.1:1 cannot be reached" in page
    assert "ResourceClaim not created yet" in page
    assert get("/healthz", 503) == "unavailable\n"


def test_before_the_first_load_a_page_says_that_it_is_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(TRAIN)
    current.use(scene.web)
    try:
        page = get("/ns/ml/pods/train", 503)
        assert "Loading the cluster" in page
        assert get("/healthz", 503) == "loading\n"
        scene.look()
        get("/ns/ml/pods/train")
        assert get("/healthz") == "live\n"
    finally:
        current.use(None)


def test_nobody_watching_is_said(scene: Scene) -> None:
    assert "Nobody watches the cluster" not in get("/")
    scene.model.release("test", scene.epoch)
    scene.web.follower._lease_at = 0.0  # the next look at the lease is due
    scene.look()
    page = get("/")
    assert "Nobody watches the cluster" in page
    assert "its log says why it does not lead" in page


def test_a_redis_that_refuses_writes_is_named_where_nobody_watches(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scene.model, "refuses_writes", lambda: "Redis at r:1 is out of memory: raise its maxmemory")
    scene.look()
    assert "out of memory" not in get("/")  # somebody leads, so it is no reason
    scene.model.release("test", scene.epoch)
    scene.web.follower._lease_at = 0.0
    scene.look()
    page = get("/")
    assert "because writes are refused: Redis at r:1 is out of memory: raise its maxmemory." in page
    assert "start the watching worker" not in page


def test_a_page_that_cannot_be_made_says_what_to_do(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("dradash.web.presenters.overview.present", fail)
    client = Client(raise_request_exception=False)
    response = client.get("/")
    assert response.status_code == 500
    assert "DRADASH_DEBUG=1" in response.content.decode()


# --- headers ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("scene")
def test_pages_carry_the_security_headers() -> None:
    headers = Client().get("/").headers
    policy = headers["Content-Security-Policy"]
    for directive in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"):
        assert directive in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize(
    "path",
    [
        "dradash.css",
        "dradash.js",
        "theme.js",
        "icon.svg",
        "django_htmx/htmx-2.min.js",
        "django_htmx/ext/hx-ws-2.min.js",
    ],
)
def test_static_files_are_served_without_collecting_them(path: str) -> None:
    response = Client().get(f"/static/{path}")
    assert response.status_code == 200
    assert not response.streaming
    assert response.content


@pytest.mark.usefixtures("scene")
def test_every_file_that_a_page_names_is_there() -> None:
    page = get("/")
    files = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', page))
    assert len(files) >= 5
    for file in files:
        assert Client().get(file).status_code == 200


@pytest.mark.usefixtures("scene")
def test_nothing_is_changed_by_a_request() -> None:
    assert Client().post("/pods").status_code == 405
    assert Client().head("/pods").status_code == 200


READS = ("/metrics", "/livez", "/livez/follower", "/readyz", "/healthz", "/go", "/api/v1")


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "BREW"])
@pytest.mark.parametrize("path", [*READS, *(line.path for line in pages.served())])
def test_what_only_reads_names_its_methods_to_who_asks_with_another(path: str, method: str) -> None:
    response = Client(enforce_csrf_checks=True).generic(method, path)
    assert response.status_code == 405
    assert {"GET", "HEAD"} <= set(response.headers["Allow"].split(", "))


@pytest.mark.parametrize(("path", "allowed"), [("/sign-in", "GET, HEAD, POST"), ("/sign-out", "POST")])
def test_who_signs_in_or_out_needs_a_token_and_one_of_the_methods_that_there_are(path: str, allowed: str) -> None:
    client = Client(enforce_csrf_checks=True)
    assert client.post(path).status_code == 403  # forged
    unknown = client.generic("BREW", path)
    assert (unknown.status_code, unknown.headers["Allow"]) == (405, allowed)


def test_a_pods_page_has_its_yaml_to_copy_and_that_of_one_that_is_gone(scene: Scene) -> None:
    def told() -> str:
        (card,) = re.findall(r'<section class="card" aria-labelledby="object-title">.*?</section>', page(), re.DOTALL)
        shown, copied = re.findall(r"<pre[^>]*>(.*?)</pre><button[^>]*data-copy=\"(.*?)\"", card, re.DOTALL)[0]
        assert shown == copied
        assert 'data-copy="kubectl -n ml get pod train -o yaml"' in card
        return unescape(str(shown))

    def page() -> str:
        return get("/ns/ml/pods/train")

    raw = build.raw(TRAIN)
    assert yaml.safe_load(told()) == json.loads(raw)
    scene.delete(TRAIN)
    scene.look()
    assert "This pod is gone" in page()
    assert yaml.safe_load(told()) == json.loads(raw)
