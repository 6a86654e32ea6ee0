"""A Redis that hangs: connections open, and nothing is answered."""

from __future__ import annotations

import dataclasses
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client, override_settings

from dradash import bootstrap
from dradash.conf import from_environ
from dradash.reader import current, topics
from dradash.reader.follower import BLOCK, LOST_AFTER, Follower
from dradash.store import redis_connection
from dradash.store.memory import MemoryModel
from dradash.store.model import Change, StoreUnavailable
from dradash.store.redis_connection import ANSWER_WITHIN
from dradash.store.redis_reader import LONGEST_BLOCK
from dradash.store.redis_store import RedisModel
from tests import build
from tests.patience import PATIENCE
from tests.scene import Scene

SCRAPE_TIMEOUT = 10.0  # of Prometheus unless configured
POD = build.pod("p", "ml", claims={"gpu": "c"})


class Silent:
    """Connections wait in its queue: for those who connect it is there."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=50)
        self._listening.setblocking(False)
        self._open: list[socket.socket] = []
        self.url = f"redis://127.0.0.1:{self._listening.getsockname()[1]}"

    def connections(self) -> int:
        """So many have come."""
        try:
            while True:
                self._open.append(self._listening.accept()[0])
        except BlockingIOError:
            return len(self._open)

    def close(self) -> None:
        for opened in (self._listening, *self._open):
            opened.close()


@pytest.fixture
def silent() -> Iterator[Silent]:
    server = Silent()
    yield server
    server.close()


@pytest.fixture
def hanging(silent: Silent) -> Iterator[RedisModel]:
    model = RedisModel(silent.url, answer_within=0.05)
    yield model
    model.close()


def test_who_is_in_a_hurry_asks_once_and_is_told_so_at_once_for_a_while(silent: Silent, hanging: RedisModel) -> None:
    with pytest.raises(StoreUnavailable, match=r"cannot be reached.*Timeout") as first:
        hanging.revision()
    assert silent.connections() == 1
    for ask in (hanging.history_start, hanging.queue, lambda: hanging.changes("", 0, 1, 1.0)):
        with pytest.raises(StoreUnavailable) as later:
            ask()
        assert str(later.value) == str(first.value)
    assert silent.connections() == 1


def test_after_a_rest_it_is_asked_again(silent: Silent, hanging: RedisModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_connection, "REST", 0.0)
    for asked in (1, 2):
        with pytest.raises(StoreUnavailable, match="Timeout"):
            hanging.revision()
        assert silent.connections() == asked


def test_who_waits_for_changes_finds_out_soon(silent: Silent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_connection, "LONGEST_BLOCK", 0.0)
    connection = redis_connection.Connection(silent.url, "", 0.05)
    with pytest.raises(StoreUnavailable, match="Timeout"):
        connection.wait("XREAD", "BLOCK", 1000, "STREAMS", "x", "0")
    assert silent.connections() == 1
    connection.close()


def test_the_limits_fit_into_a_scrape_and_those_of_who_writes_are_as_long_as_ever() -> None:
    conf = from_environ({})

    def limits(model: Any) -> list[float]:
        connection = model._connection
        clients = connection._client, connection._waiting, connection._patient
        return [c.connection_pool.connection_kwargs["socket_timeout"] for c in clients]

    quick, waiting, patient = limits(bootstrap.read_model(conf))
    assert quick < waiting < SCRAPE_TIMEOUT
    assert patient == ANSWER_WITHIN
    assert limits(bootstrap.model(conf)) == [ANSWER_WITHIN, ANSWER_WITHIN + LONGEST_BLOCK, ANSWER_WITHIN]
    assert BLOCK <= LONGEST_BLOCK


# --- what is answered meanwhile --------------------------------------------------------------------------------------


@pytest.fixture
def scene(hanging: RedisModel) -> Iterator[Scene]:
    """What was read is there, and whoever asks Redis for more gets no answer."""
    made = Scene(POD, build.claim("c", "ml"), build.resource_class(), build.node("n"))
    made.look()
    made.web = dataclasses.replace(made.web, model=hanging)
    current.use(made.web)
    with override_settings(ALLOWED_HOSTS=["testserver"]):
        yield made
    current.use(None)


@pytest.mark.usefixtures("scene")
def test_until_the_follower_has_noticed_each_answer_waits_once_at_most(silent: Silent) -> None:
    assert "dradash_model_up 0.0" in Client().get("/metrics").content.decode()
    assert Client().get("/api/v1/health").json()["historySince"] is None
    about = Client().get("/about")
    assert about.status_code == 200
    assert "cannot be reached: start it, or set REDIS_URL (Timeout" in about.content.decode()
    assert silent.connections() == 1


@pytest.mark.usefixtures("scene")
def test_what_is_not_there_is_not_said_to_have_never_been(silent: Silent) -> None:
    for path in ("/ns/ml/pods/gone", "/nodes/gone"):
        page = Client().get(path)
        assert (page.status_code, page.headers["Retry-After"]) == (503, "2")
        assert "dradash cannot tell: the history cannot be read now. Redis at 127.0.0.1:" in page.content.decode()
    assert Client().get("/api/v1/pods/ml/gone").json()["detail"].startswith("the history cannot be read: Redis at ")
    there = Client().get("/ns/ml/pods/p")
    assert there.status_code == 200
    assert "The history cannot be read now" in there.content.decode()
    assert silent.connections() == 1, "asked once, whatever a page is made of"


def test_once_the_follower_has_noticed_nobody_waits_for_redis(
    scene: Scene, silent: Silent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(*_: object) -> None:
        raise StoreUnavailable("Redis at nowhere cannot be reached")

    monkeypatch.setattr(scene.model, "changes", hang)
    scene.look()
    ready = Client().get("/readyz")
    assert ready.status_code == 503
    assert "[-]model failed: the model in Redis cannot be read" in ready.content.decode()
    metrics = Client().get("/metrics").content.decode()
    assert "dradash_model_up 0.0" in metrics
    assert "dradash_pending_pods" not in metrics
    health = Client().get("/api/v1/health").json()
    assert (health["state"], health["error"]) == ("unavailable", "Redis at nowhere cannot be reached")
    assert Client().get("/about").status_code == 200
    assert silent.connections() == 0


class Blocked(MemoryModel):
    """Its `changes` come back when they are let, whatever limits the connection has."""

    def __init__(self) -> None:
        super().__init__()
        self.let = threading.Event()

    def changes(self, instance: str, after: int, limit: int, block: float) -> list[Change]:
        assert self.let.wait(PATIENCE)
        return super().changes(instance, after, limit, 0.0)


def test_a_last_answer_that_is_old_is_no_live_state_whatever_holds_the_follower_up() -> None:
    model, now, back = Blocked(), [1000.0], threading.Event()
    build.fill(model, POD)
    woken: list[frozenset[str]] = []

    def announce(announced: frozenset[str], revision: int) -> None:
        woken.append(announced)
        if len(woken) == 2:
            back.set()

    follower = Follower(model, announce, lambda: now[0])
    assert follower.step()  # loads: asks for no changes
    follower.start()
    live = follower.version()
    now[0] += LOST_AFTER
    assert follower.freshness().state == "live"
    now[0] += 1.0
    fresh = follower.freshness()
    assert (fresh.state, fresh.failing_since) == ("unavailable", 1000.0)
    assert fresh.error == "the model has not answered for more than 15 s"
    assert follower.version() != live, "a page that was rendered before must be rendered again"
    model.let.set()
    assert back.wait(PATIENCE)
    follower.stop()
    assert topics.EVERYTHING in woken[1]
    assert (follower.freshness().state, follower.freshness().error) == ("live", "")
