"""Pages of the past: links, ages, the slider, gone objects, and moments that cannot be shown."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from django.test import Client

from dradash.kinds.registry import KINDS
from dradash.reader import current
from dradash.reader.moment import parse, show
from dradash.store.model import StoreUnavailable
from dradash.web.pages.pods import PodsPage
from dradash.web.presenters import timetravel
from dradash.web.templatetags.dradash import utc
from tests import build, builddevices
from tests.scene import Scene
from tests.unit import html

TRAIN = build.pod("train", "ml", claims={"gpu": "gpu"})
CLAIM = build.claim("gpu", "ml")
STEP = 600.0


class Story(Scene):
    """TRAIN is blocked, then waits, then is deleted with its claim; each `moment` is after the change of its name."""

    def __init__(self) -> None:
        super().__init__(*build.nodes(3), build.resource_class(), TRAIN)
        self.began = self.moment()
        self.put(CLAIM)
        self.unblocked = self.moment()
        self.put(build.context(TRAIN, potential=["node-0", "node-1"], created=show(self.now)))
        self.proposed = self.moment()
        self.delete(TRAIN)
        self.delete(CLAIM)
        self.deleted = self.moment()
        self.look()

    def moment(self) -> str:
        self.now += STEP
        return show(self.now - STEP / 2)


@pytest.fixture
def story() -> Iterator[Story]:
    made = Story()
    current.use(made.web)
    yield made
    current.use(None)


def get(path: str, status: int = 200, *, then: str = "", **query: str) -> str:
    """then: the moment to compare with."""
    query |= {"with": then} if then else {}
    response = Client().get(f"{path}{'&' if '?' in path else '?'}{urlencode(query)}" if query else path)
    assert response.status_code == status, response.content[:500]
    return response.content.decode()


PAGES = (
    "/negotiations",
    "/ns/ml/negotiations/train",
    "/nodes",
    "/nodes/node-1",
    "/classes",
    "/classes/gpu",
    "/drivers",
    "/doctor",
    "/changes",
    "/search?q=train",
    "/",
    "/pods",
    "/claims",
    "/ns/ml/pods/train",
    "/ns/ml/claims/gpu",
    "/ns/ml/pods/train/nodes",
)


@pytest.mark.parametrize("path", PAGES)
def test_every_page_can_be_looked_at_as_it_was(story: Story, path: str) -> None:
    page = get(path, at=story.proposed)
    assert html.read(page).faults == []
    assert "The past, as of" in page
    assert "as of <time" in page


@pytest.mark.parametrize("path", PAGES)
def test_links_and_forms_of_the_past_stay_in_it_and_live_leads_back(story: Story, path: str) -> None:
    page = get(path, at=story.proposed)
    at = urlencode({"at": story.proposed})
    hrefs = re.findall(r'href="(/[^"#]*)', page)
    pages = [h for h in hrefs if not h.startswith("/static/") and h != "/api/v1/"]  # how to ask knows no moment
    assert len(pages) > 5
    # The stream of changes and the comparison name moments of their own.
    assert [h for h in pages if at not in h and "at=2026-" not in h] == []
    assert sum(at in h for h in pages) > 5
    for form in re.findall(r'<form[^>]*method="get".*?</form>', page, re.DOTALL):
        assert f'name="at" value="{story.proposed}"' in form
    back = re.search(r'<a class="button" href="([^"]*)" data-live-link', page)
    assert back is not None
    assert back[1].startswith("?")
    assert "at=" not in back[1]


def test_what_is_over_has_no_socket_and_ages_that_stand_still(story: Story) -> None:
    page = get("/ns/ml/pods/train", at=story.proposed)
    assert 'ws-connect=""' in page
    assert "live-state" not in page.replace("live-state as-of", "")
    created = re.search(r"created <time[^>]*>([^<]*)</time>", page)
    assert created is not None
    assert created[0].count("data-age") == 0
    assert created[1] == "25m 3s ago"  # two and a half steps, and a second for each change


def test_the_verdict_and_the_negotiation_are_those_of_then(story: Story) -> None:
    assert "Blocked" in get("/ns/ml/pods/train", at=story.began)
    unblocked = get("/ns/ml/pods/train", at=story.unblocked)
    assert "Waiting" in unblocked
    assert "proposes" not in unblocked
    assert "proposes 2 nodes" in get("/ns/ml/pods/train", at=story.proposed)
    assert "Blocked" in get("/pods", at=story.began)
    assert "Waiting" in get("/pods", at=story.proposed)


def test_an_object_is_there_before_its_deletion_gone_after_it_and_missing_before_it_was(story: Story) -> None:
    for path, before in (("/ns/ml/pods/train", story.proposed), ("/ns/ml/claims/gpu", story.proposed)):
        assert "is gone" not in get(path, at=before)
        gone = get(path, at=story.deleted)
        assert "is gone" in gone
    assert "No ResourceClaim" in get("/ns/ml/claims/gpu", 404, at=story.began)


def test_the_slider_marks_where_the_verdict_changed_and_leads_from_change_to_change(story: Story) -> None:
    page = get("/ns/ml/pods/train", at=story.unblocked)
    (marks,) = re.findall(r'data-marks="([^"]*)"', page)
    assert len(marks.split()) == 3  # blocked, waiting, gone
    told = get("/ns/ml/pods/train", at=story.deleted).partition('<ol class="verdicts"')[2].partition("</ol>")[0]
    assert told.count("<li") == 2  # the same, but that the pod is gone
    moments = re.findall(r'<li(?: aria-current="true")?><a href="\?at=([^"&]*)', page)
    shown = re.search(r'<li aria-current="true"><a href="\?at=([^"&]*)', page)
    assert shown is not None
    previous = re.search(r'<a href="\?at=([^"&]*)" rel="prev"', page)
    following = re.search(r'<a href="\?at=([^"&]*)" rel="next"', page)
    assert previous is not None
    assert following is not None
    newest_first = moments[:3]
    assert newest_first.index(shown[1]) == newest_first.index(previous[1]) == 1
    assert newest_first.index(following[1]) == 0
    # At the beginning of a state the change before is the one before that.
    earlier = get(f"/ns/ml/pods/train?at={shown[1]}")
    before = re.search(r'<a href="\?at=([^"&]*)" rel="prev"', earlier)
    assert before is not None
    assert before[1] == newest_first[2]


def test_a_link_to_a_change_shows_the_state_after_it(story: Story) -> None:
    page = get("/ns/ml/claims/gpu", at=story.proposed)
    (moment, *_) = re.findall(r'<a href="\?at=([^"&]*)"><time', page)
    assert "No ResourceClaim" not in get(f"/ns/ml/claims/gpu?at={moment}")


def test_a_list_offers_to_step_back(story: Story) -> None:
    page = get("/pods")
    assert "5 minutes earlier" in page
    assert "The earliest that is kept" in page
    assert html.read(page).faults == []


def test_a_time_before_history_offers_the_nearest(story: Story) -> None:
    page = get("/pods", 404, at="2026-11-29T00:00:00Z", outcome="Blocked")
    assert "before what is kept" in page
    nearest = re.search(r'href="(\?[^"]*)">The earliest that is kept: 2026', page)
    assert nearest is not None
    assert "outcome=Blocked" in nearest[1]
    assert "Blocked" in get("/pods" + nearest[1].replace("&amp;", "&"))
    assert "The past, as of" not in page
    assert "minute later" not in page


def test_a_compared_time_before_history_offers_the_nearest_for_itself(story: Story) -> None:
    page = get("/ns/ml/pods/train", 404, at=story.proposed, then="2026-11-29T00:00:00Z")
    nearest = re.search(r'href="(\?[^"]*)">The earliest that is kept: 2026', page)
    assert nearest is not None
    assert "What changed" in get("/ns/ml/pods/train" + nearest[1].replace("&amp;", "&"))


@pytest.mark.parametrize("at", ["yesterday", "2026-11-30T03:12", "2026-13-30T03:12:00Z", "12", "<script>"])
def test_what_is_no_time_is_said(story: Story, at: str) -> None:
    page = get("/pods", 400, at=at)
    assert "This moment cannot be shown" in page
    assert "<script>" not in page


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/pods", "/claims", "/negotiations", "/nodes", "/classes", "/drivers", "/doctor", "/changes"),
        *("/about", "/search", "/compare", "/ns/ml/pods/train", "/ns/ml/claims/gpu", "/ns/ml/pods/nobody"),
        "/api/v1/pods",
    ],
)
def test_a_moment_that_is_none_is_a_bad_request_on_every_page(story: Story, path: str) -> None:
    assert Client().get(path, {"at": "garbage"}).status_code == 400
    # Without a zone it is a moment only where people type it.
    assert Client().get(path, {"at": "2026-11-29T00:00:00"}).status_code == (302 if path == "/compare" else 400)


def test_a_compared_time_that_is_none_is_a_bad_request(story: Story) -> None:
    assert "This moment cannot be shown" in get("/ns/ml/pods/train", 400, at=story.proposed, then="garbage")


def test_a_past_that_cannot_be_read_is_not_a_moment_that_does_not_exist(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_self: object) -> None:
        raise StoreUnavailable("no Redis")

    monkeypatch.setattr(PodsPage, "parts", fail)
    assert "The past cannot be read: no Redis" in get("/pods", 503, at=story.proposed)


def test_a_time_to_come_is_said(story: Story) -> None:
    assert "has not come yet" in get("/pods", 404, at=show(time.time() + 3600))


def test_the_form_goes_to_a_time_under_an_address_that_lasts(story: Story) -> None:
    def location(**query: str) -> str:
        response = Client().get("/pods", query)
        assert response.status_code == 302
        return str(response["Location"])

    assert location(moment="2026-11-30 04:05", ns="ml", at="2026-11-30T04:00:00Z") == (
        "/pods?ns=ml&at=2026-11-30T04%3A05Z"
    )
    assert re.fullmatch(r"/pods\?at=\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\dZ", location(moment="5m"))
    assert "is no time with a zone" in get("/pods", 400, at="nonsense")


@pytest.mark.parametrize(
    ("typed", "goes_to"),
    [
        ({"with": "5m"}, r"with=T"),
        ({"with": "2h 10m ago", "at": ""}, r"with=T"),
        ({"with": "03:12", "at": "5m"}, r"at=T&with=T"),
        ({"with": "now", "at": " 5m "}, r"at=T&with=now"),
        ({"with": "2026-11-30 04:05", "at": "now", "kind": "pods"}, r"kind=pods&at=now&with=T"),
        ({"with": "2026-11-30T04:05:00Z", "at": "5m"}, r"at=T&with=T"),
    ],
)
@pytest.mark.usefixtures("story")
def test_moments_to_compare_are_typed_like_any_time(typed: dict[str, str], goes_to: str) -> None:
    response = Client().get("/compare", typed)
    assert response.status_code == 302
    moment = r"\d{4}-\d\d-\d\dT\d\d%3A\d\d(%3A\d\d)?Z"
    assert re.fullmatch(rf"/compare\?{goes_to.replace('T', moment)}", response["Location"])
    assert "Location" not in Client().get(response["Location"])  # that says it all


def test_what_was_typed_for_a_comparison_stays_in_the_form(story: Story) -> None:
    page = get("/compare", 400, at="x'\"><b>", then="yester\u202eday")
    assert html.read(page).faults == []
    assert "This moment cannot be shown" in page
    assert page.count("<h1>") == 1
    assert re.search(r'name="with" value="yesterday"', page)
    assert re.search(r'name="at" value="x&#x27;&quot;&gt;&lt;b&gt;"', page)
    assert f'name="with" value="{story.began}"' in get("/compare", 400, at="garbage", then=story.began)
    assert 'name="with" value="1999-01-01T00:00:00Z"' in get("/compare", 404, then="1999-01-01T00:00:00Z")


# --- two moments -----------------------------------------------------------------------------------------------------


def test_two_moments_of_a_pod_are_compared_with_its_verdict_and_claims(story: Story) -> None:
    page = get("/ns/ml/pods/train", at=story.proposed, then=story.began)
    assert html.read(page).faults == []
    (part,) = re.findall(r'aria-labelledby="comparison-title".*?</section>', page, re.DOTALL)
    assert re.search(r"Blocked.*→.*Waiting", part, re.DOTALL)
    assert re.search(r'type-added">added</span> <span class="muted">ResourceClaim', part)
    assert re.search(r'type-added">added</span> <span class="muted">PodSchedulingContext', part)
    assert "Nothing of this object changed" in get("/ns/ml/pods/train", at=story.began, then=story.began)


def test_two_moments_of_the_cluster_are_compared_and_filtered(story: Story) -> None:
    both, then = story.deleted, story.unblocked
    page = get("/compare", at=both, then=then)
    assert html.read(page).faults == []
    assert "removed" in page
    assert "Verdict on Pod" in page
    claims = get("/compare", kind="resourceclaims", at=both, then=then)
    assert claims.count('class="type-deleted"') == 1
    assert "ml/gpu" in claims
    assert "Nothing that changed matches" in get("/compare", ns="nobody", at=both, then=then)
    assert "Nothing changed between" in get("/compare", at=story.began, then=story.began)


@pytest.mark.parametrize(
    ("at", "then"),
    [
        ("began", "proposed"),
        ("proposed", "began"),
        ("unblocked", "deleted"),
        ("deleted", "unblocked"),
        ("began", "now"),
    ],
)
def test_what_a_comparison_names_can_be_looked_at(story: Story, at: str, then: str) -> None:
    page = get("/compare", at=getattr(story, at), then="now" if then == "now" else getattr(story, then))
    (listed,) = re.findall(r'<ul class="compared">.*?</ul>', page, re.DOTALL)
    links = [link.replace("&amp;", "&") for link in re.findall(r'<h2>.*?href="([^"]+)"', listed)]
    assert len(links) >= 2
    for link in links:
        assert "What follows is its last state" not in get(link)


def test_the_cluster_is_compared_with_the_present_when_no_other_time_is_named(story: Story) -> None:
    page = get("/compare", then=story.proposed)
    assert "now</a>" in page
    assert "removed" in page
    assert "Two moments" in get("/compare")


def test_histories_lead_to_their_moments(story: Story) -> None:
    page = get("/ns/ml/pods/train")
    (history,) = re.findall(r'aria-labelledby="history-title".*?</section>', page, re.DOTALL)
    moments = re.findall(r'href="\?at=([^"&]*)&amp;with=([^"]*)"', history)
    assert moments
    for at, other in moments:
        assert "What changed" in get(f"/ns/ml/pods/train?at={at}&with={other}")


# --- what is typed ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("story")
def test_the_start_of_history_may_be_written_without_its_fraction() -> None:
    start = current.get().model.history_start()
    assert start is not None
    assert timetravel.not_before(start, start - 0.99) == start
    assert timetravel.not_before(start, start - 1.0) == start - 1.0
    assert timetravel.not_before(start, start + 1.0) == start + 1.0
    assert timetravel.not_before(start, None) is None
    assert "As it is now" not in get(f"/?at={show(start - 0.9)}")
    assert "The earliest that is kept" in Client().get(f"/?at={show(start - 2)}").content.decode()


def test_the_start_of_history_is_said_as_the_change_that_it_begins_with(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Scene(build.pod("first", "ml", claims={"gpu": "c"}))
    start = made.now + 0.75
    monkeypatch.setattr(made.model, "history_start", lambda: start)  # the first change was before
    made.look()
    current.use(made.web)
    page = Client().get("/ns/ml/pods/first").content.decode()
    (listed,) = re.findall(r'<details id="timeline-list".*?</details>', page, re.DOTALL)
    moments = re.findall(r"<time [^>]*>([^<]*)</time>", listed)
    assert len(moments) == 2
    assert moments[0] == moments[1] == time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(start))
    earliest = re.search(r'href="([^"]*)">The earliest that is kept', listed)
    assert earliest is not None
    assert earliest[1] == f"?{urlencode({'at': show(start)})}"
    current.use(None)


SLICE = builddevices.resource_slice(builddevices.device("gpu-0"))
LATER = (
    "/ns/ml/pods/train",
    "/ns/ml/pods/train/nodes",
    "/ns/ml/claims/gpu",
    "/nodes/node-0",
    "/slices/" + SLICE["metadata"]["name"],
    "/pools/gpu.example.com/node-0",
    "/devices/gpu.example.com/node-0/gpu-0",
)


@pytest.mark.parametrize("path", LATER)
def test_the_earliest_moment_that_is_offered_shows_what_the_page_is_about(path: str) -> None:
    """History begins with the first kind that is listed, which is before the others are."""
    made = Scene()
    made.now += 30.0
    listed = made.now + 1.0
    made.put(*build.nodes(1), CLAIM, TRAIN, SLICE)
    made.look()
    current.use(made.web)
    start = made.model.history_start()
    assert start is not None
    assert start < listed
    page = Client().get(path).content.decode()
    earliest = re.search(r'href="([^"]*)">The earliest that is kept', page)
    assert earliest is not None
    assert earliest[1] == f"?{urlencode({'at': show(listed)})}"
    assert Client().get(path + earliest[1]).status_code == 200
    before = Client().get(f"{path}?{urlencode({'at': show(start - 60)})}").content.decode()
    nearest = re.search(r'href="(\?[^"]*)">The earliest that is kept', before)
    assert nearest is not None
    assert nearest[1] == earliest[1]
    current.use(None)


def test_a_time_is_shown_to_the_second_that_it_lies_in() -> None:
    assert "03:12:07 UTC" in utc(1796008327.25)
    assert "03:12:07.250 UTC" in utc(1796008327.25, exact=True)


def test_a_moment_may_be_compared_with_now(story: Story) -> None:
    page = get(f"/compare?at={story.began}&with=now")
    assert 'to <a href="?">now</a>' in page
    assert page.count("removed") > 0
    assert get(f"/compare?with={story.began}&at=now").count("<li>") == page.count("<li>")
    both = get("/compare?with=now")
    assert "Two moments of the cluster" in both
    assert "Both moments are now" in both
    assert "Both moments are now" not in get("/compare")
    assert "nor how long ago (5m, 2h 10m) or a time of day (03:12)" in get("/compare?with=99999999999m", 400)


def test_a_comparison_is_not_said_to_be_as_it_was_then(story: Story) -> None:
    assert "What this page shows of the cluster is as it was then" in get(f"/?at={story.began}")
    for path in ("/compare", "/ns/ml/pods/train"):
        page = get(f"{path}?at={story.proposed}&with={story.began}")
        assert "What this page shows of the cluster" not in page
        assert "Compared with another moment" in page


def test_two_moments_of_one_second_are_told_apart(story: Story) -> None:
    began = (parse(story.began) or 0.0) // 1
    page = get(f"/compare?at={show(began + 0.25)}&with={show(began + 0.5)}")
    assert ".250 UTC</time>" in page
    assert ".500 UTC</time>" in page
    page = get(f"/compare?at={show(began + 0.5)}&with={show(began + 2.5)}")
    assert ".500 UTC</time>" not in re.sub(r'<p class="on-paper">.*?</p>', "", page)  # on paper every time is exact


def test_what_could_not_be_read_then_is_told_whatever_can_be_read_now() -> None:
    scene = Scene(build.node("node-0"), build.pod("p", claims={"gpu": "c"}), synced=[k for k in KINDS if k != "nodes"])
    scene.now = build.NOW + 100
    scene.sync("nodes", "forbidden", error="no role then")
    scene.now = build.NOW + 200
    scene.sync("nodes", "synced")
    scene.look()
    current.use(scene.web)
    try:
        for path in ("/", "/nodes", "/doctor"):
            never, refused, well = (
                Client().get(f"{path}?at=2026-11-30T{at}Z").content.decode()
                for at in ("04:01:00", "04:02:00", "04:04:00")
            )
            assert "Not known for this moment" in never
            assert "Forbidden" in refused
            assert "no role then" in refused
            assert "2026-11-30 04:01:40 UTC" in refused, "since when"
            assert "Not known then" not in well
        assert "dradash may not read nodes" in Client().get("/doctor?at=2026-11-30T04:02:00Z").content.decode()
        stats = [
            Client().get(f"/api/v1/stats?at=2026-11-30T{at}Z").json()["objects"] for at in ("04:01:00", "04:04:00")
        ]
        assert ["nodes" in known for known in stats] == [False, True]
    finally:
        current.use(None)
