"""The slider through an object's history."""

from __future__ import annotations

import msgspec
import pytest

from dradash.reader.moment import parse
from dradash.scheduling.verdict import ActsNext, Outcome, Verdict
from dradash.store.model import VERDICTS, HistoryEntry
from dradash.web.presenters.query import Query
from dradash.web.presenters.timetravel import GONE, Timeline, changes, timeline
from dradash.web.presenters.words import claim_chip, outcome_chip
from tests import build

POD = build.pod("p", "ml")
LINKS = frozenset({"at", "with", "ns"})


def entry(at: float, raw: bytes, type_: str = "MODIFIED") -> HistoryEntry:
    return HistoryEntry(int(at), at, type_, raw)


def said(at: float, outcome: Outcome, sentence: str = "") -> HistoryEntry:
    verdict: Verdict = build.verdict(POD, outcome, sentence, revision=int(at), at=at)
    return entry(at, msgspec.json.encode(verdict))


def shown(at: float | None, *times: float, start: float = 0.0, **query: str) -> Timeline:
    marks = [(t, outcome_chip(Outcome.WAITING)) for t in times]
    return timeline(Query.of(query, LINKS), start, 1000.0, at, marks)


def test_a_verdict_changes_when_it_says_something_else() -> None:
    history = [
        said(1.0, Outcome.BLOCKED, "no claim"),
        said(2.0, Outcome.BLOCKED, "no claim"),
        said(3.0, Outcome.BLOCKED, "no class"),
        said(4.0, Outcome.WAITING),
        entry(5.0, b"{}", "DELETED"),
        entry(6.0, b"{}", "DELETED"),
    ]
    assert changes(VERDICTS, history) == [
        (1.0, outcome_chip(Outcome.BLOCKED)),
        (3.0, outcome_chip(Outcome.BLOCKED)),
        (4.0, outcome_chip(Outcome.WAITING)),
        (5.0, GONE),
    ]


def test_a_verdict_is_the_same_while_the_same_one_must_act() -> None:
    """As in the verdict's history on the pod's page: which node of a row is waited for is no change."""
    history = []
    for at, who, what in ((1.0, "gpu", "answer for node-1"), (2.0, "gpu", "answer for node-2"), (3.0, "nic", "answer")):
        acts = ActsNext(who="driver", names=(who,), what=what)
        verdict = build.verdict(POD, Outcome.WAITING, "", revision=int(at), at=at, acts_next=acts)
        history.append(entry(at, msgspec.json.encode(verdict)))
    assert [at for at, _ in changes(VERDICTS, history)] == [1.0, 3.0]


def test_a_claim_changes_with_its_status_and_a_negotiation_with_what_is_said_in_it() -> None:
    claims = [
        entry(1.0, build.raw(build.claim("c"))),
        entry(2.0, build.raw(build.claim("c", annotations={"a": "b"}))),
        entry(3.0, build.raw(build.claim("c", allocation=build.allocation("n")))),
    ]
    assert changes("resourceclaims", claims) == [(1.0, claim_chip("Pending")), (3.0, claim_chip("Allocated"))]
    contexts = [
        entry(1.0, build.raw(build.context(POD))),
        entry(2.0, build.raw(build.context(POD, potential=["a", "b"]))),
        entry(3.0, build.raw(build.context(POD, potential=["a", "b"], selected="a"))),
    ]
    assert [chip.text for _, chip in changes("podschedulingcontexts", contexts)] == [
        "Nothing proposed",
        "2 nodes proposed",
        "a selected",
    ]


def test_what_cannot_be_read_is_marked_and_ends_nothing() -> None:
    texts = [c.text for _, c in changes("resourceclaims", [entry(1.0, b"x"), entry(2.0, build.raw(build.claim("c")))])]
    assert texts == ["Malformed", "Pending"]
    assert [c.text for _, c in changes(VERDICTS, [entry(1.0, b"[]")])] == ["Malformed"]


@pytest.mark.parametrize(
    ("at", "previous", "following", "shown_at"),
    [
        (None, 300.0, None, 300.0),
        (350.0, 300.0, None, 300.0),
        (300.0, 200.0, None, 300.0),
        (250.0, 200.0, 300.0, 200.0),
        (200.0, 100.0, 300.0, 200.0),
        (100.0, None, 200.0, 100.0),
        (50.0, None, 100.0, None),
    ],
)
def test_before_and_after(
    at: float | None, previous: float | None, following: float | None, shown_at: float | None
) -> None:
    line = shown(at, 100.0, 200.0, 300.0)
    assert (line.previous.at if line.previous else None) == previous
    assert (line.next.at if line.next else None) == following
    assert [m.at for m in line.marks if m.shown] == ([] if shown_at is None else [shown_at])


def test_going_back_step_by_step_from_the_present_meets_every_change() -> None:
    times = [100.0004, 100.0026, 200.1234567, 300.9999]
    at, met = None, []
    while (previous := shown(at, *times).previous) is not None:
        met.append(previous.at)
        at = parse(previous.moment)
    assert met == times[::-1]


def test_marks_lead_to_their_moment_and_compare_with_the_one_before() -> None:
    line = shown(None, 100.0, 200.0004, ns="ml")
    assert [m.href for m in line.marks] == [
        "?ns=ml&at=1970-01-01T00%3A03%3A20.001Z",
        "?ns=ml&at=1970-01-01T00%3A01%3A40Z",
    ]
    assert [m.compare for m in line.marks] == [
        "?ns=ml&at=1970-01-01T00%3A03%3A20.001Z&with=1970-01-01T00%3A01%3A40Z",
        "",
    ]


def test_a_state_older_than_history_is_marked_where_history_begins() -> None:
    line = shown(None, 100.0, 600.0, start=500.0)
    assert [(m.at, m.compare != "") for m in line.marks] == [(600.0, True), (500.0, False)]
    assert [t.x for t in line.ticks] == [0, 192]  # of 1000; the slider ends with a whole minute


def test_an_open_live_page_is_not_sent_a_new_slider_each_second() -> None:
    assert timeline(Query(), 0.0, 961.0, None, []) == timeline(Query(), 0.0, 1019.0, None, [])


def test_a_page_without_an_object_offers_steps_that_are_kept() -> None:
    line = timeline(Query(), 500.0, 1000.0, None, None)
    assert [o.text for o in line.offers] == ["1 minute earlier", "5 minutes earlier"]
    assert [o.compare for o in line.offers] == [f"/compare?with=1970-01-01T00%3A{m}%3A00Z" for m in ("16", "12")]
    past = timeline(Query(), 0.0, 5000.0, 600.0, None)
    assert [o.text for o in past.offers] == [
        "1 minute earlier",
        "5 minutes earlier",
        "1 minute later",
        "5 minutes later",
        "15 minutes later",
    ]
