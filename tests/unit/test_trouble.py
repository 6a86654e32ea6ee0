"""What the log says when the cluster cannot be read, and when it can again."""

from __future__ import annotations

import logging

import pytest

from dradash.informer.sink import KindState
from dradash.kinds.registry import KINDS
from dradash.pipeline.trouble import Troubles
from tests.unit.test_pipeline import Bench

GONE = "cannot reach https://10.0.0.1:6443: [Errno 111] Connection refused"


class Told:
    def __init__(self, *read: str) -> None:
        self._troubles = Troubles(read)

    def __call__(self, state: str, error: str = "", kinds: object = KINDS) -> list[str]:
        assert isinstance(kinds, (dict, tuple))
        return [line.text for kind in kinds for line in self._troubles.lines(KindState(kind, state, error=error))]


def test_a_server_that_is_not_there_is_one_line_for_all_kinds_and_all_retries() -> None:
    told = Told()

    assert told("unknown") == []
    assert told("unknown", GONE) == [f"the API server cannot be read (pods: unknown): {GONE}"]
    assert told("unknown", GONE) == told("unknown", GONE.replace("111", "110")) == []


def test_another_error_is_another_line_once() -> None:
    told = Told()
    told("unknown", GONE)

    assert len(told("unknown", "the answer to /apis is not understood")) == 1
    assert told("unknown", GONE) == told("unknown", "the answer to /api/v1 is not understood") == []


def test_it_is_told_once_that_the_server_is_back() -> None:
    told = Told(*KINDS)
    told("stale", GONE)

    assert told("stale") == []  # a list is under way
    assert told("synced", kinds=tuple(KINDS)[:-1]) == []
    assert told("synced", kinds=tuple(KINDS)[-1:]) == [f"the API server answers again: {', '.join(sorted(KINDS))}"]
    assert len(told("stale", GONE)) == 1


def test_a_kind_that_is_forbidden_is_named_and_so_is_its_return() -> None:
    told = Told()
    error = 'nodes is forbidden: User "x" cannot list resource "nodes"'

    assert told("forbidden", error, ("nodes",)) == [f"nodes: forbidden: {error}"]
    assert told("forbidden", error, ("nodes",)) == told("forbidden", error.replace("list", "watch"), ("nodes",)) == []
    assert told("synced", kinds=("nodes",)) == ["nodes: synced"]


def test_a_token_that_is_no_longer_valid_is_one_line() -> None:
    told = Told(*KINDS)

    assert told("forbidden", "Unauthorized") == ["pods: forbidden: Unauthorized"]
    assert told("synced") == ["pods: synced"]


def test_a_server_that_is_back_and_refuses_does_not_answer_again() -> None:
    told = Told(*KINDS)
    told("stale", GONE)

    assert told("forbidden", "no") == ["pods: forbidden: no"]
    assert told("forbidden", "no") == []
    assert told("synced") == ["pods: synced"]


def test_of_a_server_that_is_back_only_the_kinds_are_named_that_can_be_read() -> None:
    told = Told()
    told("unknown", GONE, ("pods", "nodes", "events"))

    assert told("forbidden", "no", ("pods",)) == ["pods: forbidden: no"]
    assert told("synced", kinds=("nodes", "events")) == ["the API server answers again: events, nodes"]


def test_kinds_that_are_still_read_after_a_new_start_are_no_news() -> None:
    assert Told("pods")("synced", kinds=("pods", "nodes")) == ["nodes: synced"]


def test_it_is_a_warning_in_the_log_of_the_watch(caplog: pytest.LogCaptureFixture) -> None:
    ingest = Bench().ingest
    with caplog.at_level(logging.INFO):
        for kind in KINDS:
            ingest.sync(KindState(kind, "unknown", error=GONE))
        ingest.sync(KindState("pods", "synced"))

    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("WARNING", f"the API server cannot be read (pods: unknown): {GONE}")
    ]
