"""List and watch of one kind, driven by hand: what is asked for, and what is delivered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dradash.informer.malformed import TELL_EVERY
from dradash.informer.messages import (
    Answer,
    Changed,
    Discover,
    Discovered,
    Emission,
    Ended,
    Failed,
    List,
    Listed,
    Opened,
    Read,
    Received,
    Replaced,
    Unreadable,
    Wait,
    Watch,
)
from dradash.informer.reflector import Phase, Reflector
from dradash.informer.sink import KindState, ObjectEvent
from dradash.informer.source import (
    MALFORMED,
    Forbidden,
    Gone,
    ListPage,
    NotServed,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    WatchEvent,
    error_of_status,
)
from dradash.kinds.registry import KINDS

SERVED = {"v1": frozenset({"pods", "nodes"}), "resource.k8s.io/v1alpha2": frozenset({"resourceclaims"})}


def claim(name: str, version: int, **metadata: Any) -> bytes:
    meta = {"name": name, "namespace": "team-a", "resourceVersion": str(version), **metadata}
    return json.dumps(
        {"kind": "ResourceClaim", "apiVersion": "resource.k8s.io/v1alpha2", "metadata": meta}, separators=(",", ":")
    ).encode()


def bookmark(version: str) -> WatchEvent:
    return WatchEvent("BOOKMARK", json.dumps({"metadata": {"resourceVersion": version}}).encode())


def error_event(code: int, **extra: Any) -> WatchEvent:
    return WatchEvent(
        "ERROR", json.dumps({"kind": "Status", "code": code, "message": f"code {code}", **extra}).encode()
    )


class Driver:
    """Plays the caller: keeps the time and collects what is delivered."""

    def __init__(self, kind: str = "resourceclaims", **options: Any) -> None:
        self.reflector = Reflector(KINDS[kind], random=lambda: 1.0, **options)
        self.now = 1000.0
        self.replaced: list[Replaced] = []
        self.changed: list[Changed] = []
        self.states: list[KindState] = []
        self.unreadable: list[Unreadable] = []

    def answer(self, answer: Answer, after: float = 0.0) -> Any:
        """Give the answer and return the next action."""
        self.now += after
        self.deliver(self.reflector.receive(answer, self.now))
        return self.reflector.next_action()

    def deliver(self, emissions: list[Emission]) -> None:
        for emission in emissions:
            match emission:
                case Replaced():
                    self.replaced.append(emission)
                case Changed():
                    self.changed.append(emission)
                case Unreadable():
                    self.unreadable.append(emission)
                case KindState():
                    self.states.append(emission)

    def fail(self, error: Any, after: float = 0.0) -> Any:
        return self.answer(Failed(error), after)

    @property
    def state(self) -> KindState:
        return self.states[-1]

    def list(self, *items: bytes, version: str = "10") -> Any:
        return self.answer(Listed(ListPage(items, version)))

    def reading(self) -> Driver:
        """Bring it to an open watch on a list of one claim at version 10."""
        assert self.reflector.next_action() == Discover()
        self.answer(Discovered(SERVED))
        self.list(claim("a", 5))
        assert self.answer(Opened()) == Read()
        return self

    def receive(self, *events: WatchEvent, after: float = 0.0) -> Any:
        return self.answer(Received(events), after)


def test_it_discovers_then_lists_then_watches_from_the_lists_version() -> None:
    driver = Driver(timeout=300)

    assert driver.reflector.next_action() == Discover()
    assert driver.answer(Discovered(SERVED)) == List("v1alpha2", 500, "")
    assert driver.state.state == "syncing"
    assert driver.list(claim("a", 5)) == Watch("v1alpha2", "10", 300)
    assert driver.replaced == [Replaced({"team-a/a": claim("a", 5)}, "10")]
    assert (driver.state.state, driver.state.version, driver.state.since) == ("synced", "v1alpha2", 1000.0)
    assert driver.answer(Opened()) == Read()


def test_a_long_list_comes_in_pages_and_replaces_once() -> None:
    driver = Driver(limit=1)
    driver.answer(Discovered(SERVED))

    action = driver.answer(Listed(ListPage((claim("a", 5),), "10", "next")))

    assert action == List("v1alpha2", 1, "next")
    assert driver.replaced == []
    driver.answer(Listed(ListPage((claim("b", 6),), "12")))
    # The first page's version: a watch from there misses nothing even if a later page is newer.
    assert driver.replaced == [Replaced({"team-a/a": claim("a", 5), "team-a/b": claim("b", 6)}, "10")]


def test_an_expired_continue_token_restarts_the_list_and_the_second_time_without_limit() -> None:
    driver = Driver(limit=1)
    driver.answer(Discovered(SERVED))
    page = Listed(ListPage((claim("gone", 5),), "10", "next"))

    driver.answer(page)
    assert driver.fail(Gone("expired")) == List("v1alpha2", 1, "")
    driver.answer(page)
    assert driver.fail(Gone("expired")) == List("v1alpha2", 0, "")
    driver.list(claim("b", 6), version="20")

    assert [sorted(r.items) for r in driver.replaced] == [["team-a/b"]]


def test_a_relist_after_an_expired_token_uses_the_limit_again() -> None:
    driver = Driver(limit=1)
    driver.answer(Discovered(SERVED))
    for _ in range(2):
        driver.answer(Listed(ListPage((), "10", "next")))
        driver.fail(Gone("expired"))
    driver.list()

    assert driver.fail(Gone("too old")) == List("v1alpha2", 1, "")


def test_changes_are_delivered_in_order_and_move_the_version() -> None:
    driver = Driver().reading()

    driver.receive(
        WatchEvent("ADDED", claim("b", 11)),
        WatchEvent("MODIFIED", claim("a", 12)),
        WatchEvent("DELETED", claim("b", 13)),
    )

    assert driver.changed == [
        Changed(
            (
                ObjectEvent("ADDED", "team-a/b", claim("b", 11)),
                ObjectEvent("MODIFIED", "team-a/a", claim("a", 12)),
                ObjectEvent("DELETED", "team-a/b", claim("b", 13)),
            ),
            "13",
        )
    ]
    assert driver.answer(Ended(), after=5) == Watch("v1alpha2", "13", 300)


def test_a_bookmark_moves_the_version_and_is_no_change() -> None:
    driver = Driver().reading()

    driver.receive(bookmark("99"))

    assert driver.changed == []
    assert driver.answer(Ended(), after=300) == Watch("v1alpha2", "99", 300)


@pytest.mark.parametrize("version", ["", "0"])
def test_a_version_that_means_any_is_never_resumed_from(version: str) -> None:
    driver = Driver().reading()

    driver.receive(bookmark(version))

    assert driver.answer(Ended(), after=300) == Watch("v1alpha2", "10", 300)


def test_a_list_without_a_version_is_an_error() -> None:
    driver = Driver()
    driver.answer(Discovered(SERVED))

    assert driver.list(version="") == Wait(0.5)
    assert driver.replaced == []
    assert "resourceVersion" in driver.state.error


def test_an_expired_watch_lists_again_and_replaces() -> None:
    driver = Driver().reading()

    assert driver.receive(error_event(410)) == List("v1alpha2", 500, "")
    assert driver.list(claim("b", 20), version="21") == Watch("v1alpha2", "21", 300)

    assert driver.replaced[-1] == Replaced({"team-a/b": claim("b", 20)}, "21")
    assert (driver.state.state, driver.state.relists) == ("synced", 1)


def test_410_as_a_response_lists_again_too() -> None:
    driver = Driver().reading()
    driver.answer(Ended(), after=300)

    assert driver.fail(Gone("too old resource version")) == List("v1alpha2", 500, "")


def test_changes_before_an_error_event_are_not_lost() -> None:
    driver = Driver().reading()

    driver.receive(WatchEvent("ADDED", claim("b", 11)), error_event(410))

    assert [event.key for change in driver.changed for event in change.events] == ["team-a/b"]


def test_a_storm_of_410_is_slowed_down() -> None:
    driver = Driver().reading()
    waits = []
    for _ in range(6):
        action = driver.fail(Gone("too old"))
        if isinstance(action, Wait):
            waits.append(action.seconds)
            action = driver.reflector.next_action()
        assert action == List("v1alpha2", 500, "")
        driver.list(claim("a", 5))

    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0]


def test_other_error_events_back_off_and_resume() -> None:
    driver = Driver().reading()

    assert driver.receive(error_event(500)) == Wait(0.5)
    assert driver.reflector.next_action() == Watch("v1alpha2", "10", 300)


def test_a_watch_that_keeps_failing_is_not_trusted_and_lists_again() -> None:
    driver = Driver().reading()
    for _ in range(4):
        driver.fail(Unavailable("internal error"))
        assert driver.reflector.phase is Phase.CONNECTING

    driver.fail(Unavailable("internal error"))

    assert driver.reflector.next_action() == List("v1alpha2", 500, "")


def test_429_waits_as_long_as_the_server_asks() -> None:
    driver = Driver().reading()
    driver.answer(Ended(), after=300)

    assert driver.fail(TooManyRequests("slow down", 7.0)) == Wait(7.0)
    assert driver.reflector.next_action() == Watch("v1alpha2", "10", 300)


def test_a_long_wait_that_the_server_asks_for_is_told_with_the_time_of_the_next_try() -> None:
    driver = Driver().reading()
    driver.now = 1445412480.0  # 2015-10-21T07:28:00Z

    assert driver.fail(error_of_status(b"{}", 429, 600.0)) == Wait(300.0)
    assert driver.state.error == (
        "the API server asks to wait 600 s, the next try is at 07:33:00 UTC: too many requests (429)"
    )


def test_429_in_a_watch_names_its_seconds_in_the_details() -> None:
    driver = Driver().reading()

    assert driver.receive(error_event(429, details={"retryAfterSeconds": 3})) == Wait(3.0)


def test_429_without_seconds_backs_off_and_an_absurd_wait_is_not_believed() -> None:
    driver = Driver().reading()

    assert driver.fail(TooManyRequests("slow down", None)) == Wait(0.5)
    assert driver.fail(TooManyRequests("slow down", 1e9)) == Wait(300.0)


def test_failures_back_off_up_to_the_cap_and_start_afresh_after_success() -> None:
    driver = Driver()
    driver.answer(Discovered(SERVED))

    waits = [driver.fail(Unavailable("no route")).seconds for _ in range(8)]

    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert driver.state.error == "no route"
    driver.list(claim("a", 5))
    assert driver.fail(Unavailable("no route")) == Wait(0.5)


@pytest.mark.parametrize(
    ("error", "state"), [(Forbidden("no list"), "forbidden"), (NotServed("no such resource"), "notServed")]
)
def test_a_refusal_is_reported_and_tried_again_slowly(error: Any, state: str) -> None:
    driver = Driver()
    waits = []
    for _ in range(5):
        if driver.reflector.phase is Phase.DISCOVERING:
            driver.answer(Discovered(SERVED))
        waits.append(driver.fail(error).seconds)
    if state == "forbidden":
        assert waits == [30.0, 60.0, 120.0, 240.0, 300.0]
    else:  # each discovery says again that it is served
        assert waits == [30.0] * 5
    assert (driver.state.state, driver.state.error) == (state, str(error))


def test_credentials_that_are_not_accepted_are_tried_again_each_minute() -> None:
    driver = Driver()
    driver.answer(Discovered(SERVED))

    assert [driver.fail(Unauthorized("expired")).seconds for _ in range(4)] == [30.0, 60.0, 60.0, 60.0]


def test_a_kind_that_is_not_served_is_looked_for_slowly() -> None:
    driver = Driver()

    waits = [driver.answer(Discovered({"v1": frozenset({"pods"})})).seconds for _ in range(3)]

    assert waits == [30.0, 60.0, 120.0]
    assert driver.state.state == "notServed"
    assert "resource.k8s.io/v1alpha2 resourceclaims" in driver.state.error
    assert driver.answer(Discovered(SERVED)) == List("v1alpha2", 500, "")


def _tried_again(driver: Driver, refused: str, error: Any) -> None:
    """One retry of what was refused, up to its next refusal."""
    if driver.reflector.phase is Phase.DISCOVERING:
        driver.answer(Discovered(SERVED), after=30)
    if refused == "watch" and driver.reflector.phase is Phase.LISTING:
        driver.list(claim("a", 5))
    driver.fail(error, after=30)


@pytest.mark.parametrize("refused", ["list", "watch"])
@pytest.mark.parametrize("synced_before", [False, True])
@pytest.mark.parametrize("error", [Forbidden("no"), NotServed("no such resource")])
def test_a_retry_moves_neither_the_state_nor_its_since_before_it_is_known_how_it_went(
    error: Any, synced_before: bool, refused: str
) -> None:
    driver = Driver().reading() if synced_before else Driver()
    if synced_before and refused == "list":
        driver.receive(error_event(410))
        assert driver.reflector.phase is Phase.LISTING
    elif not synced_before:
        driver.answer(Discovered(SERVED))
        if refused == "watch":
            driver.list(claim("a", 5))
    driver.fail(error)
    first, told = driver.state, len(driver.states)
    assert first.state == ("forbidden" if isinstance(error, Forbidden) else "notServed")

    for _ in range(3):
        _tried_again(driver, refused, error)

    later = driver.states[told:]
    assert {(s.state, s.since, s.error) for s in later} <= {(first.state, first.since, str(error))}
    assert driver.reflector.tick(driver.now) == []


def test_a_refusal_that_ends_is_over_with_the_first_page_or_the_first_word_of_the_watch() -> None:
    driver = Driver()
    driver.answer(Discovered(SERVED))
    driver.fail(NotServed("no such resource"))
    driver.answer(Discovered(SERVED), after=30)
    assert (driver.state.state, driver.state.error) == ("notServed", "no such resource")
    driver.list(claim("a", 5))
    assert (driver.state.state, driver.state.since, driver.state.error) == ("synced", 1030.0, "")

    driver.fail(NotServed("no watch"), after=5)
    driver.answer(Discovered(SERVED), after=30)
    driver.list(claim("a", 5))
    assert (driver.state.state, driver.state.since) == ("notServed", 1035.0)
    driver.answer(Opened())
    driver.receive(WatchEvent("ADDED", claim("b", 11)), after=1)
    assert (driver.state.state, driver.state.since, driver.state.error) == ("synced", 1066.0, "")


def test_a_lost_connection_does_not_make_a_refused_kind_stale_at_once() -> None:
    driver = Driver().reading()
    driver.fail(NotServed("no such resource"))
    driver.fail(Unavailable("reset"), after=30)
    assert (driver.state.state, driver.state.since) == ("notServed", 1000.0)
    driver.fail(Unavailable("refused"), after=1)
    assert (driver.state.state, driver.state.since) == ("stale", 1031.0)


def test_a_permission_that_comes_back_syncs_again() -> None:
    driver = Driver().reading()
    driver.fail(Forbidden("token expired"))
    assert driver.state.state == "forbidden"

    assert driver.reflector.next_action() == Watch("v1alpha2", "10", 300)
    driver.answer(Opened())
    driver.receive(WatchEvent("ADDED", claim("b", 11)))

    assert (driver.state.state, driver.state.error) == ("synced", "")


def test_after_credentials_that_were_not_accepted_everything_is_listed_anew() -> None:
    driver = Driver().reading()
    driver.fail(Unauthorized("expired"))
    assert driver.state.state == "forbidden"

    assert driver.reflector.next_action() == List("v1alpha2", 500, "")
    driver.list(claim("b", 3))

    assert (driver.state.state, driver.state.error) == ("synced", "")
    assert driver.reflector.next_action() == Watch("v1alpha2", "10", 300)


def test_one_lost_connection_is_not_stale_but_two_in_a_row_are() -> None:
    driver = Driver().reading()

    driver.fail(Unavailable("reset"), after=10)
    assert driver.state.state == "synced"
    driver.fail(Unavailable("refused"), after=1)

    assert (driver.state.state, driver.state.since) == ("stale", 1011.0)


def test_a_quiet_watch_that_stays_open_is_well_again() -> None:
    driver = Driver().reading()
    for _ in range(2):
        driver.fail(Unavailable("refused"))
    driver.answer(Opened())
    assert driver.state.state == "stale"

    driver.deliver(driver.reflector.tick(driver.now + 2))

    assert (driver.state.state, driver.state.error) == ("synced", "")


def test_a_watch_that_ends_at_once_is_backed_off() -> None:
    driver = Driver().reading()
    waits = []
    for _ in range(4):
        waits.append(driver.answer(Ended()).seconds)
        driver.reflector.next_action()
        driver.answer(Opened())

    assert waits == [0.5, 1.0, 2.0, 4.0]


def test_a_watch_that_ends_after_one_event_is_no_busy_loop_either() -> None:
    driver = Driver().reading()
    for n in range(3):
        driver.receive(bookmark(str(20 + n)))
        assert driver.answer(Ended()) == Wait(0.5)
        driver.reflector.next_action()
        driver.answer(Opened())


def test_a_watch_that_is_silent_beyond_its_time_out_is_noticed() -> None:
    driver = Driver(timeout=60).reading()

    assert not driver.reflector.is_silent(driver.now + 60)
    assert driver.reflector.is_silent(driver.now + 91)
    driver.receive(bookmark("20"), after=80)
    assert not driver.reflector.is_silent(driver.now + 60)


@pytest.mark.parametrize(
    "event",
    [
        WatchEvent(MALFORMED, b"{not json"),
        WatchEvent("SHRUNK", claim("b", 11)),
        WatchEvent("ADDED", b'{"metadata":{}}'),
        WatchEvent("ADDED", b"[]"),
        WatchEvent("ADDED", b'{"metadata":{"name":"\xff"}}'),
        WatchEvent("BOOKMARK", b"null"),
        WatchEvent("ADDED", b'{"metadata":' * 5000),
    ],
    ids=["no json", "unknown type", "no name", "no object", "not utf-8", "null bookmark", "deep"],
)
def test_a_malformed_event_is_counted_and_the_watch_goes_on(event: WatchEvent) -> None:
    driver = Driver().reading()

    action = driver.receive(event, WatchEvent("ADDED", claim("good", 12)), after=10)

    assert action == Read()
    assert [e.key for change in driver.changed for e in change.events] == ["team-a/good"]
    assert driver.state.malformed == 1


def test_an_object_of_the_wrong_shape_is_counted_and_delivered_all_the_same() -> None:
    driver = Driver().reading()
    wrong = b'{"kind":"ResourceClaim","metadata":{"name":"b","namespace":"team-a"},"spec":7}'

    driver.receive(WatchEvent("ADDED", wrong), after=10)

    assert [e.object for change in driver.changed for e in change.events] == [wrong]
    assert driver.state.malformed == 1


def test_malformed_objects_are_told_together_with_the_first_as_example_and_not_again_soon() -> None:
    driver = Driver()
    driver.answer(Discovered(SERVED))
    wrong = b'{"metadata":{"name":"w%d","namespace":"ml"},"spec":7}'
    driver.answer(Listed(ListPage((wrong % 1, b"{}", claim("a", 5)), "10", "more")))
    assert driver.unreadable == []  # the list is not over
    driver.list(wrong % 2)
    [told] = driver.unreadable
    assert (told.number, told.key) == (3, "ml/w1")
    assert "$.spec" in told.error

    driver.answer(Opened())
    for number in range(5):
        driver.receive(WatchEvent("ADDED", wrong % number), after=1.0)
    driver.now += TELL_EVERY - 6.0
    driver.deliver(driver.reflector.tick(driver.now))
    assert driver.unreadable == [told]

    driver.now += 1.0
    driver.deliver(driver.reflector.tick(driver.now))
    assert [(u.number, u.key) for u in driver.unreadable[1:]] == [(5, "ml/w0")]
    driver.now += TELL_EVERY
    driver.deliver(driver.reflector.tick(driver.now))
    assert len(driver.unreadable) == 2


def test_a_malformed_item_of_a_list_does_not_stop_the_others() -> None:
    driver = Driver()
    driver.answer(Discovered(SERVED))

    driver.list(b"7", claim("a", 5))

    assert sorted(driver.replaced[0].items) == ["team-a/a"]
    assert driver.state.malformed == 1


def test_managed_fields_are_dropped_and_items_look_like_events() -> None:
    driver = Driver()
    driver.answer(Discovered(SERVED))
    listed = b'{"metadata":{"name":"a","namespace":"team-a","managedFields":[{"manager":"x"}]},"spec":{"n":1.50}}'
    watched = b'{"kind":"ResourceClaim","apiVersion":"resource.k8s.io/v1alpha2",' + listed[1:]

    driver.list(listed)
    driver.answer(Opened())
    driver.receive(WatchEvent("MODIFIED", watched))

    item = driver.replaced[0].items["team-a/a"]
    assert item == driver.changed[0].events[0].object
    assert b"managedFields" not in item
    assert b"1.50" in item  # the other bytes are the server's


def test_what_is_not_kept_leaves_nothing_but_the_version() -> None:
    driver = Driver(keep=lambda key, _raw: key == "team-a/a").reading()

    driver.receive(WatchEvent("ADDED", claim("b", 11)))

    assert sorted(driver.replaced[0].items) == ["team-a/a"]
    assert driver.changed == []
    assert driver.answer(Ended(), after=300) == Watch("v1alpha2", "11", 300)


def test_counters_are_reported_now_and_then_not_with_each_event() -> None:
    driver = Driver().reading()
    before = len(driver.states)

    for n in range(100):
        driver.receive(WatchEvent("MODIFIED", claim("a", 100 + n)), after=0.01)
    assert len(driver.states) == before
    driver.deliver(driver.reflector.tick(driver.now + 5))

    assert driver.state.events == 100
    assert driver.state.resource_version == "199"


def test_an_answer_that_was_not_asked_for_is_a_bug_of_the_caller() -> None:
    driver = Driver()

    with pytest.raises(KeyError):
        driver.answer(Opened())


def test_a_list_that_gives_the_same_token_again_is_a_failure_and_not_asked_for_ever() -> None:
    driver = Driver()
    driver.answer(Discovered(SERVED))
    driver.answer(Listed(ListPage((claim("a", 1),), "5", "next")))
    waiting = driver.answer(Listed(ListPage((), "5", "next")))
    assert isinstance(waiting, Wait)
    assert "same continue token" in driver.states[-1].error
    assert not driver.replaced
