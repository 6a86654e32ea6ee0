"""The parts of the workers that are not Celery: taking what is due, waking, keeping the leader running."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

import pytest

from dradash.celery import broker_url, create_app
from dradash.conf import from_environ
from dradash.store.model import DuePod
from dradash.tasks import BATCH, work
from dradash.waker import Waker
from dradash.worker import Kept
from tests.patience import PATIENCE


class Due:
    """A JudgeModel of which only take_due is used."""

    def __init__(self, pods: int) -> None:
        self.left = [DuePod(f"ns/{n}") for n in range(pods)]

    def take_due(self, now: float, limit: int, lease: float) -> list[DuePod]:
        taken, self.left = self.left[:limit], self.left[limit:]
        return taken

    def count_due(self) -> int:
        return len(self.left)

    def put_verdict(self, pod: str, revision: int, verdict: bytes, node_sets: dict[str, bytes], at: float) -> bool:
        raise NotImplementedError


def test_a_task_judges_until_nothing_is_due() -> None:
    judged: list[str] = []
    wakes: list[None] = []
    done = work(Due(7), lambda due: judged.extend(d.pod for d in due), lambda: wakes.append(None))
    assert done == 7
    assert judged == [f"ns/{n}" for n in range(7)]
    assert wakes == []


def test_each_full_batch_wakes_a_colleague_before_it_is_judged() -> None:
    order: list[str] = []
    work(Due(2 * BATCH + 1), lambda due: order.append(f"judge {len(due)}"), lambda: order.append("wake"))
    assert order == ["wake", f"judge {BATCH}", "wake", f"judge {BATCH}", "judge 1"]


def test_a_task_that_has_spent_its_budget_leaves_the_rest_to_its_successor() -> None:
    time = iter([0.0, 1.0, 99.0])
    due = Due(4 * BATCH)
    wakes: list[None] = []
    done = work(due, lambda _: None, lambda: wakes.append(None), clock=lambda: next(time))
    assert done == 2 * BATCH
    assert due.count_due() == 2 * BATCH
    assert len(wakes) == 3


def test_a_burst_of_wakes_is_few_messages_and_the_last_is_never_lost() -> None:
    seen: list[int] = []
    state = 0
    last_seen = threading.Event()

    def send() -> None:
        seen.append(state)
        if state == 999:
            last_seen.set()

    waker = Waker(send, pause=0.005)
    for n in range(1000):
        state = n
        waker.wake()
    assert last_seen.wait(PATIENCE)
    waker.stop()
    assert len(seen) < 500


def test_a_broker_that_is_gone_is_said_once_and_waking_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    calls = 0
    again = threading.Semaphore(0)

    def send() -> None:
        nonlocal calls
        calls += 1
        again.release()
        if calls < 3:
            raise ConnectionError("no broker")

    waker = Waker(send, pause=0)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            waker.wake()
            assert again.acquire(timeout=PATIENCE)
    waker.stop()
    assert [r.getMessage() for r in caplog.records] == ["cannot wake the judges: no broker"]


def test_a_leader_that_fails_is_logged_and_made_anew(caplog: pytest.LogCaptureFixture) -> None:
    runs: list[int] = []
    second = threading.Event()

    class Leader:
        def run(self, stop: threading.Event) -> None:
            runs.append(len(runs))
            if len(runs) == 1:
                raise ZeroDivisionError
            second.set()
            stop.wait(PATIENCE)

    kept = Kept(Leader, restart_after=(0.0,))
    kept.start()
    assert second.wait(PATIENCE)
    kept.stop()
    assert runs == [0, 1]
    assert "the leader failed" in caplog.text


def test_stopping_waits_until_the_leader_has_let_go() -> None:
    released: Sequence[str] = []
    running = threading.Event()

    class Leader:
        def run(self, stop: threading.Event) -> None:
            running.set()
            stop.wait(PATIENCE)
            assert isinstance(released, list)
            released.append("lease")

    kept = Kept(Leader)
    kept.start()
    assert running.wait(PATIENCE)
    kept.stop()
    assert released == ["lease"]


@pytest.mark.parametrize(
    ("redis_url", "broker"),
    [
        ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0"),
        ("rediss://user:pass@host:1/2", "rediss://user:pass@host:1/2"),
        ("unix:///tmp/x/redis.sock", "redis+socket:///tmp/x/redis.sock"),
        ("unix:///tmp/x/redis.sock?db=3", "redis+socket:///tmp/x/redis.sock?virtual_host=3"),
        ("unix://:pass@/tmp/redis.sock", "redis+socket://:pass@/tmp/redis.sock"),
    ],
)
def test_the_broker_is_the_same_redis(redis_url: str, broker: str) -> None:
    assert broker_url(redis_url) == broker


def test_each_cluster_has_a_queue_of_its_own_and_reads_are_never_cut_by_a_time_out() -> None:
    app = create_app(from_environ({"DRADASH_CLUSTER": "blue"}))
    assert app.conf.task_default_queue == "judge.blue"
    assert app.conf.broker_transport_options["socket_timeout"] is None
    assert app.conf.accept_content == ["json"]
