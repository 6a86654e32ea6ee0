"""The doctor's pages, and the looks behind them: what is remembered, announced, and shown where."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from channels.layers import channel_layers
from django.test import Client

from dradash.api.endpoint import names_of
from dradash.api.endpoints import ENDPOINTS
from dradash.api.schemas import url
from dradash.reader import current, topics
from dradash.reader.doctor import Doctor
from dradash.reader.moment import show
from dradash.scheduling.doctor import diagnose
from dradash.scheduling.doctor.finding import Finding, Ref, Severity
from dradash.scheduling.doctor.rules import RULES
from dradash.scheduling.doctor.thresholds import Thresholds
from dradash.store.model import StoreUnavailable
from dradash.web.pages.doctor import DoctorPage
from dradash.web.presenters import doctor as presenter
from dradash.web.presenters.query import ROWS, Query
from tests import build
from tests.scene import Scene
from tests.unit import html
from tests.unit.test_consumers import Socket

LATER = build.NOW + 3600.0
LOST = build.pod("lost", "ml", claims={"gpu": "none"})
HOLDER = build.pod("holder", "ml", claims={"gpu": "held"})
HELD = build.claim("held", "ml", allocation=build.allocation("node-0"), reserved_for=[HOLDER])
EVIL = "<script>alert(1)"


class Heard:
    def __init__(self) -> None:
        self.topics: set[str] = set()

    def __call__(self, announced: frozenset[str], revision: int) -> None:
        self.topics |= announced


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(build.node("node-0"), build.resource_class(), LOST, HOLDER, HELD)
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def get(path: str, status: int = 200) -> str:
    response = Client().get(path)
    assert response.status_code == status, response.content[:300]
    page = response.content.decode()
    assert html.read(page).faults == []
    return page


def only(scene: Scene, code: str, now: float = LATER) -> Finding:
    (found,) = (f for f in scene.web.doctor.look(now).findings if f.code == code)
    return found


# --- looking ---------------------------------------------------------------------------------------------------------


def test_what_is_over_is_told_with_when(scene: Scene) -> None:
    finding = only(scene, "claim-missing")
    scene.now = LATER
    scene.put(build.claim("none", "ml"))
    scene.look()
    report = scene.web.doctor.look(LATER + 10)
    assert finding.id not in report.by_id
    resolved = scene.web.doctor.resolved(finding.id)
    assert resolved is not None
    assert (resolved.finding, resolved.at) == (finding, LATER + 1)
    scene.delete(build.claim("none", "ml"))
    scene.look()
    assert finding.id in scene.web.doctor.look(LATER + 4000).by_id


def test_pages_are_woken_only_when_findings_differ(scene: Scene) -> None:
    heard = Heard()
    doctor = Doctor(scene.web.follower, scene.model, heard, Thresholds())
    doctor.look(LATER)
    generation = doctor.generation
    doctor.look(LATER + 5)
    assert (heard.topics, doctor.generation) == (set(), generation)
    scene.put(build.claim("none", "ml"))
    scene.look()
    doctor.look(LATER + 6)
    assert {topics.DOCTOR, topics.OVERVIEW, "pod:ml/lost", "claim:ml/none"} <= heard.topics
    assert doctor.generation == generation + 1


def test_time_alone_makes_findings(scene: Scene) -> None:
    early = scene.web.doctor.look(build.NOW + 5)
    assert early.findings == ()
    page = DoctorPage({})
    key = page.key
    assert scene.web.doctor.look(LATER).findings
    assert page.key != key


@pytest.mark.parametrize("path", ["/doctor", "/ns/ml/pods/lost"])
def test_a_finding_says_what_to_do_and_its_command_wherever_it_stands(scene: Scene, path: str) -> None:
    finding = only(scene, "claim-missing")
    assert finding.remedy.startswith("Create the claim. One that was generated")
    remedies = re.findall(r'class="remedy[^"]*">(.*?)</(?:td|p)>', get(path), re.DOTALL)
    (told,) = [r for r in remedies if r.startswith("Create the claim. <button")]  # the rest is on its own page
    assert 'data-copy="kubectl -n ml get resourceclaim.resource.k8s.io none -o yaml"' in told
    assert finding.remedy in unescape(get(f"/doctor/{finding.id}"))


@pytest.mark.parametrize(
    ("remedy", "short"),
    [
        ("Do it. Then that.", "Do it."),
        ("Is it on? See there.", "Is it on?"),
        ("Set a.b.c to 1.5 now", "Set a.b.c to 1.5 now"),
        ("One.\nTwo.", "One."),
        ("", ""),
    ],
)
def test_in_a_list_a_remedy_is_its_first_sentence(remedy: str, short: str) -> None:
    found = Finding("allocated-idle.1", "allocated-idle", Severity.INFO, "x.", (), 0, 0.0, remedy, ("get",))
    assert presenter.row_of(found).remedy == short


def test_a_thousand_findings_are_a_page_of_less_than_150_kb(scene: Scene) -> None:
    scene.put(*(build.pod(f"training-{i:04}", f"team-{i % 40}", claims={"gpu": f"claim-{i:04}"}) for i in range(1000)))
    scene.look()
    assert len(scene.web.doctor.look(LATER).findings) >= 1000
    answer = Client().get("/doctor", headers={"Accept-Encoding": "gzip"})
    assert answer["Content-Encoding"] == "gzip"
    assert len(answer.content) < 150_000
    assert gzip.decompress(answer.content).count(b'class="remedy off-wall"') == ROWS


def test_a_check_that_fails_takes_no_other_with_it(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> Iterator[Finding]:
        raise RuntimeError("oops")

    monkeypatch.setattr("dradash.reader.doctor.CHECKS", (broken, *diagnose.CHECKS))
    report = scene.web.doctor.look(LATER)
    assert report.faults == ("test_doctor_pages: RuntimeError: oops",)
    assert report.findings
    assert "A check failed" in get("/doctor")


def test_what_was_before_this_process_is_read_from_the_history(scene: Scene) -> None:
    for number in range(8):
        scene.put(build.claim("none", "ml"), build.context(LOST, potential=["a", "b"], selected="ab"[number % 2]))
    scene.delete(HOLDER)
    gone_at = scene.now
    fresh = current.build(scene.model)
    fresh.follower.step()
    report = fresh.doctor.look(scene.now + 61)
    found = {f.code: f for f in report.findings}
    assert found["reserved-for-gone"].since == gone_at
    assert "changed 8 times" in found["selected-node-flapping"].sentence


def test_what_happens_while_it_follows_is_noted(scene: Scene) -> None:
    scene.web.doctor.look(build.NOW + 2)
    for number in range(8):
        scene.put(build.claim("none", "ml"), build.context(LOST, potential=["a", "b"], selected="ab"[number % 2]))
        scene.put(build.pod("lost", "ml", claims={"gpu": "none"}, generated={"x": f"x-{number}"}))
        scene.look()
    scene.delete(HOLDER)
    scene.look()
    found = {f.code: f for f in scene.web.doctor.look(scene.now + 61).findings}
    assert {"selected-node-flapping", "statuses-flapping"} <= set(found)
    assert found["reserved-for-gone"].since == scene.now


def test_nothing_is_looked_for_while_nobody_watches(scene: Scene) -> None:
    clock = [LATER]
    doctor = Doctor(scene.web.follower, scene.model, Heard(), Thresholds(), lambda: clock[0])
    assert doctor.is_due()
    doctor.look()
    assert not doctor.is_due()
    clock[0] += 10
    assert doctor.is_due()
    scene.model.release("test", scene.epoch)
    fresh = current.build(scene.model)
    fresh.follower.step()
    assert not Doctor(fresh.follower, scene.model, Heard(), Thresholds(), lambda: clock[0]).is_due()


def test_without_the_history_it_looks_all_the_same(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Any:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(scene.model, "history", refuse)
    scene.delete(HOLDER)
    scene.look()
    assert scene.web.doctor.look(LATER).findings


# --- pages -----------------------------------------------------------------------------------------------------------


def test_the_list_links_findings_and_their_objects(scene: Scene) -> None:
    finding = only(scene, "claim-missing")
    page = get("/doctor")
    assert f'href="/doctor/{finding.id}"' in page
    assert 'href="/ns/ml/pods/lost"' in page
    assert "absent" in page


def test_filters_are_in_the_address_and_count_what_each_choice_would_show(scene: Scene) -> None:
    scene.web.doctor.look(LATER)
    findings = scene.web.doctor.report().findings
    view = presenter.present(findings, Query.of({"severity": "warning"}, presenter.PARAMS), LATER)
    assert {r.code for r in view.rows} == {f.code for f in findings if f.severity is Severity.WARNING}
    counts = {o.value: o.count for o in view.filters.severities}
    assert counts == {s: n for s in Severity if (n := sum(f.severity is s for f in findings))}
    assert "No finding matches" in get("/doctor?q=nothing+like+it")
    assert "ml/none" in get("/doctor?ns=ml&code=claim-missing")
    assert "Claim does not exist</a>" not in get("/doctor?code=blocked-silently")


def test_a_finding_says_what_to_do_and_how_to_see_it(scene: Scene) -> None:
    page = get(f"/doctor/{only(scene, 'claim-missing').id}")
    for words in (
        "ResourceClaim ml/none does not exist",
        "What to do",
        "kubectl -n ml get resourceclaim.resource.k8s.io none -o yaml",
        "DRADASH_DOCTOR_MISSING",
        "For <time",
    ):
        assert words in page


def test_a_resolved_finding_still_answers(scene: Scene) -> None:
    finding = only(scene, "claim-missing")
    scene.now = LATER
    scene.put(build.claim("none", "ml"))
    scene.look()
    scene.web.doctor.look(scene.now)
    page = get(f"/doctor/{finding.id}")
    assert "Resolved" in page
    assert "does not hold any more" in page
    assert finding.sentence in page


def test_a_finding_of_another_time_says_what_it_is_about(scene: Scene) -> None:
    assert "the history does not show that it did" in get("/doctor/claim-missing.0123456789ab012345", 404)
    assert "No finding" in get("/doctor/nonsense", 404)


def test_the_past_has_the_findings_of_then(scene: Scene) -> None:
    scene.now = build.NOW + 100
    scene.put(build.claim("none", "ml"))
    scene.look()
    finding_page = "/doctor?code=claim-missing&at="
    assert "ml/none does not exist" in get(f"{finding_page}2026-11-30T04:01:00Z")
    assert "ml/none does not exist" not in get(f"{finding_page}2026-11-30T04:01:50Z")


def test_a_finding_of_the_past_is_answered_by_the_past_alone(scene: Scene) -> None:
    finding = only(scene, "claim-missing")
    scene.now = build.NOW + 100
    scene.put(build.claim("none", "ml"))
    scene.look()
    scene.web.doctor.look(LATER)
    assert "For <time" in get(f"/doctor/{finding.id}?at=2026-11-30T04:01:00Z")
    after = get(f"/doctor/{finding.id}?at=2026-11-30T04:01:50Z")
    assert "did not hold any more at the moment" in after
    assert "Resolved" in after
    early = get(f"/doctor/{finding.id}?at=2026-11-30T04:00:05Z")
    assert "does not hold at the moment" in early
    get("/doctor/claim-missing.0123456789ab012345?at=2026-11-30T04:00:05Z", 404)
    assert "Resolved" not in early


def test_the_pages_of_the_objects_show_their_own_findings(scene: Scene) -> None:
    scene.delete(HOLDER)
    scene.look()
    scene.web.doctor.look(LATER)
    assert "The doctor says" in get("/ns/ml/pods/lost")
    claim = get("/ns/ml/claims/held")
    assert "does not exist any more" in claim
    assert "ResourceClaim ml/none" not in claim
    assert re.search(r'href="/doctor\?severity=error"', get("/"))


def test_the_page_of_a_class_shows_its_findings(scene: Scene) -> None:
    scene.put(build.resource_class("tpu", suitable=build.with_labels(tpu="v4")))
    scene.look()
    heard = Heard()
    doctor = Doctor(scene.web.follower, scene.model, heard, Thresholds())
    doctor.look(LATER)
    scene.put(build.resource_class("fpga", suitable=build.with_labels(fpga="x")))
    scene.look()
    doctor.look(LATER)
    assert topics.CLASSES in heard.topics
    assert "matches no node" in get("/classes/tpu")
    assert "The doctor says" not in get("/classes/gpu")


TALK = build.pod("talk", "ml", claims={"gpu": "wanted"})
TALKED_ABOUT = ("/nodes/node-0", "/ns/ml/negotiations/talk", "/ns/ml/pods/talk", "/drivers/gpu.example.com")
STRANGE = "The selected node node-0 is not among the potential nodes."


def talk_of(node: str) -> build.Obj:
    return build.context(TALK, potential=["node-0", "other"], selected=node)


@pytest.mark.parametrize("path", TALKED_ABOUT)
async def test_a_finding_comes_and_goes_on_the_open_page_of_each_object(scene: Scene, path: str) -> None:
    claim = build.claim("wanted", "ml")
    scene.put(TALK, claim, talk_of("node-0"))
    scene.look()
    scene.web.doctor.look(scene.now)
    assert "The doctor says" not in get(path)
    socket = Socket(path)
    assert await socket.open()
    await socket.receive()
    scene.put(build.context(TALK, potential=["other"], selected="node-0", unsuitable={"gpu": ["node-0"]}))
    scene.look()
    scene.web.doctor.look(scene.now + 60)
    heard = ""
    while "The doctor says" not in heard:
        heard = await socket.receive()
    assert 'href="/doctor/selected-' in heard
    scene.delete(TALK, claim, talk_of("node-0"))
    scene.put(TALK, claim, talk_of("other"))
    scene.look()
    scene.web.doctor.look(scene.now)
    while not re.search(r'id="findings"[^>]*>\s*</div>', heard):
        heard = await socket.receive()
    await socket.close()
    channel_layers.backends.clear()


@pytest.mark.parametrize("path", TALKED_ABOUT[:3])
def test_the_page_of_a_past_moment_has_the_findings_of_then(scene: Scene, path: str) -> None:
    scene.put(TALK, build.claim("wanted", "ml"), build.context(TALK, potential=["other"], selected="node-0"))
    then = scene.now
    scene.now += 100
    scene.put(talk_of("node-0"))
    scene.look()
    scene.web.doctor.look(scene.now)
    assert STRANGE in get(f"{path}?at={show(then + 50)}")
    assert STRANGE not in get(f"{path}?at={show(scene.now)}")
    assert STRANGE not in get(path)


def test_what_the_doctor_says_of_a_negotiation_is_not_said_twice(scene: Scene) -> None:
    scene.web.doctor.look(build.NOW)
    scene.put(TALK, build.claim("wanted", "ml"), build.context(TALK, potential=["other"], selected="node-0"))
    scene.look()
    page = "/ns/ml/negotiations/talk"
    assert (get(page).count(STRANGE), "Broken rules" in get(page)) == (1, True)
    scene.web.doctor.look()
    assert (get(page).count(STRANGE), "Broken rules" in get(page)) == (1, False)


def test_every_one_of_many_objects_shows_what_is_about_it(scene: Scene) -> None:
    many = [build.claim(f"many-{i:02}", "ml", resource_class="none") for i in range(30)]
    scene.put(*many)
    scene.look()
    finding = only(scene, "class-missing")
    for number in (0, 29):
        assert "ResourceClass none does not exist" in get(f"/ns/ml/claims/many-{number:02}")
    assert "The first 20 of 31." in get(f"/doctor/{finding.id}")
    (row,) = Client().get("/api/v1/findings?code=class-missing").json()["items"]
    assert (len(row["objects"]), row["total"]) == (20, 31)


def test_a_class_that_is_missing_is_found_by_the_pod_that_hangs_and_told_on_its_page(scene: Scene) -> None:
    scene.put(build.pod("trial", "ml", claims={"npu": "npu"}), build.claim("npu", "ml", resource_class="npu"))
    scene.look()
    finding = only(scene, "class-missing")
    assert f'href="/doctor/{finding.id}"' in get("/doctor?q=trial")
    page = get("/ns/ml/pods/trial")
    assert "The doctor says" in page
    assert f'href="/doctor/{finding.id}"' in page


def test_more_findings_than_have_room_are_one_link_away(scene: Scene) -> None:
    pods = [build.pod(f"far-{i}", "ml", claims={"gpu": f"far-{i}"}) for i in range(8)]
    contexts = [build.context(p, potential=["other"], selected="node-0") for p in pods]
    scene.put(*pods, *(build.claim(f"far-{i}", "ml") for i in range(8)), *contexts)
    scene.look()
    scene.web.doctor.look(scene.now)
    assert re.search(r'href="/doctor\?about=nodes%2Fnode-0">3 more</a>', get("/nodes/node-0"))
    listed = get("/doctor?about=nodes%2Fnode-0")
    assert listed.count("is not among the potential nodes") == 8
    assert "Only what is about Node" in listed
    assert "Nothing is found about it." in get("/doctor?about=nodes%2Fnode-9")
    assert 'name="about" value="nodes/node-0"' in listed


def test_the_findings_of_a_driver_are_listed_by_its_name(scene: Scene) -> None:
    scene.put(TALK, build.claim("wanted", "ml"), build.context(TALK, potential=["other"], selected="node-0"))
    scene.look()
    scene.web.doctor.look(scene.now)
    page = get("/doctor?about=drivers%2Fgpu.example.com")
    assert STRANGE in page
    assert "Only what is about Driver" in page
    assert "The doctor says" not in get("/drivers/nic.example.com", 404)


def test_a_healthy_cluster_is_told_so() -> None:
    scene = Scene(build.node("node-0"), build.resource_class())
    scene.look()
    current.use(scene.web)
    try:
        assert "Nothing is wrong that the doctor looks for" in get("/doctor")
        assert "No error and no warning" in get("/")
    finally:
        current.use(None)


def test_hostile_names_are_escaped(scene: Scene) -> None:
    scene.put(build.pod(EVIL, EVIL, claims={EVIL: EVIL}), build.claim(EVIL, "bad") | {"spec": EVIL})
    scene.look()
    report = scene.web.doctor.look(LATER)
    for path in ("/doctor", "/changes", *(f"/doctor/{f.id}" for f in report.findings)):
        assert EVIL not in get(path)


def test_every_code_has_a_chip_and_kinds_without_a_page_have_no_link() -> None:
    for rule in RULES.values():
        made = Finding(
            f"{rule.code}.1", rule.code, rule.severity, "x.", (Ref("events", "a/b"),), 1, 0.0, rule.remedy, ("get",)
        )
        view = presenter.present((made,), Query(), 1.0)
        assert view.rows[0].objects[0].href == ""
        assert view.rows[0].chip.text


async def test_a_finding_arrives_at_an_open_page_without_any_change(scene: Scene) -> None:
    scene.web.doctor.look(build.NOW + 5)
    socket = Socket("/doctor")
    assert await socket.open()
    assert "Nothing is wrong" in await socket.receive()
    scene.web.doctor.look(LATER)
    texts = ""
    while "ml/none does not exist" not in texts:
        texts = await socket.receive()
    await socket.close()
    channel_layers.backends.clear()


# --- what is named and does not exist, and the JSON ------------------------------------------------------------------

MISSING = (
    ("/classes/none", "resourceclasses/none", "class-missing"),
    ("/ns/ml/claims/none", "resourceclaims/ml/none", "claim-missing"),
)
JSON = re.compile(r'<a href="([^"]*)" rel="alternate" type="application/json">')


@pytest.fixture
def lacking(scene: Scene) -> Scene:
    scene.put(build.claim("wants", "ml", resource_class="none"))
    scene.look()
    scene.web.doctor.look(LATER)
    return scene


@pytest.mark.usefixtures("lacking")
@pytest.mark.parametrize(("path", "about", "code"), MISSING)
def test_the_page_of_what_is_missing_says_what_the_doctor_says_of_it(path: str, about: str, code: str) -> None:
    page = get(path, 404)
    assert "The doctor says" in page
    (link,) = JSON.findall(page)
    assert link == f"/api/v1/findings?about={about.replace('/', '%2F')}"
    (row,) = Client().get(link).json()["items"]
    assert (row["code"], row["objects"][0]["page"]) == (code, path)
    assert row["title"] in page


@pytest.mark.usefixtures("lacking")
@pytest.mark.parametrize(("path", "about", "code"), MISSING)
def test_what_exists_only_by_name_has_no_resource(path: str, about: str, code: str) -> None:
    (row,) = Client().get(f"/api/v1/findings?code={code}").json()["items"]
    named, *others = row["objects"]
    assert (f"{named['kind']}/{named['key']}", named["url"], named["page"]) == (about, None, path)
    assert others
    assert [Client().get(o["url"]).status_code for o in others] == [200] * len(others)
    assert Client().get(f"/api/v1/findings/{row['id']}").json()["finding"] == row
    pod = Client().get("/api/v1/pods/ml/lost").json()
    assert {o["url"] for f in pod["findings"] for o in f["objects"]} == {None, "/api/v1/pods/ml/lost"}
    assert [(c["claim"], c["url"]) for c in pod["pod"]["claims"]] == [("none", None)]


def test_what_is_missing_and_was_there_has_its_last_state(scene: Scene) -> None:
    scene.delete(HELD)
    scene.look()
    scene.web.doctor.look(LATER)
    rows = Client().get("/api/v1/findings?about=resourceclaims/ml/held").json()["items"]
    (url,) = {o["url"] for r in rows for o in r["objects"] if o["kind"] == "resourceclaims"}
    assert Client().get(url).json()["gone"] == show(scene.now)


@pytest.mark.usefixtures("lacking")
@pytest.mark.parametrize(
    "path",
    [
        "/classes/nobody",
        "/deviceclasses/nobody",
        "/nodes/nobody",
        "/slices/nobody",
        "/ns/ml/pods/nobody",
        "/ns/ml/pods/nobody/nodes",
        "/ns/ml/claims/nobody",
        "/ns/ml/negotiations/nobody",
        "/drivers/nobody",
        "/pools/gpu.example.com/nobody",
        "/devices/gpu.example.com/nobody/gpu-0",
    ],
)
def test_what_nobody_names_has_neither_findings_nor_json(path: str) -> None:
    page = get(path, 404)
    assert re.search(r'id="findings"[^>]*>\s*</div>', page)
    assert JSON.findall(page) == []


@pytest.mark.parametrize("about", ["pods", "unheard/ml/x", "pods/"])
def test_what_is_no_object_is_refused_with_an_example(scene: Scene, about: str) -> None:
    scene.web.doctor.look(LATER)
    response = Client().get("/api/v1/findings", {"about": about})
    assert response.status_code == 400
    assert "resourceclasses/gpu" in response.json()["detail"]


def test_the_json_of_each_object_has_the_findings_of_its_page(lacking: Scene) -> None:
    lacking.put(TALK, build.claim("wanted", "ml"))
    lacking.put(build.context(TALK, potential=["other"], selected="node-0", unsuitable={"gpu": ["node-0"]}))
    lacking.put(build.resource_class("tpu", suitable=build.with_labels(tpu="v4")))
    lacking.look()
    report = lacking.web.doctor.look(LATER)
    kinds = set()
    for (kind, key), found in report.by_object.items():
        response = Client().get(url(kind, key) or "/")
        if response.status_code == 200:
            kinds.add(kind)
            assert [f["id"] for f in response.json()["findings"]] == [f.id for f in found], (kind, key)
    assert kinds == {"pods", "resourceclaims", "podschedulingcontexts", "nodes", "drivers", "resourceclasses"}


def test_the_json_of_an_object_has_a_new_etag_when_the_doctor_finds_something(scene: Scene) -> None:
    scene.put(TALK, build.claim("wanted", "ml"))
    scene.put(build.context(TALK, potential=["other"], selected="node-0", unsuitable={"gpu": ["node-0"]}))
    scene.look()
    scene.web.doctor.look(scene.now)
    paths = [
        f"/api/v1{path.replace('/ns/ml/negotiations', '/negotiations/ml')}"
        for path in TALKED_ABOUT
        if "pods" not in path
    ]
    tags = {path: Client().get(path).headers["ETag"] for path in paths}
    scene.web.doctor.look(scene.now + 60)
    for path, tag in tags.items():
        response = Client().get(path, headers={"If-None-Match": tag})
        assert response.status_code == 200
        assert response.json()["findings"], path


def test_every_answer_that_has_findings_varies_with_them() -> None:
    having = [e for e in ENDPOINTS if e.shape and "findings" in names_of(e.shape) and not e.is_list]
    assert {e.name: "findings" in e.varies for e in having} == dict.fromkeys(
        ["pod", "claim", "negotiation", "node", "class", "deviceclass", "slice", "pool", "device", "driver", "stats"],
        True,
    )


def test_a_pod_that_was_given_a_node_past_the_scheduler_is_not_told_as_done(scene: Scene) -> None:
    scene.put(build.claim("late", "ml"), build.pod("past", "ml", claims={"gpu": "late"}, node="node-0"))
    scene.look()
    scene.web.doctor.look(LATER)
    text = " ".join(re.sub(r"<[^>]*>", " ", get("/ns/ml/pods/past")).split())
    assert "Bound without the scheduler" in text
    assert "Pod ml/past is on node node-0, but its claim late is not allocated." in text
    assert "Must act next admin Let the scheduler place it" in text
    assert "The scheduler was never asked" in text
    assert "Successfully assigned" not in text.partition("The doctor says")[0]


def test_the_list_of_pods_leads_to_those_that_were_placed_without_the_scheduler(scene: Scene) -> None:
    placed = build.pod("placed", "ml", claims={"gpu": "free"}, node="node-0")
    scene.put(placed, build.claim("free", "ml"), build.pod("other", "web"))
    scene.now = LATER
    scene.look()
    only(scene, "scheduler-bypassed")
    where = "/doctor?code=scheduler-bypassed"
    assert f'<a href="{where}">1 pod</a> not listed here' in get("/pods")
    assert f'<a href="{where}&amp;ns=ml">1 pod</a> not listed here' in get("/pods?ns=ml")
    assert "not listed here" not in get("/pods?ns=web")
    bound = get("/pods?outcome=Bound")
    assert "not listed here" not in bound
    assert "/ns/ml/pods/placed" in bound
    assert "placed" in get(where)
